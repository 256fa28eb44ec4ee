"""Goals of the union gate: situations that a campaign must have seen."""

from __future__ import annotations

from conformance.components.union_gate import steps
from conformance.components.union_gate.ledger import Ledger
from conformance.components.union_gate.rules import Polled
from conformance.driver import Rules, Seen
from conformance.models import faults
from conformance.models.designs import FAULTS, PUSHED, STEPPING
from conformance.ports import ErrorKind, Resources, UnionGatePort

RULES = Rules[Ledger]("union-gate")
goal = RULES.goal


@goal(steps.unaligned_barrier)
def a_priority_event_moved_its_gate_up(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A gate that was in the queue of the union got a priority event."""
    if ledger.failed:
        return False
    # This gate and another one have elements without priority, so this one was in the queue already.
    ready = [gate for gate in ledger.gates if True in [line.ordinary() for line in gate.lines]]
    return len(ready) > 1 and ledger.lines[seen.operands[0]].gate in ready


@goal(steps.unaligned_barrier)
def two_gates_had_priority_events_at_once(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """Priority events were queued in two gates at once."""
    return len({line.gate.number for line in ledger.lines if line.comes_first()}) > 1


@goal(steps.poll, needs=STEPPING)
def a_poll_after_a_priority_notification_found_none(ledger: Ledger, seen: Polled) -> bool:
    """The consumer was notified of a priority event, and its poll answered none."""
    if not ledger.consumer.expects_priority or ledger.urged_again:
        return False
    return seen.value is None or not seen.value.element.data_type.has_priority


@goal(steps.poll, needs=STEPPING)
def a_gate_was_told_of_more_while_it_was_polled(ledger: Ledger, seen: Polled) -> bool:
    """An element arrived in a gate while it was being polled."""
    line = ledger.line_of(seen.value)
    return line is not None and line.gate is ledger.interrupted


@goal(steps.convert)
def a_gate_was_converted_beside_unread_state(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A gate was converted while another gate had state that was not read."""
    return seen.error is None and ledger.is_unread_elsewhere(ledger.gates[seen.operands[0]])


@goal(steps.poll)
def a_barrier_passed_a_recovering_gate(ledger: Ledger, seen: Polled) -> bool:
    """A gate delivered a priority event while another gate had state that was not read."""
    if seen.value is None or not seen.value.element.data_type.has_priority:
        return False
    line = None if ledger.failed else ledger.line_of(seen.value)
    return line is not None and line.consumed and ledger.is_unread_elsewhere(line.gate)


@goal(steps.poll)
def data_passed_a_blocked_gate(ledger: Ledger, seen: Polled) -> bool:
    """A gate delivered an element while all channels of another gate were blocked."""
    line = None if ledger.failed else ledger.line_of(seen.value)
    return line is not None and any(gate.blocked() for gate in ledger.gates if gate is not line.gate)


@goal(steps.finished)
def a_gate_ended_before_another(ledger: Ledger, seen: Seen[bool]) -> bool:
    """One gate had ended and another had not."""
    return ledger.phase != "ended" and any(gate.ended() for gate in ledger.gates)


@goal(steps.finished)
def the_last_gate_ended(ledger: Ledger, seen: Seen[bool]) -> bool:
    """All gates had ended."""
    return ledger.phase == "ended"


# ---- release ---------------------------------------------------------------------------------------------------------
def _ended_in(ledger: Ledger, phase: str) -> bool:
    """Returns whether the release or the failure happened in this phase."""
    return phase in (ledger.released_from, ledger.phase)


@goal(steps.fail, steps.release)
def released_while_recovering(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened during recovery."""
    return _ended_in(ledger, "recovering")


@goal(steps.fail, steps.release)
def released_while_live(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after partitions were requested and before all channels had ended."""
    return _ended_in(ledger, "live")


@goal(steps.fail, steps.release)
def released_after_the_last_end(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened after every gate had ended."""
    return _ended_in(ledger, "ended")


@goal(steps.release)
def released_a_second_time(ledger: Ledger, seen: Seen[None]) -> bool:
    """A component that was released was released again."""
    return ledger.released_from == "failed"


@goal(steps.release, needs=STEPPING)
def released_while_it_was_polled(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release began during a poll."""
    return ledger.released_in_poll


@goal(steps.release, needs=PUSHED | STEPPING)
def released_while_a_push_was_under_way(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release began while recovered data was being pushed."""
    return ledger.released_under_push


@goal(steps.restore)
def failed_and_begun_anew(ledger: Ledger, seen: Seen[Resources]) -> bool:
    """A fresh union replaced one that had failed."""
    return True


# ---- what the gates call fails ---------------------------------------------------------------------------------------
faults.see_strikes(RULES, UnionGatePort.can_fail, steps.convert, steps.request_partitions)


@goal(steps.poll_for_the_error, needs=FAULTS)
def a_poll_answered_an_error_that_a_gate_kept(ledger: Ledger, seen: Polled) -> bool:
    """A poll failed with an error that a gate had kept."""
    return seen.error is not None and seen.error.kind is ErrorKind.IO


@goal(steps.poll_for_the_error, needs=FAULTS)
def another_gate_was_polled_before_the_error(ledger: Ledger, seen: Polled) -> bool:
    """While a gate kept an error, a poll answered an element."""
    return seen.value is not None
