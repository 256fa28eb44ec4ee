"""What a check, a pytest run or a campaign found, as a person is shown it: on a screen, in a pipe and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from conformance.components import COMPONENTS
from conformance.driver import Components, Kind
from conformance.engines import Check, Found, Standing
from conformance.engines.causes import Cause
from conformance.engines.claims import never_used
from conformance.ports import Capability
from conformance.reporting.columns import NO_STANDING, Column, Judged, Word, column_of_check
from conformance.reporting.counts import Counts, count
from conformance.reporting.severity import severity, worst_of


@dataclass(frozen=True, slots=True)
class Tried:
    """One implementation, with all its components."""

    name: str
    """By which it was called."""
    columns: tuple[Column, ...]
    """One per component."""
    causes: tuple[Cause, ...] = ()
    """Its findings, grouped by likely cause."""
    standing: Standing = NO_STANDING
    must_fail: bool = False
    """Whether it is a known bug, which a campaign must find."""
    never_used: tuple[Capability, ...] = ()
    """What it claims, and no property that needs it was exercised."""
    breaks_relations: bool = False
    """Whether a relation does not hold for it."""

    @property
    def label(self) -> str:
        """The name, with the version unless that is part of the name."""
        return self.columns[0].label if self.columns else self.name

    @property
    def counts(self) -> Counts:
        """The sum over all components."""
        return count(self.columns)

    @property
    def verdict(self) -> str:
        """One or a few words about the implementation."""
        if not self.must_fail:
            return Word.FAILED.shown if self.breaks_relations else self.counts.verdict
        return "FAILED, as it must" if self.causes else "not found, and it must be"

    @property
    def new_causes(self) -> tuple[Cause, ...]:
        """The causes without findings that are known failures, each with the shortest scenario that is left first."""
        found = [
            (tuple(found for found in cause.found if self.standing.entry(found) is None), cause)
            for cause in self.causes
        ]
        return tuple(cause if new == cause.found else _rest(new, cause) for new, cause in found if new)

    def with_word(self, *words: Word, situations: bool) -> Iterator[tuple[Column, Judged]]:
        """Yield the properties of which one of these words is said, or the situations of which it is said."""
        for column in self.columns:
            for one in column.judged:
                if (one.kind == Kind.SOMETIMES.value) is situations and column.cells[one.slug].word in words:
                    yield column, one


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said beside the verdicts: a sentence, and what it is about in lines."""

    sentence: str
    lines: tuple[str, ...] = ()
    table: Table | None = None
    """The same as the lines, for a terminal."""
    few: int = 0
    """How many of the lines are shown if not everything is asked for."""
    on_page: bool = True
    """False if the page has a section of its own for it."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The result of a call."""

    tried: tuple[Tried, ...]
    remarks: tuple[Remark, ...] = ()
    reports: Path | None = None
    """The folder that has a folder for each finding; None if none was written."""
    components: Components = field(default_factory=lambda: COMPONENTS)


def _rest(found: tuple[Found, ...], cause: Cause) -> Cause:
    shortest = min(found, key=lambda one: len(one.scenario.steps))
    return Cause((shortest, *(one for one in found if one is not shortest)), (), cause.resembles)


def tried_in_check(name: str, checks: Sequence[Check], causes: Sequence[Cause], now: Standing = NO_STANDING) -> Tried:
    """Return what a person is shown of the checks of one implementation. `name`: by which it was called."""
    columns = tuple(column_of_check(one, name, now) for one in checks)
    return Tried(name, columns, tuple(causes), now, never_used=never_used_in(checks))


def never_used_in(checks: Sequence[Check]) -> tuple[Capability, ...]:
    """Return the capabilities that one implementation claims, and that none of its checks has put to the test."""
    if not checks:
        return ()
    judged = [one for check in checks for one in check.program.component.properties]
    exercised = [slug for check in checks for slug in check.tally.exercised]
    return never_used(checks[0].program.implementation.capabilities, judged, exercised)


def properties_of(cause: Cause) -> dict[tuple[str, str], Found]:
    """Return the failed properties of a cause by component and slug, each with its shortest finding.

    The one with the shortest scenario is the first.
    """
    found: dict[tuple[str, str], Found] = {}
    for one in sorted(cause.found, key=lambda one: len(one.scenario.steps)):
        found.setdefault((one.scenario.component, one.slug), one)
    return found


def is_expected(one: Tried, cause: Cause) -> bool:
    """Return whether nobody is surprised by a cause: a known bug, which must fail, or nothing but known failures."""
    return one.must_fail or all(one.standing.entry(found) is not None for found in cause.found)


def rank_of(one: Tried, cause: Cause) -> tuple[bool, int, int]:
    """Return a key to sort causes by: what is not expected first, then the worst class, then the shortest scenario."""
    worst = severity(worst_of(found.failure_class for found in cause.found))
    return is_expected(one, cause), worst, len(cause.shortest.scenario.steps)


def failed_scenarios(cause: Cause) -> int:
    """Return in how many scenarios a finding of the cause showed."""
    return sum(one.count for one in cause.found)
