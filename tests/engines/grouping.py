"""Measures on known bugs how well findings are grouped by likely cause, and writes the report.

    python -m tests.engines.grouping reports/likely-causes.md

A known bug that three properties or more notice must be one group. Two known bugs of one component, built into one
implementation, must be two. Each implementation is searched as in a check, without the corpus, which knows the bugs.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import click
from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines.check import Found, reduce_failures, search_range
from conformance.engines.interruption import Interruption
from conformance.engines.noticed import noticed
from conformance.engines.processes import mapping
from conformance.engines.related import Link, Relations, all_signs, groups, links
from conformance.ports import Implementation, KnownBug, find_known_bug, known_bugs
from conformance.ports.changed import DoesNotFit, Package
from conformance.ports.changes import CATALOGUES, changed_implementation
from conformance.reporting.markdown import table
from conformance.system.writing import write_text
from reference_impl import reference_of

SEED = "grouping"
SCENARIOS = 400
"""How many scenarios are run of each implementation."""
BUDGET = 1_500
"""How many runs each reduction takes at most: a check takes 20,000, and its scenarios are a little shorter."""
NOTICED = 3
"""A known bug counts by itself if so many properties notice it."""
BATCH = 20
GOAL = 85
SIGNS = all_signs().told()
PACKAGE = "reference_impl"


class Measured(Struct, frozen=True):
    """The groups of one implementation."""

    bugs: tuple[str, ...]
    component: str
    findings: int
    properties: int
    groups: int
    separate: bool = True
    """Whether no group has a finding of one bug alone together with one of the other bug alone."""
    unseen: tuple[str, ...] = ()
    """The bugs whose property did not fail here, although it fails in the same number of scenarios of the bug alone."""
    rare: bool = False
    """Whether a property does not fail in so few scenarios of its bug alone, so that the pair does not count."""
    without: dict[str, int] = {}
    """By the name of a sign: how many groups there are without it."""


class Share(NamedTuple):
    """How many cases were right, of how many."""

    right: int
    all: int

    def __str__(self) -> str:
        return f"{self.right} of {self.all} ({100 * self.right / self.all:.0f} %)" if self.all else "none"


# ---- one implementation ----------------------------------------------------------------------------------------------
def built(bugs: Sequence[KnownBug]) -> Implementation:
    """Returns one copy of the reference with the changes of all these bugs."""
    change = "\n".join(bug.change for bug in bugs)
    name = f"known-bug:{'+'.join(bug.id for bug in bugs)}"
    return changed_implementation(PACKAGE, change, reference_of, name)()


def are_disjoint(one: KnownBug, other: KnownBug) -> bool:
    """Returns whether both changes fit together, in either order with the same result."""
    package = Package(PACKAGE, CATALOGUES)
    try:
        texts = [package.changed_texts(f"{a.change}\n{b.change}") for a, b in ((one, other), (other, one))]
    except DoesNotFit:
        return False
    return texts[0] == texts[1]


def measured(names: tuple[str, ...], seed: str = SEED, scenarios: int = SCENARIOS) -> Measured:
    """Search the implementation with these bugs of one component, reduce what is found, and group it."""
    bugs = [find_known_bug(name) for name in names]
    with closing(built(bugs)) as implementation:
        program = Program(COMPONENTS[bugs[0].component], implementation).pinned(bugs[0].shape)
        tally = search_range(program, seed, range(scenarios))
        properties = {slug for slug, _, _ in tally.failures}
        result = Measured(names, bugs[0].component, len(tally.failures), len(properties), 0)
        if len(bugs) == 1 and len(properties) < NOTICED:
            return result
        if unseen := tuple(bug.id for bug in bugs if bug.property not in properties) if len(bugs) > 1 else ():
            return _masked(result, [bug for bug in bugs if bug.id in unseen], seed, scenarios)
        found = reduce_failures(program, tally, BUDGET)
        seen = Relations(program, found)
        linked = links(seen, all_signs(names))
        without = {name: _without(seen, names, name) for name in SIGNS}
    separate = len(bugs) == 1 or _is_separate(found, linked, bugs)
    return Measured(
        names, bugs[0].component, len(found), len(properties), len(groups(len(found), linked)), separate,
        without=without,
    )  # fmt: skip


def _without(seen: Relations, bugs: Collection[str], name: str) -> int:
    return len(groups(len(seen.found), links(seen, all_signs(bugs).without(name))))


def _masked(result: Measured, unseen: Sequence[KnownBug], seed: str, scenarios: int) -> Measured:
    """The same for a pair in which a property did not fail: does it fail if its bug is alone?"""
    for bug in unseen:
        with closing(bug.build()) as alone:
            tally = search_range(Program(COMPONENTS[bug.component], alone).pinned(bug.shape), seed, range(scenarios))
        if not any(slug == bug.property for slug, _, _ in tally.failures):
            return Measured(result.bugs, result.component, result.findings, result.properties, 0, rare=True)
    names = tuple(bug.id for bug in unseen)
    return Measured(result.bugs, result.component, result.findings, result.properties, 0, unseen=names)


def _is_separate(found: Sequence[Found], linked: Sequence[Link], bugs: Sequence[KnownBug]) -> bool:
    causes = [_caused(one, bugs) for one in found]
    return not any(
        {(bug.id,) for bug in bugs} <= {causes[place] for place in group} for group in groups(len(found), linked)
    )


def _caused(found: Found, bugs: Sequence[KnownBug]) -> tuple[str, ...]:
    """Returns the bugs that alone fail in the scenario of a finding as both together do."""
    names = []
    for bug in bugs:
        with closing(bug.build()) as alone:
            program = Program(COMPONENTS[bug.component], alone).pinned(bug.shape)
            violation = run_scenario(program, found.scenario.config, found.scenario.steps).violation
            if violation is not None and violation.signature == found.signature:
                names.append(bug.id)
    return tuple(names)


def _measured(names: tuple[str, ...], seed: str, interruption: Interruption) -> Measured | None:
    return None if interruption.requested else measured(names, seed)


# ---- all of them -----------------------------------------------------------------------------------------------------
def drawn_pairs(bugs: Sequence[KnownBug], seed: str) -> Iterator[tuple[str, str]]:
    """Yields pairs of known bugs of one component, without end: two properties, and changes that do not overlap."""
    drawing, yielded = random.Random(f"pairs/{seed}"), set()
    while True:
        one = drawing.choice(bugs)
        other = drawing.choice([bug for bug in bugs if bug.component == one.component])
        pair = (one.id, other.id) if one.id < other.id else (other.id, one.id)
        if pair not in yielded and one.property != other.property and are_disjoint(one, other):
            yielded.add(pair)
            yield pair


@click.command()
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--bugs", "most", type=int, help="So many of the single bugs, drawn by the seed; all if it is left out.")
@click.option("--pairs", type=int, default=100, show_default=True, help="So many pairs that do not mask each other.")
@click.option("--processes", type=int, default=1, show_default=True, help="Searches at once.")
@click.option("--seed", default=SEED, show_default=True)
def main(report: Path, most: int | None, pairs: int, processes: int, seed: str) -> None:
    """Measure, and write the report. Which known bugs count by themselves is known from `make corpus`."""
    every = known_bugs()
    many = [bug for bug in every if len(noticed().get(bug.component, {}).get(bug.id, ())) >= NOTICED]
    chosen = many if most is None else random.Random(f"bugs/{seed}").sample(many, min(most, len(many)))
    with mapping(processes) as over:
        singles = [one for one in over(_measured, [((bug.id,), seed) for bug in chosen]) if one is not None]
        candidates = drawn_pairs(every, seed)
        both: list[Measured] = []
        masked: list[Measured] = []
        while len(both) < pairs:
            batch = [(next(candidates), seed) for _ in range(BATCH)]
            for one in over(_measured, batch):
                if one is None:
                    continue
                if one.unseen:
                    masked.append(one)
                elif not one.rare and len(both) < pairs:
                    both.append(one)
    alone = [one for one in singles if one.properties >= NOTICED]
    write_text(report, page(alone, both, masked, len(chosen), len(many), seed))


# ---- the report ------------------------------------------------------------------------------------------------------
def share(cases: Iterable[Measured], wanted: int) -> Share:
    """Returns how many implementations have so many groups."""
    counts = [one.groups == wanted for one in cases]
    return Share(sum(counts), len(counts))


def page(
    singles: Sequence[Measured],
    pairs: Sequence[Measured],
    masked: Sequence[Measured],
    chosen: int,
    every: int,
    seed: str,
) -> str:
    """Returns the report."""
    cut = Share(sum(one.groups == 2 and one.separate for one in pairs), len(pairs))
    sample = f"all {every}" if chosen == every else f"a sample of {chosen} of the {every}"
    sections = [
        "# Likely causes",
        "How well findings are grouped by likely cause, measured on known bugs. A known bug that "
        f"{NOTICED} properties or more notice must be one group: {sample} of them were tried. Two known bugs of one "
        "component, built into one implementation, must be two; their changes do not overlap, and both their "
        "properties fail. Which properties other known bugs break together is a sign; the bugs that are measured are "
        f"left out of it. Of each implementation {SCENARIOS} scenarios were run, without the corpus, and each "
        f"reduction took at most {BUDGET:,} runs. The goal is {GOAL} % of both.",
        "Written by `python -m tests.engines.grouping reports/likely-causes.md"
        f"{'' if chosen == every else f' --bugs {chosen}'}{'' if len(pairs) == 100 else f' --pairs {len(pairs)}'}"
        f"{'' if seed == SEED else f' --seed {seed}'}`; `make likely-causes` measures all.",
        table(
            ("what", "right"),
            [
                ("one known bug: one group", str(share(singles, 1))),
                ("two known bugs: two groups", str(share(pairs, 2))),
                ("two known bugs: two groups, and each finding in that of its own bug", str(cut)),
                ("pairs in which one bug hides the property of the other, not counted above", str(len(masked))),
            ],
        ),
        "The signs were chosen on the same known bugs with other scenarios, and on other pairs of them, drawn with "
        "another seed. So nobody has looked at these pairs before, but somebody has looked at the single bugs.",
        "## By component",
        _components(singles, pairs),
        "## What each sign contributes",
        "How many are right without the sign. A sign that makes one column better and the other worse is kept if it "
        "gains more than it costs.",
        _signs(singles, pairs),
        "## What is wrong",
        "Too many groups are too many pages to read; too few hide one of two defects.",
        _wrong([one for one in singles if one.groups != 1] + [one for one in pairs if one.groups != 2]),
    ]
    if masked:
        sections += ["## Masked pairs", _masked_table(masked)]
    return "\n\n".join(sections) + "\n"


def _components(singles: Sequence[Measured], pairs: Sequence[Measured]) -> str:
    names = sorted({one.component for one in (*singles, *pairs)})
    rows = [
        (
            name,
            str(share([one for one in singles if one.component == name], 1)),
            str(share([one for one in pairs if one.component == name], 2)),
        )
        for name in names
    ]  # fmt: skip
    return table(("component", "one bug", "two bugs"), rows)


def _signs(singles: Sequence[Measured], pairs: Sequence[Measured]) -> str:
    rows = [("none is left out", str(share(singles, 1)), str(share(pairs, 2)))]
    for name, said in SIGNS.items():
        right = [
            Share(sum(one.without[name] == wanted for one in cases), len(cases))
            for cases, wanted in ((singles, 1), (pairs, 2))
        ]  # fmt: skip
        rows.append((said, str(right[0]), str(right[1])))
    return table(("sign", "one bug", "two bugs"), rows)


def _wrong(cases: Sequence[Measured]) -> str:
    rows = [(" and ".join(one.bugs), one.component, str(one.findings), str(one.groups)) for one in cases]
    return table(("known bugs", "component", "findings", "groups"), rows)


def _masked_table(masked: Sequence[Measured]) -> str:
    rows = [(" and ".join(one.bugs), one.component, ", ".join(one.unseen)) for one in masked]
    return table(("known bugs", "component", "whose property does not fail"), rows)


if __name__ == "__main__":
    main()
