"""Lists of steps that lead a gate into states that random steps seldom reach."""

from __future__ import annotations

from conformance.components.gate.steps import (
    buffer,
    checkpoint_started,
    checkpoint_stopped,
    convert,
    end_of_output_state,
    finish_recovery,
    persisted,
    poll,
    recover,
    recovery_completion,
    release,
    request_partitions,
    unaligned_barrier,
)
from conformance.driver import FINISH, RUN, Operands

_ENDS = tuple((FINISH, thread) for thread in ("recovery", "network", "task"))


def _one_by_one(*steps: Operands) -> tuple[Operands, ...]:
    """Returns these steps with turns in between, so that each operation is over before the next begins."""
    return tuple(one for step in steps for one in (step, *_ENDS))


TAKEN_BEFORE_ITS_NOTIFICATION = (
    *_one_by_one(request_partitions(), buffer(0), buffer(0)),
    unaligned_barrier(0, 1), (RUN, "network", "outside the locks of local channel 0"), poll(), (FINISH, "task"),
    *_one_by_one(unaligned_barrier(1, 1), poll()),
)  # fmt: skip
"""Leads to the notification of a priority event that was polled already, and then to another priority event."""
STOPPED_BEFORE_CONVERSION = _one_by_one(
    finish_recovery(0), finish_recovery(1), poll(), checkpoint_stopped(1), convert(), request_partitions(),
    recovery_completion(0), recovery_completion(1), poll(), poll(), end_of_output_state(0), end_of_output_state(1),
    checkpoint_started(1), buffer(0), buffer(1), poll(), persisted(1),
)  # fmt: skip
"""Leads to a checkpoint that was stopped before the conversion and starts after it."""
REPLACED_BEFORE_ITS_NOTIFICATION = (
    *_one_by_one(finish_recovery(0)),
    finish_recovery(1), (RUN, "recovery", "gate lock"), convert(), (FINISH, "task"),
    *_one_by_one(request_partitions(), poll()),
)  # fmt: skip
"""Leads to the notification of a recovered channel that conversion has replaced."""
RELEASED_WHILE_A_PUSH_WAITS = (
    *_one_by_one(convert(), request_partitions()),
    recover(1), release(), *_ENDS,
)  # fmt: skip
"""Leads to the release of a gate while a push waits for the producer's side."""
PREFIXES = (
    TAKEN_BEFORE_ITS_NOTIFICATION, STOPPED_BEFORE_CONVERSION, REPLACED_BEFORE_ITS_NOTIFICATION,
    RELEASED_WHILE_A_PUSH_WAITS,
)  # fmt: skip
