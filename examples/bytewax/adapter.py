"""Bytewax behind the suite: `conformance episodes "python examples/bytewax/adapter.py"`. See docs/episodes.md."""

import json
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from bytewax.recovery import init_db_dir

DESCRIPTION = {
    "name": "bytewax",
    "version": "0.21.1",
    "promises": {
        "output": "exactly-once",
        "committed": False,  # the file is cut back to its length in the restored snapshot
        "rescales": True,
        "images": True,
        "continues": True,
    },
    "knobs": {
        "interval": [0, 2, 20, 60],  # milliseconds between snapshots; 0: after each batch
        "batch": [1, 3, 7],
        "backup": [0, 100],
        "stores": [1, 2, 3],
        "files": [1, 2, 3],
        "processes": [1, 1, 1, 1, 1, 1, 1, 2],
    },
    "places": ["source", "source-snapshot", "count", "count-snapshot", "sink-before", "sink-after", "sink-snapshot"],
    "most_parallelism": 3,
    "rows": "out/*",
    "progress": "out/*",
    "checkpoints": True,
    "serves": True,
    "start_seconds": 5.0,
}


def free_port():
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def prepare(folder, plan):
    stores = json.loads(Path(plan).read_text())["knobs"]["stores"]
    for name in ("out", "recovery"):
        (Path(folder) / name).mkdir()
    init_db_dir(Path(folder) / "recovery", stores)
    return ""


def command(folder, plan, parallelism):
    job = [sys.executable, str(Path(__file__).with_name("job.py")), folder, plan, parallelism]
    many = json.loads(Path(plan).read_text())["knobs"]["processes"]
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(many)] if many > 1 else []
    return json.dumps([[*job, str(process), *addresses] for process in range(many)])


def checkpoints(folder):
    """The newest epoch from which the job would be restored: that of the slowest worker in the newest execution."""
    found = {}
    for path in Path(folder).glob("recovery/*.sqlite3"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            for execution, worker, epoch in store.execute("SELECT ex_num, worker_index, worker_frontier FROM fronts"):
                workers = found.setdefault(execution, {})
                workers[worker] = max(epoch, workers.get(worker, 0))
    return str(min(found[max(found)].values()) if found else 0)


def answer(name, *rest):
    return {"prepare": prepare, "command": command, "checkpoints": checkpoints}[name](*rest)


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    if name == "describe":
        print(json.dumps(DESCRIPTION))
    elif name == "serve":
        for line in sys.stdin:
            print(json.dumps(answer(*json.loads(line))), flush=True)
    else:
        print(answer(name, *rest))
