"""Compares a block that was read from a file with the plan, before anything in it is added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from conformance.campaigns.block import BlockResult, TallyRecord, decode
from conformance.campaigns.plan import Plan
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
    component = components[result.block.component]
    for name, tally in result.tallies.items():
        check_known(name, plan.implementations, "implementation")
        for wrong in _wrong(tally, result, component, components):
            raise ValueError(f"{name}: {wrong}")
    for one in result.differences:
        check_known(one.implementation, plan.implementations[1:], "implementation that is compared")
        if one.count > result.block.count:
            raise ValueError(f"{one.count} differences in {result.block.count} scenarios")
        check_scenario(one.scenario, component, components)


def _wrong(tally: TallyRecord, result: BlockResult, component: Component, components: Components) -> Iterator[str]:
    most = result.block.count
    if tally.scenarios > most:
        yield f"{tally.scenarios} scenarios, and the block has {most}"
    for slug, count in tally.exercised.items():
        check_property(slug, component)
        if count > tally.scenarios:
            yield f"{slug} was exercised in {count} of {tally.scenarios} scenarios"
    if result.block.number == 0:
        most += len(corpus(component))
    for one in tally.failures:
        check_property(one.property, component)
        check_known(one.failure_class, _CLASSES, "failure class")
        if one.count > most:
            yield f"{one.property} failed in {one.count} of {most} scenarios"
        if one.first is not None and not result.block.first <= one.first < result.block.first + result.block.count:
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
