"""What the driver of an exploration knows of all levels: counts, the findings so far, and orders of locks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from conformance.engines.explore import Shortest, keep
from conformance.engines.tally import Signature
from conformance.exploring.folder import Folder, Level, Met
from conformance.exploring.rows import Told, edge_of, pack, steps_of, told_again, told_of
from conformance.scheduling import Edge, LockOrder

Progress = Callable[[int, int, int], None]
"""Called with the level, the number of states and the number of transitions so far."""


class Sums:
    """The sums of all levels so far."""

    def __init__(self, level: Level | None = None, exchanges: bool = False) -> None:
        self.states = 0 if level is None else level.states
        self.transitions = 0 if level is None else level.transitions
        self.exchanges = exchanges
        """Whether states stand for others."""
        self.found: dict[Signature, Shortest] = {}
        self._edges: dict[Edge, None] = {} if level is None else dict.fromkeys(level.edges)
        for met in () if level is None else level.found:
            keep(self.found, met.told.signature, met.told.shortest(met.order, steps_of(met.steps)))

    @property
    def orders(self) -> LockOrder:
        """The orders in which threads have taken locks, in all runs."""
        orders = LockOrder()
        orders.edges.update(self._edges)
        return orders

    def violated(self, told: bytes, order: bytes, steps: bytes) -> None:
        """Keep a violation, if it is the first of the shortest runs of its signature."""
        one = told_of(told)
        keep(self.found, one.signature, one.shortest(order, steps_of(steps)))

    def ordered(self, edge: bytes) -> None:
        """Add an order of locks. They are to come in the order in which they were met."""
        self._edges.setdefault(edge_of(edge))

    def level(self, rows: Mapping[str, int]) -> Level:
        """Returns what is known once a level is explored. `rows`: by table, how many it has."""
        self.states += rows["states"]
        found = tuple(
            Met(told_again(signature, one), one.rank[2], pack(one.steps))
            for signature, one in sorted(self.found.items())
        )
        return Level(self.states, self.transitions, dict(rows), found, tuple(self._edges))


class Rest(NamedTuple):
    """What was found out after the last level."""

    broken: Iterable[dict[str, Any]]
    """Rows of `BROKEN`."""
    undrained: Iterable[tuple[bytes, bytes]]
    """Key and order of the states from which the drain was not judged, because an interruption came first."""


def settle(folder: Folder, rest: Rest, sums: Sums) -> Settled:
    """Find out what the drains have violated that were left to the states of later levels.

    The state behind another one is always in the next level, so each level is looked at once.
    """
    by_level: dict[int, dict[bytes, bytes | None]] = {}
    for one in _rows(folder, "broken"):
        by_level.setdefault(_level(one["order"]), {})[one["key"]] = one["broken"]
    for one in rest.broken:
        by_level.setdefault(_level(one["order"]), {})[one["key"]] = one["broken"]
        sums.violated(one["broken"], one["order"], one["steps"])
    for key, order in rest.undrained:
        by_level.setdefault(_level(order), {})[key] = None
    settled = Settled()
    after: dict[bytes, bytes | None] = {}
    for level in range(max(by_level, default=-1), -1, -1):
        here = by_level.get(level, {})
        inherited: dict[bytes, bytes | None] = {}
        for batch in folder.read(level + 1, "left") if after else ():
            for key, target in zip(batch["key"].to_pylist(), batch["target"].to_pylist(), strict=True):
                if target in after:
                    inherited[key] = after[target]
        told = {key: one for key, one in inherited.items() if one is not None}
        for row in _states(folder, level, told):
            settled.keep(told_of(told[row["key"]]), row["order"], row["steps"])
        after = {**inherited, **here}
        settled.undrained += sum(one is None for one in after.values())
    return settled


class Settled:
    """What was found out about drains in the end."""

    def __init__(self) -> None:
        self.found: dict[Signature, Shortest] = {}
        self.undrained = 0

    def keep(self, told: Told, order: bytes, steps: bytes) -> None:
        """Keep a violation, if it is the first of the shortest runs of its signature."""
        keep(self.found, told.signature, told.shortest(order, steps_of(steps)))


def _level(order: bytes) -> int:
    return len(order) // 2


def _rows(folder: Folder, table: str) -> Iterator[dict[str, Any]]:
    for number, level in enumerate(folder.levels):
        for batch in folder.read(number, table) if level.broken else ():
            yield from batch.to_pylist()


def _states(folder: Folder, level: int, keys: dict[bytes, bytes]) -> Iterator[dict[str, Any]]:
    """Yields the states of a level that have these keys."""
    for batch in folder.read(level, "states") if keys else ():
        wanted = [place for place, key in enumerate(batch["key"].to_pylist()) if key in keys]
        yield from batch.take(pa.array(wanted, pa.int64())).to_pylist()
