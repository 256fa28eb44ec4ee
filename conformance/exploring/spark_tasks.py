"""What the tasks of Spark do for an exploration. Executors import this and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from conformance.engines.explore import Shortest, keep
from conformance.engines.tally import Signature
from conformance.exploring.folder import Explored
from conformance.exploring.rows import BROKEN, LEFT, STATES, keys_in, pack, steps_of, told_again, told_of
from conformance.exploring.tasks import work

Batches = Iterator[pa.RecordBatch]
LEAST = pa.schema([*STATES, ("least", pa.binary())])
"""A state, and the least of its key and of those with values exchanged: equal for all that stand for each other."""


def working(explored: Explored, name: str) -> Callable[[Batches], Batches]:
    """Return a function that does the task of this name."""

    def run(batches: Batches) -> Batches:
        yield from work(explored, name, batches)

    return run


def exchanging(explored: Explored) -> Callable[[Batches], Batches]:
    """Return a function that finds the states that stand for the same. It takes rows of STATES, and yields LEAST."""

    def run(batches: Batches) -> Batches:
        for batch in work(explored, "exchange", batches):
            both = zip(batch["key"].to_pylist(), batch["others"].to_pylist(), strict=True)
            least = [min(key, *keys_in(others)) for key, others in both]
            yield pa.RecordBatch.from_arrays([*batch.columns, pa.array(least, pa.binary())], schema=LEAST)

    return run


def keys_of(batches: Batches) -> Batches:
    """Yield, for rows with key and others, each of these keys, and the key of the state that stands for it."""
    for batch in batches:
        rows = [
            {"key": one, "target": key}
            for key, others in zip(batch["key"].to_pylist(), batch["others"].to_pylist(), strict=True)
            for one in (key, *keys_in(others))
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=LEFT)


def shortest(batches: Batches) -> Batches:
    """Yield, of rows of BROKEN, the first of the shortest runs of each signature."""
    found: dict[Signature, Shortest] = {}
    for batch in batches:
        for one in batch.to_pylist():
            told = told_of(one["broken"])
            keep(found, told.signature, told.shortest(one["order"], steps_of(one["steps"])))
    rows = [
        {"order": one.rank[2], "steps": pack(one.steps), "broken": pack(told_again(signature, one))}
        for signature, one in found.items()
    ]
    yield pa.RecordBatch.from_pylist(rows, schema=BROKEN)
