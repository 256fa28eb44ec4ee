"""Measures which known bugs of other components a search of a component finds, and writes the report.

    python -m tests.hunts.reach reports/reach.md --into build/reach

Components share code: a gate has channels, a task has gates, a job has all of them. So many bugs of one component
change what others do. Those count, of which in some scenario the history differs from that of the reference: what was
found of them says how strong the rules of the component are, and how many there are, how far its scenarios come. The
bugs of a component are tried in an order that says nothing about them, and the components take turns, so that a report
that was stopped is about a fair sample of each.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import click

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.fair_order import in_fair_order
from conformance.engines.search import Search, seeds
from conformance.engines.works import Over
from conformance.ports import KnownBug, find_implementation, known_bugs
from conformance.ports.changed import Package
from conformance.ports.changes import CATALOGUES
from conformance.reporting.markdown import cell, table
from conformance.scenarios import read_toml
from conformance.system.writing import write_text
from tests.hunts.keeping import kept_over
from tests.hunts.sought import PACKAGE, Seen, Sought

SEED = "reach"
PROFILED = 40
"""In so many scenarios it is found out which functions a component uses."""
COMPARED = 40
"""A bug that changes no history in so many scenarios is taken for one that changes nothing in the component."""
SCENARIOS = 150
"""A bug that is not found in so many scenarios is not found."""
PORTION = 40
"""So many pairs are tried before the next ones."""
REASONS = Path(__file__).parent / "out_of_reach.toml"

Functions = Mapping[str, frozenset[str]]
"""By file of the package, the qualified names of the functions that were called."""


class Reach(NamedTuple):
    """What a search with the rules of one component says of a known bug of another."""

    component: str
    bug: KnownBug
    seen: Seen

    @property
    def counts(self) -> bool:
        """Whether it changes what the component does."""
        return bool(self.seen.differs or self.seen.found_by)


def used(package: Package, component: str, scenarios: int = PROFILED) -> Functions:
    """Returns the functions of the reference that a component calls in so many scenarios."""
    codes: set[CodeType] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    with closing(find_implementation("reference")) as implementation:
        search = Search(Program(COMPONENTS[component], implementation))
        sys.setprofile(profile)
        try:
            for text in seeds(SEED, component, range(scenarios)):
                search.run(text)
        finally:
            sys.setprofile(None)
    called: dict[str, set[str]] = {file: set() for file in package.files}
    for code in codes:
        for file in package.files:
            if code.co_filename.endswith(f"{PACKAGE}/{file}"):
                called[file].add(code.co_qualname)
    return {file: frozenset(names) for file, names in called.items() if names}


@lru_cache(maxsize=256)
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


def changed_functions(change: str, package: Package) -> dict[str, frozenset[str]]:
    """Returns by file what a diff changes; a function that it adds is an empty name, since whoever calls it may be
    anywhere in the module."""
    found = {}
    for file, text in package.changed_texts(change).items():
        before, after = functions(package.text(file)), functions(text)
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        found[file] = frozenset(name if name in before else "" for name in changed)
    return found


def is_used(changed: Functions, called: Functions) -> bool:
    """Returns whether one of the changed functions is called, or something else in a module that is used is changed."""
    return any(file in called and ("" in names or names & called[file]) for file, names in changed.items())


class Pairs(NamedTuple):
    """Which bugs are tried with which component."""

    tried: tuple[tuple[str, KnownBug], ...]
    """The components take turns, each with its bugs in an order that says nothing about them."""
    unused: Mapping[str, int]
    """By component, how many bugs of others change only what it does not use."""


def pairs(components: Collection[str], bugs: Sequence[KnownBug]) -> Pairs:
    """Return the pairs of a component and a bug of another one in code that it uses."""
    package = Package(PACKAGE, CATALOGUES)
    changed = {bug.id: changed_functions(bug.change, package) for bug in bugs if bug.change}
    found: list[list[tuple[str, KnownBug]]] = []
    unused = {}
    for component in components:
        called = used(package, component)
        others = [bug for bug in bugs if bug.component != component and bug.change]
        mine = [bug for bug in others if is_used(changed[bug.id], called)]
        unused[component] = len(others) - len(mine)
        found.append(in_fair_order([(component, bug) for bug in mine], lambda pair: f"{pair[0]}/{pair[1].id}"))
    turns = zip_longest(*found)
    return Pairs(tuple(pair for turn in turns for pair in turn if pair is not None), unused)


def reach(
    chosen: Sequence[tuple[str, KnownBug]], over: Over, scenarios: int = SCENARIOS, compared: int = COMPARED
) -> list[Reach]:
    """Try pairs, a portion after another: whoever does works may do those first that take long. Those are missing that
    an interruption left out."""
    found: list[Reach] = []
    for first in range(0, len(chosen), PORTION):
        portion = chosen[first : first + PORTION]
        works = [Sought(component, bug.change, SEED, scenarios, compared) for component, bug in portion]
        found += [Reach(*pair, seen) for pair, seen in zip(portion, over(works), strict=True) if seen is not None]
    return found


# ---- the page --------------------------------------------------------------------------------------------------------
def report(tried: Sequence[Reach], unused: Mapping[str, int], waiting: int, reasons: Mapping[str, str]) -> str:
    """Returns the page. `waiting`: how many pairs were not tried; `reasons`: by component, what is out of its reach."""
    counted = [one for one in tried if one.counts]
    found = [one for one in counted if one.seen.found_by]
    share = f"{100 * len(found) // len(counted)} %" if counted else "none"
    left = f" {waiting} more were not: those that were are a fair sample of each component." if waiting else ""
    rows = [_row(name, [one for one in tried if one.component == name], unused[name]) for name in unused]
    missed: list[str] = []
    for name in unused:
        lines = [
            [one.bug.id, one.bug.component, str(one.seen.differs), cell(one.bug.property), cell(one.bug.summary)]
            for one in sorted(counted, key=lambda one: (one.bug.component, one.bug.id))
            if one.component == name and not one.seen.found_by
        ]
        missed += [f"## {name}", "", reasons.get(name, "Nothing was said about this component yet."), ""]
        if lines:
            head = ["bug", "component", "differs in", "its property", "what is wrong"]
            missed += [table(head, lines), ""]
    return "\n".join([
        "# What each component reaches",
        "",
        "Known bugs of other components, in code that a component uses, looked for by the rules of that component "
        f"alone. A bug *changes a run* if some of {COMPARED} scenarios has another history than with the reference; it "
        f"is *found* if a property of the component fails in {SCENARIOS}. What changes a run and is not found is "
        "either allowed to this component or shows a rule that is too weak. Written by `python -m tests.hunts.reach`, "
        f"with the seed `{SEED}`.",
        "",
        f"{len(found)} of {len(counted)} that change a run were found ({share}). {len(tried)} pairs of a component and "
        f"a bug were tried.{left}",
        "",
        table(
            ["component", "not used", "tried", "change a run", "found", "share", "median of scenarios", "most"],
            [*rows, _row("all", tried, sum(unused.values()))],
        ),
        "",
        "The tables name what changes a run of the component and was not found, and the number of the first scenario "
        "in which it does.",
        "",
        *missed,
    ])  # fmt: skip


def _row(name: str, mine: Sequence[Reach], unused: int) -> list[str]:
    differ = [one for one in mine if one.counts]
    hits = sorted(one.seen.scenarios for one in differ if one.seen.found_by)
    return [
        name, str(unused), str(len(mine)), str(len(differ)), str(len(hits)),
        f"{100 * len(hits) // len(differ)} %" if differ else "-",
        str(hits[len(hits) // 2]) if hits else "-", str(hits[-1]) if hits else "-",
    ]  # fmt: skip


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--component", "components", multiple=True, help="Only these; all.")
@click.option("--most", type=int, default=None, help="How many pairs are tried; all.")
@click.option("--into", "folder", type=click.Path(path_type=Path), help="Keep each result there, and go on from it.")
@click.option("--processes", type=int, default=1, show_default=True, help="Searches at once.")
def main(file: Path, components: tuple[str, ...], most: int | None, folder: Path | None, processes: int) -> None:
    """Try the pairs, and write the file."""
    found = pairs(components or tuple(COMPONENTS), known_bugs())
    chosen = found.tried[:most]
    with kept_over(folder, "reach", processes) as over:
        tried = reach(chosen, over)
    reasons = read_toml(REASONS, dict[str, str], 'every entry must be a text: component = "what is out of its reach"')
    write_text(file, report(tried, found.unused, len(found.tried) - len(tried), reasons))


if __name__ == "__main__":
    main()
