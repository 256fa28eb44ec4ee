"""Finds the scenarios that kill their process, so that the rest of the block counts.

A block whose worker died each time is halved, and each half is run in a process of its own, down to single scenarios.
A scenario that kills its process every time is a finding of class *crashed* of the implementation that it ran on.
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
"""Runs a block in a process of its own. The result is a lost block if that process dies."""
MOST_WAITING = 4
"""The maximum number of parts that kill their process and are still to be halved. With more, the block is lost."""


def quarantined(plan: Plan, block: Block, names: Names, alone: Alone) -> BlockResult:
    """Run a block whose worker died. The scenarios that kill their process become findings, and the others count.

    The block is lost if too many of its scenarios kill their process.
    """
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
    """Return the implementations that kill their process with the one scenario of this block."""
    found = [name for name in plan.implementations if alone(_only(plan, name), block, names).lost == DIED]
    return found[:1] if plan.baseline in found else found  # if the baseline dies, the others are never run


def _only(plan: Plan, name: str) -> Plan:
    """Return the plan with only the baseline, on which scenarios are drawn, and the named implementation."""
    both = (plan.baseline,) if name == plan.baseline else (plan.baseline, name)
    return msgspec.structs.replace(plan, implementations=both)


def _drawn(plan: Plan, block: Block, guilty: str, names: Names) -> Scenario:
    """Draw the scenario on the baseline or, if that dies, on the reference, which may draw a slightly different one."""
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
