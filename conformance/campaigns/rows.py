"""Blocks and sums as rows of a table. Every runner writes the same rows, and every reader reads them.

A row is about one block, or about the sum of many. Its `kind` says what it has; columns that are not named are empty.

    block    a block that was run: `first` and `scenarios` are its scenarios, `count` is 1. In a sum there is one such
             row for each component, whose `count` is that of its blocks
    lost     a block that could not be run: `first`, `scenarios`, `reason`
    ran      what an implementation did: `scenarios`, `steps`, `closing_steps`, `exercise`
    failed   failures with one signature (`property`, `class`, `operation`): `count`, `first`, `length`, `owed`,
             `observed`, and the shortest scenario
    differed differences from the baseline in one `field` of one `operation`: `count`, `length`, the shortest scenario

`exercise` is JSON: in how many scenarios each property was exercised, what was done in each setting, and what happened
in episodes. `scenario` is a scenario file, and `length` the number of its steps. `seconds` is how long a block took
(`block`, `lost`), and what an implementation took of that (`ran`): work is divided by it, and no result depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from conformance.campaigns.block import BlockResult, DifferenceRecord, FailureRecord, Natural, Positive, TallyRecord
from conformance.campaigns.plan import Block
from conformance.campaigns.seconds import UNKNOWN, Seconds
from conformance.engines.exercise import Exercise
from conformance.scenarios import canonical
from conformance.scenarios.codec import ScenarioFile
from conformance.scenarios.reading import Misshapen, Unreadable, decode_json

Kind = Literal["block", "lost", "ran", "failed", "differed"]
T = TypeVar("T")


class Row(Struct, frozen=True, forbid_unknown_fields=True, rename={"failure_class": "class"}):
    """A row. The fields are the columns of every table of a campaign, in this order."""

    kind: Kind
    component: str
    block: Natural | None = None
    """The number of the block; None in a sum, except for a block that is lost."""
    implementation: str | None = None
    first: Natural | None = None
    scenarios: Natural | None = None
    steps: Natural | None = None
    closing_steps: Natural | None = None
    exercise: str | None = None
    property: str | None = None
    failure_class: str | None = None
    operation: str | None = None
    field: str | None = None
    count: Positive | None = None
    length: Natural | None = None
    owed: str | None = None
    observed: str | None = None
    scenario: str | None = None
    reason: str | None = None
    seconds: Annotated[float, Meta(ge=0)] | None = None


class Exercised(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the column `exercise`."""

    scenarios: dict[str, Natural]
    """In how many scenarios each property was exercised."""
    settings: Exercise | None
    """What was done in each setting."""
    happened: dict[str, Natural] | UnsetType = UNSET
    """How often what happened in episodes."""


def rows_of(result: BlockResult, seconds: Seconds = UNKNOWN) -> Iterator[Row]:
    """Yield the rows of a block, which was run in so many seconds."""
    block = result.block
    if result.lost is not None:
        yield Row(
            "lost",
            block.component,
            block.number,
            first=block.first,
            scenarios=block.count,
            reason=result.lost,
            seconds=seconds.whole,
        )
        return
    yield Row(
        "block", block.component, block.number, first=block.first, scenarios=block.count, count=1, seconds=seconds.whole
    )
    for name, tally in result.tallies.items():
        yield from rows_of_tally(block.component, block.number, name, tally, seconds.each.get(name))
    for one in result.differences:
        yield row_of_difference(block.component, block.number, one)


def rows_of_tally(
    component: str, block: int | None, name: str, tally: TallyRecord, seconds: float | None = None
) -> Iterator[Row]:
    """Yield the rows of what an implementation did, and of each of its failures. `seconds`: None if nobody knows."""
    exercise = canonical(Exercised(tally.exercised, tally.exercise, tally.happened))
    counts = tally.scenarios, tally.steps, tally.closing_steps
    yield Row("ran", component, block, name, None, *counts, exercise, seconds=seconds)
    for one in tally.failures:
        yield Row(
            "failed",
            component,
            block,
            name,
            first=one.first,
            property=one.property,
            failure_class=one.failure_class,
            operation=one.operation,
            count=one.count,
            length=len(one.scenario.steps),
            owed=one.owed,
            observed=one.observed,
            scenario=canonical(one.scenario),
        )


def row_of_difference(component: str, block: int | None, one: DifferenceRecord) -> Row:
    """Return the row of a difference."""
    return Row(
        "differed",
        component,
        block,
        one.implementation,
        operation=one.operation,
        field=one.field,
        count=one.count,
        length=len(one.scenario.steps),
        scenario=canonical(one.scenario),
    )


def blocks_of(rows: Iterable[Row], plan: str) -> Iterator[BlockResult]:
    """Yield the blocks that have these rows: `rows_of` of each of them, one after the other. `plan`: its digest.

    Raises: as `timed_blocks_of`.
    """
    return (result for result, _ in timed_blocks_of(rows, plan))


def timed_blocks_of(rows: Iterable[Row], plan: str) -> Iterator[tuple[BlockResult, Seconds]]:
    """Yield the blocks that have these rows, each with how long it took.

    Raises: ValueError, which says what is wrong, if they are not the rows of blocks.
    """
    together: list[Row] = []
    for row in rows:
        if row.kind in ("block", "lost") and together:
            yield _block(together, plan)
            together = []
        together.append(row)
    if together:
        yield _block(together, plan)


def _block(rows: list[Row], plan: str) -> tuple[BlockResult, Seconds]:
    head = rows[0]
    if head.kind not in ("block", "lost"):
        raise ValueError(f"a row of the kind {head.kind!r} is of no block")
    number, first, scenarios = (_value(head, one) for one in (head.block, head.first, head.scenarios))
    block = Block(head.component, number, first, scenarios)
    for row in rows:
        if (row.component, row.block) != (block.component, block.number):
            raise ValueError(f"a row of {row.component}-{row.block} is among those of {block.name}")
    if head.kind == "lost":
        if len(rows) > 1:
            raise ValueError(f"the block {block.name} is lost, and yet it has counts")
        return BlockResult(plan, block, {}, (), _value(head, head.reason)), Seconds(head.seconds or 0.0)
    if head.count != 1:
        raise ValueError(f"the block {block.name} counts {head.count} times")
    tallies, differences = records_of(rows[1:])
    each = {row.implementation: row.seconds for row in rows if row.implementation and row.seconds is not None}
    return BlockResult(plan, block, tallies, differences), Seconds(head.seconds or 0.0, each)


def records_of(rows: Iterable[Row]) -> tuple[dict[str, TallyRecord], tuple[DifferenceRecord, ...]]:
    """Return what the rows of one component say: what each implementation did, and the differences.

    Raises: ValueError if a row lacks a value, or if there is one too many or too few.
    """
    ran: dict[str, TallyRecord] = {}
    failures: dict[str, list[FailureRecord]] = {}
    differences = []
    for row in rows:
        name = _value(row, row.implementation)
        if row.kind == "ran":
            if name in ran:
                raise ValueError(f"{name} has two rows of what it did in {row.component}")
            ran[name] = tally_of(row)
        elif row.kind == "failed":
            failures.setdefault(name, []).append(failure_of(row))
        elif row.kind == "differed":
            differences.append(difference_of(row))
        else:
            raise ValueError(f"a row of the kind {row.kind!r} is not about an implementation")
    if unknown := set(failures) - set(ran):
        raise ValueError(f"{min(unknown)} has failures and no row of what it did")
    tallies = {name: _with(tally, failures.get(name, [])) for name, tally in ran.items()}
    return tallies, tuple(differences)


def _with(tally: TallyRecord, failures: list[FailureRecord]) -> TallyRecord:
    counts = tally.scenarios, tally.steps, tally.closing_steps, tally.exercised
    return TallyRecord(*counts, tuple(failures), tally.exercise, tally.happened)


def tally_of(row: Row) -> TallyRecord:
    """Return what a row of the kind `ran` says. Raises: ValueError if it lacks a value or cannot be read."""
    found = _read(_value(row, row.exercise), Exercised, "exercise")
    scenarios, steps, closing = (_value(row, one) for one in (row.scenarios, row.steps, row.closing_steps))
    return TallyRecord(scenarios, steps, closing, found.scenarios, (), found.settings, found.happened)


def failure_of(row: Row) -> FailureRecord:
    """Return what a row of the kind `failed` says. Raises: as `tally_of`."""
    names = (row.property, row.failure_class, row.operation)
    slug, failure_class, operation = (_value(row, one) for one in names)
    owed, observed = _value(row, row.owed), _value(row, row.observed)
    count, scenario = _value(row, row.count), _scenario(row)
    return FailureRecord(slug, failure_class, operation, count, owed, observed, scenario, row.first)


def difference_of(row: Row) -> DifferenceRecord:
    """Return what a row of the kind `differed` says. Raises: as `tally_of`."""
    name, operation, field = (_value(row, one) for one in (row.implementation, row.operation, row.field))
    return DifferenceRecord(name, operation, field, _value(row, row.count), _scenario(row))


def _scenario(row: Row) -> ScenarioFile:
    found = _read(_value(row, row.scenario), ScenarioFile, "scenario")
    if row.length != len(found.steps):
        raise ValueError(f"a scenario of {len(found.steps)} steps has the length {row.length}")
    return found


def _value(row: Row, value: T | None) -> T:
    """Return a value of a row. Raises: ValueError if it is missing."""
    if value is None:
        raise ValueError(f"a row of the kind {row.kind!r} lacks a value")
    return value


def _read(text: str, form: type[T], what: str) -> T:
    try:
        return decode_json(text.encode(), form)
    except (Misshapen, Unreadable) as error:
        raise ValueError(f"the column {what} of a row: {error}") from None
