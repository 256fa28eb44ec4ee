"""How each property of a recovered channel is decided."""

from __future__ import annotations

from conformance.ports import CheckpointReason, Data, ErrorKind, StateConsumed
from conformance.properties.base import Broken, FailureClass, Judgement, Seen, compare_ids
from conformance.properties.recovered_channel.ledger import RecoveredChannelLedger

Ledger = RecoveredChannelLedger


# ---- pushing ---------------------------------------------------------------------------------------------------------
def accepts_until_the_end(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.releasing or ledger.released:
        return False
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, "state is still being read: the channel must take it", _got(seen))


def recycles_after_release(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.was_over:
        return False
    if seen.error is not None:
        return Broken(FailureClass.PROTOCOL, "what comes after release is recycled silently", _got(seen))
    if seen.signals:
        return Broken(
            FailureClass.PROTOCOL, "what comes after release is recycled silently", f"it announced {seen.signals[0]}"
        )
    return True


def refuses_after_the_end(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.releasing or ledger.released:
        return False
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    return Broken(FailureClass.PROTOCOL, "all state was read: a further buffer is an error of kind state", _got(seen))


# ---- taking ----------------------------------------------------------------------------------------------------------
def arrives_in_order(ledger: Ledger, seen: Seen) -> Judgement:
    taken = seen.value
    if taken is None:
        return False
    element = taken.element
    if ledger.taken >= len(ledger.pushed):
        return Broken(FailureClass.DUPLICATED, "everything was taken before", f"it answered {element}")
    expected = ledger.pushed[ledger.taken]
    if type(element) is not Data:
        return Broken(FailureClass.CORRUPTED, f"records {expected} come next", f"it answered {element}")
    if element.ids == expected:
        return True
    kind = compare_ids(expected, element.ids, expected[0])
    return Broken(kind, f"records {expected} come next", f"it answered records {element.ids}")


def hands_out_what_is_there(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.had or ledger.released:
        return False
    if seen.value is not None or _ends(seen):
        return True
    return Broken(FailureClass.STUCK, f"{_first(ledger)} could be taken", "it answered nothing")


def numbers_without_gaps(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or ledger.seq is None:
        return False
    if seen.value.seq == ledger.seq:
        return True
    return Broken(
        FailureClass.PROTOCOL, f"sequence number {ledger.seq} comes next", f"the element carries {seen.value.seq}"
    )


def end_is_told_once(ledger: Ledger, seen: Seen) -> Judgement:
    if not _ends(seen):
        due = ledger.had and ledger.taken == len(ledger.pushed) and not ledger.released and seen.value is None
        if not due:
            return False
        return Broken(
            FailureClass.LOST, "the end of recovered state was taken, and must be told", "the consumer was not told"
        )
    if ledger.consumed or sum(type(signal) is StateConsumed for signal in seen.signals) > 1:
        return Broken(FailureClass.DUPLICATED, "the end of recovered state is told once", "it was told again")
    if not ledger.finishing:
        return Broken(FailureClass.PROTOCOL, "state is still being read", "its end was told")
    if ledger.taken < len(ledger.pushed):
        return Broken(FailureClass.LOST, f"records {ledger.left()} must come first", "the end of them was told")
    return True


def released_is_not_read(ledger: Ledger, seen: Seen) -> Judgement:
    error = seen.error
    if ledger.released:
        if error is not None and error.kind is ErrorKind.STATE:
            return True
        return Broken(FailureClass.PROTOCOL, "reading a released channel is an error of kind state", _got(seen))
    if error is None:
        return False
    return Broken(FailureClass.PROTOCOL, "the channel is not released: it can be read", _got(seen))


def nothing_waits_unannounced(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.readable():
        return False
    if ledger.awake:
        return True
    return Broken(
        FailureClass.STUCK,
        f"{_first(ledger)} can be taken, so the consumer must have been told",
        "it was not, and sleeps",
    )


# ---- conversion ------------------------------------------------------------------------------------------------------
def refuses_conversion(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.recovery == "recover-first":
        forbidden, why = not ledger.consumed, "not all recovered state is consumed"
    elif ledger.recovery == "in-memory":
        forbidden, why = not ledger.finishing, "not all state is read"
    else:
        forbidden, why = ledger.had > (ledger.finished and not ledger.consumed), "a buffer is stored"
    if not forbidden:
        return False
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    return Broken(FailureClass.LOST, f"{why}: converting now is an error of kind state", _got(seen))


def allows_conversion(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.recovery == "recover-first":
        allowed = ledger.consumed
    elif ledger.recovery == "in-memory":
        allowed = ledger.was_finished
    else:
        allowed = ledger.taken == len(ledger.pushed) and (ledger.consumed or not ledger.finishing)
    if not allowed or ledger.busy:
        return False
    if seen.error is None:
        return True
    return Broken(FailureClass.STUCK, "nothing would be lost: the channel must become physical", _got(seen))


def hands_over_what_is_left(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.error is not None:
        return False
    left = ledger.left() if ledger.recovery == "in-memory" else ()
    got = tuple(seen.value)
    if got == left:
        return True
    kind = compare_ids(left, got, left[0] if left else ledger.next_record)
    return Broken(kind, f"the physical channel must be given records {left}, which nobody took", f"it got {got}")


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def declines_checkpoints(ledger: Ledger, seen: Seen) -> Judgement:
    error = seen.error
    if (
        error is not None
        and error.kind is ErrorKind.CHECKPOINT
        and error.checkpoint_reason is CheckpointReason.DECLINED_TASK_NOT_READY
    ):
        return True
    owed = "the channel is not physical yet: the checkpoint is declined because the task is not ready"
    return Broken(FailureClass.PROTOCOL, owed, _got(seen))


def writes_nothing(ledger: Ledger, seen: Seen) -> Judgement:
    if not seen.value:
        return True
    return Broken(
        FailureClass.DUPLICATED,
        f"checkpoint {seen.operands[0]} was declined: nothing may be written for it",
        f"written were {tuple(seen.value)}",
    )


def remembers_the_newest_stop(ledger: Ledger, seen: Seen) -> Judgement:
    return False if ledger.late_stop else _remembers(ledger, seen)


def late_stop_is_not_remembered(ledger: Ledger, seen: Seen) -> Judgement:
    return _remembers(ledger, seen) if ledger.late_stop else False


def _remembers(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value == ledger.stopped:
        return ledger.stopped > 0
    return Broken(
        FailureClass.LOST,
        f"checkpoint {ledger.stopped} was stopped here, and the physical channel must learn of it",
        f"remembered is {seen.value}",
    )


# ---- what is held ----------------------------------------------------------------------------------------------------
def counts_what_waits(ledger: Ledger, seen: Seen) -> Judgement:
    least = ledger.waiting()
    most = ledger.readable()  # the end of recovered state may count, as in 2.3.0
    if least <= seen.value <= most:
        return least > 0
    return Broken(FailureClass.PROTOCOL, f"{least} buffers wait in the channel", f"it says {seen.value}")


def holds_what_it_should(ledger: Ledger, seen: Seen) -> Judgement:
    owed = ledger.waiting()
    when = "after it was released" if ledger.released else "now"
    if seen.value.segments is not None and seen.value.segments != owed:
        kind = FailureClass.LEAKED if seen.value.segments > owed else FailureClass.LOST
        return Broken(kind, f"{when} it must hold {owed} segments", f"it holds {seen.value.segments}")
    if ledger.released:
        for name in ("heap", "files", "listeners", "futures"):
            if getattr(seen.value, name):
                return Broken(
                    FailureClass.LEAKED, f"{when} it must hold no {name}", f"it holds {getattr(seen.value, name)}"
                )
    return True


def _ends(seen: Seen) -> bool:
    return any(type(signal) is StateConsumed for signal in seen.signals)


def _first(ledger: Ledger) -> str:
    if ledger.taken < ledger.there:
        return f"records {ledger.pushed[ledger.taken]}"
    return "the end of recovered state"


def _got(seen: Seen) -> str:
    if seen.error is None:
        return "it was accepted"
    reason = f" ({seen.error.checkpoint_reason})" if seen.error.checkpoint_reason else ""
    return f"it answered {seen.error.kind}{reason}"
