"""The rules of the chain. Specification: chain.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.components.chain import steps
from conformance.components.chain.answers import (
    acknowledged,
    checkpoint_in_words,
    declines,
    is_unaligned,
    was_declined,
    why_incomplete,
)
from conformance.components.chain.ledger import Ledger
from conformance.driver import (
    Broken,
    FailureClass,
    Judgement,
    Never,
    Rules,
    Seen,
    Setting,
    Unsure,
    answers_property,
    thread_properties,
)
from conformance.driver.setting import REMOTE
from conformance.models import lifetime
from conformance.models.designs import (
    ALIGNED_EDGES,
    BEFORE,
    IN_MEMORY,
    PASSES_LOCALLY,
    PASSES_REMOTELY,
    PUSHED,
    READBACK,
    RESOURCES,
)
from conformance.models.job_words import taken_in_words
from conformance.models.records import compare_ids, in_words
from conformance.models.words import many, name
from conformance.ports import (
    Announcement,
    Barrier,
    Buffer,
    ChainCheckpoint,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointStatus,
    Consumed,
    Element,
    EndOfPartition,
)

COMPLETED = CheckpointStatus.COMPLETED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

RULES = Rules[Ledger]("chain", answers_property("chain"), *thread_properties("chain", other_waits=PUSHED))
NOTHING_SENT = Never(BEFORE, "No element of a producer arrives, so that no checkpoint completes and no run ends here.")
NO_CREDIT = Never(BEFORE, "No partition is requested, so that no producer has credit.")
NOTHING_RECOVERED = Never(Setting("none"), "Nothing is recovered.")
rule = RULES.rule
Took = Seen[Consumed | None]
Transferred = Seen[Element | None, int]
State = Seen[tuple[tuple[int, ...], ...]]


# ---- records ---------------------------------------------------------------------------------------------------------
@rule(steps.consume, invariant="I-09", tickets=("FLINK-39018", "FLINK-39521"), never=(NOTHING_RECOVERED,))
def recovered_records_are_counted_before_live_ones(ledger: Ledger, seen: Took) -> Judgement:
    """The consumer counts no record that was sent after a restore before it has counted all recovered records of that
    channel."""
    value = seen.value
    if value is None or type(value.element) is not Buffer:
        return False
    lane, ids = ledger.lanes[value.channel], value.element.ids
    if lane.counted >= lane.recovered_end or not ids:
        return False
    if ids[0] < lane.recovered_end:
        return True
    left = in_words(range(lane.counted, lane.recovered_end))
    first = f"recovered {left} of channel {value.channel} must be counted first"
    return Broken(FailureClass.REORDERED, first, f"record {ids[0]}, which was sent after the restore, was counted")


@rule(steps.consume, invariant="I-01", tickets=("FLINK-38544", "FLINK-17564", "FLINK-39018"))
def records_are_counted_once_and_in_order(ledger: Ledger, seen: Took) -> Judgement:
    """The consumer counts every record of each channel once and in the order sent, across all failures, restores and
    conversions."""
    value = seen.value
    if value is None or type(value.element) is not Buffer:
        return False
    lane, ids = ledger.lanes[value.channel], value.element.ids
    expected = tuple(range(lane.counted, lane.counted + len(ids)))
    if ids == expected and lane.counted + len(ids) <= lane.sent:
        return True
    owed = f"record {lane.counted} of channel {value.channel} must be counted next, and so far {lane.sent} were sent"
    return Broken(compare_ids(expected, ids, lane.counted), owed, f"the consumer counted {in_words(ids)}")


@rule(steps.consume, invariant="I-08", tickets=("FLINK-17568",), never=(NOTHING_SENT,))
def a_channel_waits_behind_its_aligned_barrier(ledger: Ledger, seen: Took) -> Judgement:
    """The consumer counts no record that was sent after an aligned barrier before the checkpoint of that barrier is
    over."""
    value = seen.value
    if value is None or type(value.element) is not Buffer or True not in [lane.waits for lane in ledger.lanes]:
        return False
    if not ledger.lanes[value.channel].waits:
        return True
    behind = f"aligned barrier {ledger.alignment.current} of channel {value.channel}"
    owed = f"the records behind {behind} must wait for its checkpoint"
    return Broken(FailureClass.REORDERED, owed, f"the consumer counted {name(value.element)} before that")


# ---- barriers and the end of partition -------------------------------------------------------------------------------
@rule(steps.consume, invariant="I-08", tickets=("FLINK-18252",), never=(NOTHING_SENT,))
def an_aligned_barrier_keeps_its_place(ledger: Ledger, seen: Took) -> Judgement:
    """The consumer takes an aligned barrier after all records that were sent before it, and before all records that
    were sent after it."""
    value = seen.value
    if value is None or type(value.element) is not Barrier or is_unaligned(value.element):
        return False
    checkpoint = value.element.checkpoint
    counted = ledger.lanes[value.channel].counted
    cut = ledger.history.cuts[checkpoint].sent[value.channel] if checkpoint in ledger.history.cuts else None
    owed = f"the aligned barrier {checkpoint} of channel {value.channel} must follow {many(cut or 0, 'record')} of it"
    return counted == cut or Broken(FailureClass.REORDERED, owed, f"it was taken after {many(counted, 'record')}")


@rule(
    steps.consume, steps.transfer, invariant="I-12", tickets=("FLINK-21945", "FLINK-33693"), needs=ALIGNED_EDGES,
    never=(NOTHING_SENT,),
)  # fmt: skip
def barriers_cross_an_edge_without_unaligned_checkpoints_aligned(ledger: Ledger, seen: Seen[Any]) -> Judgement:
    """On an edge without unaligned checkpoints, each barrier leaves its producer and reaches the consumer aligned, also
    one of an unaligned or timeoutable checkpoint, and is not announced."""
    if ledger.config.unaligned or seen.value is None:
        return False
    element = seen.value.element if type(seen.value) is Consumed else seen.value
    if type(element) is Announcement or (type(element) is Barrier and element.alignment != "aligned"):
        owed = f"the edge is without unaligned checkpoints: the barrier of checkpoint {element.checkpoint} is aligned"
        return Broken(FailureClass.PROTOCOL, owed, f"{name(element)} crossed it")
    return type(element) is Barrier


@rule(steps.consume, invariant="I-07", tickets=("FLINK-18136", "FLINK-18252"), never=(NOTHING_SENT,))
def an_unaligned_barrier_does_not_pass_another(ledger: Ledger, seen: Took) -> Judgement:
    """The consumer takes the unaligned barriers of a channel once each, in the order in which they were sent."""
    value = seen.value
    if value is None or type(value.element) is not Barrier or not is_unaligned(value.element):
        return False
    unconsumed, checkpoint = ledger.lanes[value.channel].unaligned(), value.element.checkpoint
    if unconsumed and checkpoint == unconsumed[0]:
        return True
    kind = FailureClass.REORDERED if checkpoint in unconsumed else FailureClass.DUPLICATED
    if unconsumed:
        owed = f"the unaligned barrier {unconsumed[0]} of channel {value.channel} must be taken next"
    else:
        owed = f"all unaligned barriers of channel {value.channel} were taken before"
    return Broken(kind, owed, f"the consumer took the unaligned barrier {checkpoint}")


@rule(steps.consume, invariant="I-22", tickets=("FLINK-20145", "FLINK-21104"), never=(NOTHING_SENT,))
def an_unaligned_barrier_goes_first(ledger: Ledger, seen: Took) -> Judgement:
    """Once an unaligned barrier has arrived, the consumer takes it before anything else."""
    return "" in ledger.urgent and _judge_first(ledger, seen, "")


@rule(steps.consume, invariant="I-54", tickets=("FLINK-39018",), needs=IN_MEMORY, never=(NOTHING_SENT,))
def recovered_data_does_not_hold_up_a_checkpoint(ledger: Ledger, seen: Took) -> Judgement:
    """If an unaligned barrier arrives in a channel whose recovered data is not consumed, the consumer takes the barrier
    before that data."""
    return "recovered data" in ledger.urgent and _judge_first(ledger, seen, "recovered data")


@rule(
    steps.consume,
    invariant="I-97",
    tickets=("FLINK-39018",),
    needs=PASSES_LOCALLY,
    never=(NOTHING_SENT, Never(Setting(channel=REMOTE), "The property of producers elsewhere is judged instead.")),
)
def a_blocked_producer_nearby_does_not_hold_up_a_checkpoint(ledger: Ledger, seen: Took) -> Judgement:
    """If a local producer is blocked, for example because another channel is slow, the consumer still takes the
    unaligned barrier of that producer before anything else."""
    return "a blocked producer" in ledger.urgent and _judge_first(ledger, seen, "a blocked producer")


_PASSES = {
    "": "before anything else",
    "recovered data": "before the recovered data",
    "a blocked producer": "before anything else, although its producer is blocked",
}


def _judge_first(ledger: Ledger, seen: Took, passes: str) -> Judgement:
    """Judges a poll that began when an unaligned barrier was due that must pass this: it must return such a barrier, or
    one that has arrived in another channel, which proves nothing."""
    value = seen.value
    if value is not None and is_unaligned(value.element):
        return ledger.lanes[value.channel].must_pass() == passes
    got = "nothing" if value is None else f"{name(value.element)} of channel {value.channel}"
    owed = f"the unaligned barrier in channel {ledger.urgent[passes]} must be taken {_PASSES[passes]}"
    return Broken(FailureClass.STUCK, owed, f"the consumer took {got}")


@rule(steps.transfer, invariant="I-14")
def an_unaligned_barrier_leaves_its_producer_first(ledger: Ledger, seen: Transferred) -> Judgement:
    """If a remote producer has added an unaligned barrier, the barrier is the next element that leaves it, with or
    without credit."""
    lane = ledger.lanes[seen.operands[0]]
    return lane.must_leave and not lane.blocked and _judge_leaving(seen.value)


@rule(steps.transfer, invariant="I-14", tickets=("FLINK-39018",), needs=PASSES_REMOTELY)
def a_blocked_producer_elsewhere_does_not_hold_up_a_checkpoint(ledger: Ledger, seen: Transferred) -> Judgement:
    """If a blocked remote producer has added an unaligned barrier, the barrier is the next element that leaves it, with
    or without credit."""
    lane = ledger.lanes[seen.operands[0]]
    return lane.must_leave and lane.blocked and _judge_leaving(seen.value)


def _judge_leaving(element: Element | None) -> Judgement:
    owed = "an unaligned barrier waits at the producer and must leave it next, with or without credit"
    left = "nothing" if element is None else name(element)
    return is_unaligned(element) or Broken(FailureClass.STUCK, owed, f"{left} left the producer")


@rule(steps.consume, invariant="I-33", never=(NOTHING_SENT,))
def the_end_of_partition_comes_last(ledger: Ledger, seen: Took) -> Judgement:
    """The consumer takes the end of partition of a channel once, after all records and unaligned barriers of the
    channel."""
    value = seen.value
    if value is None or type(value.element) is not EndOfPartition:
        return False
    lane = ledger.lanes[value.channel]
    ended = ledger.alignment.ended[lane.channel]
    last = lane.over and not ended and lane.counted == lane.sent and not lane.unaligned()
    if last:
        return True
    owed = f"the end of partition of channel {value.channel} must be taken once, after all its records and barriers"
    observed = f"the consumer took it after {lane.counted} of {many(lane.sent, 'record')}"
    if lane.unaligned():
        observed += f" and before the unaligned barrier {lane.unaligned()[0]}"
    if ended:
        observed = "the consumer took it again"
    return Broken(FailureClass.REORDERED, owed, observed)


# ---- acknowledged and declined checkpoints ---------------------------------------------------------------------------
@rule(steps.consume, invariant="I-52", tickets=("FLINK-25305",), never=(NOTHING_SENT,))
def a_checkpoint_completes_exactly_when_its_last_barrier_comes(ledger: Ledger, seen: Took) -> Judgement:
    """The consumer acknowledges a checkpoint once, when it has taken the barrier, or the end of partition, of every
    channel, and not before."""
    value = seen.value
    if not seen.signals and (value is None or type(value.element) is Buffer):
        return False
    done = acknowledged(seen.signals)
    due = 0 if value is None else ledger.completes(value.channel, value.element)
    if done == ([due] if due else []):
        return bool(due)
    if due and not done:
        if was_declined(due, seen.signals):
            return False
        owed = f"the barrier, or the end, of every channel was taken: checkpoint {due} must be acknowledged now"
        return Broken(FailureClass.ORPHANED, owed, "it was not acknowledged")
    if due:
        owed = f"only checkpoint {due} completes now, so it alone must be acknowledged, once"
        observed = f"the consumer acknowledged {', '.join(map(checkpoint_in_words, done))}"
        return Broken(FailureClass.PROTOCOL, owed, observed)
    several = f"{', '.join(map(checkpoint_in_words, done))} were acknowledged"
    observed = several if len(done) > 1 else "it was acknowledged"
    return Broken(FailureClass.PROTOCOL, why_incomplete(ledger, done[0], value), observed)


@rule(steps.consume, invariant="I-37", tickets=("FLINK-21104",), never=(NOTHING_SENT,))
def a_checkpoint_is_declined_for_a_newer_one_only(ledger: Ledger, seen: Took) -> Judgement:
    """The consumer declines a checkpoint that starts after the conversion only if a newer one is known."""
    declined = declines(seen.signals) if seen.signals else []
    for one in declined:
        if one.checkpoint >= max(lane.newest for lane in ledger.lanes):
            owed = f"no checkpoint is known that is newer than {one.checkpoint}: it must not be declined"
            return Broken(FailureClass.PROTOCOL, owed, f"it was declined with the reason {one.reason}")
    return bool(declined)


@rule(steps.consume, invariant="I-45", never=(NOTHING_SENT,))
def a_subsumed_checkpoint_is_declined(ledger: Ledger, seen: Took) -> Judgement:
    """When the barrier of a newer checkpoint comes, the consumer declines the pending checkpoint with the reason
    declined-subsumed."""
    value = seen.value
    newer = 0 if value is None or type(value.element) is not Barrier else value.element.checkpoint
    pending = ledger.alignment.pending
    if not pending or newer <= pending:
        return False
    if CheckpointDeclined(pending, CheckpointReason.DECLINED_SUBSUMED) in seen.signals:
        return True
    owed = f"checkpoint {pending} was pending when the newer barrier {newer} came: it must be declined as subsumed"
    other = [one.reason for one in declines(seen.signals) if one.checkpoint == pending]
    observed = f"it was declined with the reason {other[0]}" if other else "it was not declined"
    return Broken(FailureClass.PROTOCOL if other else FailureClass.ORPHANED, owed, observed)


@rule(steps.consume, invariant="I-45", never=(NOTHING_SENT,))
def a_checkpoint_is_declined_once(ledger: Ledger, seen: Took) -> Judgement:
    """A checkpoint is declined at most once, and not after it was completed."""
    declined = [one.checkpoint for one in declines(seen.signals)] if seen.signals else []
    for at, checkpoint in enumerate(declined):
        if checkpoint in ledger.alignment.triggered:
            owed = f"checkpoint {checkpoint} was acknowledged, so it must not be declined"
            return Broken(FailureClass.PROTOCOL, owed, "it was declined")
        if checkpoint in declined[:at] or checkpoint in ledger.alignment.declined:
            owed = f"checkpoint {checkpoint} must be declined once"
            return Broken(FailureClass.DUPLICATED, owed, "it was declined again")
    return bool(declined)


@rule(steps.trigger, invariant="I-53", tickets=("FLINK-20654",))
def a_checkpoint_before_the_conversion_is_declined(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """If the consumer is asked for a checkpoint before its channels are converted, it declines the checkpoint with the
    reason declined-task-not-ready."""
    (checkpoint,) = seen.operands
    done, declined = acknowledged(seen.signals), declines(seen.signals)
    if declined == [CheckpointDeclined(checkpoint, CheckpointReason.DECLINED_TASK_NOT_READY)] and not done:
        return True
    told = [f"checkpoint {one.checkpoint} was declined with the reason {one.reason}" for one in declined]
    told += [f"checkpoint {one} was acknowledged" for one in done]
    owed = f"checkpoint {checkpoint} must be declined with the reason {CheckpointReason.DECLINED_TASK_NOT_READY}"
    return Broken(FailureClass.PROTOCOL, owed, ", ".join(told) or "it was neither declined nor acknowledged")


# ---- the contents of a checkpoint ------------------------------------------------------------------------------------
def _completed(seen: Seen[object]) -> ChainCheckpoint | None:
    """Returns the checkpoint that was read back, if it is completed. The driver has already checked its type."""
    value = seen.value
    assert value is None or isinstance(value, ChainCheckpoint)
    return value if value is not None and value.status is COMPLETED else None


@rule(
    steps.snapshot,
    steps.restore,
    invariant="I-10",
    tickets=("FLINK-18136", "FLINK-18252"),
    needs=READBACK,
    never=(NOTHING_SENT,),
)
def an_aligned_checkpoint_holds_no_channel_state(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """An aligned checkpoint contains neither input state nor output state."""
    value, cut = _completed(seen), ledger.history.cuts.get(ledger.history.reading)
    if value is None or cut is None or cut.alignment != "aligned":
        return False
    empty = not any(value.input_state) and not any(value.output_state)
    if empty:
        return True
    before, after = (
        in_words([one for ids in state for one in ids]) for state in (value.input_state, value.output_state)
    )
    owed = f"checkpoint {ledger.history.reading} is aligned and must contain no channel state"
    return Broken(FailureClass.DUPLICATED, owed, f"it contains {before} as input state and {after} as output state")


@rule(
    steps.snapshot, steps.restore, invariant="I-108", tickets=("FLINK-31588",), needs=READBACK, never=(NOTHING_SENT,)
)  # fmt: skip
def an_acknowledgement_says_what_the_consumer_stored(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If the acknowledgement of a checkpoint says how the consumer has taken its part, that is so: with as many
    records in flight as its input state holds, unaligned if there are any, and aligned if the barriers are."""
    checkpoint, value = ledger.history.reading, _completed(seen)
    cut, said = ledger.history.cuts.get(checkpoint), ledger.history.said.get(checkpoint)
    if value is None or cut is None or said is None:
        return False
    stored, owed = sum(map(len, value.input_state)), ""
    if said.persisted is not None and said.persisted != stored:
        owed = f"its input state holds {many(stored, 'record')}"
    elif said.unaligned is False and stored:
        owed = f"its input state holds {many(stored, 'record')}, so it is unaligned"
    elif said.unaligned and cut.alignment == "aligned":
        owed = "its barriers are aligned, and so is the part of the consumer"
    about = f"checkpoint {checkpoint} was acknowledged, and {owed}"
    return not owed or Broken(FailureClass.CORRUPTED, about, f"the consumer says: {taken_in_words(said)}")


@rule(steps.snapshot, steps.restore, invariant="I-62", needs=READBACK, formerly=("a-checkpoint-says-how-far-it-is",))
def the_status_of_a_checkpoint_is_read_back(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """An acknowledged checkpoint reads back with the status completed, a declined one with the status declined, the
    one of which the consumer has taken a barrier last with the status pending until then, and one that the consumer
    does not know with the status absent."""
    checkpoint = ledger.history.reading
    if checkpoint not in ledger.checkpoints.known or checkpoint in ledger.checkpoints.unwritten:
        return False
    if (
        ledger.consuming
        and (ledger.history.broke or not ledger.failed)
        and not ledger.alignment.was_triggered_or_declined(checkpoint)
    ):
        return Unsure("the consumer is in an operation that may change the status")
    right = ledger.how_far(checkpoint)
    status = seen.value.status if isinstance(seen.value, ChainCheckpoint) else CheckpointStatus.ABSENT
    owed = f"checkpoint {checkpoint} must read back as {' or '.join(right)}"
    return status in right or Broken(FailureClass.PROTOCOL, owed, f"its status is {status}")


def _judge_contents(
    ledger: Ledger, seen: Seen[object], kind: FailureClass, fault: Callable[[int, tuple[int, ...]], str]
) -> Judgement:
    """Judges a completed checkpoint: for each channel with a known cut, `fault` looks for a fault in the counted
    records, the input state and the output state, one after another."""
    value, cut = _completed(seen), ledger.history.cuts.get(ledger.history.reading)
    if value is None or cut is None or ledger.history.reading in ledger.checkpoints.unwritten:
        return False
    parts, judged = (value.counted, value.input_state, value.output_state), False
    for channel, sent in enumerate(cut.sent):
        if sent is None:
            continue
        judged = True
        ids = tuple([one for part in parts if channel < len(part) for one in part[channel]])
        if ids != tuple(range(sent)) and (observed := fault(sent, ids)):
            owed = (
                f"the counted records, the input state and the output state of checkpoint {ledger.history.reading}, "
                f"one after another, must be {many(sent, 'record')}: those sent in channel {channel} before the "
                f"barrier, in order"
            )
            return Broken(kind, owed, observed)
    return judged


def _behind(cut: int, ids: tuple[int, ...]) -> str:
    last = max(ids, default=-1)
    return f"the checkpoint contains record {last}, which was sent after the barrier" if last >= cut else ""


def _twice(cut: int, ids: tuple[int, ...]) -> str:
    return f"it contains record {max(ids, key=ids.count)} more than once" if len(set(ids)) < len(ids) else ""


def _missing(cut: int, ids: tuple[int, ...]) -> str:
    left = [one for one in range(cut) if one not in ids]
    return f"record {left[0]} is missing" if left else ""


def _disorder(cut: int, ids: tuple[int, ...]) -> str:
    return "" if sorted(ids) == list(ids) else f"the checkpoint contains {in_words(ids)}, in this order"


@rule(
    steps.snapshot, steps.restore, invariant="I-36", tickets=("FLINK-20654", "FLINK-21104", "FLINK-17568"),
    needs=READBACK, never=(NOTHING_SENT,),
)  # fmt: skip
def nothing_behind_a_barrier_is_in_the_checkpoint(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """A checkpoint contains no record that was sent after its barrier, neither among its counted records nor in its
    channel state."""
    return _judge_contents(ledger, seen, FailureClass.DUPLICATED, _behind)


@rule(steps.snapshot, steps.restore, invariant="I-34", tickets=("FLINK-40016",), needs=READBACK, never=(NOTHING_SENT,))
def nothing_is_in_a_checkpoint_twice(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """A checkpoint contains each record at most once: among its counted records, in its input state or in its output
    state."""
    return _judge_contents(ledger, seen, FailureClass.DUPLICATED, _twice)


@rule(
    steps.snapshot, steps.restore, invariant="I-04",
    tickets=("FLINK-17315", "FLINK-18139", "FLINK-20645", "FLINK-38544"), needs=READBACK, never=(NOTHING_SENT,),
)  # fmt: skip
def nothing_is_missing_in_a_checkpoint(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """A checkpoint contains every record that was sent before its barrier, among its counted records or in its channel
    state."""
    return _judge_contents(ledger, seen, FailureClass.LOST, _missing)


@rule(steps.snapshot, steps.restore, invariant="I-05", tickets=("FLINK-17564",), needs=READBACK, never=(NOTHING_SENT,))
def channel_state_is_in_order(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """For each channel, the counted records of a checkpoint, its input state and its output state, one after another,
    are in the order sent."""
    return _judge_contents(ledger, seen, FailureClass.REORDERED, _disorder)


# ---- the state of the consumer, resources, and the end of a run ------------------------------------------------------
@rule(steps.counted, invariant="I-01", quiet=True)
def the_state_of_the_consumer_is_what_it_counted(ledger: Ledger, seen: State) -> Judgement:
    """The state of the consumer contains exactly the records that it counted, restored ones included."""
    expected = tuple(tuple(range(lane.counted)) for lane in ledger.lanes)
    if seen.value == expected:
        return any(expected) or ledger.recovering()
    held = [*seen.value, *[()] * len(expected)]
    channel = next((number for number, ids in enumerate(expected) if held[number] != ids), 0)
    owed = f"the consumer counted {many(len(expected[channel]), 'record')} of channel {channel}, from the first on"
    kind = compare_ids(expected[channel], held[channel], 0)
    return Broken(kind, owed, f"its state contains {in_words(held[channel])}")


RULES.adopt(
    lifetime.after_release_nothing_is_held, steps.resources, tickets=("FLINK-17440",), needs=RESOURCES,
    formerly=("a-released-chain-holds-nothing",),
)  # fmt: skip


@rule(steps.counted, invariant="I-98", tickets=("FLINK-39018",), never=(NOTHING_SENT,))
def a_checkpoint_comes_to_an_end(ledger: Ledger, seen: State) -> Judgement:
    """If all barriers of a checkpoint were sent, the consumer acknowledges or declines the checkpoint before the run
    ends."""
    if not ledger.closing or not ledger.checkpoints.known:
        return False
    last, observed = (
        ledger.checkpoints.known[-1],
        "it was neither acknowledged nor declined, and no step is left that could do so",
    )
    owed = f"all barriers of checkpoint {last} were sent, so it must be acknowledged or declined"
    return ledger.alignment.was_triggered_or_declined(last) or Broken(FailureClass.ORPHANED, owed, observed)


@rule(steps.counted, invariant="I-22", tickets=("FLINK-19681", "FLINK-23223"), never=(NOTHING_SENT,))
def everything_sent_is_counted(ledger: Ledger, seen: State) -> Judgement:
    """In a chain that was not restored, the consumer has counted every record and taken the end of every finished
    channel when network and consumer have acted on all notifications."""
    return _judge_end(ledger) if ledger.closing and not ledger.history.origin else False


@rule(steps.counted, invariant="I-03", tickets=("FLINK-38544", "FLINK-39018"), never=(NOTHING_SENT, NOTHING_RECOVERED))
def a_restored_chain_counts_everything(ledger: Ledger, seen: State) -> Judgement:
    """In a chain that was restored from a completed checkpoint alone, the consumer has counted every record and taken
    the end of every finished channel when network and consumer have acted on all notifications."""
    return _judge_end(ledger) if ledger.closing and ledger.history.origin else False


def _judge_end(ledger: Ledger) -> Judgement:
    """Judges the end of a run, when network and consumer have acted on all notifications."""
    for channel, lane in enumerate(ledger.lanes):
        if lane.counted < lane.sent:
            kind = FailureClass.STUCK if lane.counted >= lane.recovered_end else FailureClass.LOST
            owed = f"{many(lane.sent, 'record')} of channel {channel} must be counted in the end"
            return Broken(kind, owed, f"the consumer counted {lane.counted} of them, and is notified of no more")
        if lane.over and not ledger.alignment.ended[lane.channel]:
            observed = "the consumer has not taken it, and is notified of no more"
            return Broken(FailureClass.STUCK, f"the end of partition of channel {channel} must be taken", observed)
    return True
