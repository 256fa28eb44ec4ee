"""A counting job on Bytewax: partitions of records, a count for each key, rows in files. BUG seeds a bug of the job."""

import argparse
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import bytewax.operators as op
from bytewax.connectors.files import DirSink, _FileSinkPartition
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.recovery import RecoveryConfig
from bytewax.run import cli_main
from points import Split, here, restored  # the suite puts it on the path

BUG = os.environ.get("EPISODE_BUG", "")


class Partition(StatefulSourcePartition):
    def __init__(self, number, resumed, most):
        if resumed is not None:
            restored()
        self.split, self.most, self.found = Split(str(FOLDER), number, resumed or 0), most, []

    def next_batch(self):
        here("source")
        self.found = self.split.read(self.most)
        if self.found is None:
            raise StopIteration
        return self.found

    def next_awake(self):
        return None if self.found else datetime.now(UTC) + timedelta(milliseconds=5)

    def snapshot(self):
        here("source-snapshot")
        return max(0, self.split.position + {"skips": 1, "reads again": -1}.get(BUG, 0))


class Source(FixedPartitionedSource):
    def list_parts(self):
        return [str(split) for split in range(PLAN["splits"])]

    def build_part(self, step_id, name, resumed):
        return Partition(int(name), resumed, KNOBS["batch"])


class Count(op.StatefulBatchLogic):
    def __init__(self, resumed):
        self.count = resumed or 0

    def on_batch(self, records):
        found = []
        for record in records:
            here("count")
            self.count += 1
            found.append((record["id"], self.count))
        return found, op.StatefulBatchLogic.RETAIN

    def snapshot(self):
        here("count-snapshot")
        return max(0, self.count - (BUG == "forgets"))


class Rows(_FileSinkPartition):
    def write_batch(self, values):
        here("sink-before")
        super().write_batch(values)
        here("sink-after")

    def snapshot(self):
        here("sink-snapshot")
        return super().snapshot()


class Sink(DirSink):
    def build_part(self, step_id, name, resumed):
        path = FOLDER / "out" / name
        if BUG == "keeps output" and path.exists():
            resumed = path.stat().st_size
        return Rows(path, resumed, "\n")


parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("plan", type=Path)
parser.add_argument("workers", type=int)
parser.add_argument("process", type=int)
parser.add_argument("addresses", nargs="*")
given = parser.parse_args()
FOLDER, PLAN = given.folder, json.loads(given.plan.read_text())
KNOBS = PLAN["knobs"]
flow = Dataflow("counting")
records = op.input("in", flow, Source())
keyed = op.key_on("key", records, lambda record: str(record["key"]))
counted = op.stateful_batch("count", keyed, Count)
rows = op.map("row", counted, lambda one: (one[0], json.dumps([int(one[0]), one[1][1], one[1][0]])))
op.output("out", rows, Sink(FOLDER / "out", KNOBS["files"]))
cli_main(
    flow,
    workers_per_process=given.workers,
    process_id=given.process if given.addresses else None,
    addresses=given.addresses or None,
    epoch_interval=timedelta(milliseconds=KNOBS["interval"]),
    recovery_config=RecoveryConfig(FOLDER / "recovery", timedelta(milliseconds=KNOBS["backup"])),
)
