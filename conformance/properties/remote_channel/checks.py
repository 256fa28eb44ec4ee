"""How each property of a remote channel is decided."""

from __future__ import annotations

from conformance.ports import (
    Announcement,
    CheckpointReason,
    ConsumptionResumed,
    Data,
    ErrorKind,
    PriorityAvailable,
)
from conformance.properties.base import Broken, FailureClass, Judgement, Seen, compare_ids
from conformance.properties.persisting import written_class
from conformance.properties.remote_channel.ledger import RemoteChannelLedger

Ledger = RemoteChannelLedger


# ---- taking ----------------------------------------------------------------------------------------------------------
def keeps_stashed_events(ledger: Ledger, seen: Seen) -> Judgement:
    head = ledger.head()
    if seen.value is None or seen.value.element.data_type.has_priority or head is None or not head.stashed:
        return False
    if seen.value.element == head.element:
        return True
    owed = f"{head.element} came during recovery and is next"
    return Broken(FailureClass.LOST, owed, f"the channel answered {seen.value.element}")


def hides_live_data(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or seen.value.element.data_type.has_priority:
        return False
    if not ledger.recovered and (ledger.consumed or ledger.finishing):
        return False
    if ledger.recovered and type(seen.value.element) is Data:
        return True
    owed = "the recovered data of the channel is not consumed"
    return Broken(FailureClass.REORDERED, owed, f"the channel answered {seen.value.element}")


def arrives_in_order(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    element = seen.value.element
    if element.data_type.has_priority:
        first = ledger.urgent[0].element if ledger.urgent else None
        same = element == first or (type(element) is Announcement and type(first) is Announcement)
        if same:
            return True
        return Broken(FailureClass.REORDERED, f"{first} is the first priority event", f"it answered {element}")
    head = ledger.head()
    if head is None:
        return Broken(FailureClass.DUPLICATED, "everything was taken before", f"it answered {element}")
    if element == head.element:
        return True
    kind = FailureClass.REORDERED
    if type(element) is Data and type(head.element) is Data:
        kind = compare_ids(head.element.ids, element.ids, head.element.ids[0])
    return Broken(kind, f"{head.element} comes next", f"it answered {element}")


def keeps_sequence_numbers(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or ledger.recovered:
        return False
    priority = seen.value.element.data_type.has_priority
    sent = (ledger.urgent[0] if ledger.urgent else None) if priority else ledger.head()
    if sent is None or sent.seq == seen.value.seq:
        return sent is not None
    return Broken(
        FailureClass.PROTOCOL, f"it came with sequence number {sent.seq}", f"it is handed out with {seen.value.seq}"
    )


def priority_comes_first(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or not ledger.alone or not ledger.urgent:
        return False
    if seen.value.element.data_type.has_priority:
        return True
    return Broken(
        FailureClass.REORDERED, f"{ledger.urgent[0].element} has priority", f"it answered {seen.value.element}"
    )


def answers_what_is_there(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.alone or not ledger.ready():
        return False
    if seen.value is not None:
        return True
    if not ledger.urgent and not ledger.recovered and (not ledger.consumed or not ledger.queue):
        return False  # the end of recovered data answers nothing
    return Broken(FailureClass.STUCK, "something can be taken", "the channel answered nothing")


def nothing_waits_unannounced(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.ready():
        return False
    if ledger.awake:
        return True
    return Broken(FailureClass.STUCK, "something can be taken, so the gate must have been told", "it was not")


# ---- receiving -------------------------------------------------------------------------------------------------------
def refuses_reordering(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.releasing:
        return False
    return _must_be(seen, ErrorKind.REORDERING, f"element {ledger.seq} comes next")


def refuses_data_in_recovery(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.consumed or ledger.releasing:
        return False
    return _must_be(seen, ErrorKind.PROTOCOL, "no live data comes while the channel is in recovery")


def refuses_backlog_of_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.releasing:
        return False
    return _must_be(seen, ErrorKind.ARGUMENT, "a producer that is blocked has no backlog")


# ---- credit ----------------------------------------------------------------------------------------------------------
def credit_is_what_is_free(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.consumed or not ledger.requested or (ledger.blocked and not ledger.exclusive):
        return False  # without exclusive buffers a blocked producer loses its credit when it is resumed
    if seen.value == ledger.credit:
        return True
    owed = f"the producer holds {ledger.credit} credits: so many buffers are set aside for it"
    return Broken(FailureClass.CORRUPTED, owed, f"{seen.value} are")


def credit_is_covered(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.recovery != "none" or not ledger.requested or (ledger.blocked and not ledger.exclusive):
        return False
    if ledger.spare() >= 0:
        return True
    owed = f"there are {ledger.exclusive + ledger.floating} buffers"
    return Broken(FailureClass.CORRUPTED, owed, f"{-ledger.spare()} more are in use or announced")


def no_credit_in_recovery(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.consumed or not ledger.requested:
        return False
    if ledger.credit == 0:
        return True
    owed = "no buffer is announced before the recovery is over"
    return Broken(FailureClass.PROTOCOL, owed, f"the producer holds {ledger.credit} credits")


def backlog_is_served(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.waits_for_buffers() or ledger.blocked or ledger.released:
        return False
    if ledger.spare() <= 0 or ledger.credit >= ledger.required:
        return True
    owed = f"the producer's backlog asks for {ledger.required} buffers, and {ledger.spare()} are free"
    return Broken(FailureClass.STUCK, owed, f"it holds {ledger.credit} credits")


# ---- recovery --------------------------------------------------------------------------------------------------------
def recycles_after_release(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, "what is pushed after release is recycled silently", _got(seen))


def waits_for_the_upstream(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.ready_upstream or ledger.sending:
        return True
    if ledger.disturbed or ledger.releasing:
        return False
    return Broken(FailureClass.PROTOCOL, "the producer has sent nothing, so the push waits", _got(seen))


def refuses_after_the_end(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.releasing:
        return False
    return _must_be(seen, ErrorKind.STATE, "the recovery of this channel is over")


def marks_in_recovery_only(ledger: Ledger, seen: Seen) -> Judgement:
    """The channel that is marked is the one that will look for the mark."""
    if seen.value == (not ledger.consumed):
        return True
    state = "over" if ledger.consumed else "not over"
    return Broken(FailureClass.PROTOCOL, f"the recovery is {state}", f"marking it answered {seen.value}")


def recovery_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value == (not ledger.consumed):
        return True
    return Broken(FailureClass.PROTOCOL, "a channel is in recovery until the end was taken", f"it says {seen.value}")


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def is_subsumed(ledger: Ledger, seen: Seen) -> Judgement:
    return _refused(ledger, seen, CheckpointReason.SUBSUMED)


def is_declined(ledger: Ledger, seen: Seen) -> Judgement:
    return _refused(ledger, seen, CheckpointReason.DECLINED)


def _refused(ledger: Ledger, seen: Seen, reason: CheckpointReason) -> Judgement:
    (checkpoint,) = seen.operands
    reasons = ledger.refusals(checkpoint)
    if ledger.doubtful or reason not in reasons:
        return False
    error = seen.error
    if error is not None and error.kind is ErrorKind.CHECKPOINT and error.checkpoint_reason in reasons:
        return True
    return Broken(FailureClass.PROTOCOL, f"checkpoint {checkpoint} is refused: {' or '.join(reasons)}", _got(seen))


def starts_where_it_can(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    if ledger.doubtful or ledger.refusals(checkpoint):
        return False
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, f"nothing speaks against checkpoint {checkpoint}", _got(seen))


def written_once(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    if checkpoint in ledger.unsure or 0 in ledger.unsure:
        return False
    expected = tuple(ledger.expected.get(checkpoint, ()))
    if tuple(seen.value) == expected:
        return bool(expected)
    owed = f"records {expected} were queued in front of barrier {checkpoint}"
    return Broken(written_class(expected, tuple(seen.value)), owed, f"records {seen.value} were written")


def is_forced(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.error is not None:
        return Broken(FailureClass.PROTOCOL, "the announced barrier is queued, and can overtake", _got(seen))
    if any(type(signal) is PriorityAvailable for signal in seen.signals):
        return True
    return Broken(FailureClass.STUCK, "the gate is told of a barrier that overtakes", "it was not")


def only_the_last_barrier_overtakes(ledger: Ledger, seen: Seen) -> Judgement:
    return _must_be(seen, ErrorKind.STATE, "that is no barrier of this channel")


# ---- the rest --------------------------------------------------------------------------------------------------------
def resumes_the_producer(ledger: Ledger, seen: Seen) -> Judgement:
    if any(type(signal) is ConsumptionResumed for signal in seen.signals):
        return True
    return Broken(FailureClass.STUCK, "the producer is told to go on", "it was not")


def counts_what_waits(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.released:
        return False
    waiting = sum(type(sent.element) is Data for sent in (*ledger.recovered, *ledger.queue))
    events = len(ledger.urgent) + sum(type(sent.element) is not Data for sent in ledger.queue)
    # 2.3.0 counts events too, the end of recovered data among them, and what the producer said waits with it.
    most = waiting + events + bool(ledger.handed_over) + max(0, ledger.required - ledger.exclusive)
    if waiting <= seen.value <= most:
        return waiting > 0
    return Broken(FailureClass.CORRUPTED, f"{waiting} data buffers wait", f"it counts {seen.value}")


def releases_all(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.released:
        return False
    most = ledger.held
    if (seen.value.segments or 0) <= most and not any((seen.value.heap, seen.value.listeners, seen.value.futures)):
        return True
    return Broken(
        FailureClass.LEAKED, f"a released channel holds nothing, and the task {most} buffers", f"it is {seen.value}"
    )


def _must_be(seen: Seen, kind: ErrorKind, why: str) -> Judgement:
    if seen.error is not None and seen.error.kind is kind:
        return True
    return Broken(FailureClass.PROTOCOL, f"{why}: an error of kind {kind}", _got(seen))


def _got(seen: Seen) -> str:
    if seen.error is None:
        return "it went through"
    reason = f" ({seen.error.checkpoint_reason})" if seen.error.checkpoint_reason else ""
    return f"it answered the error {seen.error.kind}{reason}"
