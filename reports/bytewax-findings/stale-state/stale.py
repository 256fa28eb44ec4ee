"""A state that a first life has written, and that was undone, comes back in the third: a record is counted twice.

It needs only bytewax: `python stale.py`, or `python stale.py control`. One worker, no thread and no time. Exit status 1
if the record was counted twice, else 0.
"""

import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import run_main

RECORDS = {"a": ["key"], "b": ["other", "other", "other", "other"]}


class Partition(StatefulSourcePartition):
    """Like a broker, it returns what has arrived: in life 1 partition "b" is first, and in the others partition "a"."""

    def __init__(self, life, name, resumed):
        self.life, self.name, self.position, self.asked = life, name, resumed or 0, 0

    def next_batch(self):
        self.asked += 1
        if (self.life == 0 and self.name == "b") or (self.life == 1 and self.name == "a" and self.asked < 20):
            return []
        found = RECORDS[self.name][self.position : self.position + 1]
        self.position += len(found)
        if found or self.life == 0:
            return found
        if self.life == 1 and self.name == "b":
            raise RuntimeError("the second failure: everything of partition b is done")
        raise StopIteration

    def snapshot(self):
        return self.position


class Source(FixedPartitionedSource):
    def __init__(self, life):
        self.life = life

    def list_parts(self):
        return list(RECORDS)

    def build_part(self, step_id, name, resumed):
        return Partition(self.life, name, resumed)


class Count(op.StatefulBatchLogic):
    def __init__(self, resumed):
        self.count = resumed or 0

    def on_batch(self, values):
        self.count += len(values)
        return [self.count], op.StatefulBatchLogic.RETAIN

    def snapshot(self):
        return self.count


class Last(StatefulSinkPartition):
    def __init__(self, life, counts):
        self.life, self.counts = life, counts

    def write_batch(self, values):
        self.counts.update(values)

    def snapshot(self):
        if self.life == 0:
            raise RuntimeError("the first failure: the epoch is not complete, but the count of the key is written")


class Sink(FixedPartitionedSink):
    def __init__(self, life, counts):
        self.life, self.counts = life, counts

    def list_parts(self):
        return ["all"]

    def build_part(self, step_id, name, resumed):
        return Last(self.life, self.counts)


def live(life, store, counts):
    """Run the job until it fails or finishes."""
    flow = Dataflow("counting")
    values = op.key_on("key", op.input("in", flow, Source(life)), lambda value: value)
    counted = op.stateful_batch("count", values, Count)
    op.output("out", op.map("pair", counted, lambda one: (one[0], one)), Sink(life, counts))
    try:
        run_main(flow, epoch_interval=timedelta(0), recovery_config=RecoveryConfig(store))
    except RuntimeError as error:
        print(f"life {life}: {error.__cause__ or error}", file=sys.stderr)


def forget_what_was_undone(store):
    """Delete the snapshots from the epoch on at which the next life begins: the difference that the control makes."""
    with closing(sqlite3.connect(store / "part-0.sqlite3")) as database, database:
        newest, begins = database.execute("SELECT ex_num, resume_epoch FROM exs ORDER BY ex_num DESC LIMIT 1").fetchone()
        reached = database.execute("SELECT worker_frontier FROM fronts WHERE ex_num = ?", (newest,)).fetchone()
        database.execute("DELETE FROM snaps WHERE snap_epoch >= ?", reached or (begins,))


def main(control):
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        init_db_dir(store, 1)
        for life in range(3):
            if control and life:
                forget_what_was_undone(store)
            live(life, store, counts)
    print(f"there is 1 record of the key, and its last count is {counts['key']}")
    return counts["key"] != 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["control"]))
