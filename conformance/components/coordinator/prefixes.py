"""Short lists of steps that lead to rare states of a coordinator, with two subtasks or more."""

from __future__ import annotations

from conformance.components.coordinator.steps import (
    abort,
    acknowledge_again,
    arrive,
    barrier,
    barrier_with_report,
    complete,
    cut,
    deliver,
    fail,
    fail_attempt,
    fail_attempt_only,
    fail_trigger,
    finish,
    inject,
    lose_event,
    report,
    restart,
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
_THREE_READY = (*_READY, run(2, 0), turn(), trigger(1, "checkpoint"), turn(), deliver(2, 0), report(2, 0), arrive(2, 0))
SCALED_TO_TWO = (
    *_THREE_READY, turn(), *_CLOSED, *_ANSWERED, *_cut_and_injected(1), *_snapshots(1), barrier(2, 0, 1), complete(1),
    fail(), restore(1, 2),
)  # fmt: skip
"""Leads to a job with two subtasks that was restored from a checkpoint of three."""
SCALED_UP = (*STORED, fail(), restore(1, 3), run(0, 0), turn(), run(1, 0), turn(), run(2, 0), turn())
"""Lead to a job that was restored from it with another parallelism."""


def _asked(number: int) -> tuple[Operands, ...]:
    return (*_READY, trigger(number, "checkpoint"), turn(), deliver(0, 0), deliver(1, 0), *_ANSWERED)


_ASKED = _asked(1)
_EVENTS = (send(0, 0), send(1, 0), turn(), turn())
CUT = (*_ASKED, *_cut_and_injected(1), *_EVENTS)
"""Leads to a checkpoint whose barriers have left, and to events that are held back for it."""
OVERLAPPING = (*CUT, barrier(0, 0, 1), arrive(0, 0), turn(), trigger(2, "savepoint"), turn())
"""Leads to a savepoint that begins while one subtask has taken its snapshot of a checkpoint and the other has not."""


def _held_twice(first: int) -> tuple[Operands, ...]:
    next_one = first + 1
    return (
        *_asked(first), *_cut_and_injected(first), trigger(next_one, "checkpoint"), trigger(next_one, "savepoint"),
        turn(), deliver(0, 0), deliver(1, 0), *_ANSWERED, *_cut_and_injected(next_one), *_EVENTS,
    )  # fmt: skip


HELD_TWICE = _held_twice(1)
"""Leads to events that two checkpoints hold back."""
ONE_OF_TWO_ABORTED = (*HELD_TWICE, abort(2), turn(), turn())
"""Leads to events that one of these checkpoints still holds back."""
TEN_ABORTED = (*_held_twice(9), abort(10), turn(), turn())
"""Leads to the same, with ids of which the older one comes later as a text."""
DISTURBED = (*CUT, fail_trigger(), turn())
"""Leads to a checkpoint in progress while another one has failed before it began."""
JOINED = (
    *CUT, trigger(2, "savepoint"), turn(), deliver(0, 0), deliver(1, 0), *_ANSWERED, cut(2), turn(), *_EVENTS, abort(2),
    turn(), turn(),
)  # fmt: skip
"""Leads to events that were held back for an aborted savepoint, and now join those of an older checkpoint."""
JOINED_TWICE = (
    *HELD_TWICE, trigger(3, "checkpoint"), trigger(3, "savepoint"), turn(), deliver(0, 0), deliver(1, 0), *_ANSWERED,
    *_cut_and_injected(3), *_EVENTS, abort(3), turn(), turn(),
)  # fmt: skip
"""Leads to events that were held back for the newest of three checkpoints, and now join those of the one before."""
ASKED_AGAIN = (*CUT, trigger(1, "checkpoint"), turn(), fail_trigger(), turn())
"""Leads to a checkpoint in progress that was triggered again while another one failed before it began."""
LOST = (
    *_READY, send(0, 0), turn(), lose_event(0, 0), turn(), trigger(1, "checkpoint"), turn(), deliver(0, 0),
    deliver(1, 0), *_ANSWERED, *_cut_and_injected(1), *_snapshots(1),
)  # fmt: skip
"""Leads, if nobody lets the attempt fail, to a checkpoint after an event was lost."""
SUBSUMING = (*HELD_TWICE, *_snapshots(2))
"""Leads to a checkpoint that all subtasks have acknowledged while an older one is in progress."""
AWAITING = (
    *_ASKED, *_EVENTS, cut(1), turn(), abort(1), turn(), turn(), trigger(2, "checkpoint"), turn(), *[deliver(0, 0)] * 4,
    *[deliver(1, 0)] * 4, *_ANSWERED,
)  # fmt: skip
"""Leads to a checkpoint that begins while events are not acknowledged yet for which the result of an aborted one has
waited."""
OUTRUN = (*_ASKED, *_cut_and_injected(1), abort(1), trigger(2, "checkpoint"), turn(), turn(), deliver(0, 0))
"""Leads to a subtask that was asked for a checkpoint while barriers of the aborted one before are on their way."""
OPENED = (*_ASKED, *_cut_and_injected(1), abort(1), turn(), turn(), deliver(0, 0), barrier_with_report(0, 0, 1))
"""Leads to a report of the hooks of a snapshot whose checkpoint holds the gate of the subtask no more."""
CUT_AND_RESTARTED = (*_ASKED, cut(1), fail_attempt_only(0, 0), restart())
"""Leads to a cut that the main thread has not seen, and to a new attempt whose gate does not know the checkpoint."""
STALE = (
    *_ASKED, *_cut_and_injected(1), barrier(0, 0, 1), arrive(0, 0), fail_attempt(0, 0), turn(), turn(), restart(),
    turn(), run(0, 1), turn(), trigger(2, "checkpoint"), turn(), deliver(0, 1), deliver(0, 1), deliver(1, 0),
    deliver(1, 0), arrive(0, 1), turn(), arrive(1, 0), turn(), *_cut_and_injected(2), send(0, 1), turn(),
    acknowledge_again(0, 0, 1), turn(),
)  # fmt: skip
"""Leads to a gate that is held for a new attempt, whose predecessor has acknowledged an older checkpoint."""
ONE_FINISHED = (
    *_READY, finish(1, 0), trigger(1, "savepoint"), turn(), deliver(0, 0), arrive(0, 0), turn(), *_cut_and_injected(1),
    barrier(0, 0, 1), complete(1),
)  # fmt: skip
"""Leads to a savepoint that completed without a subtask that had finished."""
PREFIXES = (
    CUT, OVERLAPPING, HELD_TWICE, ONE_OF_TWO_ABORTED, TEN_ABORTED, DISTURBED, ASKED_AGAIN, JOINED, JOINED_TWICE, LOST,
    SUBSUMING, AWAITING, OUTRUN, OPENED, CUT_AND_RESTARTED, STALE, STORED, SCALED_DOWN, SCALED_UP, SCALED_TO_TWO,
    ONE_FINISHED,
)  # fmt: skip
