"""Compares blocks and sums that were read from a file with the plan, before anything in them is believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from conformance.campaigns.block import BlockResult, DifferenceRecord, TallyRecord, decode
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.rows import Row, records_of
from conformance.driver import Component, Components, FailureClass
from conformance.engines.corpus import corpus
from conformance.engines.exercise import Exercise
from conformance.scenarios.codec import ScenarioFile
from conformance.scenarios.former import step_as_of_today

_CLASSES = frozenset(one.value for one in FailureClass)


def check_block(result: BlockResult, plan: Plan, components: Components) -> None:
    """Raise a ValueError, which says what is wrong, if this cannot be a block of the plan."""
    if not plan.has(result.block):
        raise ValueError(f"the plan has no block {result.block.name} with scenarios {_range(result)}")
    if result.lost is not None and (result.tallies or result.differences):
        raise ValueError("it is lost, and yet it has counts")
    block = result.block
    numbers = range(block.first, block.first + block.count)
    counts = Counted("the block", components[block.component], numbers, block.count, block.number == 0)
    check_counts(counts, result.tallies, result.differences, plan, components)


def check_sum(rows: Sequence[Row], plan: Plan, blocks: int, components: Components) -> None:
    """Raise a ValueError, which says what is wrong, if this cannot be the sum of the first so many blocks."""
    lost: dict[str, list[Block]] = {}
    for row in rows:
        check_known(row.component, plan.components, "component")
        if row.kind == "lost":
            block = Block(row.component, row.block or 0, row.first or 0, row.scenarios or 0)
            if not plan.has(block) or block.number >= plan.blocks_of(block.component, blocks) or row.reason is None:
                raise ValueError(f"the sum has no lost block {block.name} with {block.count} scenarios")
            lost.setdefault(row.component, []).append(block)
        elif row.block is not None:
            raise ValueError(f"a row of the block {row.component}-{row.block} is in a sum")
    for name in plan.components:
        mine = [row for row in rows if row.component == name and row.kind != "lost"]
        _check_part(mine, lost.get(name, []), name, plan, blocks, components)


def _check_part(
    rows: Sequence[Row], lost: Sequence[Block], name: str, plan: Plan, blocks: int, components: Components
) -> None:
    heads = [row for row in rows if row.kind == "block"]
    number = plan.blocks_of(name, blocks)
    last = number * plan.block if plan.most_scenarios is None else min(number * plan.block, plan.most_scenarios)
    due = number - len(lost), last - sum(block.count for block in lost)
    if len(set(lost)) != len(lost) or len(heads) > 1:
        raise ValueError(f"a block of {name} is counted twice")
    found = (heads[0].count or 0, heads[0].scenarios or 0) if heads else (0, 0)
    if found != due:
        raise ValueError(
            f"{found[0]} blocks of {name} with {found[1]} scenarios, and the plan has {due[0]} with {due[1]}"
        )
    tallies, differences = records_of(row for row in rows if row.kind != "block")
    counts = Counted("the sum", components[name], range(last), due[1], number > 0)
    check_counts(counts, tallies, differences, plan, components)


class Counted(NamedTuple):
    """What was run of a component, where something was counted."""

    what: str
    """What it is, in messages."""
    component: Component
    numbers: range
    """Those that its scenarios may have."""
    scenarios: int
    has_corpus: bool


def check_counts(
    ran: Counted, tallies: Mapping[str, TallyRecord], differences: Iterable[DifferenceRecord], plan: Plan,
    components: Components,
) -> None:  # fmt: skip
    """Raise a ValueError, which says what is wrong, if this cannot have been counted there."""
    for name, tally in tallies.items():
        check_known(name, plan.implementations, "implementation")
        if plan.sought.get(name, ran.component.name) != ran.component.name:
            raise ValueError(f"{name} is sought in {plan.sought[name]}, and was run in {ran.component.name}")
        for wrong in _wrong(tally, ran, components):
            raise ValueError(f"{name}: {wrong}")
    for one in differences:
        check_known(one.implementation, plan.implementations[1:], "implementation that is compared")
        if one.count > ran.scenarios:
            raise ValueError(f"{one.count} differences in {ran.scenarios} scenarios")
        check_scenario(one.scenario, ran.component, components)


def _wrong(tally: TallyRecord, ran: Counted, components: Components) -> Iterator[str]:
    most, component = ran.scenarios, ran.component
    if tally.scenarios > most:
        yield f"{tally.scenarios} scenarios, and {ran.what} has {most}"
    for slug, count in tally.exercised.items():
        check_property(slug, component)
        if count > tally.scenarios:
            yield f"{slug} was exercised in {count} of {tally.scenarios} scenarios"
    if ran.has_corpus:
        most += len(corpus(component))
    for one in tally.failures:
        check_property(one.property, component)
        check_known(one.failure_class, _CLASSES, "failure class")
        if one.count > most:
            yield f"{one.property} failed in {one.count} of {most} scenarios"
        if one.first is not None and one.first not in ran.numbers:
            yield f"{one.property} failed first in scenario {one.first}"
        check_scenario(one.scenario, component, components)
    if tally.exercise is not None:
        yield from _uneven(tally.exercise)


def _uneven(exercise: Exercise) -> Iterator[str]:
    rows = (exercise.scenarios, *exercise.steps.values(), *exercise.judged.values())
    if any(len(row) != len(exercise.settings) for row in rows):
        yield "the lists of what was exercised differ in length"


def check_property(slug: str, component: Component) -> None:
    """Raise a ValueError if a component has no property of this name."""
    if not component.meant(slug):
        raise ValueError(f"{component.name} has no property {slug!r}")


def check_scenario(scenario: ScenarioFile, component: Component, components: Components) -> None:
    """Raise a ValueError if this is no scenario of the component."""
    if scenario.component != component.name:
        raise ValueError(f"a scenario of {scenario.component!r} is in a block of {component.name}")
    try:
        decode(scenario, components)
    except msgspec.ValidationError as error:
        raise ValueError(f"the configuration of a scenario: {error}") from None
    for step in scenario.steps:
        if wrong := component.complaint(step_as_of_today(scenario.schema, component.name, step)):
            raise ValueError(f"a scenario: {wrong}")


def check_known(name: str, known: Iterable[str], what: str) -> None:
    """Raise a ValueError if the plan does not have this name. `what`: what it names."""
    if name not in known:
        raise ValueError(f"the plan has no {what} {name!r}")


def _range(result: BlockResult) -> str:
    return f"{result.block.first} to {result.block.first + result.block.count - 1}"
