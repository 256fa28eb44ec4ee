"""Goals of the local channel: situations that a campaign must have seen."""

from __future__ import annotations

from conformance.components.local_channel import steps
from conformance.components.local_channel.ledger import Ledger
from conformance.components.local_channel.rules import PUSHES, Took
from conformance.driver import Rules, Seen
from conformance.models import faults
from conformance.models.designs import IN_MEMORY, PASSES_LOCALLY, PUSHED, READBACK, STEPPING
from conformance.ports import Barrier, Buffer, LocalChannelPort

RULES = Rules[Ledger]("local-channel")
goal = RULES.goal
faults.see_strikes(RULES, LocalChannelPort.can_fail, steps.take, steps.checkpoint_started, steps.request_subpartition)
Started = Seen[None, int]


# ---- taking ----------------------------------------------------------------------------------------------------------
@goal(steps.take, needs=IN_MEMORY)
def a_priority_event_passed_recovered_data(ledger: Ledger, seen: Took) -> bool:
    """A barrier was taken before recovered data."""
    return ledger.lane.is_hiding() and _priority(seen) and ledger.lane.there() > 0


@goal(steps.take, needs=IN_MEMORY)
def two_priority_events_waited_in_recovery(ledger: Ledger, seen: Took) -> bool:
    """Two barriers were queued in front of recovered data."""
    return ledger.lane.is_hiding() and len(ledger.lane.urgent) > 1 and _priority(seen)


@goal(steps.take, needs=PASSES_LOCALLY)
def a_priority_event_passed_a_blocked_channel(ledger: Ledger, seen: Took) -> bool:
    """A barrier was taken from a blocked channel."""
    return ledger.lane.blocked and _priority(seen)


@goal(steps.take, needs=STEPPING)
def an_announced_priority_event_was_gone(ledger: Ledger, seen: Took) -> bool:
    """The consumer was notified of a barrier that it had already taken."""
    return ledger.consumer.stale and not _priority(seen)


@goal(steps.take)
def an_older_barrier_came_while_one_was_pending(ledger: Ledger, seen: Took) -> bool:
    """The barrier of an older checkpoint was taken while a newer checkpoint waited for its barrier."""
    if ledger.lane.input.pending is None or seen.value is None:
        return False
    element = seen.value.element
    return type(element) is Barrier and element.checkpoint < ledger.lane.input.last


@goal(steps.take)
def live_data_was_written(ledger: Ledger, seen: Took) -> bool:
    """Live data was taken before the barrier of a checkpoint that had started."""
    if ledger.lane.input.pending is None or ledger.lane.is_hiding():
        return False
    return seen.value is not None and type(seen.value.element) is Buffer


def _priority(seen: Took) -> bool:
    return seen.value is not None and seen.value.element.data_type.has_priority


# ---- checkpoints -----------------------------------------------------------------------------------------------------
@goal(steps.checkpoint_started, needs=IN_MEMORY)
def a_checkpoint_started_with_recovered_buffers(ledger: Ledger, seen: Started) -> bool:
    """A checkpoint started while several recovered buffers were queued."""
    return _started_with_recovered(ledger, seen)


@goal(steps.checkpoint_started, needs=IN_MEMORY | READBACK)
def a_checkpoint_started_in_a_recovery_from_one_like_it(ledger: Ledger, seen: Started) -> bool:
    """After a restore from a checkpoint, another checkpoint started while several recovered buffers were queued."""
    return ledger.restored and _started_with_recovered(ledger, seen)


@goal(steps.checkpoint_started, needs=PUSHED)
def a_buffer_was_pushed_behind_the_recovery_barrier(ledger: Ledger, seen: Started) -> bool:
    """A buffer was pushed after the recovery barrier of a checkpoint was inserted and before the checkpoint started."""
    lane = ledger.lane
    mark = lane.marks.get(seen.operands[0])
    return mark is not None and seen.error is None and mark.most < lane.taken + lane.there()


@goal(steps.checkpoint_started, needs=PUSHED)
def a_recovery_barrier_was_missing(ledger: Ledger, seen: Started) -> bool:
    """A checkpoint was declined because its recovery barrier was missing."""
    return seen.error is not None and ledger.lane.in_recovery() and not ledger.lane.marks


@goal(steps.checkpoint_started, needs=PUSHED)
def a_newer_recovery_barrier_was_in_the_way(ledger: Ledger, seen: Started) -> bool:
    """A checkpoint was declined while the recovery barrier of a newer one was queued."""
    return seen.error is not None and max(ledger.lane.marks, default=0) > seen.operands[0]


@goal(steps.checkpoint_started, needs=PUSHED)
def a_checkpoint_started_after_a_declined_one(ledger: Ledger, seen: Started) -> bool:
    """A checkpoint started after another one was declined because its recovery barrier was missing."""
    return ledger.checkpoints.declined and _started_with_recovered(ledger, seen)


@goal(steps.checkpoint_started, needs=PUSHED)
def an_older_recovery_barrier_was_dropped(ledger: Ledger, seen: Started) -> bool:
    """A checkpoint started while the recovery barrier of an older one was still queued."""
    lane, (checkpoint,) = ledger.lane, seen.operands
    if len(lane.marks) < 2 or seen.error is not None or checkpoint not in lane.marks:
        return False
    return any(one < checkpoint and mark.least > lane.taken for one, mark in lane.marks.items())


@goal(steps.checkpoint_started)
def a_checkpoint_was_subsumed(ledger: Ledger, seen: Started) -> bool:
    """The barrier of a newer checkpoint had been received when a checkpoint started."""
    return ledger.lane.input.subsumes(seen.operands[0])


@goal(steps.checkpoint_started)
def a_checkpoint_started_after_its_barrier_came(ledger: Ledger, seen: Started) -> bool:
    """A checkpoint started after its barrier had come."""
    return seen.error is None and ledger.lane.input.received and ledger.lane.input.last == seen.operands[0]


@goal(steps.checkpoint_stopped)
def an_older_checkpoint_was_stopped_late(ledger: Ledger, seen: Started) -> bool:
    """An older checkpoint was stopped while a newer one was pending or over."""
    return seen.operands[0] < ledger.lane.input.awaited()


def _started_with_recovered(ledger: Ledger, seen: Started) -> bool:
    lane = ledger.lane
    if seen.error is not None or not ledger.lane.is_hiding():
        return False
    mark = lane.marks.get(seen.operands[0])
    return (lane.pushed if mark is None else mark.least) - lane.taken > 1


# ---- recovery and release --------------------------------------------------------------------------------------------
@goal(*PUSHES, needs=PUSHED)
def a_release_woke_a_waiting_push(ledger: Ledger, seen: Seen[None]) -> bool:
    """A push waited for the request of the subpartition when the channel was released."""
    return (
        ledger.push.upstream_was_missing and ledger.released and not ledger.push.too_late and not ledger.view.requested
    )


@goal(steps.release, needs=PUSHED | STEPPING)
def a_push_raced_with_release(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release ended while a push was in flight."""
    return ledger.push.in_flight and ledger.view.attached and not ledger.released


@goal(steps.release, needs=STEPPING)
def an_add_raced_with_release(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release ended while the producer was adding an element."""
    return ledger.adding and not ledger.released


@goal(steps.release)
def released_before_the_subpartition_was_asked_for(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened before the subpartition was requested."""
    return not ledger.released and not ledger.view.attached


@goal(steps.release, needs=IN_MEMORY)
def released_with_recovered_data(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while recovered data was queued."""
    return not ledger.released and ledger.lane.there() > 0


@goal(steps.release)
def released_with_live_data(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while live data was queued."""
    return not ledger.released and not ledger.lane.is_hiding() and ledger.lane.buffers() > 0


@goal(steps.release)
def released_while_blocked(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a producer was blocked."""
    return not ledger.released and ledger.lane.blocked


@goal(steps.release)
def released_while_a_checkpoint_was_pending(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a checkpoint waited for its barrier."""
    return not ledger.released and ledger.lane.input.pending is not None


@goal(steps.release)
def released_after_the_end_of_the_partition(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after the producer had finished."""
    return ledger.phase == "ended"


@goal(steps.release)
def released_a_second_time(ledger: Ledger, seen: Seen[None]) -> bool:
    """A component that was released was released again."""
    return ledger.released


@goal(steps.fail, needs=STEPPING)
def failed_in_the_middle_of_an_operation(ledger: Ledger, seen: Seen[None]) -> bool:
    """The channel failed while an operation of the task or of the recovery thread was in flight."""
    return not ledger.failed and (ledger.busy or ledger.push.in_flight)


@goal(steps.restore, needs=READBACK)
def failed_and_restored_with_input_state(ledger: Ledger, seen: Seen[tuple[int, ...], int]) -> bool:
    """A checkpoint with input state was restored after a failure."""
    return bool(seen.value)
