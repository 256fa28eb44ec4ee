"""Records the orders in which threads take locks. A cycle in these orders is a possible deadlock.

An edge says which thread took which lock while it held another one. Orders that contradict each other are a finding
only if different threads can take them at the same time: threads that hold a common lock meanwhile (a guard) cannot.
Orders are compared by lock and by kind of lock. To take channel 0 before the gate, and the gate before channel 1,
therefore is a contradiction too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from conformance.scheduling.words import with_article

if TYPE_CHECKING:
    from conformance.scheduling.thread import Thread
    from conformance.scheduling.waitables import Lock


class Edge(NamedTuple):
    """A thread took `inner` while it held `outer` and also the locks in `guards`."""

    thread: str
    outer: str
    inner: str
    outer_kind: str
    inner_kind: str
    guards: tuple[str, ...]
    disorder: bool
    """Both locks are of one kind, and their ranks do not allow this order."""


class LockOrder:
    """The edges of one run or of several runs."""

    __slots__ = ("changed", "edges", "met")

    def __init__(self) -> None:
        self.edges: dict[Edge, None] = {}
        self.met: set[tuple[object, ...]] = set()
        """Acquisitions that were recorded before: `taken` returns at once for them."""
        self.changed = False
        """True if edges were added since the orders were last checked."""

    def taken(self, thread: Thread, lock: Lock) -> None:
        """Record that a thread which holds locks takes another one."""
        held = thread.held
        name = thread.name  # not the thread, which knows this object: a run would leave a cycle of references behind
        acquisition = (name, lock, held[0]) if len(held) == 1 else (name, lock, *held)
        if acquisition in self.met:
            return
        self.met.add(acquisition)
        for outer in held:
            guards = () if len(held) == 1 else tuple(sorted([one.name for one in held if one is not outer]))
            disorder = outer.kind == lock.kind and not (
                outer.rank is not None and lock.rank is not None and outer.rank < lock.rank
            )
            edge = thread.name, outer.name, lock.name, outer.kind, lock.kind, guards, disorder
            if edge not in self.edges:  # the name of a field makes no difference here, and takes time
                self.edges[Edge(*edge)] = None
                self.changed = True

    def absorb(self, other: LockOrder) -> list[Edge]:
        """Add the edges of another run. Returns those that are new."""
        new = [edge for edge in other.edges if edge not in self.edges]
        if new:
            self.edges.update(dict.fromkeys(new))
            self.changed = True
        return new

    def cycle(self, new: Sequence[Edge] = ()) -> tuple[Edge, ...]:
        """Returns the edges of the first contradiction; empty if the locks are taken in one order.

        `new`: if the other edges are known to have one order, only a contradiction with one of these is looked for."""
        self.changed = False
        edges = list(self.edges)
        for by_kind in (False, True):
            for first in new or edges:
                for path in _paths(edges, (first,), by_kind):
                    return path
        return next(((edge,) for edge in new or edges if edge.disorder), ())


def describe(cycle: tuple[Edge, ...]) -> str:
    """Returns a text that describes a contradiction."""
    return "; ".join(
        f"{edge.thread} takes {with_article(edge.outer)} and then {with_article(edge.inner)}" for edge in cycle
    )


def _paths(edges: list[Edge], path: tuple[Edge, ...], by_kind: bool) -> Iterator[tuple[Edge, ...]]:
    """Yields the cycles that begin with `path`. Their edges are of different threads that have no guard in common."""
    first, last = path[0], path[-1]
    at = last.inner_kind if by_kind else last.inner
    if len(path) > 1 and at == (first.outer_kind if by_kind else first.outer):
        yield path
        return
    for edge in edges:
        if (edge.outer_kind if by_kind else edge.outer) != at or (by_kind and edge.outer_kind == edge.inner_kind):
            continue
        if all(edge.thread != one.thread and not set(edge.guards) & set(one.guards) for one in path):
            yield from _paths(edges, (*path, edge), by_kind)
