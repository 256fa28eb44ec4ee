"""Lists of steps that lead a gate into states that random steps seldom reach."""

from __future__ import annotations

from conformance.components.gate.steps import (
    STEPS,
    buffer,
    cancel,
    checkpoint_started,
    checkpoint_stopped,
    convert,
    end_of_output_state,
    event_with_backlog,
    fail,
    fault,
    finish_recovery,
    in_use,
    insert_recovery_barriers,
    persisted,
    poll,
    recover,
    recovery_completion,
    release,
    request_partitions,
    unaligned_barrier,
)
from conformance.driver import FINISH, RUN, Operands
from conformance.ports import CHANNEL_STATE_WRITER, FaultKind

_THREADS = {step.name: step.by for step in STEPS.all}


def _one_by_one(*steps: Operands) -> tuple[Operands, ...]:
    """Returns these steps with turns in between, so that each operation is over before the next begins."""
    return tuple(one for step in steps for one in (step, (FINISH, _THREADS[step[0]])))


_LIVE = (
    *_one_by_one(finish_recovery(2), finish_recovery(1)),
    finish_recovery(0), (RUN, "recovery", "gate lock"), convert(), (FINISH, "task"), (FINISH, "recovery"),
    *_one_by_one(
        poll(), convert(), request_partitions(), *[recovery_completion(channel) for channel in range(3)],
        *[finish_recovery(channel) for channel in range(3)], *[poll()] * 3,
        *[end_of_output_state(channel) for channel in range(3)],
    ),
)  # fmt: skip
"""Leads to a gate from whose channels live data can be polled, in every recovery design. On the way, conversion
replaces a recovered channel that is about to notify the gate."""
_REFUSED = _one_by_one(
    unaligned_barrier(0, 2), poll(), unaligned_barrier(0, 3), poll(), checkpoint_started(2),
    event_with_backlog(0, 3), buffer(1), *[poll()] * 3, event_with_backlog(2, 3), buffer(1), poll(),
)  # fmt: skip
"""Leads to a checkpoint that starts after the consumer has polled the barrier of a newer one; then to producers that
wait for credit while another channel is polled."""
TAKEN_BEFORE_ITS_NOTIFICATION = (
    *_LIVE,
    *_one_by_one(buffer(0), buffer(0)),
    unaligned_barrier(0, 1), (RUN, "network", "gate lock"), poll(), (FINISH, "task"), (FINISH, "network"),
    *_one_by_one(unaligned_barrier(1, 1), poll()),
    checkpoint_started(2), *[(RUN, "task", "channel 1 lock")] * 2, buffer(1), (FINISH, "network"), (FINISH, "task"),
    *_one_by_one(*[unaligned_barrier(channel, 2) for channel in range(3)], persisted(2)),
)  # fmt: skip
"""Leads to the notification of a priority event that was polled already, and then to another priority event; then to
data that arrives while a checkpoint starts."""
STOPPED_BEFORE_CONVERSION = (
    *_one_by_one(checkpoint_stopped(1)),
    *_LIVE,
    *_one_by_one(checkpoint_started(1), buffer(0), buffer(1), in_use(0), in_use(1), poll(), persisted(1)),
    *_REFUSED,
)
"""Leads to a checkpoint that was stopped before the conversion and starts after it, with data in every channel."""
RELEASED_WHILE_A_PUSH_WAITS = (
    *_one_by_one(convert(), request_partitions()),
    recover(1), *_one_by_one(release()), (FINISH, "recovery"),
)  # fmt: skip
"""Leads to the release of a gate while a push waits for the producer's side."""
FAILED_IN_A_POLL = (
    *_LIVE,
    *_one_by_one(buffer(1)),
    poll(), (RUN, "task", "channel 1 lock"), (RUN, "task", "channel 1 lock"), fail(),
)  # fmt: skip
"""Leads to a failure in the middle of a poll that has copied a buffer and has not recycled it."""
STOPPED_IN_RECOVERY = (
    *_one_by_one(
        convert(), request_partitions(), *[recovery_completion(channel) for channel in range(3)],
        insert_recovery_barriers(1), checkpoint_started(1), checkpoint_stopped(1),
        *[finish_recovery(channel) for channel in range(3)], *[poll()] * 3,
        *[end_of_output_state(channel) for channel in range(3)], buffer(0), buffer(1), poll(), poll(), persisted(1),
    ),
    *_REFUSED,
)  # fmt: skip
"""Leads, with `pushed`, to a checkpoint that was started and stopped in recovery, and to data that comes after it."""
FAILED_AS_A_CHECKPOINT_STARTS = (
    *_one_by_one(
        recover(0), recover(1), recover(1), finish_recovery(0), finish_recovery(1), convert(), request_partitions(),
    ),
    fault(CHANNEL_STATE_WRITER, FaultKind.THROWS.value, 1),
    *_one_by_one(checkpoint_started(1), persisted(1)),
)  # fmt: skip
"""Leads, with `in-memory` and with faults, to a start of a checkpoint that fails with recovered data queued."""
CANCELLED_IN_A_POLL = (
    *_one_by_one(convert(), request_partitions(), recovery_completion(0), finish_recovery(0)),
    poll(), (RUN, "task", "channel 0 lock"), (RUN, "task", "channel 0 lock"), cancel(), (FINISH, "canceler"),
)  # fmt: skip
"""Leads, with `pushed`, to the cancellation of a task whose poll has taken the end of recovered data."""
CANCELLED_IN_A_REQUEST = (
    *_one_by_one(*[finish_recovery(channel) for channel in range(3)], *[poll()] * 3, convert()),
    request_partitions(), cancel(), (FINISH, "canceler"), (FINISH, "task"),
)  # fmt: skip
"""Leads to the cancellation of a task that is about to request the partitions."""
PREFIXES = (
    TAKEN_BEFORE_ITS_NOTIFICATION, STOPPED_BEFORE_CONVERSION, RELEASED_WHILE_A_PUSH_WAITS, FAILED_IN_A_POLL,
    STOPPED_IN_RECOVERY, FAILED_AS_A_CHECKPOINT_STARTS, CANCELLED_IN_A_POLL, CANCELLED_IN_A_REQUEST,
)  # fmt: skip
