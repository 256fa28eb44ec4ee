"""Measures which known bugs of other components a search of whole jobs finds, and writes the report.

    python -m tests.engines.reach reports/reach.md

A job uses the code of the other components, so many of their bugs change what a job does. Those count, of which in some
scenario the history of a job differs from that of the reference. The bugs are tried in an order that says nothing about
them, and the report is written anew behind each, so that one that was interrupted is about a fair sample.
"""

from __future__ import annotations

import ast
import hashlib
import signal
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import click

from conformance.components import COMPONENTS
from conformance.driver import Program, Run
from conformance.engines.compare import first_difference
from conformance.engines.search import Search, seeds
from conformance.ports import KnownBug, find_implementation, known_bugs
from conformance.ports.changed import Package
from conformance.ports.changes import CATALOGUES
from conformance.reporting.markdown import cell, table
from conformance.system.writing import write_text

SEED = "reach"
JOB = "pipeline"
PACKAGE = "reference_impl"
PROFILED = 40
"""In so many scenarios it is found out which functions jobs use."""
COMPARED = 40
"""A bug that changes no history in so many scenarios is taken for one that changes nothing in jobs."""
SCENARIOS = 150
"""A bug that is not found in so many scenarios is not found."""
SECONDS = 60
"""An implementation that takes so much processor time has hung, which a check finds, too."""
GOAL = 50

Functions = Mapping[str, frozenset[str]]
"""By file of the package, the qualified names of the functions that were called."""


class Reach(NamedTuple):
    """What a search of jobs says of one known bug."""

    bug: KnownBug
    differs: bool
    found_by: str = ""
    """The slug of the property that failed; empty: none did."""
    scenarios: int = 0
    """After how many it failed."""


def used(package: Package, scenarios: int = PROFILED) -> Functions:
    """Returns the functions of the reference that jobs call in so many scenarios."""
    codes: set[CodeType] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    with closing(find_implementation("reference")) as implementation:
        search = Search(Program(COMPONENTS[JOB], implementation))
        sys.setprofile(profile)
        try:
            for text in seeds(SEED, JOB, range(scenarios)):
                search.run(text)
        finally:
            sys.setprofile(None)
    called: dict[str, set[str]] = {file: set() for file in package.files}
    for code in codes:
        for file in package.files:
            if code.co_filename.endswith(f"{PACKAGE}/{file}"):
                called[file].add(code.co_qualname)
    return {file: frozenset(names) for file, names in called.items() if names}


def functions(text: str) -> dict[str, str]:
    """Returns what a module consists of: by qualified name, its functions, and by an empty one, all else."""
    found: dict[str, str] = {}

    def walk(body: Sequence[ast.stmt], inside: str) -> str:
        rest = []
        for one in body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                found[inside + one.name] = ast.dump(one)
            elif isinstance(one, ast.ClassDef):
                rest.append(walk(one.body, f"{inside}{one.name}."))
            else:
                rest.append(ast.dump(one))
        return "\n".join(rest)

    found[""] = walk(ast.parse(text).body, "")
    return found


def is_used(bug: KnownBug, package: Package, called: Functions) -> bool:
    """Returns whether a bug changes a function that jobs call, or adds one to a module that they use."""
    for file, text in package.changed_texts(bug.change).items():
        before, after = functions(package.text(file)), functions(text)
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        if file in called and any(name in called[file] or not name or name not in before for name in changed):
            return True
    return False


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TimeoutError inside whatever takes more processor time than this."""

    def hang(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"this took {seconds} seconds")

    before = signal.signal(signal.SIGVTALRM, hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Baseline:
    """The histories of the reference, each made when it is asked for."""

    def __init__(self) -> None:
        self._search = Search(Program(COMPONENTS[JOB], find_implementation("reference")))
        self._runs: dict[str, Run] = {}

    def run(self, text: str) -> Run:
        """Returns the run of the scenario that is drawn from a seed."""
        if text not in self._runs:
            self._runs[text] = self._search.run(text, record=True)[1]
        return self._runs[text]


def reach(bug: KnownBug, baseline: Baseline, scenarios: int = SCENARIOS, compared: int = COMPARED) -> Reach:
    """Returns whether a search of jobs finds a bug, and if it does not, whether the bug changes anything there."""
    differs, at = False, 0
    try:
        with limited(SECONDS), closing(bug.build()) as implementation:
            search = Search(Program(COMPONENTS[JOB], implementation))
            for at, text in enumerate(seeds(SEED, JOB, range(scenarios)), 1):
                run = search.run(text, record=not differs)[1]
                if run.violation is not None:
                    return Reach(bug, True, run.violation.property.slug, at)
                differs = differs or first_difference(baseline.run(text), run) is not None
                if not differs and at >= compared:
                    break
    except TimeoutError:
        return Reach(bug, True, "hung", at)
    return Reach(bug, differs)


def report(tried: Sequence[Reach], unused: Collection[KnownBug], waiting: int) -> str:
    """Returns the page."""
    counted = [one for one in tried if one.differs]
    found = sorted((one for one in counted if one.found_by), key=lambda one: one.scenarios)
    components = sorted({one.bug.component for one in tried})
    rows = []
    for component in [*components, ""]:
        mine = [one for one in tried if component in ("", one.bug.component)]
        differ = [one for one in mine if one.differs]
        hits = sorted(one.scenarios for one in differ if one.found_by)
        rows.append([
            component or "all", str(len(mine)), str(len(differ)), str(len(hits)),
            f"{100 * len(hits) // len(differ)} %" if differ else "-",
            str(hits[len(hits) // 2]) if hits else "-", str(hits[-1]) if hits else "-",
        ])  # fmt: skip
    missed = [
        [one.bug.id, one.bug.component, cell(one.bug.property), cell(one.bug.summary)]
        for one in sorted(counted, key=lambda one: (one.bug.component, one.bug.id))
        if not one.found_by
    ]
    seen = [
        [one.bug.id, one.bug.component, str(one.scenarios), cell(one.found_by), cell(one.bug.summary)] for one in found
    ]
    share = f"{100 * len(found) // len(counted)} %" if counted else "none"
    left = f" {waiting} more are in code that jobs use and were not tried yet." if waiting else ""
    return f"""# What whole jobs reach

Known bugs of other components, in code that jobs use, looked for by the rules of jobs alone. A bug counts if it changes
the history of a job in some of {COMPARED} scenarios; it is found if a property of jobs fails in {SCENARIOS}. Written by
`python -m tests.engines.reach`, with the seed `{SEED}`.

{len(found)} of {len(counted)} that count were found ({share}; the goal is {GOAL} %).
{len(tried)} were tried in all.{left}
{len(unused)} others change only what jobs do not use.

{table(["component", "tried", "change a run", "found", "share", "median of scenarios", "most"], rows)}

What no job can see is no gap: credit that is announced once more or less, the order in which locks are taken, what is
counted or notified in another way while the same records come out.

## Not found

{table(["bug", "component", "its property", "what is wrong"], missed)}

## Found

{table(["bug", "component", "scenarios", "property of jobs", "what is wrong"], seen)}
"""


def order(bug: KnownBug) -> str:
    """Returns a key by which bugs are in an order that says nothing about them."""
    return hashlib.sha256(bug.id.encode()).hexdigest()


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--most", type=int, default=None, help="How many bugs are tried; all.")
def main(file: Path, most: int | None) -> None:
    """Try the bugs, and write the file behind each."""
    package = Package(PACKAGE, CATALOGUES)
    called = used(package)
    older = sorted((one for one in known_bugs() if one.component != JOB and one.change), key=order)
    candidates = [one for one in older if is_used(one, package, called)]
    unused = [one for one in older if one not in candidates]
    baseline = Baseline()
    tried: list[Reach] = []
    for bug in candidates[:most]:
        tried.append(reach(bug, baseline))
        write_text(file, report(tried, unused, len(candidates) - len(tried)))


if __name__ == "__main__":
    main()
