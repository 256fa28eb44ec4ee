"""The suite on trial: operator mutants of its own engines, judged by the tests of the room in which they are.

    python -m tests.hunts.suite_mutants reports/suite-mutants.md --into build/suite-mutants

A program changes one operator, constant or statement of a room, and the tests of that room run which come to this line.
They run in a copy of the tree, in a process of their own. A mutant that they do not notice shows a line whose effect no
test of its room asks for. Only lines count that some test of the room comes to in its own process.

The sample of a room is drawn by hashes of the names of the changes, so it hardly changes when the code does. Of each
mutant that survived once, `suite_mutants.toml` knows the test that was written for it since, or why there is none.
"""

from __future__ import annotations

import ast
import importlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import click
import coverage
import hypothesis  # noqa: F401, so that the processes of the mutants have it
import msgspec
import pytest
from msgspec import Struct

from conformance.engines.fair_order import in_fair_order
from conformance.engines.interruption import Interruption
from conformance.engines.operators import Point, changed_text, points
from conformance.engines.position import Follow
from conformance.engines.works import Over
from conformance.ports.changed import Package
from conformance.reporting.markdown import cell, table
from conformance.scenarios import read_toml
from conformance.system.writing import make_folder, write_text
from tests.hunts.keeping import kept_over

ROOT = Path(__file__).parents[2]
PACKAGE = "conformance"
ROOMS = ("driver", "models", "engines", "scenarios", "campaigns")
NEEDED = ("conformance", "strategies", "reference_impl", "tests", "docs", "examples", "reports", "building")
"""These packages and folders make a copy."""
FILES = ("pyproject.toml", "README.md", "Makefile", "checkpoint_conformance_pytest.py")
CPU_SECONDS = 10.0
"""The tests of a mutant together take at most so much processor time, the shortest first."""
LONGEST = 3.0
"""A test function that takes more, with all its parameters, judges nothing: other mutants can be judged meanwhile."""
MARKS = "not flink and not slow and not benchmark and not browser and not spark"
FACTOR = 2
"""A mutant whose tests take so many times as long as they do while they are measured does not end."""
GOAL = 90
SURVIVORS = Path(__file__).parent / "suite_mutants.toml"

Tests = Mapping[str, Sequence[str]]
"""By line, the tests that come to it, the shortest first."""


class Mutated(Struct, frozen=True):
    """The tests of a room, with one line of the room changed."""

    file: str
    """Below the package."""
    number: int
    """The number of the change among those of the file."""
    tests: tuple[str, ...]
    seconds: float
    """What the tests take on the unchanged file."""

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return (self.file,)

    def do(self, interruption: Interruption, follow: Follow) -> str:
        """See `Work`. Returns the test that failed, `does not end` or `cannot be loaded`; empty if all passed."""
        with copied() as tree:
            place = tree / PACKAGE / self.file
            text = place.read_text(encoding="utf-8")
            place.unlink()  # it is a link to the original
            write_text(place, changed_text(text, self.number))
            return failed(tree, self.tests, 5 + FACTOR * self.seconds)


@contextmanager
def copied() -> Iterator[Path]:
    """Yield a copy of the tree, whose files are links to the original ones."""
    make_folder(ROOT / "build")
    with tempfile.TemporaryDirectory(prefix="conformance-mutant-", dir=ROOT / "build") as name:
        tree = Path(name)
        for one in NEEDED:
            ignore = shutil.ignore_patterns("*.json") if one == "reports" else None
            shutil.copytree(ROOT / one, tree / one, copy_function=os.link, ignore=ignore)
        for one in FILES:
            os.link(ROOT / one, tree / one)
        yield tree


def failed(tree: Path, tests: Sequence[str], seconds: float) -> str:
    """Run tests in a copy until one fails, and return it; see `Mutated.do`.

    The process is forked, so that it need not import pytest and Hypothesis: that takes longer than most tests.
    """
    output = tree / "output"
    process = get_context("fork").Process(target=_judge, args=(tree, tests, seconds, output))
    process.start()
    process.join(60 + 10 * seconds)
    if process.exitcode is None:  # it waits, and takes no processor time
        process.kill()
        process.join()
        return "does not end"
    if process.exitcode <= 0:
        return "" if process.exitcode == 0 else "does not end"
    for line in output.read_text(encoding="utf-8").splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split()[1]
    return "cannot be loaded"


def _judge(tree: Path, tests: Sequence[str], seconds: float, output: Path) -> None:
    """Run tests in a copy, in this process, which ends with the status of pytest."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    written = os.open(output, os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(written, stream)
    sys.stdout = sys.stderr = open(written, "w", encoding="utf-8")  # noqa: SIM115  those of a test lead elsewhere
    os.chdir(tree)
    os.environ.update(variables(tree))
    sys.path.insert(0, str(tree))
    sys.dont_write_bytecode = True
    for name in list(sys.modules):
        if name.partition(".")[0] in NEEDED:
            del sys.modules[name]
    importlib.invalidate_caches()
    status = int(pytest.main([*pytest_options(tree), "-x", "-q", "--no-header", "-rfE", *tests]))
    sys.stdout.flush()
    os._exit(status)


def pytest_options(tree: Path) -> list[str]:
    """Return how the tests of a copy are run."""
    return ["-n", "0", "-p", "no:cacheprovider", f"--rootdir={tree}"]


def variables(tree: Path) -> dict[str, str]:
    """Return the environment in which Python finds the packages of a copy."""
    storage = str(ROOT / "build" / "hypothesis")
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONHASHSEED": "0", "HYPOTHESIS_STORAGE_DIRECTORY": storage}


class Survivors(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the mutants that survived their first try, by name."""

    noticed_since: dict[str, str] = {}
    """The test that was written since, and notices it."""
    reasons: dict[str, str] = {}
    """Why no test notices it."""


# ---- which tests come to which line ----------------------------------------------------------------------------------
class Covered(Struct, frozen=True):
    """What a room's tests come to."""

    seconds: dict[str, float]
    """By test, the processor time that it takes."""
    lines: dict[str, dict[int, list[str]]]
    """By file below the package and line, the tests that come to it."""


def cover(room: str, folder: Path) -> Covered:
    """Run the tests of a room, or read what they came to. What does not pass in a copy of the tree is left out."""
    kept = folder / f"{room}.json"
    if kept.exists():
        return msgspec.json.decode(kept.read_bytes(), type=Covered)
    with copied() as tree:
        settings, data, times = tree / "coverage.ini", tree / "covered", tree / "durations.json"
        write_text(settings, f"[run]\ndynamic_context = test_function\nsource = {tree / PACKAGE / room}\n")
        runs = [sys.executable, "-B", "-m", "coverage", "run", f"--rcfile={settings}", f"--data-file={data}"]
        subprocess.run(
            [*runs, "-m", "pytest", *pytest_options(tree), "-q", "--tb=no", "-p", "tests.hunts.durations",
             f"--durations-into={times}", f"--durations-most={LONGEST}", "-m", MARKS, f"tests/{room}"],
            cwd=tree, env=variables(tree), check=False,
        )  # fmt: skip
        seconds = msgspec.json.decode(times.read_bytes(), type=dict[str, float])
        measured = coverage.CoverageData(str(data))
        measured.read()
        by_name = {context_of(node): node for node in seconds}
        lines: dict[str, dict[int, list[str]]] = {}
        for path in sorted(measured.measured_files()):
            lines[Path(path).relative_to(tree / PACKAGE).as_posix()] = {
                line: sorted(by_name[one] for one in contexts if one in by_name)
                for line, contexts in sorted(measured.contexts_by_lineno(path).items())
            }
    found = Covered(seconds, lines)
    make_folder(folder)
    write_text(kept, msgspec.json.encode(found).decode())
    return found


def context_of(node: str) -> str:
    """Return how coverage calls a test: `tests/driver/test_run.py::test_it` is `tests.driver.test_run.test_it`."""
    file, _, rest = node.partition("::")
    return f"{file.removesuffix('.py').replace('/', '.')}.{rest.replace('::', '.')}"


def touching(
    line: int, first: int, covered: Mapping[int, Sequence[str]], seconds: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the tests that come to a line, as many as the time allows, the shortest first.

    `first`: the first line of its statement, by which that is known.
    """
    chosen: list[str] = []
    left = CPU_SECONDS
    for test in sorted(covered.get(line) or covered.get(first, ()), key=lambda test: (seconds[test], test)):
        left -= seconds[test]
        if left < 0 and chosen:
            break
        chosen.append(test)
    return tuple(chosen)


def first_lines(text: str) -> dict[int, int]:
    """Return, for each line of a module, the first line of the innermost statement to which it belongs."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(text)):  # what is outside comes first
        if isinstance(node, ast.stmt):
            found.update(dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node.lineno))
    return found


class Sampled(NamedTuple):
    """A mutant, with the tests that judge it."""

    room: str
    point: Point
    work: Mutated


def changes(rooms: Sequence[str]) -> list[Point]:
    """Return all changes of some rooms."""
    others = [one.name for one in (ROOT / PACKAGE).iterdir() if one.is_dir() and one.name not in rooms]
    return [point for point in points(Package(PACKAGE, others)) if "/" in point.file]


def files_of(some: Sequence[Point]) -> list[str]:
    """Return the files in which these changes are."""
    return sorted({one.file for one in some})


def sample(
    rooms: Sequence[str], count: int, folder: Path, since: Mapping[str, str]
) -> tuple[list[Sampled], dict[str, tuple[int, int]]]:
    """Return mutants; and by room, how many there are, and how many of them tests come to.

    The share of a room is that of its changes in all changes. `since`: see `Survivors.noticed_since`.
    """
    chosen: list[Sampled] = []
    sizes = {}
    every = changes(rooms)
    for room in rooms:
        covered = cover(room, folder)
        lines, seconds = covered.lines, covered.seconds
        mine = [point for point in every if point.file.startswith(f"{room}/")]
        firsts = {file: first_lines((ROOT / PACKAGE / file).read_text(encoding="utf-8")) for file in files_of(mine)}
        reached = [
            Sampled(room, point, Mutated(point.file, point.number, tests, sum(seconds[one] for one in tests)))
            for point in mine
            if (tests := touching(point.line, firsts[point.file][point.line], lines.get(point.file, {}), seconds))
        ]
        sizes[room] = len(mine), len(reached)
        share = -(-count * len(mine) // len(every))  # rounded up
        drawn = in_fair_order(reached, lambda one: one.point.name)[:share]
        chosen += sorted(drawn, key=lambda one: one.point.name)
    return [one if one.point.name not in since else _judged_by(one, since[one.point.name]) for one in chosen], sizes


def _judged_by(one: Sampled, test: str) -> Sampled:
    """Let the test judge a mutant that was written for it."""
    return one._replace(work=msgspec.structs.replace(one.work, tests=(test,), seconds=LONGEST))


# ---- the page --------------------------------------------------------------------------------------------------------
def report(
    tried: Sequence[tuple[Sampled, str]], sizes: Mapping[str, tuple[int, int]], waiting: int, survivors: Survivors
) -> str:
    """Return the page. `tried`: each mutant with the test that noticed it; empty: none did."""
    rows = []
    for room in [*sizes, ""]:
        mine = [(one.point.name, noticed) for one, noticed in tried if room in ("", one.room)]
        now = sum(bool(noticed) for _, noticed in mine)
        first = sum(bool(noticed) and name not in survivors.noticed_since for name, noticed in mine)
        there, reached = sizes.get(room) or (
            sum(one for one, _ in sizes.values()),
            sum(two for _, two in sizes.values()),
        )
        rows.append([
            room or "all", str(there), str(reached), str(len(mine)),
            str(first), _share(first, len(mine)), str(now), _share(now, len(mine)),
        ])  # fmt: skip
    open_ones = [
        [cell(one.point.name), str(len(one.work.tests)), cell(survivors.reasons.get(one.point.name, "open"))]
        for one, noticed in tried
        if not noticed
    ]
    since = [
        [cell(one.point.name), cell(noticed.rpartition("::")[2].partition("[")[0])]
        for one, noticed in tried
        if noticed and one.point.name in survivors.noticed_since
    ]
    left = f" {waiting} more of the sample were not tried." if waiting else ""
    all_, tries = rows[-1], len(tried)
    return "\n".join([
        "# The suite on trial",
        "",
        f"At the first try, tests noticed {all_[4]} of {tries} mutants ({all_[5]}); with the tests that were written "
        f"for survivors since, {all_[6]} of {tries} ({all_[7]}). The goal is {GOAL} %.{left}",
        "",
        "Operator mutants of the suite's own engines: a program changes one operator, constant or statement, and the "
        "tests of the same room run that come to the line, the shortest first, until one fails. They take at most "
        f"{CPU_SECONDS:.0f} CPU seconds; a test function that takes more than {LONGEST:.0f} with all its parameters, "
        "or that starts processes, judges nothing. So a mutant that survives here may be noticed by a longer test, or "
        "by a test of another room. The sample is drawn at random from the changes to which some test comes; the share "
        "of a room is that of its changes. Written by `make suite-mutants`.",
        "",
        table(["room", "changes", "tests come there", "tried", "first", "share", "now", "share"], rows),
        "",
        "## Not noticed",
        "",
        table(["change", "tests", "why"], open_ones),
        "",
        "## Noticed since, by a test that was written for it",
        "",
        table(["change", "test"], since),
        "",
    ])  # fmt: skip


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _try(chosen: Sequence[Sampled], over: Over) -> list[tuple[Sampled, str]]:
    results = over([one.work for one in chosen])
    return [(one, noticed) for one, noticed in zip(chosen, results, strict=True) if noticed is not None]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--into", "folder", type=click.Path(path_type=Path), required=True, help="Keep each result there.")
@click.option("--room", "rooms", multiple=True, type=click.Choice(ROOMS), help="Only these; all.")
@click.option("--count", type=int, default=320, show_default=True, help="How many mutants are tried.")
@click.option("--processes", type=int, default=1, show_default=True)
def main(file: Path, folder: Path, rooms: tuple[str, ...], count: int, processes: int) -> None:
    """Try a sample of mutants, and write the page."""
    survivors = read_toml(SURVIVORS, Survivors, "it must have the tables `noticed_since` and `reasons`")
    chosen, sizes = sample(rooms or ROOMS, count, folder / "covered", survivors.noticed_since)
    with kept_over(folder / "mutants", "suite mutants", processes) as over:
        tried = _try(chosen, over)
    write_text(file, report(tried, sizes, len(chosen) - len(tried), survivors))


if __name__ == "__main__":
    main()
