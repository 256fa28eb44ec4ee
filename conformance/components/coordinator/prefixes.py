"""Short lists of steps that lead to rare states of a coordinator, with two subtasks or more."""

from __future__ import annotations

from conformance.components.coordinator.steps import (
    arrive,
    barrier,
    complete,
    cut,
    deliver,
    fail,
    finish,
    inject,
    report,
    restore,
    run,
    send,
    trigger,
    turn,
)
from conformance.driver.step import Operands

_READY = (run(0, 0), turn(), run(1, 0), turn())
_CLOSED = (deliver(0, 0), report(0, 0), report(0, 0), deliver(1, 0), report(1, 0))
_ANSWERED = (arrive(0, 0), turn(), arrive(1, 0), turn())


def _cut_and_injected(number: int) -> tuple[Operands, ...]:
    return (cut(number), turn(), inject(number), turn())


def _snapshots(number: int) -> tuple[Operands, ...]:
    return (barrier(0, 0, number), barrier(1, 0, number))


STORED = (
    *_READY, trigger(1, "checkpoint"), turn(), *_CLOSED, *_ANSWERED, *_cut_and_injected(1), *_snapshots(1), complete(1),
)  # fmt: skip
"""Leads to a checkpoint that stores reports of both subtasks."""
SCALED_DOWN = (*STORED, fail(), restore(1, 1))
SCALED_UP = (*STORED, fail(), restore(1, 3), run(0, 0), turn(), run(1, 0), turn(), run(2, 0), turn())
"""Lead to a job that was restored from it with another parallelism."""
OVERLAPPING = (
    *_READY, trigger(1, "checkpoint"), turn(), deliver(0, 0), deliver(1, 0), *_ANSWERED, *_cut_and_injected(1),
    send(0, 0), turn(), barrier(0, 0, 1), trigger(2, "savepoint"), turn(),
)  # fmt: skip
"""Leads to a savepoint that begins while one subtask has taken its snapshot of a checkpoint and the other has not."""
SUBSUMING = (
    *_READY, trigger(1, "checkpoint"), turn(), deliver(0, 0), deliver(1, 0), *_ANSWERED, *_cut_and_injected(1),
    send(0, 0), turn(), trigger(2, "checkpoint"), turn(), deliver(0, 0), deliver(1, 0), *_ANSWERED,
    *_cut_and_injected(2), *_snapshots(2),
)  # fmt: skip
"""Leads to a checkpoint that is complete while an older one is in progress, whose barriers it has overtaken."""
ONE_FINISHED = (
    *_READY, finish(1, 0), trigger(1, "savepoint"), turn(), deliver(0, 0), arrive(0, 0), turn(), *_cut_and_injected(1),
    barrier(0, 0, 1), complete(1),
)  # fmt: skip
"""Leads to a savepoint that completed without a subtask that had finished."""
PREFIXES = (STORED, SCALED_DOWN, SCALED_UP, OVERLAPPING, SUBSUMING, ONE_FINISHED)
