"""Lists of steps that lead gates into states that random steps seldom reach, and the weights of searches."""

from __future__ import annotations

from conformance.components.gate.steps import (
    STEPS,
    aligned_barrier,
    available,
    buffer,
    cancel,
    checkpoint_started,
    checkpoint_stopped,
    convert,
    end_of_data,
    end_of_output_state,
    end_of_partition,
    event_with_backlog,
    fail,
    fault,
    finish_recovery,
    finished,
    in_use,
    insert_recovery_barriers,
    persisted,
    poll,
    recover,
    recovery_completion,
    release,
    request_partitions,
    resume,
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
    finish_recovery(0), (RUN, "recovery", "gate lock"), convert(0), (FINISH, "task"), (FINISH, "recovery"),
    *_one_by_one(
        poll(), convert(0), request_partitions(0), *[recovery_completion(channel) for channel in range(3)],
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
TAKEN_WITH_DATA = (
    *_LIVE,
    *_one_by_one(*[buffer(0)] * 3, *[buffer(1)] * 2),
    unaligned_barrier(0, 1), (RUN, "network", "gate lock"), *_one_by_one(*[poll()] * 3), (FINISH, "network"),
    *_one_by_one(poll()),
)  # fmt: skip
"""Leads to the notification of a priority event that was polled already, as was data behind it, while it is the turn of
another channel."""
STOPPED_BEFORE_CONVERSION = (
    *_one_by_one(checkpoint_stopped(1)),
    *_LIVE,
    *_one_by_one(checkpoint_started(1), buffer(0), buffer(1), in_use(0), in_use(1), poll(), persisted(1)),
    *_REFUSED,
)
"""Leads to a checkpoint that was stopped before the conversion and starts after it, with data in every channel."""
RELEASED_WHILE_A_PUSH_WAITS = (
    *_one_by_one(convert(0), request_partitions(0)),
    recover(1), *_one_by_one(release()), (FINISH, "recovery"),
)  # fmt: skip
"""Leads to the release of a gate while a push waits for the producer's side."""
FAILED_IN_A_POLL = (
    *_LIVE,
    *_one_by_one(buffer(1)),
    poll(), (RUN, "task", "channel 1 lock"), (RUN, "task", "channel 1 lock"), fail(),
)  # fmt: skip
"""Leads to a failure in the middle of a poll that has copied a buffer and has not recycled it."""
CANCELLED_WITH_A_COPY = (
    *_LIVE,
    *_one_by_one(event_with_backlog(0, 3), buffer(0), poll()),
    poll(), (RUN, "task", "channel 0 lock"), (RUN, "task", "channel 0 lock"), cancel(), (FINISH, "canceler"),
    (FINISH, "task"),
)  # fmt: skip
"""Leads to the cancellation of a task whose poll has copied a floating buffer and has not recycled it."""
STOPPED_IN_RECOVERY = (
    *_one_by_one(
        convert(0), request_partitions(0), *[recovery_completion(channel) for channel in range(3)],
        insert_recovery_barriers(1), checkpoint_started(1), checkpoint_stopped(1),
        *[finish_recovery(channel) for channel in range(3)], *[poll()] * 3,
        *[end_of_output_state(channel) for channel in range(3)], buffer(0), buffer(1), poll(), poll(), persisted(1),
    ),
    *_REFUSED,
)  # fmt: skip
"""Leads, with `pushed`, to a checkpoint that was started and stopped in recovery, and to data that comes after it."""
FAILED_AS_A_CHECKPOINT_STARTS = (
    *_one_by_one(
        recover(0), recover(1), recover(1), finish_recovery(0), finish_recovery(1), convert(0), request_partitions(0),
    ),
    fault(CHANNEL_STATE_WRITER, FaultKind.THROWS.value, 1),
    *_one_by_one(checkpoint_started(1), persisted(1)),
)  # fmt: skip
"""Leads, with `in-memory` and with faults, to a start of a checkpoint that fails with recovered data queued."""
CANCELLED_IN_A_POLL = (
    *_one_by_one(convert(0), request_partitions(0), recovery_completion(0), finish_recovery(0)),
    poll(), (RUN, "task", "channel 0 lock"), (RUN, "task", "channel 0 lock"), cancel(), (FINISH, "canceler"),
)  # fmt: skip
"""Leads, with `pushed`, to the cancellation of a task whose poll has taken the end of recovered data."""
CANCELLED_IN_A_REQUEST = (
    *_one_by_one(*[finish_recovery(channel) for channel in range(3)], *[poll()] * 3, convert(0)),
    request_partitions(0), cancel(), (FINISH, "canceler"), (FINISH, "task"),
)  # fmt: skip
"""Leads to the cancellation of a task that is about to request the partitions."""
FAILED_BEHIND_ITS_NOTIFICATION = (
    *_LIVE,
    *_one_by_one(checkpoint_started(1)),
    fault(CHANNEL_STATE_WRITER, FaultKind.THROWS.value, 1),
    buffer(1), *[(RUN, "network", "gate lock")] * 2, poll(), (FINISH, "task"), (FINISH, "network"),
)  # fmt: skip
"""Leads, with faults, to a poll of a channel that has failed; if it is marked behind its notification, in between."""
ENDED_BEFORE_ITS_NOTIFICATION = (
    *_LIVE,
    *_one_by_one(end_of_data(0)),
    end_of_partition(0), (RUN, "network", "gate lock"), *[poll(), (FINISH, "task")] * 2, (FINISH, "network"),
    *_one_by_one(poll()),
)  # fmt: skip
"""Leads to a channel of which the end was polled while its notification was under way."""
PREFIXES = (
    TAKEN_BEFORE_ITS_NOTIFICATION, STOPPED_BEFORE_CONVERSION, RELEASED_WHILE_A_PUSH_WAITS, FAILED_IN_A_POLL,
    STOPPED_IN_RECOVERY, FAILED_AS_A_CHECKPOINT_STARTS, CANCELLED_IN_A_POLL, CANCELLED_IN_A_REQUEST,
    FAILED_BEHIND_ITS_NOTIFICATION, ENDED_BEFORE_ITS_NOTIFICATION, TAKEN_WITH_DATA, CANCELLED_WITH_A_COPY,
)  # fmt: skip


# ---- unions ----------------------------------------------------------------------------------------------------------
_GATE_LIVE = tuple(_one_by_one(convert(gate), request_partitions(gate)) for gate in (0, 1))
_BOTH_LIVE = (*_GATE_LIVE[0], *_GATE_LIVE[1])
"""Leads to two gates that get live data. The turns count if operations are interleaved."""
_SENT, _POLL = _one_by_one(buffer(0)), _one_by_one(poll())
_TOLD_LATE = (
    *_BOTH_LIVE, *_SENT,
    poll(), (RUN, "task", "union lock"), buffer(0), (RUN, "network", "outside the gate lock"), (FINISH, "task"),
    *_POLL, (FINISH, "network"), poll(), (RUN, "task", "union lock"),
)  # fmt: skip
"""A gate is notified of a buffer that was polled already. The next poll finds nothing in it, and pauses before it
decides whether the gate is queued again."""


def _ended_while_blocked(checkpoint: int) -> tuple[Operands, ...]:
    """The consumer is notified of the end of a channel that is blocked, and the poll finds nothing. Then the consumer
    asks if it may sleep."""
    return (
        available(), *_POLL * 3, *_one_by_one(aligned_barrier(0, checkpoint)), *_POLL,
        *_one_by_one(end_of_data(0), end_of_partition(0)), *_POLL, available(),
    )  # fmt: skip


_FIRST_GATE_ALONE = (
    *_one_by_one(finish_recovery(0)), *_POLL, available(), *_GATE_LIVE[0],
    *_one_by_one(finish_recovery(0)), *_POLL, available(),
    *_one_by_one(recovery_completion(0)), (FINISH, "recovery"), *(*_POLL, available()) * 2,
    *_one_by_one(resume(0), end_of_data(0)), *_POLL, *_one_by_one(end_of_partition(0)), *_POLL, finished(),
    *_one_by_one(finish_recovery(1)), *_POLL, *_BOTH_LIVE, finished(),
)  # fmt: skip
"""The first gate is recovered, requested, and ends with its first channel, before the partitions of the second gate are
requested."""
PREFIXES_OF_UNIONS = (
    _FIRST_GATE_ALONE,
    (*_BOTH_LIVE, *_SENT, poll(), (RUN, "task", "union lock"), (RUN, "task", "outside the union lock"), *_SENT),
    (*_BOTH_LIVE, *_SENT, poll(), *[(RUN, "task", "channel 0 lock")] * 2, *_SENT),
    (*_TOLD_LATE, *_SENT, (FINISH, "task"), *_ended_while_blocked(1)),
    (*_TOLD_LATE, unaligned_barrier(0, 1), (RUN, "network", "outside the gate lock"), (FINISH, "task"),
     (FINISH, "network")),
    (*_BOTH_LIVE, *_SENT, *_SENT, unaligned_barrier(0, 1), (RUN, "network", "outside the gate lock"), *_POLL,
     (FINISH, "network"), *_one_by_one(unaligned_barrier(1, 1)), *_ended_while_blocked(2)),
)  # fmt: skip
"""All but the first one have races between a poll and notifications of a gate, the last with a priority event that
was polled already."""

# ---- weights ---------------------------------------------------------------------------------------------------------
BIASES = (
    {"recover": 60, "finish_recovery": 30, "convert": 30, "poll": 8},
    {"unaligned_barrier": 40, "checkpoint_started": 30, "insert_recovery_barriers": 30, "persisted": 12},
    {"buffer": 60, "poll": 30, "aligned_barrier": 16, "resume": 6},
    {"timeoutable_barrier": 40, "convert_to_priority": 60, "buffer": 40},
    {"end_of_data": 30, "end_of_partition": 40, "poll": 60, "recovery_completion": 60, "end_of_output_state": 60},
    {"fail": 6, "restore": 60, "release": 6},
    {"cancel": 8, "release": 4, "convert": 30, "request_partitions": 30, "finish_recovery": 30, "recover": 16,
     "buffer": 40},
    {"fault": 20, "checkpoint_started": 30, "buffer": 60, "poll": 30, "resources": 8, "finish_recovery": 40,
     "convert": 40, "request_partitions": 60},
    {"event_with_backlog": 60, "buffer": 60, "poll": 30, "end_of_data": 20, "end_of_partition": 30},
)  # fmt: skip
WEIGHTS_OF_UNIONS = {"recovery_completion": 6, "available": 9, "request_partitions": 16, "fault": 8}
"""A union is asked whether it is available before its consumer stops polling."""
BIASES_OF_UNIONS = (
    {"unaligned_barrier": 40, "buffer": 24, "poll": 16, "aligned_barrier": 0, "end_of_data": 0, "fail": 0},
    {
        "buffer": 40, "poll": 30, "available": 30, "request_partitions": 40, "aligned_barrier": 0, "end_of_data": 0,
        "fail": 0, "cancel": 0, "release": 0,
    },
    {"end_of_data": 16, "end_of_partition": 20, "poll": 60, "finished": 6},
    {"aligned_barrier": 16, "resume": 3, "unaligned_barrier": 16},
    {"recover": 30, "finish_recovery": 3, "convert": 6},
    {"finish_recovery": 60, "convert": 40, "request_partitions": 60, "buffer": 30},
    {"cancel": 8, "fail": 4, "restore": 60},
)  # fmt: skip
