"""The columns of verdict tables: one implementation and component, from a check or from a campaign."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from conformance.campaigns import CampaignResult, ComponentResult, ImplementationResult
from conformance.campaigns.names import SEARCHED
from conformance.driver import Component, Components, Level, Verdict
from conformance.engines import Check, Standing
from conformance.engines.tally import Signature

NO_STANDING = Standing({}, ())
"""The standing of an implementation without known failures."""
NOTHING_KNOWN: Mapping[str, Standing] = MappingProxyType({})


class Word(StrEnum):
    """What is said of one property. The order is that in which they are listed."""

    PASSED = "passed"
    FAILED = "failed"
    KNOWN = "known failure"
    """It failed, and each of its findings is in the list of known failures."""
    UNKNOWN = "unknown"
    NOT_EXERCISED = "not exercised"
    UNTESTABLE = "untestable"
    """The specification says it, and nothing that the suite can observe shows it."""
    NOT_TESTED = "not tested"
    """The call left it out."""
    NOT_APPLICABLE = "not applicable"

    @property
    def shown(self) -> str:
        """The word on a screen: a failure is noticed without colours, too."""
        return "FAILED" if self is Word.FAILED else self.value


def word_of(verdict: str, level: str, is_known: bool) -> Word:
    """Return the word for a verdict. `is_known`: whether every finding of the property is a known failure."""
    if verdict == Verdict.FAILED.value and is_known:
        return Word.KNOWN
    if verdict == Verdict.NOT_EXERCISED.value and level == Level.UNTESTABLE.value:
        return Word.UNTESTABLE
    return Word(verdict)


@dataclass(frozen=True, slots=True)
class Judged:
    """The parts of a property that a row shows."""

    slug: str
    level: str
    kind: str
    statement: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A verdict, the number of scenarios that put the property to the test, and the reason if none could."""

    word: Word
    scenarios: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class FindingLine:
    """One finding: a row of the table of failures."""

    property: str
    failure_class: str
    operation: str
    steps: int
    count: int
    owed: str
    observed: str


@dataclass(frozen=True, slots=True)
class Column:
    """One component of one implementation."""

    name: str
    version: str
    component: str
    scenarios: int
    steps: int
    judged: tuple[Judged, ...]
    cells: Mapping[str, Cell]
    findings: tuple[FindingLine, ...]
    interrupted: bool = False

    @property
    def label(self) -> str:
        """The name by which the implementation was called, with its version unless that is part of the name."""
        return self.name if self.name.endswith(self.version) else f"{self.name} {self.version}"

    def failed_scenarios(self, slug: str) -> int:
        """Return in how many scenarios a property failed."""
        return sum(one.count for one in self.findings if one.property == slug)

    def shortest(self, slug: str) -> int | None:
        """Return the number of steps of the shortest scenario in which a property failed, or None if it did not."""
        return min((one.steps for one in self.findings if one.property == slug), default=None)


def by_component(columns: Iterable[Column], order: Iterable[str] = ()) -> dict[str, list[Column]]:
    """Group the columns by component. Each group is one table.

    `order`: the order of the components; others come behind, as the columns have them.
    """
    groups: dict[str, list[Column]] = {name: [] for name in order}
    for column in columns:
        groups.setdefault(column.component, []).append(column)
    return {name: alike for name, alike in groups.items() if alike}


def column_of_check(check: Check, name: str | None = None, now: Standing = NO_STANDING) -> Column:
    """Return the column of a check. `name`: by which the implementation was called, instead of its own."""
    program, tally = check.program, check.tally
    component = program.component.name
    judged, cells = [], {}
    findings = tuple(
        FindingLine(
            *found.signature,
            steps=len(found.scenario.steps),
            count=found.count,
            owed=found.owed,
            observed=found.observed,
        )
        for found in check.found
    )
    for one in program.component.properties:
        verdict = check.verdict(one)
        why = ""
        if verdict is Verdict.NOT_APPLICABLE:
            why = f"needs {', '.join(sorted(one.needs - program.capabilities))}"
        word = word_of(verdict.value, one.level.value, _is_known(one.slug, component, findings, now))
        judged.append(Judged(one.slug, one.level.value, one.kind.value, one.statement))
        cells[one.slug] = Cell(word, tally.exercised.get(one.slug, 0), why)
    version = program.implementation.version
    name = name or program.implementation.name
    counts = tally.scenarios, tally.steps
    return Column(name, version, component, *counts, tuple(judged), cells, findings, check.interrupted)


def untested(column: Column, tested: Collection[str] = ()) -> Column:
    """Return the column of a call that has left out all properties and situations but these."""
    cells = {
        slug: cell if slug in tested or cell.word is Word.NOT_APPLICABLE else Cell(Word.NOT_TESTED, 0)
        for slug, cell in column.cells.items()
    }
    return replace(column, cells=cells)


def unfinished_column(column: Column) -> Column:
    """Return the column of a search that goes on. What no scenario was run of is `not tested`."""
    return replace(column if column.scenarios else untested(column), interrupted=True)


def _signature(one: FindingLine) -> Signature:
    return one.property, one.failure_class, one.operation


def _is_known(slug: str, component: str, findings: Iterable[FindingLine], now: Standing) -> bool:
    mine = [one for one in findings if one.property == slug]
    return bool(mine) and all((component, _signature(one)) in now.known for one in mine)


def places_of(components: Iterable[str]) -> Callable[[str], int]:
    """Return a key to sort names of components by: all that is printed has the order of `components`.

    Names that are not among them, which a file may have, come last.
    """
    places = {name: number for number, name in enumerate(components)}
    return lambda name: places.get(name, len(places))


def columns_of_result(
    result: CampaignResult,
    components: Components = SEARCHED,
    standings: Mapping[str, Standing] = NOTHING_KNOWN,
) -> list[Column]:
    """Return the columns of a campaign's result, which a suite with other properties may have written.

    The components of an implementation have the order of `components`: that of a plan may be another one.
    """
    place, sought = places_of(components), result.plan.sought
    return [
        _column(one, part, components[part.component], standings.get(one.name, NO_STANDING), one.name in sought)
        for one in result.implementations
        for part in sorted(one.components, key=lambda part: place(part.component))
    ]


def _column(
    implementation: ImplementationResult, part: ComponentResult, component: Component, now: Standing, is_sought: bool
) -> Column:
    """`is_sought`: whether it was run only until a failure was found, and what is missing was not tried for long."""
    statements = {one.slug: one.statement for one in component.properties}
    findings = tuple(
        FindingLine(one.property, one.failure_class.value, one.operation, one.steps, one.count, one.owed, one.observed)
        for one in part.findings
    )
    judged, cells = [], {}
    for one in part.properties:
        judged.append(Judged(one.slug, one.level.value, one.kind.value, statements.get(one.slug, "")))
        word = word_of(one.verdict.value, one.level.value, _is_known(one.slug, part.component, findings, now))
        cells[one.slug] = Cell(word, one.scenarios)
    column = Column(
        implementation.name, implementation.version, part.component, part.scenarios, part.steps, tuple(judged), cells,
        findings,
    )  # fmt: skip
    if is_sought and findings:
        return untested(column, [slug for slug, cell in cells.items() if cell.word is not Word.NOT_EXERCISED])
    return column
