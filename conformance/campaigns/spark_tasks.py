"""What the tasks of Spark do. Executors import this and what it needs, but not pyspark's classic or Connect classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from conformance.campaigns.apart import attempting_elsewhere
from conformance.campaigns.merge import fold
from conformance.campaigns.names import Names
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.rows import Row, rows_of
from conformance.campaigns.runners import timed
from conformance.campaigns.tables import batch_of, rows_in
from conformance.campaigns.works import Function
from conformance.driver import find_components
from conformance.system.garbage import spare_once
from conformance.system.writing import NotWritten

RESULTS = "number bigint, result binary"
"""The columns of what `doing` yields."""
Batches = Iterator[pa.RecordBatch]


def running(plan: Plan, names: Names, tasks: Sequence[Sequence[Block]]) -> Callable[[Batches], Batches]:
    """Return a function that runs the blocks of those tasks whose numbers it gets, and yields their rows."""

    def run(numbers: Batches) -> Batches:
        with attempting_elsewhere(plan, names) as attempt:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    for block in tasks[number]:
                        yield batch_of(rows_of(*timed(attempt, block)))
                        spare_once()

    return run


def doing(function: Function[Any, Any], names: Names, works: Sequence[Any]) -> Callable[[Batches], Batches]:
    """Return a function that does those works whose numbers it gets, and yields the number of each and its result."""

    def run(numbers: Batches) -> Batches:
        with function.ready(names) as do:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    try:
                        result = do(works[number])
                    except NotWritten as error:  # the disk of an executor refuses to write, and another may not
                        result = function.given_up(works[number], str(error), names)
                    yield pa.RecordBatch.from_pydict({"number": [number], "result": [msgspec.json.encode(result)]})
                    spare_once()

    return run


def adding(components: str) -> Callable[[Batches], Batches]:
    """Return a function that yields the sum of the rows that it gets. `components`: where they are found."""

    def add(batches: Batches) -> Batches:
        yield _sum_of((row for batch in batches for row in rows_in(batch)), components)

    return add


def adding_group(components: str) -> Callable[[pa.Table], pa.Table]:
    """Return a function that returns the sum of the rows of a table."""

    def add(table: pa.Table) -> pa.Table:
        return pa.Table.from_batches([_sum_of(rows_in(table), components)])

    return add


def _sum_of(rows: Iterable[Row], components: str) -> pa.RecordBatch:
    return batch_of(fold(rows, find_components(components)).rows())
