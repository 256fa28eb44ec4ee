"""What a campaign must have seen of a subpartition, or it has not looked hard enough.

Each function answers True when its situation has just occurred; none can fail.
"""

from __future__ import annotations

from conformance.ports import Barrier
from conformance.properties.base import Seen
from conformance.properties.subpartition.ledger import SubpartitionLedger as Ledger


def priority_taken_while_blocked(ledger: Ledger, seen: Seen) -> bool:
    return ledger.blocked and bool(ledger.urgent) and seen.value is not None


def converted_behind_data(ledger: Ledger, seen: Seen) -> bool:
    if ledger.promise != seen.operands[0]:
        return False
    for queued in ledger.ordinary:
        if queued.element is None and queued.end > ledger.delivered:
            return True
        if isinstance(queued.element, Barrier) and queued.element.checkpoint == ledger.promise:
            return False
    return False


def converted_past_aborted(ledger: Ledger, seen: Seen) -> bool:
    if ledger.promise != seen.operands[0]:
        return False
    older = (queued.element for queued in ledger.ordinary if isinstance(queued.element, Barrier))
    return any(barrier.checkpoint in ledger.aborted for barrier in older if barrier.checkpoint < ledger.promise)


def timeout_too_late(ledger: Ledger, seen: Seen) -> bool:
    return bool(ledger.promise != seen.operands[0])


def unfinished_head_polled(ledger: Ledger, seen: Seen) -> bool:
    if ledger.blocked or ledger.urgent or seen.value is None:
        return False
    head = ledger.head()
    return head is not None and head.open


def second_priority_event(ledger: Ledger, seen: Seen) -> bool:
    (checkpoint,) = seen.operands
    return bool(ledger.urgent and (ledger.promise == checkpoint or checkpoint not in ledger.barriers))


def barrier_overtook_data(ledger: Ledger, seen: Seen) -> bool:
    return ledger.sent > ledger.delivered


def barrier_during_recovery(ledger: Ledger, seen: Seen) -> bool:
    return any(queued.recovered and queued.end > ledger.delivered for queued in ledger.ordinary)


def released_without_view(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.view and not ledger.failed


def released_while_recovering(ledger: Ledger, seen: Seen) -> bool:
    return ledger.recovering and not ledger.failed


def released_while_blocked(ledger: Ledger, seen: Seen) -> bool:
    return ledger.blocked and not ledger.failed


def released_with_unfinished_buffer(ledger: Ledger, seen: Seen) -> bool:
    return ledger.open


def released_with_promise(ledger: Ledger, seen: Seen) -> bool:
    return ledger.promise > 0


def released_after_finish(ledger: Ledger, seen: Seen) -> bool:
    return ledger.finished and not ledger.failed


def released_twice(ledger: Ledger, seen: Seen) -> bool:
    return ledger.failed


def restored_with_state(ledger: Ledger, seen: Seen) -> bool:
    return bool(seen.value.ids)
