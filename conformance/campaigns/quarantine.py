"""Finding the scenario that takes its process with it, so that the rest of its block counts.

A block whose worker died each time is halved, and each part run in a process of its own, down to single scenarios. One
that kills its process every time is a finding of class *crashed*, of the implementation that does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from conformance.campaigns.block import (
    DIED,
    BlockResult,
    DifferenceRecord,
    decode,
    decode_tally,
    encode,
    encode_tally,
    lost_block,
)
from conformance.campaigns.names import Names
from conformance.campaigns.plan import Block, Plan
from conformance.driver import ANSWERS, Components, FailureClass, Program
from conformance.engines.search import Search, seeds
from conformance.engines.tally import Failure, Tally
from conformance.ports import UnusableImplementation, offered_components
from conformance.scenarios import Scenario

Alone = Callable[[Plan, Block, Names], BlockResult]
"""Runs a block in a process of its own; it is lost if that process dies."""
MOST_WAITING = 4
"""Parts that die and are not separated yet; with more the block is given up, since everything dies there."""


def quarantined(plan: Plan, block: Block, names: Names, alone: Alone) -> BlockResult:
    """The result of a block whose worker died, without the scenarios that kill it; lost if there are too many."""
    parts: list[BlockResult] = []
    poison: list[Block] = []
    waiting = [block]
    while waiting:
        part = waiting.pop()
        if part.count > 1:
            half = part.count // 2
            halves = (
                Block(block.component, block.number, part.first, half),
                Block(block.component, block.number, part.first + half, part.count - half),
            )
            for one in halves:
                result = alone(plan, one, names)
                if result.lost == DIED:
                    waiting.append(one)
                    if len(waiting) > MOST_WAITING:
                        return lost_block(plan, block, DIED)
                else:
                    parts.append(result)
        else:
            poison.append(part)
    tallies: dict[str, Tally] = {}
    for result in parts:
        if result.lost is not None:
            return lost_block(plan, block, result.lost)
        for name, record in result.tallies.items():
            tallies.setdefault(name, Tally()).merge(decode_tally(record, names.components))
    for part in sorted(poison, key=lambda one: one.first):
        for name in _guilty(plan, part, names, alone):
            tally = tallies.setdefault(name, Tally())
            tally.scenarios += 1
            failure = Failure(_drawn(plan, part, name, names), "every operation must answer", "the process ended")
            tally.fail((ANSWERS, FailureClass.CRASHED.value, "process"), failure)
    return BlockResult(
        plan.digest,
        block,
        {name: encode_tally(tallies[name]) for name in plan.implementations if name in tallies},
        _added((one for result in parts for one in result.differences), names.components),
    )


def _guilty(plan: Plan, block: Block, names: Names, alone: Alone) -> list[str]:
    """Those implementations that kill their process with this one scenario; the others have no part in it."""
    found = [name for name in plan.implementations if alone(_only(plan, name), block, names).lost == DIED]
    return found[:1] if plan.baseline in found else found  # whatever it does to others, nobody has seen


def _only(plan: Plan, name: str) -> Plan:
    """The plan with the baseline, which draws, and one other."""
    both = (plan.baseline,) if name == plan.baseline else (plan.baseline, name)
    return msgspec.structs.replace(plan, implementations=both)


def _drawn(plan: Plan, block: Block, guilty: str, names: Names) -> Scenario:
    """The scenario as the baseline draws it; if that is what dies, as the reference does, which comes close."""
    component = names.components[block.component]
    name = plan.baseline if guilty != plan.baseline else "reference"
    (text,) = seeds(plan.seed, block.component, (block.first,))
    try:
        implementation = names.find(name)
    except UnusableImplementation:
        return Scenario(block.component, component.configs[0], ())
    try:
        if block.component not in offered_components(implementation):
            return Scenario(block.component, component.configs[0], ())
        return Search(Program(component, implementation, plan.assume)).run(text)[0]
    finally:
        implementation.close()


def _added(records: Iterator[DifferenceRecord], components: Components) -> tuple[DifferenceRecord, ...]:
    known: dict[tuple[str, str, str], Failure] = {}
    for one in records:
        failure = Failure(decode(one.scenario, components), "", "", one.count)
        first = known.setdefault((one.implementation, one.operation, one.field), failure)
        if first is not failure:
            first.absorb(failure)
    return tuple(DifferenceRecord(*key, one.count, encode(one.scenario)) for key, one in sorted(known.items()))
