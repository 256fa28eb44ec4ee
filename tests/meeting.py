"""Lets a command of the suite meet something hostile, and says what came of it."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from conformance.system.supervisor import adopt_orphans, descendants
from conformance.system.text import neutral

ROOT = Path(__file__).parents[1]
LIMITS = ("--step-seconds", "3", "--memory", "500")
CONFORMS, FOUND, REFUSED, INCONCLUSIVE, NOT_WRITTEN = 0, 1, 2, 3, 74
ENDLESS = -1
"""The status of a command that does not end."""
SECONDS = 900
"""A command that runs longer does not end, also on a machine that does much else."""
FORGED = "FORGED"
"""No line that a command writes may begin with it."""
_FINDING = re.compile(r"operations-return-what-the-interface-says  .*?; (.*)$", re.MULTILINE)
"""The line of the table of findings, which is wide enough to have each finding on one line."""
_ESCAPES = (b"\x1b[2J", b"\x1b]8;", "\u202e".encode())
"""Clears the screen; begins a hyperlink; turns the direction of what follows."""
_SHOWN = (".md", ".html", ".ctrf")
"""Files that a reader opens."""
_MEASURE = (
    "import resource, subprocess, sys; code = subprocess.run([sys.executable, '-c', "
    "'import sys; from conformance.cli import main; main()', *sys.argv[2:]]).returncode; "
    "open(sys.argv[1], 'w').write(f'{code} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}')"
)
"""Runs a command, and writes its status and the memory of its largest process, in KiB."""


class Case(NamedTuple):
    """Something hostile, and the command that meets it."""

    what: str
    arguments: tuple[str, ...]
    status: int
    """The exit status that the command must have."""
    prepare: Callable[[Path], None] = lambda folder: None
    """Makes the files that the arguments name, in the folder in which the command runs."""
    largest: int | None = None
    """The size of the largest file that the machine lets the command write, in bytes; None: there is no limit."""
    told: str = ""
    """What the command must print."""
    most: int | None = None
    """How many bytes the command may print; None: as many as it likes."""


class Met(NamedTuple):
    """What came of a case."""

    case: Case
    status: int
    said: str
    mebibytes: int
    """The memory of the largest process."""
    seconds: float
    left: int
    """How many processes the command has left behind."""
    escaped: bool
    """Whether the command wrote an escape sequence of the stranger, or a file outside of the folder."""
    told: bool
    """Whether the command printed what it must print, and no more than it may."""

    @property
    def is_well(self) -> bool:
        """Whether it is as it should be."""
        return self.status == self.case.status and self.told and not self.left and not self.escaped


def met(case: Case, folder: Path) -> Met:
    """Run the command of a case in a folder of its own."""
    inside = folder / "a" / "b"
    inside.mkdir(parents=True)
    case.prepare(inside)
    (inside / "escaping.py").write_text("import pathlib; pathlib.Path('escaped').touch()")
    before = set(_outside(folder, inside))
    adopt_orphans()  # a process that loses its parent under the command is found here, also without the mark
    mine = set(descendants())
    mark = f"STRANGERS={os.getpid()}.{folder.name}"
    name, _, value = mark.partition("=")
    measured = folder / "measured"
    began = time.monotonic()

    def limit() -> None:
        if case.largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case.largest, case.largest))

    try:
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE, str(measured), *case.arguments],
            cwd=inside, env={**os.environ, "PYTHONPATH": f"{ROOT}:.", name: value, "COLUMNS": "1000"},
            capture_output=True, timeout=SECONDS, check=False, preexec_fn=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        why = f"it did not end in {SECONDS} seconds"
        return Met(case, ENDLESS, why, 0, SECONDS, len(_left(mark, mine)), escaped=False, told=False)
    seconds = time.monotonic() - began
    status, memory = map(int, measured.read_text().split())
    outside = set(_outside(folder, inside)) - before - {measured}
    output = done.stdout + done.stderr
    shown = {path: path.read_bytes() for path in _pages(inside)}
    scripted = any(path.suffix == ".html" and b"<script" in content for path, content in shown.items())
    escaped = bool(outside) or scripted or any(map(acts, (output, *shown.values()))) or (inside / "escaped").exists()
    printed = done.stdout.decode(errors="replace")
    said = next((one for one in printed.splitlines() if case.told and case.told in one), None)
    well = (said is not None or not case.told) and len(output) <= (case.most or sys.maxsize)
    return Met(
        case, status, _said(done.stdout, done.stderr, inside) if said is None else " ".join(neutral(said).split()),
        memory >> 10, seconds, len(_left(mark, mine)), escaped, well,
    )  # fmt: skip


def acts(written: bytes) -> bool:
    """Whether something that was written does more to a reader than to say words."""
    return any(one in written for one in _ESCAPES) or any(
        line.startswith(FORGED.encode()) for line in written.splitlines()
    )


def _pages(folder: Path) -> Iterator[Path]:
    """Yield what people open, in a folder and in those below it, of which there may be 1,200 in each other."""
    left = [folder]
    while left:
        for path in left.pop().iterdir():
            if path.is_dir() and not path.is_symlink():
                left.append(path)
            elif path.suffix in _SHOWN and path.is_file():
                yield path


def _outside(folder: Path, inside: Path) -> Iterator[Path]:
    """Yield what is in a folder, but not what is in `inside`."""
    for path in folder.iterdir():
        yield path
        if path.is_dir() and path != inside:
            yield from _outside(path, inside)


def _said(stdout: bytes, stderr: bytes, folder: Path) -> str:
    """Return what was observed, or else the message, without what is particular to this machine."""
    table = _FINDING.search(stdout.decode(errors="replace"))
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    lines = lines or [" ".join(stdout.decode(errors="replace").strip().splitlines()[-2:])]
    errors = (line for line in lines if line.startswith("Error") or "could not be written" in line)
    error = next(errors, lines[0] if lines else "")
    said = table[1] if table is not None else error.removeprefix("conformance: ")
    said = said.replace(sys.executable, "python").replace(str(folder), "DIR")
    return " ".join(neutral(said).split())


def _left(mark: str, before: set[int]) -> set[int]:
    """Return the processes that bear the mark, or are below this one, and were not there before."""
    bearing = {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _bears(pid, mark)}
    return {pid for pid in bearing | set(descendants()) - before if _runs(pid)}


def _bears(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
