"""Goals of the subpartition: situations that a campaign must have seen."""

from __future__ import annotations

from conformance.components.subpartition import steps
from conformance.components.subpartition.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.models.designs import READBACK, TIMEOUTABLE
from conformance.ports import Barrier, BufferAndBacklog, Capability, OutputState

RULES = Rules[Ledger]("subpartition")
goal = RULES.goal
_RECOVERED = frozenset({Capability.OUTPUT_RECOVERED_UPSTREAM})


@goal(steps.aligned_timeout, needs=TIMEOUTABLE)
def a_timeoutable_barrier_was_converted_behind_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An alignment timeout converted a barrier that had data in front of it."""
    return ledger.rises and any(one.end > ledger.delivered for one in ledger.in_front(seen.operands[0]))


@goal(steps.aligned_timeout, needs=TIMEOUTABLE)
def a_timeoutable_barrier_was_converted_past_an_aborted_one(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An alignment timeout converted a barrier that had an older barrier of an aborted checkpoint in front of it."""
    if not ledger.rises:
        return False
    older = [one.element for one in ledger.in_front(seen.operands[0]) if type(one.element) is Barrier]
    return any(barrier.checkpoint in ledger.checkpoints.aborted for barrier in older)


@goal(steps.aligned_timeout, needs=TIMEOUTABLE)
def an_alignment_timeout_came_too_late(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An alignment timeout fired after its barrier had been polled or aborted."""
    return not ledger.rises


@goal(steps.poll)
def an_unfinished_head_was_polled(ledger: Ledger, seen: Seen[BufferAndBacklog | None]) -> bool:
    """A poll returned records of a buffer that the producer was still writing."""
    if ledger.blocked or ledger.urgent or seen.value is None:
        return False
    head = ledger.head()
    return head is not None and head.open


@goal(steps.unaligned_barrier, steps.aligned_timeout)
def a_second_priority_event_waited_behind_the_first(ledger: Ledger, seen: Seen[object]) -> bool:
    """Two unaligned barriers were queued at once."""
    return bool(ledger.urgent) and ledger.rises


@goal(steps.unaligned_barrier)
def an_unaligned_barrier_overtook_data(ledger: Ledger, seen: Seen[bool, int]) -> bool:
    """An unaligned barrier overtook data, which became output state."""
    return ledger.next_record > ledger.delivered


@goal(steps.fail)
def released_before_a_view_was_attached(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened before a view was attached."""
    return not ledger.view and not ledger.failed


@goal(steps.fail)
def released_while_recovering(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened during recovery."""
    return ledger.phase == "recovering"


@goal(steps.fail)
def released_while_blocked(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a producer was blocked."""
    return ledger.blocked and not ledger.failed


@goal(steps.fail)
def released_with_an_unfinished_buffer(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while the producer was writing a buffer."""
    return ledger.phase == "writing"


@goal(steps.fail, needs=TIMEOUTABLE)
def released_with_an_open_channel_state_future(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a channel state future was open."""
    return ledger.checkpoints.open_future > 0


@goal(steps.fail)
def released_after_it_was_finished(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after the gate or subpartition was finished."""
    return ledger.phase == "finished"


@goal(steps.fail)
def released_a_second_time(ledger: Ledger, seen: Seen[None]) -> bool:
    """A component that was released was released again."""
    return ledger.failed


@goal(steps.restore, needs=READBACK | _RECOVERED)
def failed_and_restored_with_output_state(ledger: Ledger, seen: Seen[OutputState, int]) -> bool:
    """A checkpoint with output state was restored after a failure."""
    return bool(seen.value.ids)


@goal(steps.unaligned_barrier, needs=_RECOVERED)
def a_barrier_passed_restored_output_state(ledger: Ledger, seen: Seen[bool, int]) -> bool:
    """An unaligned barrier overtook recovered records."""
    return ledger.delivered < ledger.restored
