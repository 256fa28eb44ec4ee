"""Spark behind the suite: `conformance episodes "python examples/spark/adapter.py"`. See docs/episodes.md."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

BUG = os.environ.get("EPISODE_BUG", "")
OWN = BUG in ("skips", "reads again")  # these are bugs of the job's own source

DESCRIPTION = {
    "name": "spark",
    "version": version("pyspark"),
    "promises": {"output": "once-per-batch", "rescales": True, "images": True, "continues": True, "stops": True},
    "knobs": {
        "store": ["hdfs", "rocksdb", "rocksdb"],
        "changelog": [False, True],
        "format": [1, 2],
        "operator": ["groups", "transform"],
        "distinct": [False, True],
        "source": ["own"] if OWN else ["own", "files"],
        "batch": [13, 5, 34],  # records of a split
        "retain": [100, 1, 2, 5],
        "maintenance": ["60s", "50ms", "500ms"],
        "snapshot after": [10, 1, 3],
        "checksums": [True, False],
        "row checksums": [False, True],
        "offset log": [1, 2],
        "compact sources": [10, 2],
        "unload": [False, True],
        "in memory": [2, 0],
        "extra space": ["0.3", "0"],
        "async purge": [True, False],
        "encoding": ["unsaferow", "avro"],
        "verify empty": [True, False],
        "host dies": [False] * 15 + [True],
    },
    "places": ["source", "source-snapshot", "count", "sink-before", "sink-snapshot", "sink-after", "notice"],
    "most_parallelism": 3,
    "rows": "out/*",
    "progress": "checkpoint/[oc]*/*",  # offsets and commits
    "checkpoints": True,
    "start_seconds": 6.0,
    "serves": True,
    "host": True,
    "cores": 2,
}
OPENED = ("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
          "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
          "sun.security.action", "sun.util.calendar")  # fmt: skip


def compiled(jars):
    """The folder of the compiled classes. It is kept until a source or Spark changes, since compiling takes seconds."""
    sources = sorted(Path(__file__).parent.glob("*.java"))
    key = hashlib.sha256(b"".join(one.read_bytes() for one in sources) + DESCRIPTION["version"].encode()).hexdigest()
    classes = Path(__file__).parent / "classes" / key[:16]
    if not classes.exists():
        classes.parent.mkdir(exist_ok=True)
        new = tempfile.mkdtemp(dir=classes.parent)
        subprocess.run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", new, *map(str, sources)], check=True)
        with suppress(OSError):  # another process was faster
            os.rename(new, classes)
    return classes


def host(folder):
    """The command of the process in which the queries run."""
    jars = Path(find_spec("pyspark").origin).parent / "jars"
    opened = [f"--add-opens=java.base/{one}=ALL-UNNAMED" for one in OPENED]
    cheap = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g"]
    return json.dumps(["java", *cheap, *opened, "-cp", f"{compiled(jars)}:{jars}/*", "Job", folder])


def prepare(folder, plan):
    (Path(folder) / "out").mkdir()
    return ""


def stop(folder):
    """Asks the query that runs to stop."""
    (Path(folder) / "stop").touch()
    return ""


def command(folder, plan, parallelism):
    (Path(folder) / "stop").unlink(missing_ok=True)
    return json.dumps([sys.executable, __file__, "life", folder, plan, parallelism])


def life(folder, plan, parallelism):
    """A life: the host runs a query for it, and is told to end it by SIGTERM."""
    request = {
        "folder": folder, "plan": json.loads(Path(plan).read_text()), "parallelism": int(parallelism), "bug": BUG,
        "armed": os.environ["EPISODE_ARMED"] or "::0", "notes": os.environ["EPISODE_NOTES"],
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX) as link:
        signal.signal(signal.SIGTERM, lambda *_: link.shutdown(socket.SHUT_WR))
        link.connect(os.environ["EPISODE_HOST"] + "/socket")
        link.sendall(json.dumps(request).encode() + b"\n")
        said = link.makefile().read()
    sys.exit(0 if said == "finished" else said or "the host is gone")


def checkpoints(folder):
    """How many batches are committed."""
    commits = (int(one.name) for one in Path(folder).glob("checkpoint/commits/*") if one.name.isdigit())
    return str(max(commits, default=-1) + 1)


def answer(name, *rest):
    known = {"host": host, "prepare": prepare, "command": command, "stop": stop, "checkpoints": checkpoints}
    return known[name](*rest)


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    if name == "describe":
        print(json.dumps(DESCRIPTION))
    elif name == "serve":
        for line in sys.stdin:
            print(json.dumps(answer(*json.loads(line))), flush=True)
    elif name == "life":
        life(*rest)
    else:
        print(answer(name, *rest))
