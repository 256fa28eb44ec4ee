"""What a campaign must have seen of a gate: each a small function of the ledger and of what was seen."""

from __future__ import annotations

from conformance.ports import CheckpointReason, Data
from conformance.properties.base import Seen
from conformance.properties.gate.ledger import GateLedger

Ledger = GateLedger


def always(ledger: Ledger, seen: Seen) -> bool:
    return True


# ---- conversion ------------------------------------------------------------------------------------------------------
def converted_with_buffers(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None and any(len(side.recovered) > 1 for side in ledger.sides)


def converted_during_push(ledger: Ledger, seen: Seen) -> bool:
    return ledger.overlapped


def conversion_refused(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is not None


# ---- polling ---------------------------------------------------------------------------------------------------------
def empty_poll(ledger: Ledger, seen: Seen) -> bool:
    return seen.value is None and ledger.phase == "live"


def notification_came_late(ledger: Ledger, seen: Seen) -> bool:
    """A barrier was taken while the operation that sent it had still to tell of it."""
    if seen.value is None or not seen.value.element.data_type.has_priority:
        return False
    side = ledger.sides[seen.value.channel]
    return bool(side.urgent) and not side.urgent[0].sure


def passed_blocked(ledger: Ledger, seen: Seen) -> bool:
    if seen.value is None or not seen.value.element.data_type.has_priority:
        return False
    side = ledger.sides[seen.value.channel]
    return bool(side.local and side.blocked)


def overtook_recovered(ledger: Ledger, seen: Seen) -> bool:
    if seen.value is None or not seen.value.element.data_type.has_priority:
        return False
    return bool(ledger.sides[seen.value.channel].recovered)


def live_waited(ledger: Ledger, seen: Seen) -> bool:
    if seen.value is None or type(seen.value.element) is not Data:
        return False
    side = ledger.sides[seen.value.channel]
    return bool(side.recovered) and any(type(sent.element) is Data for sent in side.queue)


def last_ended(ledger: Ledger, seen: Seen) -> bool:
    return len(ledger.sides) > 1 and ledger.all_ended()


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def started_in_recovery(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None and any(side.recovered for side in ledger.sides)


def refused(reason: CheckpointReason, seen: Seen) -> bool:
    return seen.error is not None and seen.error.checkpoint_reason is reason


def mark_missing(ledger: Ledger, seen: Seen) -> bool:
    return refused(CheckpointReason.DECLINED, seen)


def subsumed(ledger: Ledger, seen: Seen) -> bool:
    return refused(CheckpointReason.SUBSUMED, seen)


def declined(ledger: Ledger, seen: Seen) -> bool:
    return refused(CheckpointReason.DECLINED_TASK_NOT_READY, seen)


def arrived_meanwhile(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None and ledger.sending >= 0


def stopped_late(ledger: Ledger, seen: Seen) -> bool:
    (checkpoint,) = seen.operands
    return any(started > checkpoint for started in ledger.started)


def written_some(ledger: Ledger, seen: Seen) -> bool:
    return any(seen.value)


def written_live_and_recovered(ledger: Ledger, seen: Seen) -> bool:
    (checkpoint,) = seen.operands
    return any(len(side.expected.get(checkpoint, ())) > 1 and side.pushed > 0 for side in ledger.sides)


def forced(ledger: Ledger, seen: Seen) -> bool:
    return seen.error is None


# ---- release ---------------------------------------------------------------------------------------------------------
def released_recovering(ledger: Ledger, seen: Seen) -> bool:
    return ledger.phase == "recovering"


def released_converted(ledger: Ledger, seen: Seen) -> bool:
    return ledger.phase == "converted"


def released_live(ledger: Ledger, seen: Seen) -> bool:
    return ledger.phase == "live" and not ledger.all_ended()


def released_blocked(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and any(side.blocked for side in ledger.sides)


def released_checkpointing(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.checkpoint > 0


def released_finished(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.all_ended()


def released_with_operations(ledger: Ledger, seen: Seen) -> bool:
    return not ledger.released and ledger.flying > 1


def failed_with_operations(ledger: Ledger, seen: Seen) -> bool:
    return ledger.flying > 1
