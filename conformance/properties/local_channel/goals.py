"""What a campaign must have seen of a local channel, decided before the ledger learns of the operation."""

from __future__ import annotations

from conformance.ports import Barrier
from conformance.properties.base import Seen
from conformance.properties.local_channel.ledger import LocalChannelLedger

Ledger = LocalChannelLedger


# ---- taking ----------------------------------------------------------------------------------------------------------
def live_waited(ledger: Ledger, seen: Seen) -> bool:
    return seen.value is not None and ledger.hidden() and bool(ledger.live) and not _priority(seen)


def priority_passed_recovered(ledger: Ledger, seen: Seen) -> bool:
    return _priority(seen) and ledger.hidden() and ledger.taken < ledger.there


def two_priority_events_in_recovery(ledger: Ledger, seen: Seen) -> bool:
    return _priority(seen) and ledger.hidden() and len(ledger.urgent) > 1


def priority_passed_blocked(ledger: Ledger, seen: Seen) -> bool:
    return _priority(seen) and ledger.blocked


def priority_was_gone(ledger: Ledger, seen: Seen) -> bool:
    return ledger.stale and not _priority(seen)


def older_barrier_came(ledger: Ledger, seen: Seen) -> bool:
    if seen.value is None or type(seen.value.element) is not Barrier:
        return False
    return ledger.written.pending is not None and seen.value.element.checkpoint < ledger.written.last


def live_data_was_written(ledger: Ledger, seen: Seen) -> bool:
    if seen.value is None or not seen.value.element.data_type.is_buffer:
        return False
    return ledger.written.pending is not None and not ledger.hidden()


def _priority(seen: Seen) -> bool:
    return seen.value is not None and seen.value.element.data_type.has_priority


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def started_with_recovered(ledger: Ledger, seen: Seen) -> bool:
    if seen.error is not None or not ledger.hidden():
        return False
    mark = ledger.mark_of(seen.operands[0])
    there = mark.least if mark is not None else len(ledger.pushed)
    return there - ledger.taken > 1


def started_in_recovery_of_recovery(ledger: Ledger, seen: Seen) -> bool:
    return ledger.generation > 0 and started_with_recovered(ledger, seen)


def pushed_behind_the_mark(ledger: Ledger, seen: Seen) -> bool:
    mark = ledger.mark_of(seen.operands[0])
    return seen.error is None and mark is not None and mark.most < ledger.there


def mark_was_missing(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is not None and ledger.in_recovery() and not ledger.marks


def newer_mark_in_the_way(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is not None and bool(ledger.marks) and ledger.marks[-1].checkpoint > seen.operands[0]


def started_after_a_missing_mark(ledger: Ledger, seen: Seen) -> bool:
    return ledger.missed and started_with_recovered(ledger, seen)


def older_mark_was_dropped(ledger: Ledger, seen: Seen) -> bool:
    if seen.error is not None or ledger.mark_of(seen.operands[0]) is None:
        return False
    return any(mark.checkpoint < seen.operands[0] and mark.least > ledger.taken for mark in ledger.marks)


def was_subsumed(ledger: Ledger, seen: Seen) -> bool:
    return ledger.subsumed(seen.operands[0])


def started_after_its_barrier(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None and ledger.written.received and ledger.written.last == seen.operands[0]


def stopped_late(ledger: Ledger, seen: Seen) -> bool:
    return ledger.written.pending is not None and seen.operands[0] < ledger.written.last


# ---- recovery and release --------------------------------------------------------------------------------------------
def pusher_waited(ledger: Ledger, seen: Seen) -> bool:
    return ledger.was_unrequested and ledger.requesting and not ledger.releasing and not ledger.was_over


def release_woke_a_pusher(ledger: Ledger, seen: Seen) -> bool:
    return ledger.was_unrequested and ledger.released and not ledger.was_over and not ledger.requesting


def push_raced_with_release(ledger: Ledger, seen: Seen) -> bool:
    return ledger.pushing and ledger.requested and not ledger.released


def add_raced_with_release(ledger: Ledger, seen: Seen) -> bool:
    return ledger.adding > 0 and not ledger.released


def released_before_request(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and not ledger.requested


def released_with_recovered(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.taken < ledger.there


def released_with_live(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.buffers > 0 and not ledger.hidden()


def released_while_blocked(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.blocked


def released_while_pending(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.written.pending is not None


def released_after_the_end(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.ended


def released_twice(ledger: Ledger, seen: Seen) -> bool:
    return ledger.released


def failed_in_flight(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.failed and (ledger.busy or ledger.pushing)


def restored_with_state(ledger: Ledger, seen: Seen) -> bool:
    return bool(seen.value)
