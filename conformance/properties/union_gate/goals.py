"""What a campaign must have seen of a union of gates, or it has not looked hard enough.

Each function answers True when its situation has just occurred; none can fail.
"""

from __future__ import annotations

from conformance.properties.base import Seen
from conformance.properties.union_gate.ledger import UnionGateLedger as Ledger


def priority_gate_moved_up(ledger: Ledger, seen: Seen) -> bool:
    """The gate had ordinary elements, and so had another: it stood in the queue already."""
    if ledger.phase == "failed":
        return False
    mine = ledger.lines[seen.operands[0]].gate
    ready = [gate for gate in ledger.gates if any(ledger.ordinary(line) for line in gate.lines)]
    return mine in ready and len(ready) > 1


def empty_priority_poll(ledger: Ledger, seen: Seen) -> bool:
    taken = seen.value
    return ledger.urged and not ledger.urged_again and (taken is None or not taken.element.data_type.has_priority)


def told_while_polled(ledger: Ledger, seen: Seen) -> bool:
    return seen.value is not None and ledger.interrupted is ledger.lines[seen.value.channel].gate


def two_gates_with_priority(ledger: Ledger, seen: Seen) -> bool:
    return sum(any(ledger.urgent(line) for line in gate.lines) for gate in ledger.gates) > 1


def converted_beside_unread_state(ledger: Ledger, seen: Seen) -> bool:
    mine = ledger.gates[seen.operands[0]]
    return seen.error is None and any(ledger.unread(gate) for gate in ledger.gates if gate is not mine)


def live_beside_recovery(ledger: Ledger, seen: Seen) -> bool:
    if seen.value is None or ledger.phase == "failed":
        return False
    line = ledger.lines[seen.value.channel]
    return line.consumed and any(ledger.unread(gate) for gate in ledger.gates if gate is not line.gate)


def priority_beside_unread_state(ledger: Ledger, seen: Seen) -> bool:
    return live_beside_recovery(ledger, seen) and seen.value.element.data_type.has_priority


def served_beside_blocked_gate(ledger: Ledger, seen: Seen) -> bool:
    if seen.value is None or ledger.phase == "failed":
        return False
    mine = ledger.lines[seen.value.channel].gate
    return any(all(line.blocked for line in gate.lines) for gate in ledger.gates if gate is not mine)


def gate_ended_before_another(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.ended and any(gate.ended for gate in ledger.gates)


def last_gate_ended(ledger: Ledger, seen: Seen) -> bool:
    return ledger.ended


def released_while_recovering(ledger: Ledger, seen: Seen) -> bool:
    return ledger.released_from == "recovering"


def released_while_live(ledger: Ledger, seen: Seen) -> bool:
    return ledger.released_from == "live"


def released_after_the_end(ledger: Ledger, seen: Seen) -> bool:
    return ledger.released_from == "ended"


def released_again(ledger: Ledger, seen: Seen) -> bool:
    return ledger.released_from == "failed"


def released_while_polled(ledger: Ledger, seen: Seen) -> bool:
    return ledger.released_in_poll


def released_while_pushed(ledger: Ledger, seen: Seen) -> bool:
    return ledger.released_under_push


def restored(ledger: Ledger, seen: Seen) -> bool:
    return True
