"""How each property of a chain is decided: small functions of the ledger and of what was seen.

The sentences they decide stand in the package's `PROPERTIES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.ports import (
    Barrier,
    ChainCheckpoint,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointStatus,
    Consumed,
    Data,
    EndOfPartition,
)
from conformance.properties.base import Broken, FailureClass, Judgement, Seen, compare_ids
from conformance.properties.chain.ledger import ChainLedger as Ledger


# ---- what is counted -------------------------------------------------------------------------------------------------
def recovered_before_live(ledger: Ledger, seen: Seen) -> Judgement:
    value = seen.value
    if value is None or type(value.element) is not Data:
        return False
    side = ledger.sides[value.channel]
    ids = value.element.ids
    if side.counted >= side.recovered_end or not ids:
        return False
    if ids[0] < side.recovered_end:
        return True
    return Broken(
        FailureClass.REORDERED,
        f"records {side.counted} to {side.recovered_end - 1} of channel {value.channel} are to be recovered first",
        f"record {ids[0]}, which was sent after the restore, was counted",
    )


def counted_once_in_order(ledger: Ledger, seen: Seen) -> Judgement:
    value = seen.value
    if value is None or type(value.element) is not Data:
        return False
    side = ledger.sides[value.channel]
    ids = value.element.ids
    expected = tuple(range(side.counted, side.counted + len(ids)))
    if ids == expected and side.counted + len(ids) <= side.sent:
        return True
    return Broken(
        compare_ids(expected, ids, side.counted),
        f"record {side.counted} of channel {value.channel} is counted next, of {side.sent} that were sent",
        f"records {ids} were",
    )


def waits_behind_aligned(ledger: Ledger, seen: Seen) -> Judgement:
    value = seen.value
    if value is None or type(value.element) is not Data or not any(side.waits for side in ledger.sides):
        return False
    if not ledger.sides[value.channel].waits:
        return True
    return Broken(
        FailureClass.REORDERED,
        f"what follows the aligned barrier {ledger.newest} in channel {value.channel} waits for the checkpoint",
        f"records {value.element.ids} were counted before",
    )


def state_is_what_was_counted(ledger: Ledger, seen: Seen) -> Judgement:
    expected = tuple(tuple(range(side.counted)) for side in ledger.sides)
    if seen.value == expected:
        return any(expected)
    channel = next(
        (number for number, ids in enumerate(expected) if number >= len(seen.value) or seen.value[number] != ids), 0
    )
    got = seen.value[channel] if channel < len(seen.value) else ()
    return Broken(
        compare_ids(expected[channel], got, 0),
        f"of channel {channel}, {len(expected[channel])} records were counted, in order",
        f"the state holds {got}",
    )


def everything_is_counted(ledger: Ledger, seen: Seen) -> Judgement:
    return _all_counted(ledger) if ledger.closing == 1 and not ledger.origin else False


def restored_is_counted(ledger: Ledger, seen: Seen) -> Judgement:
    return _all_counted(ledger) if ledger.closing == 1 and ledger.origin else False


def _all_counted(ledger: Ledger) -> Judgement:
    """Everybody followed what he was told, and nobody was told anything more."""
    for channel, side in enumerate(ledger.sides):
        if side.counted < side.sent:
            return Broken(
                FailureClass.STUCK if side.counted >= side.recovered_end else FailureClass.LOST,
                f"{side.sent} records of channel {channel} are to be counted in the end",
                f"{side.counted} were, and nobody is told of more",
            )
        if side.finished and not side.ended:
            return Broken(
                FailureClass.STUCK, f"channel {channel} must end", "its end of partition never reached the consumer"
            )
    return True


# ---- barriers --------------------------------------------------------------------------------------------------------
def unaligned_goes_first(ledger: Ledger, seen: Seen) -> Judgement:
    return _taken_first(ledger, seen.value, "it overtakes everything") if ledger.urgent else False


def not_held_up_by_recovered(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.urgent_while_recovering:
        return False
    return _taken_first(ledger, seen.value, "recovered data that is not consumed yet does not delay it")


def not_held_up_by_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.urgent_while_blocked:
        return False
    return _taken_first(ledger, seen.value, "it passes a subpartition that is blocked")


def _taken_first(ledger: Ledger, value: Consumed | None, why: str) -> Judgement:
    if value is not None and _is_unaligned(value.element):
        return True
    channel = next((number for number, side in enumerate(ledger.sides) if side.due), 0)
    got = "nothing" if value is None else f"{_name(value.element)} of channel {value.channel}"
    return Broken(
        FailureClass.STUCK, f"an unaligned barrier is there in channel {channel}, and {why}", f"the consumer took {got}"
    )


def unaligned_leaves_first(ledger: Ledger, seen: Seen) -> Judgement:
    side = ledger.sides[seen.operands[0]]
    return _leaves(seen) if side.must_leave and not side.blocked else False


def unaligned_leaves_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    side = ledger.sides[seen.operands[0]]
    return _leaves(seen) if side.must_leave and side.blocked else False


def _leaves(seen: Seen) -> Judgement:
    if _is_unaligned(seen.value):
        return True
    got = "nothing" if seen.value is None else _name(seen.value)
    return Broken(
        FailureClass.STUCK,
        "an unaligned barrier waits at the producer: it leaves before anything else, with credit or without",
        f"{got} left",
    )


def unaligned_in_order(ledger: Ledger, seen: Seen) -> Judgement:
    value = seen.value
    if value is None or not _is_unaligned(value.element):
        return False
    unconsumed = ledger.sides[value.channel].unconsumed
    checkpoint = value.element.checkpoint
    if unconsumed and checkpoint == unconsumed[0]:
        return True
    return Broken(
        FailureClass.REORDERED if checkpoint in unconsumed else FailureClass.DUPLICATED,
        f"the barriers {unconsumed} of channel {value.channel} were sent in this order",
        f"barrier {checkpoint} was consumed",
    )


def aligned_in_place(ledger: Ledger, seen: Seen) -> Judgement:
    value = seen.value
    if value is None or type(value.element) is not Barrier or value.element.alignment == "unaligned":
        return False
    counted, cut = ledger.sides[value.channel].counted, ledger.cut(value.element.checkpoint, value.channel)
    if counted == cut:
        return True
    return Broken(
        FailureClass.REORDERED,
        f"{cut} records of channel {value.channel} were sent before aligned barrier {value.element.checkpoint}",
        f"the consumer took it after {counted}",
    )


def end_comes_last(ledger: Ledger, seen: Seen) -> Judgement:
    value = seen.value
    if value is None or type(value.element) is not EndOfPartition:
        return False
    side = ledger.sides[value.channel]
    if side.finished and not side.ended and side.counted == side.sent and not side.unconsumed:
        return True
    return Broken(
        FailureClass.REORDERED,
        f"the end of channel {value.channel} comes once, after {side.sent} records and the barriers {side.unconsumed}",
        f"it was consumed after {side.counted} records",
    )


# ---- what becomes of a checkpoint ------------------------------------------------------------------------------------
def completes_in_time(ledger: Ledger, seen: Seen) -> Judgement:
    value = seen.value
    if not seen.signals and (value is None or type(value.element) is Data):
        return False
    acknowledged = [one.checkpoint for one in seen.signals if type(one) is CheckpointAcknowledged]
    due = 0 if value is None else ledger.completes(value.channel, value.element)
    if acknowledged == ([due] if due else []):
        return bool(due)
    if due and not acknowledged:
        if any(type(one) is CheckpointDeclined and one.checkpoint == due for one in seen.signals):
            return False
        return Broken(
            FailureClass.ORPHANED,
            f"checkpoint {due} completes: of each channel its barrier was consumed, or its end",
            "it was not acknowledged",
        )
    return Broken(
        FailureClass.PROTOCOL,
        f"checkpoint {due} completes now"
        if due
        else "no checkpoint completes now: barriers are missing, or it is over",
        f"checkpoints {acknowledged} were acknowledged",
    )


def declined_for_a_reason(ledger: Ledger, seen: Seen) -> Judgement:
    """Only a newer checkpoint can be in the way of one that began after recovery."""
    if not seen.signals:
        return False
    judged = False
    for signal in seen.signals:
        if type(signal) is not CheckpointDeclined:
            continue
        judged = True
        newest = max((side.newest for side in ledger.sides), default=0)
        if signal.checkpoint >= newest:
            return Broken(
                FailureClass.PROTOCOL,
                f"no newer checkpoint is in the way of checkpoint {signal.checkpoint}",
                f"it was declined: {signal.reason}",
            )
    return judged


def subsumed_is_declined(ledger: Ledger, seen: Seen) -> Judgement:
    value = seen.value
    if ledger.over or value is None or type(value.element) is not Barrier:
        return False
    if value.element.checkpoint <= ledger.newest:
        return False
    if any(type(one) is CheckpointDeclined and one.checkpoint == ledger.newest for one in seen.signals):
        return True
    return Broken(
        FailureClass.ORPHANED,
        f"checkpoint {ledger.newest} was pending when the newer barrier {value.element.checkpoint} came",
        "nobody was told that it will not complete",
    )


def too_early_is_declined(ledger: Ledger, seen: Seen) -> Judgement:
    (checkpoint,) = seen.operands
    told = [one for one in seen.signals if type(one) in (CheckpointDeclined, CheckpointAcknowledged)]
    if told == [CheckpointDeclined(checkpoint, CheckpointReason.DECLINED_TASK_NOT_READY)]:
        return True
    return Broken(
        FailureClass.PROTOCOL,
        f"checkpoint {checkpoint} is declined, as the task is not ready",
        f"the answer was {told or 'silence'}",
    )


def comes_to_an_end(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.closing != 1 or not ledger.known:
        return False
    last = ledger.known[-1]
    if last in ledger.acknowledged or last in ledger.declined:
        return True
    return Broken(
        FailureClass.ORPHANED,
        f"all barriers of checkpoint {last} were sent, so it completes or is declined",
        "neither happened, and nobody has anything more to do",
    )


# ---- what a checkpoint holds -----------------------------------------------------------------------------------------
def says_how_far_it_is(ledger: Ledger, seen: Seen) -> Judgement:
    checkpoint = seen.operands[0]
    if checkpoint in ledger.acknowledged:
        expected = CheckpointStatus.COMPLETED
    elif checkpoint in ledger.declined:
        expected = CheckpointStatus.DECLINED
    else:
        return False
    if seen.value.status is expected:
        return True
    return Broken(FailureClass.PROTOCOL, f"checkpoint {checkpoint} is {expected}", f"it says {seen.value.status}")


def aligned_has_no_channel_state(ledger: Ledger, seen: Seen) -> Judgement:
    value, checkpoint = seen.value, seen.operands[0]
    if not _is_complete(value) or ledger.alignments.get(checkpoint) != "aligned":
        return False
    if not any(value.input_state) and not any(value.output_state):
        return True
    return Broken(
        FailureClass.DUPLICATED,
        f"checkpoint {checkpoint} is aligned: nothing is in flight",
        f"it holds {value.input_state} as input state and {value.output_state} as output state",
    )


def nothing_behind_the_barrier(ledger: Ledger, seen: Seen) -> Judgement:
    judged = False
    for channel, cut, ids in _contents(ledger, seen):
        judged = True
        behind = [one for one in ids if one >= cut]
        if behind:
            return _wrong(seen, FailureClass.DUPLICATED, channel, cut, f"record {behind[0]}, sent after it, is in it")
    return judged


def nothing_twice(ledger: Ledger, seen: Seen) -> Judgement:
    judged = False
    for channel, cut, ids in _contents(ledger, seen):
        judged = True
        if len(set(ids)) < len(ids):
            twice = next(one for position, one in enumerate(ids) if one in ids[:position])
            return _wrong(seen, FailureClass.DUPLICATED, channel, cut, f"record {twice} is in it more than once")
    return judged


def nothing_missing(ledger: Ledger, seen: Seen) -> Judgement:
    judged = False
    for channel, cut, ids in _contents(ledger, seen):
        judged = True
        missing = next((one for one in range(cut) if one not in ids), None)
        if missing is not None:
            return _wrong(seen, FailureClass.LOST, channel, cut, f"record {missing} is missing")
    return judged


def in_order(ledger: Ledger, seen: Seen) -> Judgement:
    judged = False
    for channel, cut, ids in _contents(ledger, seen):
        judged = True
        if sorted(ids) != list(ids):
            return _wrong(seen, FailureClass.REORDERED, channel, cut, f"it has them in the order {ids}")
    return judged


def _contents(ledger: Ledger, seen: Seen) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Of a completed checkpoint: each channel, its cut, and counted, input state and output state one after another."""
    value = seen.value
    if not _is_complete(value):
        return
    for channel in range(len(ledger.sides)):
        cut = ledger.cut(seen.operands[0], channel)
        if cut is not None:
            yield channel, cut, sum((_of(part, channel) for part in _parts(value)), ())


def _parts(value: ChainCheckpoint) -> tuple[tuple[tuple[int, ...], ...], ...]:
    return value.counted, value.input_state, value.output_state


def _of(part: tuple[tuple[int, ...], ...], channel: int) -> tuple[int, ...]:
    return part[channel] if channel < len(part) else ()


def _is_complete(value: Any) -> bool:
    return value is not None and value.status is CheckpointStatus.COMPLETED


def _wrong(seen: Seen, failure_class: FailureClass, channel: int, cut: int, observed: str) -> Broken:
    return Broken(
        failure_class,
        f"what checkpoint {seen.operands[0]} counted, then its input state, then its output state are the {cut} "
        f"records sent in channel {channel} before the barrier, each once and in order",
        observed,
    )


# ---- release ---------------------------------------------------------------------------------------------------------
def holds_nothing(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.failed:
        return False
    held = {name: count for name in seen.value.__struct_fields__ if (count := getattr(seen.value, name))}
    if not held:
        return True
    return Broken(FailureClass.LEAKED, "after release nothing is held", f"held are {held}")


def never(ledger: Ledger, seen: Seen) -> Judgement:
    return False


def _is_unaligned(element: Any) -> bool:
    return type(element) is Barrier and element.alignment == "unaligned"


def _name(element: Any) -> str:
    if type(element) is Data:
        return f"records {element.ids}"
    if type(element) is Barrier:
        return f"barrier {element.checkpoint} ({element.alignment})"
    return str(type(element).__name__)
