"""What the tasks of Spark do. Executors import this and what it needs, but not pyspark's classic or Connect classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing

import msgspec
import pyarrow as pa

from conformance.campaigns.apart import attempt_elsewhere
from conformance.campaigns.merge import fold
from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import FindingRecord
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.reducing import Case, Reducer
from conformance.campaigns.rows import Row, rows_of
from conformance.campaigns.runners import timed
from conformance.campaigns.tables import batch_of, rows_in
from conformance.driver import find_components
from conformance.system.writing import NotWritten

FINDINGS = "number bigint, finding binary"
"""The columns of what `reducing` yields."""
Batches = Iterator[pa.RecordBatch]


def running(plan: Plan, names: Names, tasks: Sequence[Sequence[Block]]) -> Callable[[Batches], Batches]:
    """Return a function that runs the blocks of those tasks whose numbers it gets, and yields their rows."""

    def run(numbers: Batches) -> Batches:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for block in tasks[number]:
                    yield batch_of(rows_of(*timed(lambda one: attempt_elsewhere(plan, one, names), block)))

    return run


def reducing(plan: Plan, names: Names, budget: int, cases: Sequence[Case]) -> Callable[[Batches], Batches]:
    """Return a function that reduces those cases whose numbers it gets, and yields the number and JSON of each."""

    def run(numbers: Batches) -> Batches:
        with closing(Reducer(plan, names, budget)) as reducer:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    found = _reduced(reducer, cases[number])
                    yield pa.RecordBatch.from_pydict({"number": [number], "finding": [msgspec.json.encode(found)]})

    return run


def _reduced(reducer: Reducer, case: Case) -> FindingRecord:
    """Return a finding. If the disk of an executor refuses to write, the case is not reduced."""
    try:
        return reducer.reduce(case)
    except NotWritten as error:
        return reducer.as_found(case, str(error))


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
