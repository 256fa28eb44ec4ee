"""Adds up blocks. The sum depends neither on their order nor on the processes that ran them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from msgspec import Struct

from conformance.campaigns.block import BlockResult, Counts
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


@dataclass(slots=True)
class Sum:
    """The sum of blocks."""

    counts: dict[str, Counts] = field(default_factory=dict)
    """By component."""
    lost: list[LostBlock] = field(default_factory=list)

    def add(self, result: BlockResult, components: Components) -> None:
        """Add a block, which was run here or was checked when it was read."""
        block = result.block
        if result.lost is not None:
            reason = sys.intern(result.lost)  # the same for many blocks
            self.lost.append(LostBlock(block.component, block.number, block.first, block.count, reason))
        else:
            self.counts.setdefault(block.component, Counts()).add(result, components)

    def tallies(self) -> dict[tuple[str, str], Tally]:
        """Return the tallies by implementation and component, sorted."""
        found = {(name, of): one for of, counts in self.counts.items() for name, one in counts.tallies.items()}
        return dict(sorted(found.items()))

    def differences(self) -> dict[tuple[str, str, str, str], Failure]:
        """Return the differences by implementation, component, operation and field, sorted."""
        found = {
            (name, of, operation, where): one
            for of, counts in self.counts.items()
            for (name, operation, where), one in counts.differences.items()
        }
        return dict(sorted(found.items()))


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
