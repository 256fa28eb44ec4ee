"""The rows with which an exploration works in many processes, and what a task does with them.

A task expands some states of a level, which are rows, and knows nothing of others. What comes out are rows, too, in one
schema for all, since that is what Spark's `mapInArrow` takes: the states that were reached, each once; the drains that
the state behind a step does; what was violated; lock orders; and how many transitions there were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from conformance.driver import Broken, FailureClass, Violation, World
from conformance.engines.expanding import Counts, Each, Expander, Failed, Reached
from conformance.engines.explore import Shortest, keep
from conformance.engines.recognition import HASH_BITS
from conformance.engines.scope import ScopeError
from conformance.engines.tally import Signature
from conformance.scenarios import Step
from conformance.scheduling import Edge, LockOrder

STATES = pa.schema(
    [
        ("key", pa.binary()),  # the wide hash of the state
        ("order", pa.binary()),  # which step it was in each level, two bytes each: the order of states in a level
        ("steps", pa.binary()),  # those from the beginning of the run
        ("counts", pa.binary()),
        ("others", pa.binary()),  # the keys of the states with values exchanged, one after the other
    ]
)
"""A state. Rows of a level are sorted by `order`."""
LEFT = pa.schema([("key", pa.binary()), ("target", pa.binary())])
"""A state, and the state of the next level whose drain is the rest of its own."""
DRAINS = pa.schema([("key", pa.binary()), ("order", pa.binary()), ("steps", pa.binary())])
"""A state from which the drain is still to be judged, since the state behind its first step was reached before."""
BROKEN = pa.schema([("key", pa.binary()), ("order", pa.binary()), ("steps", pa.binary()), ("broken", pa.binary())])
"""What the drain of a state has violated."""
OUT = pa.schema(
    [
        ("kind", pa.string()),
        ("key", pa.binary()),
        ("order", pa.binary()),
        ("steps", pa.binary()),
        ("counts", pa.binary()),
        ("target", pa.binary()),
        ("broken", pa.binary()),
        ("number", pa.int64()),
    ]
)
"""What comes out of a task."""
REACHED, LATER, DRAIN, STEP, EDGE, COUNT = "reached", "later", "drain", "step", "edge", "count"
"""The kinds of rows in it: a state; a drain that another state does; a drain, or a step, that has violated a property;
an order of locks; and how many transitions there were."""

HASH_BYTES = HASH_BITS // 8
MOST_PLACES = 1 << 16
_BATCH = 2_000
"""How many rows are in one batch."""
_STEPS = msgspec.msgpack.Decoder(tuple[tuple[str | int | bool, ...], ...])
_COUNTS = msgspec.msgpack.Decoder(tuple[int | dict[str | int, int], ...])
pack = msgspec.msgpack.encode


class Told(msgspec.Struct, frozen=True, array_like=True):
    """A violation, without the run."""

    signature: Signature
    failure_class: str
    owed: str
    observed: str

    def shortest(self, order: bytes, steps: tuple[Step, ...]) -> Shortest:
        """Returns it as a finding of an exploration. Of runs of the same length, the first one counts."""
        broken = Broken(FailureClass(self.failure_class), self.owed, self.observed)
        return Shortest((len(steps), len(order), order), steps, broken)


def told_again(signature: Signature, one: Shortest) -> Told:
    """Returns the violation of a finding."""
    return Told(signature, one.broken.failure_class.value, one.broken.owed, one.broken.observed)


_TOLD = msgspec.msgpack.Decoder(Told)
_EDGE = msgspec.msgpack.Decoder(Edge)


def steps_of(packed: bytes) -> tuple[Step, ...]:
    """Returns the steps of a row."""
    return _STEPS.decode(packed)


def told_of(packed: bytes) -> Told:
    """Returns the violation of a row."""
    return _TOLD.decode(packed)


def edge_of(packed: bytes) -> Edge:
    """Returns the order of locks of a row."""
    return _EDGE.decode(packed)


def keys_in(others: bytes) -> Iterator[bytes]:
    """Yields the keys in a column `others`."""
    return (others[first : first + HASH_BYTES] for first in range(0, len(others), HASH_BYTES))


def state_row(order: bytes, at: Reached) -> dict[str, Any]:
    """Returns the row of a state."""
    return {"key": at.key, "order": order, "steps": pack(at.steps), "counts": pack(at.counts), "others": b""}


def told_by(violation: Violation) -> Told:
    """Returns a violation without its run."""
    broken = violation.broken
    return Told(violation.signature, broken.failure_class.value, broken.owed, broken.observed)


def _counts_of(packed: bytes) -> Counts:
    return tuple(Each(one) if isinstance(one, dict) else one for one in _COUNTS.decode(packed))


def _child(order: bytes, place: int) -> bytes:
    if place >= MOST_PLACES:
        raise ScopeError(f"more than {MOST_PLACES:,} steps are possible in one state; bound what they are made of")
    return order + place.to_bytes(2, "big")


class _State(NamedTuple):
    order: bytes
    reached: Reached


def _states(batches: Iterable[pa.RecordBatch]) -> Iterator[_State]:
    for batch in batches:
        key, order, steps, counts = (batch.column(name).to_pylist() for name in ("key", "order", "steps", "counts"))
        for one in zip(key, order, steps, counts, strict=True):
            yield _State(one[1], Reached(steps_of(one[2]), _counts_of(one[3]), one[0]))


class _Rows:
    """Collects rows into batches."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema, self._rows = schema, list[dict[str, Any]]()

    def add(self, **row: Any) -> None:
        """Add a row; what is not given is null."""
        self._rows.append(row)

    def full(self) -> Iterator[pa.RecordBatch]:
        """Yields a batch, if it is large enough."""
        if len(self._rows) >= _BATCH:
            yield self.batch()

    def batch(self) -> pa.RecordBatch:
        """Returns the rows that were added since the last one."""
        made = pa.RecordBatch.from_pylist(self._rows, schema=self._schema)
        self._rows.clear()
        return made


def expand(expander: Expander, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Expand states, which are rows of `STATES`. Yields rows of `OUT`. Raises: ScopeError; CannotRecognise."""
    expander.orders = LockOrder()
    before, known = expander.transitions, 0
    rows, seen, found = _Rows(OUT), dict[bytes, bytes](), dict[Signature, Shortest]()
    for order, at in _states(batches):
        first: list[Step | None] = [None]

        def look(world: World, at: Reached = at, first: list[Step | None] = first) -> None:
            first[0] = expander.drains_later(world, at.counts)

        violation: Violation | None = None
        is_left = False
        for event in expander.expand(at, look):
            is_first = first[0] is not None and event.step == first[0]
            there = _child(order, event.place)
            if isinstance(event, Failed):
                keep(found, event.violation.signature, told_by(event.violation).shortest(there, event.steps))
                if is_first:
                    violation, is_left = event.violation, True
                continue
            assert isinstance(event.key, bytes)
            if event.key == at.key:
                continue  # and a drain that begins with it would never come to another state: it is done here
            if is_first:
                is_left = True
                rows.add(kind=LATER, key=at.key, order=order, steps=pack(at.steps), target=event.key)
            if event.key not in seen or there < seen[event.key]:
                seen[event.key] = there
                steps = pack((*at.steps, *event.steps))
                rows.add(kind=REACHED, key=event.key, order=there, steps=steps, counts=pack(event.counts))
        if not is_left:
            violation = expander.drain_from(at.steps)
        if violation is not None:
            rows.add(kind=DRAIN, key=at.key, order=order, steps=pack(at.steps), broken=pack(told_by(violation)))
        for number, edge in enumerate(list(expander.orders.edges)[known:]):
            rows.add(kind=EDGE, order=order, number=number, broken=pack(edge))
        known = len(expander.orders.edges)
        yield from rows.full()
    for signature, one in found.items():
        rows.add(kind=STEP, order=one.rank[2], steps=pack(one.steps), broken=pack(told_again(signature, one)))
    rows.add(kind=COUNT, number=expander.transitions - before)
    yield rows.batch()


def drain(expander: Expander, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Judge the drains of states, which are rows of `DRAINS`. Yields rows of `BROKEN`."""
    rows = _Rows(BROKEN)
    for batch in batches:
        for one in batch.to_pylist():
            violation = expander.drain_from(steps_of(one["steps"]))
            if violation is not None:
                rows.add(key=one["key"], order=one["order"], steps=one["steps"], broken=pack(told_by(violation)))
        yield from rows.full()
    yield rows.batch()


def exchange(expander: Expander, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Find the states that stand for the same, with values exchanged. Yields the rows of `STATES` with their keys."""
    for batch in batches:
        rows = _Rows(STATES)
        for one in batch.to_pylist():
            keys = [key for key in expander.exchanged(steps_of(one["steps"])) if isinstance(key, bytes)]
            rows.add(**{**one, "others": b"".join(keys)})
        yield rows.batch()


TASKS = {"expand": expand, "drain": drain, "exchange": exchange}
"""What a task may do, by name."""
MADE = {"expand": OUT, "drain": BROKEN, "exchange": STATES}
"""The schema of what comes out of it."""
