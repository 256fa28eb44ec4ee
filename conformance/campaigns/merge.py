"""Adds up blocks. The sum depends neither on their order nor on how they are grouped, nor on who ran them.

Each runner adds with `fold`: inline and processes call it, and Spark calls it in its tasks, on the rows of some blocks,
and then on what came of that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from conformance.campaigns.block import BlockResult, Counts, encode_differences, encode_tally
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.rows import Row, difference_of, failure_of, row_of_difference, rows_of_tally, tally_of
from conformance.campaigns.seconds import UNKNOWN, Seconds
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
class Ran:
    """The blocks of a component that were run."""

    blocks: int = 0
    scenarios: int = 0
    """How many scenarios they have, on one implementation."""
    seconds: float = 0.0
    """How long they took. No result depends on it."""


@dataclass(slots=True)
class Sum:
    """The sum of blocks."""

    counts: dict[str, Counts] = field(default_factory=dict)
    """By component."""
    lost: list[LostBlock] = field(default_factory=list)
    ran: dict[str, Ran] = field(default_factory=dict)
    """By component, without the lost blocks."""
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    """By component and implementation: what it took in these blocks. Without those for which it is not known."""

    def add(self, result: BlockResult, components: Components, seconds: Seconds = UNKNOWN) -> None:
        """Add a block, which was run here or was checked when it was read."""
        block = result.block
        if result.lost is not None:
            self._lose(block, result.lost)
            return
        self._ran(block.component, 1, block.count, seconds.whole)
        self.counts.setdefault(block.component, Counts()).add(result, components)
        for name in result.tallies:
            self._took(block.component, name, seconds.each.get(name))

    def add_row(self, row: Row, components: Components) -> None:
        """Add a row of a block or of a sum. Raises: ValueError if it lacks a value or cannot be read."""
        if row.kind == "lost":
            self._lose(Block(row.component, row.block or 0, row.first or 0, row.scenarios or 0), row.reason or "")
        elif row.kind == "block":
            self._ran(row.component, row.count or 0, row.scenarios or 0, row.seconds or 0.0)
            self.counts.setdefault(row.component, Counts())
        elif row.implementation is None:
            raise ValueError(f"a row of the kind {row.kind!r} names no implementation")
        else:
            counts = self.counts.setdefault(row.component, Counts())
            if row.kind == "ran":
                counts.add_tally(row.implementation, tally_of(row), components)
                self._took(row.component, row.implementation, row.seconds)
            elif row.kind == "failed":
                counts.add_failure(row.implementation, failure_of(row), components)
            else:
                counts.add_difference(difference_of(row), components)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the sum, sorted."""
        for component, ran in sorted(self.ran.items()):
            yield Row("block", component, scenarios=ran.scenarios, count=ran.blocks, seconds=ran.seconds)
        for one in sorted(self.lost, key=lambda one: (one.component, one.number)):
            yield Row("lost", one.component, one.number, first=one.first, scenarios=one.count, reason=one.reason)
        for component, counts in sorted(self.counts.items()):
            for name, tally in sorted(counts.tallies.items()):
                yield from rows_of_tally(
                    component, None, name, encode_tally(tally), self.seconds.get((component, name))
                )
            for difference in encode_differences(counts.differences):
                yield row_of_difference(component, None, difference)

    def blocks(self) -> int:
        """Return the number of blocks, with the lost ones."""
        return len(self.lost) + sum(ran.blocks for ran in self.ran.values())

    def steps(self, name: str) -> int:
        """Return the steps that an implementation took in all components."""
        return sum(tally.steps for (one, _), tally in self.tallies().items() if one == name)

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

    def _ran(self, component: str, blocks: int, scenarios: int, seconds: float) -> None:
        ran = self.ran.setdefault(component, Ran())
        ran.blocks += blocks
        ran.scenarios += scenarios
        ran.seconds += seconds

    def _took(self, component: str, name: str, seconds: float | None) -> None:
        if seconds is not None:
            self.seconds[component, name] = self.seconds.get((component, name), 0.0) + seconds

    def _lose(self, block: Block, why: str) -> None:
        reason = sys.intern(why)  # the same for many blocks
        self.lost.append(LostBlock(block.component, block.number, block.first, block.count, reason))


def fold(rows: Iterable[Row], components: Components) -> Sum:
    """Return the sum of rows, of blocks or of sums, in any order.

    Raises: ValueError if one of them cannot be read.
    """
    total = Sum()
    for row in rows:
        total.add_row(row, components)
    return total


def baseline_steps(plan: Plan, total: Sum) -> int:
    """The steps that the baseline took."""
    return total.steps(plan.baseline)
