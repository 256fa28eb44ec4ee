"""Goals of the input gate: situations that a campaign must have seen."""

from __future__ import annotations

from conformance.components.gate import steps
from conformance.components.gate.ledger import Ledger
from conformance.components.gate.rules import BESIDE_OTHERS, Polled, Written
from conformance.components.gate.side import Side
from conformance.driver import Rules, Seen
from conformance.models import starts
from conformance.models.designs import IN_MEMORY, PASSES_LOCALLY, READBACK, RECOVER_FIRST, STEPPING, UNIONS
from conformance.ports import Buffer, BufferOrEvent, Resources

RULES = Rules[Ledger]("gate")
goal = RULES.goal
Started = Seen[None, int]


# ---- conversion ------------------------------------------------------------------------------------------------------
@goal(steps.convert, needs=IN_MEMORY)
def converted_with_several_buffers_queued(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A conversion handed over several buffers of a channel."""
    return seen.error is None and any(len(side.waiting) > 1 for side in ledger.sides)


@goal(steps.convert, needs=STEPPING)
def converted_during_a_push(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A conversion and a push overlapped."""
    return ledger.overlapped


@goal(steps.convert_again)
def converted_a_second_time(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A gate that had been converted was converted again."""
    return True


@goal(steps.convert)
def a_conversion_was_refused(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A conversion was refused because it would have lost recovered data."""
    return seen.error is not None


# ---- polling ---------------------------------------------------------------------------------------------------------
def _side(ledger: Ledger, taken: BufferOrEvent | None) -> Side | None:
    """Returns the channel of the polled element. None if there is no element, or one of a channel that is not there:
    goals are asked before the rules, which notice it."""
    return ledger.sides[taken.channel] if taken is not None and 0 <= taken.channel < len(ledger.sides) else None


def _source(ledger: Ledger, taken: BufferOrEvent | None, priority: bool) -> Side | None:
    """Returns the channel of the polled element, if that element has priority (or has none), as asked."""
    return _side(ledger, taken) if taken is not None and taken.element.data_type.has_priority is priority else None


@goal(steps.poll)
def an_empty_poll_was_harmless(ledger: Ledger, seen: Polled) -> bool:
    """A poll of a live gate returned nothing."""
    return seen.value is None and ledger.phase == "live"


@goal(steps.poll, needs=STEPPING)
def a_priority_notification_came_late(ledger: Ledger, seen: Polled) -> bool:
    """A barrier was polled while the operation that notifies the consumer of it was still in flight."""
    side = _source(ledger, seen.value, True)
    return side is not None and bool(side.urgent) and not side.urgent[0].sure


@goal(steps.poll, needs=PASSES_LOCALLY)
def a_barrier_passed_a_blocked_producer(ledger: Ledger, seen: Polled) -> bool:
    """A barrier was taken from a channel whose producer was blocked."""
    side = _source(ledger, seen.value, True)
    return side is not None and side.local and side.blocked


@goal(steps.poll, needs=IN_MEMORY)
def a_barrier_overtook_recovered_data(ledger: Ledger, seen: Polled) -> bool:
    """A barrier was polled before the recovered data of its channel."""
    side = _source(ledger, seen.value, True)
    return side is not None and bool(side.waiting)


@goal(steps.poll, needs=IN_MEMORY)
def live_data_waited_behind_recovered_data(ledger: Ledger, seen: Polled) -> bool:
    """Recovered data was taken while live data waited."""
    side = _source(ledger, seen.value, False)
    return side is not None and bool(side.waiting) and any(type(sent.element) is Buffer for sent in side.live)


# ---- checkpoints -----------------------------------------------------------------------------------------------------
@goal(steps.checkpoint_started, needs=IN_MEMORY)
def a_checkpoint_started_during_recovery(ledger: Ledger, seen: Started) -> bool:
    """A checkpoint started while recovered data was queued."""
    return seen.error is None and any(side.waiting for side in ledger.sides)


@goal(steps.checkpoint_started, needs=STEPPING)
def data_arrived_while_a_checkpoint_started(ledger: Ledger, seen: Started) -> bool:
    """An element was arriving when a checkpoint started."""
    return seen.error is None and ledger.sending is not None


starts.see_missing_barriers(RULES, steps.checkpoint_started, lambda ledger: ledger.checkpoints.without_barrier)
goal(steps.checkpoint_started)(starts.a_checkpoint_was_subsumed)


@goal(steps.checkpoint_stopped)
def a_checkpoint_was_stopped_late(ledger: Ledger, seen: Started) -> bool:
    """A checkpoint was stopped after a newer one had started."""
    return any(started > seen.operands[0] for started in ledger.checkpoints.started)


@goal(steps.persisted, needs=READBACK)
def input_state_was_written(ledger: Ledger, seen: Written) -> bool:
    """Input state was written for a checkpoint."""
    return any(seen.value)


@goal(steps.persisted, needs=READBACK | IN_MEMORY)
def recovered_data_was_written_again(ledger: Ledger, seen: Written) -> bool:
    """The input state of a checkpoint contained recovered data."""
    (checkpoint,) = seen.operands
    if checkpoint == ledger.checkpoints.failed:
        return False
    return any(side.pushed > 0 and len(side.input.expected(checkpoint)) > 1 for side in ledger.sides)


@goal(steps.finished)
def the_last_channel_of_several_ended(ledger: Ledger, seen: Seen[bool]) -> bool:
    """All channels of a gate with several channels ended."""
    return len(ledger.sides) > 1 and ledger.all_ended()


# ---- release and failure ---------------------------------------------------------------------------------------------
@goal(steps.release, steps.fail)
def released_while_recovering(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened during recovery."""
    return ledger.phase == "recovering" or (ledger.phase == "joining" and not ledger.converted)


@goal(steps.release, steps.fail, needs=RECOVER_FIRST)
def released_between_conversion_and_request(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after the conversion and before partitions were requested."""
    return ledger.phase == "converted"


@goal(steps.release, steps.fail)
def released_while_live(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after partitions were requested and before all channels had ended."""
    return ledger.phase == "live" and not ledger.all_ended()


@goal(steps.release, steps.fail)
def released_while_blocked(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a producer was blocked."""
    return not ledger.released and any(side.blocked for side in ledger.sides)


@goal(steps.release, steps.fail)
def released_during_a_checkpoint(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a checkpoint was in progress."""
    return not ledger.released and ledger.checkpoints.running > 0


@goal(steps.release, steps.fail)
def released_after_it_was_finished(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after the gate or subpartition was finished."""
    return not ledger.released and ledger.all_ended()


@goal(steps.release, needs=STEPPING)
def released_during_other_operations(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release ended while other operations were in flight."""
    return not ledger.released and ledger.flying > 1


@goal(steps.cancel, needs=STEPPING)
def cancelled_during_other_operations(ledger: Ledger, seen: Seen[None]) -> bool:
    """Another thread released the gate while an operation was in flight."""
    return ledger.cancelled_in_operation


@goal(steps.cancel, needs=IN_MEMORY | STEPPING)
def cancelled_during_a_conversion(ledger: Ledger, seen: Seen[None]) -> bool:
    """Another thread released the gate while its channels were being converted."""
    return ledger.cancelled_in_conversion


@goal(steps.release, steps.cancel, needs=STEPPING)
def released_by_two_threads_at_once(ledger: Ledger, seen: Seen[None]) -> bool:
    """Two threads released the gate at the same time."""
    return ledger.releases > 1


@goal(steps.restore)
def a_fresh_gate_took_over(ledger: Ledger, seen: Seen[Resources]) -> bool:
    """A fresh gate replaced one that had failed."""
    return True


# ---- unions ----------------------------------------------------------------------------------------------------------
@goal(steps.unaligned_barrier, needs=UNIONS, never=(BESIDE_OTHERS,))
def a_priority_event_moved_its_gate_up(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """A gate that was in the queue of the union got a priority event."""
    # This gate and another one have elements without priority, so this one was in the queue already.
    ready = [gate for gate in ledger.gates if True in [side.due_ordinary() for side in gate.sides]]
    return len(ready) > 1 and ledger.sides[seen.operands[0]].gate in ready


@goal(steps.unaligned_barrier, needs=UNIONS, never=(BESIDE_OTHERS,))
def two_gates_had_priority_events_at_once(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """Priority events were queued in two gates at once."""
    return len({side.gate.number for side in ledger.sides if side.urgent_due()}) > 1


@goal(steps.poll, needs=UNIONS | STEPPING, never=(BESIDE_OTHERS,))
def a_poll_after_a_priority_notification_found_none(ledger: Ledger, seen: Polled) -> bool:
    """The consumer was notified of a priority event, and its poll returned none."""
    if ledger.union is None or not ledger.consumer.expects_priority or ledger.union.priority_notified:
        return False
    return seen.value is None or not seen.value.element.data_type.has_priority


@goal(steps.poll, needs=UNIONS | STEPPING, never=(BESIDE_OTHERS,))
def a_gate_was_told_of_more_while_it_was_polled(ledger: Ledger, seen: Polled) -> bool:
    """An element arrived in a gate of a union while it was being polled."""
    side = _side(ledger, seen.value)
    return ledger.union is not None and side is not None and side.gate is ledger.union.interrupted


@goal(steps.convert, needs=UNIONS, never=(BESIDE_OTHERS,))
def a_gate_was_converted_beside_unread_state(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A gate was converted while another gate had state that was not read."""
    gate = ledger.gates[seen.operands[0]]
    return ledger.union is not None and seen.error is None and ledger.union.is_unread_elsewhere(gate)


@goal(steps.poll, needs=UNIONS, never=(BESIDE_OTHERS,))
def a_barrier_passed_a_recovering_gate(ledger: Ledger, seen: Polled) -> bool:
    """A gate delivered a priority event while another gate had state that was not read."""
    if ledger.union is None or (side := _source(ledger, seen.value, True)) is None:
        return False
    return side.consumed and ledger.union.is_unread_elsewhere(side.gate)


@goal(steps.poll, needs=UNIONS, never=(BESIDE_OTHERS,))
def data_passed_a_blocked_gate(ledger: Ledger, seen: Polled) -> bool:
    """A gate delivered an element while all channels of another gate were blocked."""
    if ledger.union is None or (side := _side(ledger, seen.value)) is None:
        return False
    return True in [member.blocked() for member in ledger.union.members if member.gate is not side.gate]


@goal(steps.finished, needs=UNIONS, never=(BESIDE_OTHERS,))
def a_gate_ended_before_another(ledger: Ledger, seen: Seen[bool]) -> bool:
    """One gate had ended and another had not."""
    return not ledger.all_ended() and True in [gate.ended() for gate in ledger.gates]
