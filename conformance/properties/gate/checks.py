"""How each property of a gate is decided: small functions of the ledger and of what was seen."""

from __future__ import annotations

from conformance.ports import (
    Announcement,
    Barrier,
    CheckpointReason,
    Data,
    Element,
    EndOfData,
    EndOfPartition,
    ErrorKind,
)
from conformance.properties.base import Broken, FailureClass, Judgement, Seen, compare_ids
from conformance.properties.gate.ledger import GateLedger
from conformance.properties.gate.side import ALL, Side
from conformance.properties.persisting import written_class

Ledger = GateLedger


# ---- what a poll answers ---------------------------------------------------------------------------------------------
def comes_from_a_live_channel(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    if seen.value.channel >= len(ledger.sides):
        return Broken(FailureClass.CORRUPTED, f"the gate has {len(ledger.sides)} channels", _polled(seen))
    if ledger.sides[seen.value.channel].ended:
        return Broken(FailureClass.DUPLICATED, "that channel has ended: nothing comes after its end", _polled(seen))
    return True


def arrives_in_order(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    side = ledger.sides[seen.value.channel]
    element = seen.value.element
    if element.data_type.has_priority:
        return _priority_in_order(side, element, seen)
    head = side.head()
    if head is None:
        return Broken(FailureClass.DUPLICATED, "everything sent into that channel was polled before", _polled(seen))
    if element == head.element:
        return True
    owed = f"{_name(head.element)} comes next in channel {seen.value.channel}"
    if type(element) is Data and type(head.element) is Data:
        first = head.element.ids[0]
        return Broken(compare_ids(head.element.ids, element.ids, first), owed, _polled(seen))
    later = any(sent.element == element for sent in (*side.recovered, *side.queue))
    return Broken(FailureClass.REORDERED if later else FailureClass.CORRUPTED, owed, _polled(seen))


def _priority_in_order(side: Side, element: Element, seen: Seen) -> Judgement:
    if not side.urgent:
        return Broken(FailureClass.DUPLICATED, "no priority event of that channel is on its way", _polled(seen))
    first = side.urgent[0].element
    same = element == first or (
        type(element) is Announcement and type(first) is Announcement and element.checkpoint == first.checkpoint
    )
    if same:
        return True
    return Broken(FailureClass.REORDERED, f"{_name(first)} is the first priority event there", _polled(seen))


def recovered_comes_first(ledger: Ledger, seen: Seen) -> Judgement:
    """Live data is hidden until recovered data was consumed."""
    if seen.value is None or seen.value.element.data_type.has_priority:
        return False
    side = ledger.sides[seen.value.channel]
    if side.recovered:
        if type(seen.value.element) is Data:
            return True
        return Broken(FailureClass.REORDERED, "recovered data comes before all that is live", _polled(seen))
    if ledger.pushed_design and not side.finishing:
        return Broken(FailureClass.REORDERED, "the recovery of that channel is not over", _polled(seen))
    return False


def priority_comes_first(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or not ledger.alone:
        return False
    if seen.value.element.data_type.has_priority:
        return True
    for number, side in enumerate(ledger.sides):
        if side.urgent and ledger.urgent_ready(side) and not side.urgent[0].silent:
            owed = f"{_name(side.urgent[0].element)} of channel {number} has priority"
            return Broken(FailureClass.REORDERED, owed, _polled(seen))
    return False


def blocked_channels_are_silent(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or not ledger.sides[seen.value.channel].blocked:
        return False
    if seen.value.element.data_type.has_priority:
        return True
    return Broken(
        FailureClass.REORDERED, f"the producer of channel {seen.value.channel} was not resumed", _polled(seen)
    )


def answers_what_is_there(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.alone or ledger.any_slow():
        return False
    return seen.value is not None or _owes_an_answer(ledger)


def answers_although_others_are_slow(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.alone or not ledger.any_slow():
        return False
    return seen.value is not None or _owes_an_answer(ledger)


def _owes_an_answer(ledger: Ledger) -> Judgement:
    """Nothing was answered."""
    for number, side in enumerate(ledger.sides):
        if ledger.hands_out(side):
            owed = f"channel {number} has something that can be polled"
            return Broken(FailureClass.STUCK, owed, "the poll answered nothing")
    return False


def served_in_turn(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None or not ledger.alone or seen.value.element.data_type.has_priority:
        return False
    others = len(ledger.sides) - 1
    for number, side in enumerate(ledger.sides):
        if side.waited >= others * ledger.rounds(side) and number != seen.value.channel and ledger.hands_out(side):
            return Broken(
                FailureClass.STUCK,
                f"channel {number} was ready during {side.waited} polls of {others} others: it is its turn",
                _polled(seen),
            )
    return others > 0


# ---- waking ----------------------------------------------------------------------------------------------------------
def nothing_waits_unannounced(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.awake:
        return any(side.queue or side.recovered for side in ledger.sides)
    for number, side in enumerate(ledger.sides):
        if ledger.ready(side):
            return Broken(
                FailureClass.STUCK,
                f"channel {number} has something that can be polled, so the consumer must have been told",
                "it was not, and sleeps",
            )
    return False


def availability_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    owed = any(ledger.ready(side) for side in ledger.sides) or ledger.all_ended()
    if not owed:
        return False
    if seen.value:
        return True
    return Broken(FailureClass.STUCK, "something can be polled, or all has ended", "the gate is not available")


# ---- conversion, and what is refused ---------------------------------------------------------------------------------
def no_state_is_lost(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.surely_not_convertible():
        return False
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    return Broken(
        FailureClass.LOST, "a channel has state that conversion would lose: an error of kind state", _got(seen)
    )


def converts_when_it_can(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.convertible() or ledger.overlapped:
        return False
    if seen.error is None:
        return True
    return Broken(FailureClass.STUCK, "nothing would be lost: the channels must become physical", _got(seen))


def not_requested_before_conversion(ledger: Ledger, seen: Seen) -> Judgement:
    return _must_be_state(seen, "partitions are requested by physical channels only")


def completes_once(ledger: Ledger, seen: Seen) -> Judgement:
    (channel,) = seen.operands
    if ledger.sides[channel].tracked:
        if all(side.tracked for side in ledger.sides):
            return False  # every producer was resumed, and nobody counts any more (2.3.0 ignores it)
        return _must_be_state(seen, f"the end of output state of channel {channel} was noted before")
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, "it is the first end of output state of that channel", _got(seen))


def producers_go_on_together(ledger: Ledger, seen: Seen) -> Judgement:
    """Judged after learning."""
    done = all(side.tracked for side in ledger.sides)
    for number, side in enumerate(ledger.sides):
        if side.local or not side.completion_taken:
            continue
        if done != side.resumed:
            owed = "all producers are resumed once the output state of the last channel has ended, and not before"
            observed = f"producer {number} was {'' if side.resumed else 'not '}resumed"
            return Broken(FailureClass.PROTOCOL, owed, observed)
    return len(ledger.sides) > 1


def released_is_not_read(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.error is not None and seen.error.kind is ErrorKind.RELEASED:
        return True
    if ledger.all_ended() and seen.error is None and seen.value is None:
        return True
    return Broken(FailureClass.PROTOCOL, "polling a closed gate is an error of kind released", _got(seen))


def recycles_after_release(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, "what is pushed into a closed gate is recycled silently", _got(seen))


def only_the_last_barrier_is_converted(ledger: Ledger, seen: Seen) -> Judgement:
    return _must_be_state(seen, "that barrier is not queued")


def converts_announced(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, "the announced barrier is queued, and can overtake", _got(seen))


# ---- the end ---------------------------------------------------------------------------------------------------------
def ends_once(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    side = ledger.sides[seen.value.channel]
    element = seen.value.element
    if type(element) is EndOfPartition and any(type(sent.element) is EndOfData for sent in side.queue):
        return Broken(FailureClass.REORDERED, "the end of data comes before the end of partition", _polled(seen))
    return type(element) is EndOfPartition


def finished_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value == ledger.all_ended():
        return True
    owed = "a gate is finished once the consumer took the end of every channel"
    return Broken(FailureClass.PROTOCOL, owed, f"it says {seen.value}, and {_count_ended(ledger)} have ended")


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def refuses_rightly(ledger: Ledger, seen: Seen, reason: CheckpointReason) -> Judgement:
    """Whether the reason is the one owed; False if another reason, or none, is owed."""
    (checkpoint,) = seen.operands
    channel, reasons, sure = ledger.refusals(checkpoint)
    if not sure or reason not in reasons:
        return False
    error = seen.error
    if error is not None and error.kind is ErrorKind.CHECKPOINT and error.checkpoint_reason in reasons:
        return True
    return Broken(
        FailureClass.PROTOCOL,
        f"channel {channel} must refuse checkpoint {checkpoint}: {' or '.join(reasons)}",
        _got(seen),
    )


def declines_before_conversion(ledger: Ledger, seen: Seen) -> Judgement:
    return refuses_rightly(ledger, seen, CheckpointReason.DECLINED_TASK_NOT_READY)


def declines_without_mark(ledger: Ledger, seen: Seen) -> Judgement:
    return refuses_rightly(ledger, seen, CheckpointReason.DECLINED)


def is_subsumed(ledger: Ledger, seen: Seen) -> Judgement:
    return refuses_rightly(ledger, seen, CheckpointReason.SUBSUMED)


def starts_where_it_can(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    channel, _, sure = ledger.refusals(checkpoint)
    if channel >= 0 or not sure:
        return False
    if seen.error is None:
        return True
    return Broken(FailureClass.PROTOCOL, f"nothing speaks against checkpoint {checkpoint}", _got(seen))


def written_once(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    judged = False
    for number, side in enumerate(ledger.sides):
        if checkpoint in side.unsure or ALL in side.unsure:
            continue
        expected = tuple(side.expected.get(checkpoint, ()))
        got = seen.value[number] if number < len(seen.value) else None
        if got != expected:
            failure_class = FailureClass.CORRUPTED if got is None else written_class(expected, got)
            owed = f"records {expected} of channel {number} were queued in front of barrier {checkpoint}"
            return Broken(failure_class, owed, f"records {got} were written")
        judged = judged or bool(expected)
    return judged


# ---- resources -------------------------------------------------------------------------------------------------------
def counts_what_waits(ledger: Ledger, seen: Seen) -> Judgement:
    """Events may be counted too, the end of recovered data among them."""
    (channel,) = seen.operands
    side = ledger.sides[channel]
    data = sum(type(sent.element) is Data for sent in (*side.recovered, *side.queue))
    most = data + len(side.urgent) + len(side.queue) + side.finishing
    if data <= seen.value <= most:
        return data > 0
    return Broken(FailureClass.CORRUPTED, f"{data} data buffers wait in channel {channel}", f"it counts {seen.value}")


def releases_all(ledger: Ledger, seen: Seen) -> Judgement:
    if not (ledger.released or ledger.all_ended()):
        return False
    left = {
        name: count
        for name in ("segments", "heap", "files", "listeners", "futures")
        if (count := getattr(seen.value, name))
    }
    if not left:
        return True
    held = ", ".join(f"{count} {name}" for name, count in left.items())
    return Broken(FailureClass.LEAKED, "a released gate holds nothing", f"it holds {held}")


# ---- words -----------------------------------------------------------------------------------------------------------
def _must_be_state(seen: Seen, owed: str) -> Judgement:
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    return Broken(FailureClass.PROTOCOL, f"{owed}: an error of kind state", _got(seen))


def _got(seen: Seen) -> str:
    if seen.error is None:
        return "it went through"
    reason = f" ({seen.error.checkpoint_reason})" if seen.error.checkpoint_reason else ""
    return f"it answered the error {seen.error.kind}{reason}"


def _polled(seen: Seen) -> str:
    return f"the poll answered {_name(seen.value.element)} of channel {seen.value.channel}"


def _name(element: Element) -> str:
    if type(element) is Data:
        return f"records {element.ids}"
    if type(element) is Barrier:
        return f"the {element.alignment} barrier {element.checkpoint}"
    return element.data_type.label


def _count_ended(ledger: Ledger) -> int:
    return sum(side.ended for side in ledger.sides)
