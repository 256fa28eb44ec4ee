"""What another process does for an exploration: it makes an expander of its own, and works on rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import pyarrow as pa

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.expanding import Expander
from conformance.engines.interruption import Interruption
from conformance.engines.recognition import Recognition
from conformance.engines.scope import scope_of
from conformance.exploring.folder import Explored
from conformance.exploring.rows import MADE, TASKS
from conformance.ports import find_implementation


@lru_cache(1)
def expander_of(explored: Explored) -> Expander:
    """Returns what expands the states of an exploration.

    Raises: ScopeError; CannotRecognise; UnusableImplementation.
    """
    program = Program(COMPONENTS[explored.component], find_implementation(explored.implementation))
    scope = scope_of(program.component, dict(one.split("=", 1) for one in explored.scope))
    return Expander(program, scope, recognition=Recognition.HASH)


def work(explored: Explored, name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the task of this name with some rows."""
    return TASKS[name](expander_of(explored), batches)


def work_on_arrow(explored: Explored, name: str, data: bytes, interruption: Interruption) -> bytes:
    """Do the task of this name with rows that came as a stream of Arrow, and return one."""
    with pa.ipc.open_stream(data) as stream:
        return to_arrow(MADE[name], work(explored, name, stream))


def to_arrow(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> bytes:
    """Returns rows as a stream of Arrow."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    made: bytes = sink.getvalue().to_pybytes()
    return made
