"""A tiny engine and its adapter in one program, for tests: `tiny_engine.py MODE [BUG] COMMAND …`.

One loop reads, counts and writes. A checkpoint is a file that is renamed into its place. By MODE:
cut: output is a file that is cut back to its length in the restored checkpoint;
two-phase: output of a checkpoint is prepared, and committed by a rename once the checkpoint is complete;
batches: what a batch reads is logged first, and its output is a file that a replay replaces;
appends: output is a file, nothing is cut back.
"""

import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

MODES = {"cut": "exactly-once", "two-phase": "exactly-once", "batches": "once-per-batch", "appends": "at-least-once"}
BUGS = ("", "lost", "doubled", "state", "vanishes", "refuses", "changes", "invents", "repeats", "no-checkpoint",
        "early", "crashes", "plain", "hangs", "skips", "renames", "restarts", "gives up",
        "no savepoint", "no choice", "damages", "skips when stopped", "terminates",
        "two cores", "lazy")  # fmt: skip
SELDOM = 1000
"""With so many records between two checkpoints, there is none either when nothing is left to be read."""
RESTARTS = ("restarts", "gives up")
"""The engine restarts the job in its process if user code throws, or promises that."""
MODE = sys.argv[1]
BUG = sys.argv[2] if sys.argv[2] in BUGS else ""
COMMAND, *REST = sys.argv[3 if sys.argv[2] in BUGS else 2 :]
MYSELF = [sys.executable, "-S", "-E", __file__, MODE, *([BUG] if BUG else [])]


def main() -> None:
    if COMMAND == "describe":
        promises = {"output": MODES[MODE], "committed": MODE != "cut", "rescales": True, "images": True,
                    "continues": True, "chosen": True, "savepoint": True,
                    "stops": True, "restarts": BUG in RESTARTS}  # fmt: skip
        places = ["source", "count", "count-snapshot", "sink-before", "sink-after", "notice"]
        print(json.dumps({"name": f"tiny {MODE}", "promises": promises, "places": places, "rows": "out/*.jsonl",
                          "progress": "out/*.jsonl", "checkpoints": True, "start_seconds": 10,
                          "knobs": {"every": [1, 4, 16]}, "cores": 1 + (BUG == "two cores")}))  # fmt: skip
    elif COMMAND == "prepare":
        (Path(REST[0]) / "out").mkdir()
        if BUG == "terminates":
            terminate(Path(REST[0]).parents[1] / "prepared")
    elif COMMAND == "command":
        for request in ("savepoint", "stop", "asked"):  # it was made to a life that has died
            (Path(REST[0]) / request).unlink(missing_ok=True)
        print(json.dumps([sys.executable, "-S", __file__, *MYSELF[4:], "run", *REST]))
    elif COMMAND == "checkpoints":
        print(number(Path(REST[0])))
    elif COMMAND in ("savepoint", "stop"):
        (Path(REST[0]) / COMMAND).touch()
    elif COMMAND == "checkpoint":
        asked = Path(REST[0]) / "asked"
        asked.touch()
        late = time.monotonic() + 1
        while asked.exists() and time.monotonic() < late:
            time.sleep(0.002)
        print(number(Path(REST[0])) + asked.exists())
    else:
        while True:
            try:
                return Job(Path(REST[0]), json.loads(Path(REST[1]).read_text())).run()
            except RuntimeError:
                if BUG not in RESTARTS:
                    raise
                if BUG == "gives up":
                    sys.exit("it was too much")


def terminate(runs: Path) -> None:
    """Ends the suite when the second episode after the plain run is prepared, and waits for that."""
    with runs.open("a") as file:
        file.write(".")
    if runs.stat().st_size == 3:
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(60)


def number(folder: Path) -> int:
    """Returns how many checkpoints have completed."""
    state = folder / "checkpoint.json"
    return int(json.loads(state.read_text())["number"]) if state.exists() else 0


class Job:
    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        points = import_module("points")  # the suite puts it on the path of the job

        self.points, self.folder, self.every = points, folder, plan["knobs"].get("every", 4)
        state: dict[str, Any] = {"number": 0, "offsets": [0] * plan["splits"], "counts": {}, "length": 0, "batch": 0}
        self.has_state = (folder / "checkpoint.json").exists()
        if self.has_state:
            if BUG == "refuses":
                sys.exit("cannot restore")
            points.restored()
            state = json.loads((folder / "checkpoint.json").read_text())
        self.state = state
        if BUG == "plain":
            state["offsets"][0] += 1
        if self.has_state and BUG in ("lost", "doubled"):
            state["offsets"][0] = max(0, state["offsets"][0] + (1 if BUG == "lost" else -1))
        if self.has_state and BUG == "state":
            state["counts"] = {key: max(0, count - 1) for key, count in state["counts"].items()}
        self.splits = [points.Split(str(folder), at, offset) for at, offset in enumerate(state["offsets"])]
        self.rows: list[list[Any]] = []
        if MODE == "cut":
            (folder / "out" / "all.jsonl").touch()
            os.truncate(folder / "out" / "all.jsonl", state["length"])
        if MODE == "two-phase":
            if self.has_state and BUG == "vanishes":
                for one in sorted(folder.glob("out/*.jsonl"))[:1]:
                    one.unlink()
            self.commit()
            for one in folder.glob("prepared-*"):
                one.unlink()

    def run(self) -> None:
        since = 0
        while True:
            if (self.folder / "stop").exists():  # as with a kill, what came after the checkpoint is read again
                (self.folder / "stop").unlink()
                if BUG == "skips when stopped":
                    self.state["offsets"][0] += 1
                    self.checkpoint()
                if MODE == "cut":  # the next life cuts it off
                    with (self.folder / "out" / "all.jsonl").open("a") as file:
                        file.write("half a row\n")
                return
            if (self.folder / "asked").exists():
                if BUG != "no choice":
                    self.checkpoint()
                (self.folder / "asked").unlink()
            rows, ended = self.read()
            if not rows and (self.folder / "savepoint").exists():
                (self.folder / "savepoint").unlink()
                if BUG != "no savepoint":
                    self.checkpoint()
                return
            for split, one in rows:
                self.points.here("count")
                key = str(one["key"])
                self.state["counts"][key] = count = self.state["counts"].get(key, 0) + 1
                self.state["offsets"][split] += 1
                if BUG == "skips" and self.has_state and count == 3:
                    count = 2
                self.write([1 - one["key"] if BUG == "renames" else one["key"], count, one["id"]])
                since += 1
            if BUG == "crashes" and sum(self.state["offsets"]) > 20:
                sys.exit("out of luck")
            if BUG == "early" and sum(self.state["offsets"]) > 20:
                ended = True
            if since and (since >= self.every or (not rows and self.every < SELDOM) or MODE == "batches"):
                self.checkpoint()
                since = 0
            if ended:
                if since or BUG != "lazy":
                    self.checkpoint()
                if BUG == "damages" and self.has_state:
                    with (self.folder / "out" / "all.jsonl").open("a") as file:
                        file.write("\0\0\0[0, 1, 1]\n")
                if BUG == "invents" and self.has_state:
                    self.write([0, 1, 999_999])
                    self.checkpoint()
                return
            while BUG == "hangs" and self.has_state:
                time.sleep(1)
            if not rows:
                time.sleep(0.002)

    def read(self) -> tuple[list[tuple[int, dict[str, int]]], bool]:
        """Returns the next records with their splits, and whether none follow."""
        self.points.here("source")
        log = self.folder / f"batch-{self.state['batch']}.json"
        if MODE == "batches" and log.exists() and BUG != "changes":
            return [(split, one) for split, many in enumerate(json.loads(log.read_text()))
                    for one in (self.splits[split].read(many) if many else ())], False  # fmt: skip
        most = self.every if BUG != "changes" or not self.has_state else self.every + 1
        found = [split.read(most) for split in self.splits]
        if MODE == "batches" and any(found):
            self.replace(log, json.dumps([len(one or ()) for one in found]))
        return [(split, one) for split, some in enumerate(found) for one in some or ()], not any(
            one is not None for one in found
        )

    def write(self, row: list[Any]) -> None:
        if MODE in ("cut", "appends"):
            self.points.here("sink-before")
            with (self.folder / "out" / "all.jsonl").open("a") as file:
                file.write((json.dumps(row) + "\n") * (2 if BUG == "repeats" else 1))
            self.points.here("sink-after")
        else:
            self.rows.append(row if MODE == "two-phase" else [*row, self.state["batch"]])

    def checkpoint(self) -> None:
        if BUG == "no-checkpoint" and self.has_state:
            return
        self.points.here("count-snapshot")
        number = self.state["number"] = self.state["number"] + 1
        text = "".join(json.dumps(row) + "\n" for row in self.rows)
        if MODE == "batches" and self.rows:
            self.points.here("sink-before")
            self.replace(self.folder / "out" / f"{self.state['batch']:06}.jsonl", text)
            self.points.here("sink-after")
            self.state["batch"] += 1
        if MODE == "two-phase" and self.rows:
            (self.folder / f"prepared-{number:06}").write_text(text)
        if MODE == "cut" and (self.folder / "out" / "all.jsonl").exists():
            self.state["length"] = (self.folder / "out" / "all.jsonl").stat().st_size
        self.rows = []
        self.replace(self.folder / "checkpoint.json", json.dumps(self.state))
        if MODE == "two-phase":
            self.commit()
        self.points.here("notice")

    def commit(self) -> None:
        """Commits what a completed checkpoint has prepared."""
        for one in sorted(self.folder.glob("prepared-*")):
            number = int(one.name.partition("-")[2])
            if number <= self.state["number"]:
                self.points.here("sink-before")
                one.rename(self.folder / "out" / f"{number:06}.jsonl")
                self.points.here("sink-after")

    def replace(self, path: Path, text: str) -> None:
        self.points.here("sink-snapshot")
        new = path.with_name("." + path.name)
        new.write_text(text)
        new.rename(path)


if __name__ == "__main__":
    main()
