"""Adds up blocks. The sum depends neither on their order nor on the processes that ran them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from msgspec import Struct

from conformance.campaigns.block import BlockResult, decode, decode_tally
from conformance.campaigns.files import committed
from conformance.campaigns.plan import Plan
from conformance.driver import Components
from conformance.engines.tally import Failure, Tally


class LostBlock(Struct, frozen=True, rename={"failure_class": "class"}):
    """A block whose scenarios have no result, because their process died or an exception ended the block."""

    component: str
    number: int
    first: int
    count: int
    reason: str
    failure_class: Literal["crashed"] = "crashed"


Part = tuple[str, str]
"""The names of an implementation and a component."""


@dataclass(slots=True)
class Sum:
    """The sum of blocks."""

    tallies: dict[Part, Tally] = field(default_factory=dict)
    differences: dict[tuple[str, str, str, str], Failure] = field(default_factory=dict)
    """The key is implementation, component, operation and field."""
    lost: list[LostBlock] = field(default_factory=list)

    def add(self, result: BlockResult, components: Components) -> None:
        """Add a block, which was run here or was checked when it was read."""
        component = result.block.component
        if result.lost is not None:
            block, reason = result.block, sys.intern(result.lost)
            self.lost.append(LostBlock(block.component, block.number, block.first, block.count, reason))
            return
        for name, record in result.tallies.items():
            self.tallies.setdefault((name, component), Tally()).merge(decode_tally(record, components))
        for one in result.differences:
            failure = Failure(decode(one.scenario, components), "", "", one.count)
            known = self.differences.setdefault((one.implementation, component, one.operation, one.field), failure)
            if known is not failure:
                known.absorb(failure)


def merge(results: Iterable[BlockResult], components: Components) -> Sum:
    """Return the sum of blocks. Their order does not matter."""
    total = Sum()
    for result in results:
        total.add(result, components)
    return total


def counting(folder: Path, plan: Plan, components: Components) -> Iterator[BlockResult]:
    """Yield the blocks that count: those before the first one that is not committed, until the goal is reached."""
    steps = 0
    for block in plan.blocks():
        if plan.steps is not None and steps >= plan.steps:
            return
        result = committed(folder, plan, components, block)
        if result is None:
            return
        steps += baseline_steps(plan, result)
        yield result


def baseline_steps(plan: Plan, result: BlockResult) -> int:
    """The steps that the baseline took in a block."""
    tally = result.tallies.get(plan.baseline)
    return 0 if tally is None else tally.steps
