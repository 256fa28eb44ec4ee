"""Shows verdicts in a pipe: one property a line, for `grep` and `awk` and for the log of a build.

The first word of a line says what the line is about, the second is the component and the third the property; the name
of the implementation comes behind them, since it may contain blanks. What belongs to the line before is indented.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.driver import Kind
from conformance.engines.causes import Cause
from conformance.reporting.claims import unclaimed_in_words
from conformance.reporting.columns import Column, Judged, Word
from conformance.reporting.counts import NOT_PUT_TO_THE_TEST, count, counted
from conformance.reporting.replaying import replay_command, steps_words
from conformance.reporting.verdicts import Tried, Verdicts, properties_of
from conformance.reporting.words import plain

SITUATIONS = {Word.PASSED: "seen", Word.NOT_APPLICABLE: Word.NOT_APPLICABLE.value}
NOT_SEEN = "not seen"
"""What is said of a situation that no scenario had."""


def lines(verdicts: Verdicts, everything: bool = False) -> Iterator[str]:
    """Yield what failed, what was not put to the test, and counts for each component.

    With `everything`, every property has a line.
    """
    for one in verdicts.tried:
        for number, cause in enumerate(one.new_causes, start=1):
            yield from _cause(verdicts, one, number, cause)
    for one in verdicts.tried:
        for column in one.columns:
            for judged in column.judged:
                if (line := _line(one, column, judged, everything)) is not None:
                    yield line
    for one in verdicts.tried:
        for column in one.columns:
            yield f"counts {column.component} {one.label} {count([column]).in_words}"


def _cause(verdicts: Verdicts, one: Tried, number: int, cause: Cause) -> Iterator[str]:
    columns = {column.component: column for column in one.columns}
    for component, slug in properties_of(cause):
        how = f"{_how_often(columns[component], slug)}, cause {number}"
        yield f"{Word.FAILED.shown} {component} {slug} {one.label} ({how})"
    shortest = cause.shortest
    yield f"  expected: {plain(shortest.owed)}"
    yield f"  observed: {plain(shortest.observed)}"
    if shortest.unclaimed:
        yield f"  claim: {unclaimed_in_words(shortest.unclaimed)}"
    yield f"  shortest scenario: {steps_words(shortest, verdicts.components)}"
    if cause.resembles:
        yield f"  like the known bugs: {', '.join(cause.resembles)}"
    if verdicts.reports is not None:
        yield f"  again: {replay_command(verdicts.reports, one.name, shortest)}"


def _how_often(column: Column, slug: str) -> str:
    scenarios, steps = column.failed_scenarios(slug), column.shortest(slug) or 0
    return f"{counted(scenarios, 'scenario')}, {counted(steps, 'step')}"


def _line(one: Tried, column: Column, judged: Judged, everything: bool) -> str | None:
    """Return the line of a property that has not failed, if it is shown."""
    cell = column.cells[judged.slug]
    first, shown = cell.word.value, cell.word in NOT_PUT_TO_THE_TEST
    if judged.kind == Kind.SOMETIMES.value:
        first, shown = SITUATIONS.get(cell.word, NOT_SEEN), False
    elif cell.word is Word.FAILED:
        return None  # stands with its cause
    if not (shown or everything):
        return None
    how = _how_often(column, judged.slug) if cell.word is Word.KNOWN else ""
    how = how or (counted(cell.scenarios, "scenario") if cell.scenarios else cell.why)
    return f"{first.replace(' ', '-')} {column.component} {judged.slug} {one.label}" + (f" ({how})" if how else "")
