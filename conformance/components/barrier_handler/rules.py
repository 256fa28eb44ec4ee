"""The rules of the barrier handler. Specification: barrier-handler.md."""

from __future__ import annotations

from typing import Any

from conformance.components.barrier_handler import steps
from conformance.components.barrier_handler.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models import faults, lifetime
from conformance.models.alignment import (
    a_checkpoint_is_triggered_once_and_in_order,
    only_a_blocked_channel_is_resumed,
    the_inputs_start_a_checkpoint_before_the_task,
    the_inputs_stop_a_checkpoint_when_it_is_over,
)
from conformance.models.answers import checkpoints
from conformance.models.designs import FAULTS, RESOURCES
from conformance.models.signal_words import signalled
from conformance.models.words import channels, counted
from conformance.ports import (
    AlignmentTimes,
    BarrierHandlerPort,
    BarrierPrioritized,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    ConsumptionResumed,
    FaultKind,
    InputsCheckpointStarted,
    Resources,
)

RULES = Rules[Ledger]("barrier-handler", answers_property("barrier-handler"))
rule, adopt = RULES.rule, RULES.adopt
Acted = Seen[None, *tuple[Any, ...]]
GIVEN = (*steps.BARRIERS, steps.rpc_barrier, steps.announcement)
"""The steps in which the handler may learn of a newer checkpoint that is to be taken."""


def triggered(seen: Acted) -> list[CheckpointTriggered]:
    """The checkpoints for which the task was asked in the operation."""
    return [signal for signal in seen.signals if type(signal) is CheckpointTriggered]


def declined(seen: Acted) -> list[tuple[int, CheckpointReason]]:
    """The checkpoints that were declined in the operation, with their reasons."""
    return [(signal.checkpoint, signal.reason) for signal in seen.signals if type(signal) is CheckpointDeclined]


# ---- when the task takes its part ------------------------------------------------------------------------------------
adopt(
    a_checkpoint_is_triggered_once_and_in_order, *steps.ACTS, of=lambda ledger: ledger.alignment.repeated,
    tickets=("FLINK-17994",),
)  # fmt: skip


@rule(*steps.ACTS, invariant="I-45", tickets=("FLINK-25305",), after_learning=True, signals=(CheckpointTriggered,))
def an_aligned_checkpoint_waits_for_every_barrier(ledger: Ledger, seen: Acted) -> Judgement:
    """An aligned checkpoint is triggered only once the barrier of every channel that has not ended was taken."""
    for signal in triggered(seen):
        if signal.unaligned:
            continue
        if missing := ledger.alignment.missing():
            owed = f"the barrier of {channels(missing)} is still to come, so checkpoint {signal.checkpoint} must wait"
            return Broken(FailureClass.PROTOCOL, owed, "it was triggered, aligned")
        return True
    return False


@rule(*steps.BARRIERS, steps.rpc_barrier, steps.end_of_partition, invariant="I-45", after_learning=True)
def a_checkpoint_whose_barriers_are_here_is_triggered(ledger: Ledger, seen: Acted) -> Judgement:
    """Once the barrier of every channel that has not ended was taken, the checkpoint was triggered or declined."""
    alignment = ledger.alignment
    if not alignment.begun or False in alignment.received:
        return False
    if alignment.was_triggered_or_declined(alignment.current):
        return True
    owed = f"every barrier of checkpoint {alignment.current} is here, so it must be triggered"
    return Broken(FailureClass.STUCK, owed, "it was not triggered")


@rule(steps.unaligned_barrier, invariant="I-45", after_learning=True)
def an_unaligned_barrier_triggers_at_once(ledger: Ledger, seen: Acted) -> Judgement:
    """When an unaligned barrier comes, its checkpoint is triggered at once, unaligned, unless it was triggered before
    or is over."""
    _, checkpoint = seen.operands
    alignment = ledger.alignment
    if checkpoint < alignment.current or checkpoint in alignment.declined:
        return False
    if alignment.is_unaligned() or (checkpoint in alignment.triggered and not triggered(seen)):
        return True
    owed = f"an unaligned barrier of checkpoint {checkpoint} came, so it must be triggered unaligned"
    return Broken(FailureClass.STUCK, owed, "it was not triggered unaligned")


@rule(
    *steps.BARRIERS,
    steps.rpc_barrier,
    invariant="I-49",
    tickets=("FLINK-19681",),
    after_learning=True,
    signals=(CheckpointTriggered,),
)
def the_last_barrier_keeps_a_checkpoint_aligned(ledger: Ledger, seen: Acted) -> Judgement:
    """If the barrier that completes an alignment is not unaligned itself, the checkpoint stays aligned, however late
    the barrier comes."""
    alignment = ledger.alignment
    if False in alignment.received or alignment.unaligned or alignment.overdue:
        return False
    if not alignment.is_unaligned():
        return True
    owed = f"this barrier is the last one of checkpoint {alignment.current}, which must stay aligned"
    return Broken(FailureClass.PROTOCOL, owed, "it was triggered unaligned")


@rule(
    *steps.ACTS,
    invariant="I-49",
    tickets=("FLINK-18252",),
    after_learning=True,
    signals=(
        CheckpointTriggered,
        BarrierPrioritized,
    ),
)
def a_checkpoint_in_time_stays_aligned(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint is triggered unaligned, or a barrier of it turned into a priority event, only if an unaligned
    barrier of it came, or if it is timeoutable and overdue. A savepoint is never unaligned."""
    if ledger.alignment.unaligned:
        return False
    hastens = [one for one in seen.signals if type(one) is BarrierPrioritized]
    if not (hastens or True in [signal.unaligned for signal in triggered(seen)]):
        return False
    if ledger.upstream.is_overdue(ledger.alignment.current):
        return True
    owed = f"checkpoint {ledger.alignment.current} is aligned and in time, and must stay aligned"
    return Broken(
        FailureClass.PROTOCOL, owed, "its barriers were asked to overtake" if hastens else "it was triggered unaligned"
    )


# ---- alignment takes too long ----------------------------------------------------------------------------------------
@rule(
    steps.advance, *steps.BARRIERS, steps.rpc_barrier, invariant="I-48", tickets=("FLINK-19681",), after_learning=True
)
def an_overdue_alignment_becomes_unaligned(ledger: Ledger, seen: Acted) -> Judgement:
    """If time has passed since a timeoutable checkpoint is overdue, and a barrier of it was taken but not all, the
    checkpoint was triggered, unaligned."""
    alignment = ledger.alignment
    if not (alignment.overdue and alignment.begun and alignment.pending):
        return False
    if alignment.is_unaligned():
        return True
    owed = f"checkpoint {alignment.current} is overdue and has begun, so it must be triggered unaligned"
    waits = f"the handler still waits for the barrier of {channels(alignment.missing())}"
    return Broken(FailureClass.STUCK, owed, waits)


@rule(*steps.ACTS, invariant="I-48", tickets=("FLINK-19681",), after_learning=True)
def an_announced_barrier_of_a_late_checkpoint_overtakes(ledger: Ledger, seen: Acted) -> Judgement:
    """If a checkpoint in progress was triggered unaligned, or time has passed since it is overdue, every barrier of it
    that was announced and not taken was turned into a priority event."""
    announced, alignment = ledger.upstream.announced, ledger.alignment
    if not (announced and alignment.pending and (alignment.overdue or alignment.is_unaligned())):
        return False
    if late := ledger.left_behind():
        owed = f"checkpoint {alignment.current} is to be unaligned, so its announced barriers must overtake"
        return Broken(FailureClass.STUCK, owed, f"the barrier of {channels(late)} was not turned into a priority event")
    return alignment.current in [checkpoint for checkpoint, _ in announced.values()]


@rule(*steps.ACTS, invariant="I-31", tickets=("FLINK-19681",), after_learning=True, signals=(BarrierPrioritized,))
def only_an_announced_barrier_overtakes(ledger: Ledger, seen: Acted) -> Judgement:
    """The handler turns a barrier into a priority event only if the barrier was announced with this sequence number and
    was not taken, and at most once."""
    if ledger.act.prioritized_unannounced:
        owed = "a barrier may overtake once, under the sequence number that was announced, and only until it is taken"
        what = f"a barrier of channel {ledger.act.prioritized_unannounced - 1} was asked to overtake"
        return Broken(FailureClass.PROTOCOL, owed, what)
    return True


# ---- declined and aborted --------------------------------------------------------------------------------------------
def _must_decline(ledger: Ledger, seen: Acted) -> Judgement:
    if ledger.act.must_decline is None:
        return False
    if declined(seen).count(ledger.act.must_decline) == 1:
        return True
    checkpoint, reason = ledger.act.must_decline
    told = [str(one) for of, one in declined(seen) if of == checkpoint]
    did = f"it was declined with the reason {', '.join(told)}" if told else "it was not declined"
    return Broken(FailureClass.STUCK, f"checkpoint {checkpoint} must be declined once, with the reason {reason}", did)


@rule(*GIVEN, invariant="I-50", tickets=("FLINK-19681",), after_learning=True)
def a_newer_checkpoint_subsumes_the_one_in_progress(ledger: Ledger, seen: Acted) -> Judgement:
    """If the handler learns of a newer checkpoint while another one is in progress, the older one is declined with the
    reason declined-subsumed."""
    return _must_decline(ledger, seen)


@rule(steps.cancel_marker, invariant="I-58", after_learning=True)
def a_cancel_marker_declines_its_checkpoint(ledger: Ledger, seen: Acted) -> Judgement:
    """A cancel marker of a checkpoint that is newer than all others, or in progress, declines this checkpoint with the
    reason declined-on-cancellation-barrier."""
    return _must_decline(ledger, seen)


@rule(steps.end_of_partition, invariant="I-50", after_learning=True)
def an_end_that_does_not_count_declines_the_checkpoint(ledger: Ledger, seen: Acted) -> Judgement:
    """In a job without checkpoints after tasks finish, the end of a channel declines the checkpoint in progress with
    the reason declined-input-end-of-stream."""
    return _must_decline(ledger, seen)


@rule(*steps.ACTS, invariant="I-45", signals=(CheckpointDeclined,))
def a_checkpoint_is_declined_once(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint is declined at most once, and not after it was completed."""
    alignment = ledger.alignment
    over = [*alignment.declined, *([] if alignment.pending else [alignment.current])]
    for checkpoint, _ in declined(seen):
        if checkpoint in over:
            owed = f"checkpoint {checkpoint} is over, so it must not be declined"
            return Broken(FailureClass.DUPLICATED, owed, "it was declined")
        over.append(checkpoint)
    return True


@rule(*steps.ACTS, invariant="I-56", after_learning=True, signals=(CheckpointDeclined,))
def a_checkpoint_is_declined_with_a_reason(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint is declined only if a newer one came, its cancel marker came, a channel ended whose end does not
    count, or the inputs have refused to start it."""
    for checkpoint, reason in declined(seen):
        if (checkpoint, reason) != ledger.act.must_decline and checkpoint not in ledger.act.may_decline:
            owed = f"there was no reason to decline checkpoint {checkpoint}"
            return Broken(FailureClass.PROTOCOL, owed, f"it was declined with the reason {reason}")
    return True


@rule(*GIVEN, invariant="I-58")
def a_checkpoint_that_is_over_stays_over(ledger: Ledger, seen: Acted) -> Judgement:
    """An event of a checkpoint that is over, or older than another one, triggers and declines nothing, and turns no
    barrier into a priority event."""
    if not ledger.alignment.is_obsolete(seen.operands[1]):
        return False
    for signal in seen.signals:
        if type(signal) in (CheckpointTriggered, CheckpointDeclined, BarrierPrioritized, InputsCheckpointStarted):
            owed = f"checkpoint {seen.operands[1]} is obsolete, so its event must change no checkpoint and no barrier"
            return Broken(FailureClass.PROTOCOL, owed, f"the handler signalled this: {signalled(signal)}")
    return True


# ---- channels that are blocked ---------------------------------------------------------------------------------------
@rule(*steps.ACTS, invariant="I-46", tickets=("FLINK-19681", "FLINK-23223"), after_learning=True)
def a_blocked_channel_waits_for_the_checkpoint_in_progress(ledger: Ledger, seen: Acted) -> Judgement:
    """When a checkpoint is over, each channel that waits behind its barrier has been resumed; at once, if the
    barrier was obsolete when it came."""
    upstream = ledger.upstream
    if any(upstream.blocked) and (late := ledger.alignment.left_blocked(upstream.blocked)):
        owed = f"checkpoint {upstream.blocked[late[0]]} is over, so the channels that it blocks must be resumed"
        return Broken(FailureClass.STUCK, owed, f"{channels(late)} {'was' if len(late) == 1 else 'were'} not resumed")
    return bool(upstream.resumed)


adopt(
    only_a_blocked_channel_is_resumed,
    *steps.ACTS,
    of=lambda ledger: ledger.act.resumed_unblocked,
    tickets=("FLINK-23938",),
)


@rule(*steps.ACTS, invariant="I-08", tickets=("FLINK-17568",), after_learning=True, signals=(ConsumptionResumed,))
def a_channel_stays_blocked_while_its_checkpoint_is_in_progress(ledger: Ledger, seen: Acted) -> Judgement:
    """A channel that waits behind a barrier is not resumed while the checkpoint of the barrier is in progress."""
    if not ledger.alignment.pending:
        return False
    for channel, checkpoint in ledger.upstream.resumed:
        if checkpoint == ledger.alignment.current:
            owed = f"checkpoint {checkpoint} is in progress, so channel {channel} must stay blocked"
            return Broken(FailureClass.PROTOCOL, owed, "it was resumed")
    return True


# ---- the inputs ------------------------------------------------------------------------------------------------------
adopt(the_inputs_start_a_checkpoint_before_the_task, *steps.ACTS)
adopt(the_inputs_stop_a_checkpoint_when_it_is_over, *steps.ACTS, of=lambda ledger: ledger.alignment)


# ---- what fails ------------------------------------------------------------------------------------------------------
@rule(*steps.ACTS, invariant="I-56", needs=FAULTS, struck=True)
def a_start_that_is_refused_declines_one_checkpoint(ledger: Ledger, seen: Acted) -> Judgement:
    """If the inputs refuse to start a checkpoint, this checkpoint is declined, the task is not asked for it, and the
    operation succeeds."""
    struck = faults.struck_by(seen)
    if struck.kind is not FaultKind.REFUSES:
        return False
    if (again := faults.struck_again(ledger.faults, struck)) is not None:
        return again
    told = [checkpoint for checkpoint, reason in declined(seen) if reason is not CheckpointReason.DECLINED_SUBSUMED]
    if seen.error is None and len(told) == 1 and not triggered(seen):
        return True
    did = "it was not declined" if len(told) != 1 else "the task was asked for it"
    owed = "the inputs refused to start the checkpoint, so it alone must be declined"
    if seen.error is not None:
        did = f"the operation failed with an error of kind {seen.error.kind.value}"
    return Broken(FailureClass.PROTOCOL, owed, did)


adopt(faults.an_operation_fails_with_what_it_calls, *steps.ACTS, needs=FAULTS)
faults.see_strikes(RULES, BarrierHandlerPort.can_fail, *steps.ACTS)


# ---- observers -------------------------------------------------------------------------------------------------------
@rule(steps.pending, invariant="I-45")
def the_checkpoint_in_progress_is_known(ledger: Ledger, seen: Seen[int | None]) -> Judgement:
    """The handler returns the checkpoint that is in progress, or nothing if there is none."""
    owed = ledger.alignment.pending or None
    if seen.value == owed:
        return True
    what = f"checkpoint {owed} is in progress" if owed else "no checkpoint is in progress"
    return Broken(
        FailureClass.PROTOCOL, what, f"the handler returned {checkpoints([seen.value] if seen.value else [])}"
    )


@rule(steps.alignment_times, invariant="I-51", tickets=("FLINK-23201",))
def the_duration_is_that_of_one_alignment(ledger: Ledger, seen: Seen[AlignmentTimes]) -> Judgement:
    """The duration that the handler returns is counted from the start of the alignment in progress, or is that of the
    last one; once its checkpoint was declined, it may be 0."""
    return _measured("duration", [duration for duration, _ in ledger.times()], seen.value.duration)


@rule(steps.alignment_times, invariant="I-51", tickets=("FLINK-23201",))
def the_start_delay_is_that_of_one_alignment(ledger: Ledger, seen: Seen[AlignmentTimes]) -> Judgement:
    """The start delay that the handler returns is the time from the timestamp of a checkpoint to the start of its
    alignment, and no other than that of the last alignment; once that checkpoint was declined, it may be 0."""
    return _measured("start delay", [delay for _, delay in ledger.times()], seen.value.start_delay)


def _measured(what: str, owed: list[int], answered: int | None) -> Judgement:
    if answered is None:
        return False
    if answered in owed:
        return True
    may = " or ".join(map(str, sorted(dict.fromkeys(owed))))
    return Broken(
        FailureClass.PROTOCOL,
        f"the {what} of the last alignment must be {may} ms",
        f"the handler measured {answered} ms",
    )


@rule(steps.resources, invariant="I-50", needs=RESOURCES)
def no_timer_outlives_its_checkpoint(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """While no checkpoint is in progress, the handler holds no timer and no future; otherwise, at most one of each."""
    if ledger.phase != "live":
        return False
    most = 1 if ledger.alignment.pending else 0
    for what in ("listeners", "futures"):
        held = getattr(seen.value, what)
        if held is not None and held > most:
            owed = "a checkpoint is in progress" if most else "no checkpoint is in progress"
            owed = f"{owed}, so the handler may hold {counted(most, what)}"
            return Broken(FailureClass.LEAKED, owed, f"it holds {counted(held, what)}")
    return True


adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
