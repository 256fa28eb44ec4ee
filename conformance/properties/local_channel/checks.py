"""How each property of a local channel is decided, checkpoints apart: what goes in, what comes out, what is held."""

from __future__ import annotations

from conformance.ports import Barrier, Data, Element, ErrorKind, StateConsumed
from conformance.properties.base import Broken, FailureClass, Judgement, Seen, compare_ids
from conformance.properties.local_channel.ledger import LocalChannelLedger

Ledger = LocalChannelLedger


# ---- what goes in ----------------------------------------------------------------------------------------------------
def accepts_until_the_end(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.releasing:
        return False
    if seen.value is True:
        return True
    return Broken(FailureClass.LOST, "the channel is alive: what the producer adds is accepted", "it was rejected")


def accepts_nothing_after_the_end(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is False:
        return True
    why = "released" if ledger.released else "finished by its producer"
    return Broken(FailureClass.LEAKED, f"the channel was {why}: the element is rejected", "it was accepted")


def waits_for_the_upstream(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.was_unrequested or ledger.releasing or seen.error is not None:
        return False
    if ledger.requesting:
        return True
    return Broken(
        FailureClass.PROTOCOL,
        "nobody has asked for the subpartition yet: the push must wait, or the consumer runs into a channel without a "
        "view",
        "it was over at once",
    )


def accepts_recovered(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.releasing:
        return False
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, "the channel is in recovery, and must take what is pushed", got(seen))


def recycles_after_release(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.releasing:
        return False
    if seen.error is not None:
        return Broken(FailureClass.PROTOCOL, "what is pushed after release is recycled silently", got(seen))
    if ledger.was_over and seen.signals:
        told = type(seen.signals[0]).__name__
        return Broken(FailureClass.PROTOCOL, "what is pushed after release is recycled silently", f"{told} was told")
    return True


def refuses_after_the_end(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.releasing:
        return False
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    return Broken(FailureClass.PROTOCOL, "recovery is over: a further push is an error of kind state", got(seen))


# ---- what comes out --------------------------------------------------------------------------------------------------
def take_is_no_error(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.error is None:
        return True
    return Broken(
        FailureClass.PROTOCOL, "a consumer who was told of something, or has asked for data, may take", got(seen)
    )


def live_waits_behind_recovered(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or not ledger.live or not ledger.hidden():
        return False
    element = seen.value.element
    if element.data_type.has_priority:
        return False
    if element != ledger.live[0]:
        return True
    behind = "the end of recovered data" if ledger.taken == len(ledger.pushed) else f"records {_recovered(ledger)}"
    return Broken(FailureClass.REORDERED, f"live data waits behind {behind}", f"{name(element)} came first")


def priority_comes_first(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.must_priority or ledger.hidden():
        return False
    return _priority_came(ledger, seen)


def priority_passes_recovered(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.must_priority or not ledger.hidden():
        return False
    return _priority_came(ledger, seen)


def _priority_came(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.blocked:
        return False
    if seen.value is not None and seen.value.element.data_type.has_priority:
        return True
    came = "nothing came" if seen.value is None else f"{name(seen.value.element)} came first"
    return Broken(
        FailureClass.REORDERED, f"the unaligned barrier {ledger.urgent[0].checkpoint} stands in front of all", came
    )


def priority_leaves_while_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    if not (ledger.must_priority and ledger.blocked):
        return False
    if seen.value is not None and seen.value.element.data_type.has_priority:
        return True
    return Broken(
        FailureClass.STUCK,
        f"the unaligned barrier {ledger.urgent[0].checkpoint} passes although the producer is blocked",
        "it did not come",
    )


def only_priority_leaves_while_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.blocked or ledger.released:
        return False
    if seen.value is None or seen.value.element.data_type.has_priority:
        return bool(ledger.live)
    return Broken(
        FailureClass.REORDERED, "the consumer has not resumed the channel yet", f"{name(seen.value.element)} came"
    )


def keeps_what_was_copied(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or not ledger.hidden() or ledger.taken >= ledger.retained_to:
        return False
    element = seen.value.element
    if type(element) is not Data:
        return False
    expected = ledger.pushed[ledger.taken]
    if element.ids == expected:
        return True
    return Broken(
        FailureClass.CORRUPTED,
        f"a copy of records {expected} was written, which changes nothing for the consumer",
        f"it got records {element.ids}",
    )


def arrives_in_order(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    element = seen.value.element
    if element.data_type.has_priority:
        first = ledger.urgent[0].checkpoint if ledger.urgent else 0
        if type(element) is Barrier and element.checkpoint == first and element.alignment == "unaligned":
            return True
        owed = f"the unaligned barrier {first} comes next" if first else "no priority event is queued"
        return Broken(FailureClass.REORDERED if first else FailureClass.DUPLICATED, owed, f"{name(element)} came")
    if ledger.hidden():
        if ledger.taken == len(ledger.pushed):
            return Broken(FailureClass.DUPLICATED, "all recovered data was taken before", f"{name(element)} came")
        return _compare(Data(ledger.pushed[ledger.taken]), element)
    if not ledger.live:
        return Broken(FailureClass.DUPLICATED, "everything was taken before", f"{name(element)} came")
    return _compare(ledger.live[0], element)


def _compare(expected: Element, element: Element) -> Judgement:
    if element == expected:
        return True
    kind = FailureClass.REORDERED
    if type(element) is Data and type(expected) is Data:
        kind = compare_ids(expected.ids, element.ids, expected.ids[0])
    elif type(element) is type(expected):
        kind = FailureClass.CORRUPTED
    return Broken(kind, f"{name(expected)} comes next", f"{name(element)} came")


def end_is_told_once(ledger: Ledger, seen: Seen) -> Judgement:
    ends = sum(type(signal) is StateConsumed for signal in seen.signals)
    if not ends:
        due = ledger.must and not ledger.must_priority and ledger.in_recovery() and ledger.taken == len(ledger.pushed)
        if not due or seen.value is not None:
            return False
        return Broken(
            FailureClass.LOST, "the end of recovered data was taken, and must be told", "the consumer was not told"
        )
    if ledger.consumed or ends > 1:
        return Broken(FailureClass.DUPLICATED, "the end of recovered data is told once", "it was told again")
    if not ledger.finishing or not ledger.in_recovery():
        return Broken(FailureClass.PROTOCOL, "recovered data may still come", "its end was told")
    if ledger.taken < len(ledger.pushed):
        return Broken(FailureClass.LOST, f"records {_recovered(ledger)} must come first", "the end of them was told")
    return True


def hands_out_what_is_there(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.must or ledger.released:
        return False
    if seen.value is not None or any(type(signal) is StateConsumed for signal in seen.signals):
        return True
    return Broken(FailureClass.STUCK, f"{_first(ledger)} could be taken", "the take answered nothing")


def numbers_without_gaps(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    recovered = ledger.hidden() and not seen.value.element.data_type.has_priority
    owed = ledger.recovery_seq if recovered else ledger.live_seq
    if owed is None or seen.value.seq == owed:
        return True
    what = "recovered" if recovered else "live"
    return Broken(
        FailureClass.PROTOCOL, f"the next {what} element has number {owed}", f"the element carries {seen.value.seq}"
    )


def announced_number_is_carried(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.told < 0 or seen.value is None or not seen.value.element.data_type.has_priority:
        return False
    if seen.value.seq == ledger.told:
        return True
    return Broken(
        FailureClass.PROTOCOL,
        f"the priority event was announced with number {ledger.told}",
        f"it carries {seen.value.seq}",
    )


# ---- what the consumer is told, and asks -----------------------------------------------------------------------------
def nothing_waits_unannounced(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.failed or ledger.released or not ledger.readable():
        return False
    if ledger.awake:
        return True
    return Broken(
        FailureClass.STUCK, f"{_first(ledger)} can be taken, so the consumer must have been told", "it was not"
    )


def resumes_unless_released(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.released:
        if seen.error is None:
            return True
        return Broken(FailureClass.PROTOCOL, "a blocked channel can be resumed", got(seen))
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    return Broken(FailureClass.PROTOCOL, "resuming a released channel is an error of kind state", got(seen))


def says_whether_in_recovery(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.released:
        return False
    owed = ledger.in_recovery()
    if seen.value is owed:
        return True
    why = "has not been taken yet" if owed else "was taken, or nothing is pushed into this channel"
    return Broken(FailureClass.PROTOCOL, f"the end of recovered data {why}", f"in recovery: {seen.value}")


# ---- what is held ----------------------------------------------------------------------------------------------------
def counts_what_waits(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.released:
        return False
    recovered = ledger.waiting()
    least = most = recovered
    most += (ledger.in_recovery() or ledger.recovery == "in-memory") + len(ledger.marks)  # their end may count
    if ledger.requested:  # events may count upstream, as in 2.3.0
        least += ledger.buffers
        most += len(ledger.live) + len(ledger.urgent)
    if least <= seen.value <= most:
        return least > 0
    owed = f"{recovered} recovered buffers wait here, and {least - recovered} upstream"
    return Broken(FailureClass.PROTOCOL, owed, f"it says {seen.value}")


def holds_what_it_should(ledger: Ledger, seen: Seen) -> Judgement:
    over = ledger.released
    when = "after it was released" if over else "now"
    for what, owed, held in (
        ("segments", 0 if over else ledger.waiting() + ledger.buffers, seen.value.segments),
        ("listeners", int(ledger.requested and not over), seen.value.listeners),
    ):
        if held is not None and held != owed:
            kind = FailureClass.LEAKED if held > owed else FailureClass.LOST
            return Broken(kind, f"{when} it must hold {owed} {what}", f"it holds {held}")
    if over:
        for what in ("heap", "files", "futures"):
            if getattr(seen.value, what):
                return Broken(
                    FailureClass.LEAKED, f"{when} it must hold no {what}", f"it holds {getattr(seen.value, what)}"
                )
    return True


# ---- words -----------------------------------------------------------------------------------------------------------
def _first(ledger: Ledger) -> str:
    if ledger.must_come_first():
        return f"the unaligned barrier {ledger.urgent[0].checkpoint}"
    if ledger.hidden():
        if ledger.taken < len(ledger.pushed):
            return f"records {_recovered(ledger)}"
        return "the end of recovered data"
    return name(ledger.live[0]) if ledger.live else "an unaligned barrier"


def _recovered(ledger: Ledger) -> tuple[int, ...]:
    return tuple(record for ids in ledger.pushed[ledger.taken :] for record in ids)


def name(element: object) -> str:
    """An element in words."""
    if isinstance(element, Data):
        return f"records {element.ids}"
    if isinstance(element, Barrier):
        return f"the {element.alignment} barrier {element.checkpoint}"
    return type(element).__name__


def got(seen: Seen) -> str:
    """What an operation without a value came to, in words."""
    if seen.error is None:
        return "it was accepted"
    reason = f" ({seen.error.checkpoint_reason})" if seen.error.checkpoint_reason else ""
    return f"it answered {seen.error.kind}{reason}"
