"""Goals of the remote channel: situations that a campaign must have seen."""

from __future__ import annotations

from conformance.components.remote_channel import steps
from conformance.components.remote_channel.ledger import Ledger
from conformance.components.remote_channel.rules import Took
from conformance.driver import Rules, Seen
from conformance.models import starts
from conformance.models.designs import FAULTS, IN_MEMORY, PUSHED, STEPPING, TIMEOUTABLE
from conformance.ports import Buffer, Resources

RULES = Rules[Ledger]("remote-channel")
goal = RULES.goal


@goal(steps.buffer)
def credit_ran_out_with_a_backlog(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The producer used its last credit and sent a backlog above 0."""
    return ledger.credit.granted <= 0 and seen.operands[0] > 0


@goal(steps.buffer)
def a_floating_buffer_was_announced(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The producer sent a backlog, and the channel announced more credit."""
    return ledger.credit.granted >= 0 and seen.operands[0] > 0 and bool(seen.signals)


@goal(steps.event, needs=PUSHED)
def an_event_was_stashed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An event without priority arrived during recovery."""
    return not ledger.lane.consumed


@goal(steps.take, needs=PUSHED)
def a_stashed_event_was_replayed(ledger: Ledger, seen: Took) -> bool:
    """An event that had arrived during recovery was taken after it."""
    return seen.value is not None and ledger.lane.consumed and ledger.stashed() is not None


starts.see_missing_barriers(RULES, steps.checkpoint_started, lambda ledger: ledger.checkpoints.without_barrier)
goal(steps.checkpoint_started)(starts.a_checkpoint_was_subsumed)


@goal(steps.checkpoint_started, needs=PUSHED)
def a_checkpoint_started_with_recovered_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint started while recovered data was queued."""
    return seen.error is None and bool(ledger.lane.waiting)


@goal(steps.checkpoint_started, needs=IN_MEMORY)
def a_second_checkpoint_has_the_same_recovered_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint started while data that was handed over waited, and an earlier one that has it too was complete."""
    handed_over = ledger.config.handed_over and ledger.lane.waiting and not ledger.lane.taken
    return bool(handed_over) and seen.error is None and any(one.complete for one in ledger.lane.input.states.values())


@goal(steps.checkpoint_started, needs=STEPPING)
def an_element_arrived_while_a_checkpoint_started(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An element was arriving when a checkpoint started."""
    return ledger.arriving is not None


@goal(steps.checkpoint_stopped)
def an_older_checkpoint_was_stopped_late(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An older checkpoint was stopped while a newer one was pending or over."""
    return ledger.lane.input.awaited() > seen.operands[0]


@goal(steps.convert_to_priority, needs=TIMEOUTABLE)
def an_announced_barrier_overtook_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An announced barrier behind data was converted to a priority event."""
    return any(type(sent.element) is Buffer for sent in ledger.lane.live)


@goal(steps.push_recovered, needs=PUSHED)
def a_pusher_waited_for_the_upstream(ledger: Ledger, seen: Seen[None]) -> bool:
    """Recovered data was pushed before the producer had sent anything."""
    return ledger.lane.arrived == (ledger.arriving is not None)


@goal(steps.release, steps.fail, needs=PUSHED)
def released_during_recovery(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened before the recovered data was consumed."""
    return not ledger.released and not ledger.lane.consumed


@goal(steps.release, steps.fail)
def released_with_a_pending_checkpoint(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a checkpoint waited for its barrier."""
    return not ledger.released and ledger.lane.input.awaited() > 0


@goal(steps.release, steps.fail)
def released_while_blocked(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a producer was blocked."""
    return not ledger.released and ledger.lane.held_back


@goal(steps.buffer, steps.event, needs=STEPPING)
def released_while_an_element_arrived(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A release ended while an element waited to arrive."""
    return ledger.released


@goal(steps.restore)
def a_fresh_channel_took_over(ledger: Ledger, seen: Seen[Resources]) -> bool:
    """A fresh channel replaced one that had failed."""
    return True


# ---- what is called fails --------------------------------------------------------------------------------------------
@goal(steps.checkpoint_started, needs=FAULTS | PUSHED, struck=True)
def a_start_in_recovery_failed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The start of a checkpoint failed with the channel state writer while recovered data was queued in recovery."""
    return not ledger.lane.consumed and bool(ledger.lane.waiting)


@goal(steps.buffer, needs=FAULTS, struck=True)
def an_arrival_failed_while_the_task_held_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The arrival of data failed while the task held data that it had taken."""
    return ledger.credit.held > 0


@goal(steps.take, needs=FAULTS | PUSHED, struck=True)
def the_end_of_recovery_failed(ledger: Ledger, seen: Took) -> bool:
    """The credit could not be sent when recovery ended."""
    return True


@goal(steps.recycle, needs=FAULTS, struck=True)
def a_recycling_failed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The credit for recycled buffers could not be sent."""
    return True


@goal(steps.producer_fails, needs=FAULTS, struck=True)
def an_error_came_before_the_request(ledger: Ledger, seen: Seen[None]) -> bool:
    """The error of the producer arrived before the subpartition was requested."""
    return ledger.phase == "new"


@goal(steps.producer_fails, needs=FAULTS, struck=True)
def an_error_came_twice(ledger: Ledger, seen: Seen[None]) -> bool:
    """The error of the producer arrived a second time before the task had learnt it."""
    return ledger.connection.error_came


@goal(steps.producer_fails, needs=FAULTS, struck=True)
def an_error_came_after_release(ledger: Ledger, seen: Seen[None]) -> bool:
    """The error of the producer arrived after the release."""
    return ledger.released


@goal(steps.producer_fails, needs=FAULTS | PUSHED, struck=True)
def an_error_came_during_recovery(ledger: Ledger, seen: Seen[None]) -> bool:
    """The error of the producer arrived while recovered data was queued in recovery."""
    return not ledger.lane.consumed and bool(ledger.lane.waiting)


@goal(steps.release, needs=FAULTS)
def data_in_front_of_an_error_was_given_back(ledger: Ledger, seen: Seen[None]) -> bool:
    """A channel was released with live data that had arrived before the error of its producer."""
    return not ledger.released and ledger.connection.error_came and ledger.lane.buffers() > 0
