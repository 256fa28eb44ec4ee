"""The rules of the subtask checkpoint coordinator. Specification: subtask-checkpoint.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.components.subtask_checkpoint import steps
from conformance.components.subtask_checkpoint.checkpoint import ABORTS, BARRIERS, WRITER_CALLS, Checkpoint, Stage
from conformance.components.subtask_checkpoint.ledger import Ledger
from conformance.components.subtask_checkpoint.words import happens, weighed
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models import faults, lifetime
from conformance.models.designs import FAULTS, RESOURCES, SAYS_HOW_TAKEN
from conformance.models.job_words import taken_in_words
from conformance.models.signal_words import signalled
from conformance.models.words import counted, got, many, refusal
from conformance.ports import (
    OPERATOR_SNAPSHOT,
    Alignment,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    FaultKind,
    PartTaken,
    Resources,
    StatePart,
    SubtaskCall,
    SubtaskCalled,
    SubtaskCheckpointPort,
)

WRITER_START = SubtaskCall.WRITER_START
UNALIGNED = Alignment.UNALIGNED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

RULES = Rules[Ledger]("subtask-checkpoint", answers_property("subtask-checkpoint"))
rule, adopt = RULES.rule, RULES.adopt
Acted = Seen[None, *tuple[Any, ...]]
TOLD = (CheckpointAcknowledged, CheckpointDeclined)
ENDS = (SubtaskCall.OPERATORS_COMPLETE, SubtaskCall.OPERATORS_ABORT)
"""How the operators are notified of the end of a checkpoint."""


def called(seen: Acted, checkpoint: int) -> list[SubtaskCall]:
    """What was called for a checkpoint in the operation."""
    return [one.call for one in seen.signals if type(one) is SubtaskCalled and one.checkpoint == checkpoint]


def acknowledged(seen: Acted) -> list[int]:
    """The checkpoints that were acknowledged in the operation."""
    return [one.checkpoint for one in seen.signals if type(one) is CheckpointAcknowledged]


# ---- how it was taken ------------------------------------------------------------------------------------------------
@rule(
    *steps.ACTS, invariant="I-108", tickets=("FLINK-31588",), after_learning=True, needs=SAYS_HOW_TAKEN,
    signals=(CheckpointAcknowledged,),
)  # fmt: skip
def an_acknowledgement_says_how_the_task_took_its_part(ledger: Ledger, seen: Acted) -> Judgement:
    """An acknowledgement says whether the task has taken its part unaligned: so if data in flight is stored of it, also
    if that came of a time-out, and not if nothing could overtake; how many records are stored of inputs and outputs
    together; and how long the alignment of this checkpoint took."""
    for signal in seen.signals:
        if type(signal) is not CheckpointAcknowledged:
            continue
        one, taken = ledger.checkpoints[signal.checkpoint], signal.taken or PartTaken()
        for owed in _how_taken(one, taken):
            about = f"checkpoint {signal.checkpoint} is acknowledged, and {owed}"
            return Broken(FailureClass.CORRUPTED, about, f"the task says: {taken_in_words(taken)}")
    return True


def _how_taken(one: Checkpoint, said: PartTaken) -> Iterator[str]:
    """Yields what is so, and was not said."""
    if said.persisted != one.stored:
        yield f"{many(one.stored, 'record')} in flight are stored of it"
    if one.stored and said.unaligned is not True:
        yield "it is unaligned, because records in flight are stored of it"
    if not one.can_overtake() and said.unaligned is not False:
        yield "it is aligned, because nothing could overtake"
    if one.aligned_for is not None and said.alignment != one.aligned_for:
        yield f"its alignment took {many(one.aligned_for, 'millisecond')}"


# ---- acknowledged and declined ---------------------------------------------------------------------------------------
@rule(
    *steps.ACTS, invariant="I-52", tickets=("FLINK-25305",), after_learning=True, signals=(CheckpointAcknowledged,)
)  # fmt: skip
def an_acknowledged_checkpoint_is_final(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint is acknowledged only if the task took its part of it, and the state of the operators, of the inputs
    and of the outputs that belongs to it is final."""
    for checkpoint in acknowledged(seen):
        one = ledger.checkpoints[checkpoint]
        if one.missing or one.failed:
            owed = f"the state of checkpoint {checkpoint} is not final, so it must not be acknowledged"
            without = " and ".join(one.missing) or "part that has failed"
            return Broken(FailureClass.LOST, owed, f"it was acknowledged without the {without}")
    return True


@rule(steps.run_async, invariant="I-52", after_learning=True)
def a_final_checkpoint_is_acknowledged(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """If all of the state of a checkpoint is final, and the checkpoint was neither declined nor aborted, it is
    acknowledged once its asynchronous part has run."""
    one = ledger.checkpoints[seen.operands[0]]
    if one.missing or one.failed or one.is_given_up() or ledger.is_cancelled():
        return False
    if one.acknowledged:
        return True
    owed = f"all of the state of checkpoint {seen.operands[0]} is final, so the checkpoint must be acknowledged"
    return Broken(FailureClass.STUCK, owed, "it was not acknowledged")


@rule(*steps.ACTS, invariant="I-45", signals=TOLD)
def a_checkpoint_is_acknowledged_or_declined(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint is acknowledged at most once, and never both acknowledged and declined."""
    yes = [number for number, one in enumerate(ledger.checkpoints) if one.acknowledged]
    no = [number for number, one in enumerate(ledger.checkpoints) if one.declined]
    for signal in seen.signals:
        if type(signal) is CheckpointAcknowledged or type(signal) is CheckpointDeclined:
            mine, accepts = signal.checkpoint, type(signal) is CheckpointAcknowledged
            if mine in yes or (accepts and mine in no):
                owed = f"checkpoint {mine} was {'acknowledged' if mine in yes else 'declined'} before"
                return Broken(FailureClass.DUPLICATED, owed, f"it was {'acknowledged' if accepts else 'declined'} now")
            (yes if accepts else no).append(mine)
    return True


@rule(*steps.ACTS, invariant="I-58", after_learning=True, signals=(CheckpointAcknowledged,))
def an_aborted_checkpoint_is_not_acknowledged(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint that the checkpoint coordinator has aborted is not acknowledged afterwards, unless all of its state
    was final by then, so that the acknowledgement was on its way."""
    for checkpoint in acknowledged(seen):
        one = ledger.checkpoints[checkpoint]
        if one.aborted and not one.was_final:
            owed = f"checkpoint {checkpoint} was aborted before its state was final, so it must not be acknowledged"
            return Broken(FailureClass.PROTOCOL, owed, "it was acknowledged")
    return True


@rule(steps.decline, invariant="I-57", tickets=("FLINK-20654",))
def a_decline_is_passed_on(ledger: Ledger, seen: Seen[None, int, str]) -> Judgement:
    """If the barrier handler aborts a checkpoint, the task declines it, unless the checkpoint coordinator has aborted
    it before."""
    checkpoint, reason = seen.operands
    if ledger.checkpoints[checkpoint].aborted:
        return False
    told = [one for one in seen.signals if type(one) is CheckpointDeclined and one.checkpoint == checkpoint]
    if told:
        return True
    owed = f"checkpoint {checkpoint} must be declined with the reason {weighed(CheckpointReason(reason))}"
    return Broken(FailureClass.STUCK, owed, "it was not declined")


@rule(*steps.ACTS, invariant="I-57", tickets=("FLINK-26803",), after_learning=True, signals=(CheckpointDeclined,))
def a_checkpoint_is_declined_with_the_reason_of_its_cause(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint is declined only if the barrier handler has aborted it, with the reason that it says, or if a part
    of its state has failed, with the reason of that failure, or async-exception if it has none."""
    for signal in seen.signals:
        if type(signal) is not CheckpointDeclined or ledger.checkpoints[signal.checkpoint].aborted:
            continue
        causes = list(ledger.checkpoints[signal.checkpoint].failed)
        if len(seen.operands) == 2 and seen.operands[0] == signal.checkpoint:
            causes += [reason for reason in CheckpointReason if reason == seen.operands[1]]
        if signal.reason not in causes:
            words = " or ".join(weighed(cause) for cause in causes)
            owed = f"checkpoint {signal.checkpoint} can only be declined with the reason {words}"
            owed = owed if causes else f"there was no cause to decline checkpoint {signal.checkpoint}"
            return Broken(FailureClass.PROTOCOL, owed, f"it was declined with the reason {weighed(signal.reason)}")
    return True


@rule(steps.run_async, invariant="I-57", after_learning=True)
def a_checkpoint_with_a_failed_part_is_declined(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """If a part of the state of a checkpoint has failed, the others have failed or are final, and the checkpoint was
    not aborted, it is declined once its asynchronous part has run."""
    one = ledger.checkpoints[seen.operands[0]]
    if one.missing or not one.failed or one.aborted or ledger.is_cancelled():
        return False
    if one.declined:
        return True
    owed = f"a part of checkpoint {seen.operands[0]} has failed, so it must be declined"
    return Broken(FailureClass.STUCK, owed, "it was not declined")


@rule(*steps.ACTS, invariant="I-57", after_learning=True, formerly=("a-task-that-is-not-running-tells-nobody",))
def a_task_that_is_not_running_notifies_nobody(ledger: Ledger, seen: Acted) -> Judgement:
    """Once the task is not running any more, it acknowledges and declines nothing, and the operators are not notified
    that a checkpoint is complete or aborted."""
    if not ledger.is_cancelled():
        return False
    for signal in seen.signals:
        did = ""
        if type(signal) is SubtaskCalled and signal.call in ENDS:
            did = signalled(signal)
        elif type(signal) is CheckpointAcknowledged:
            did = f"checkpoint {signal.checkpoint} was acknowledged"
        elif type(signal) is CheckpointDeclined:
            did = f"checkpoint {signal.checkpoint} was declined"
        if did:
            return Broken(
                FailureClass.PROTOCOL, "the task is not running any more: nothing may be called or reported", did
            )
    return True


# ---- when the task takes its part ------------------------------------------------------------------------------------
@rule(steps.trigger, invariant="I-45")
def a_new_checkpoint_is_taken(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the task is asked for its part of a new checkpoint that was not aborted, its barrier leaves and the
    operators take their snapshots. If it may have channel state, the writer learns that the outputs are done, and hands
    over the result."""
    (checkpoint,) = seen.operands
    one = ledger.checkpoints[checkpoint]
    if checkpoint <= ledger.last or one.aborted or ledger.is_cancelled():
        return False
    calls = called(seen, checkpoint)
    due = [SubtaskCall.OPERATORS_PREPARE, SubtaskCall.OPERATORS_SNAPSHOT]
    if one.has_channel_state():
        due += [SubtaskCall.WRITER_FINISH_OUTPUT, SubtaskCall.WRITER_TAKE_RESULT]
    left = [call for call in due if call not in calls]
    if not left and (BARRIERS[0] in calls or BARRIERS[1] in calls):
        return True
    owed = f"checkpoint {checkpoint} is new, so a barrier must be sent, and: {happens(due, checkpoint)}"
    return Broken(FailureClass.STUCK, owed, happens(calls, checkpoint))


@rule(steps.trigger, invariant="I-45")
def an_old_checkpoint_is_dropped(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the task is asked for a checkpoint and knows of a newer one that was triggered or declined, or has declined
    this one, it takes no part: no barrier leaves, and the operators are not called."""
    (checkpoint,) = seen.operands
    if checkpoint > ledger.last:
        return False
    calls = [one for one in called(seen, checkpoint) if one not in (*ABORTS, SubtaskCall.OUTPUTS_CANCEL_MARKER)]
    if not calls:
        return True
    owed = f"checkpoint {ledger.last} is over or has begun, so checkpoint {checkpoint} must be dropped"
    return Broken(FailureClass.PROTOCOL, owed, happens(calls, checkpoint))


@rule(steps.trigger, invariant="I-58", tickets=("FLINK-8871",))
def an_aborted_checkpoint_leads_only_to_a_cancel_marker(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the task is asked for its part of a new checkpoint that was aborted before, its outputs get the cancel
    marker, and nothing else happens but that the channel state writer aborts it."""
    (checkpoint,) = seen.operands
    if checkpoint <= ledger.last or not ledger.checkpoints[checkpoint].aborted or ledger.is_cancelled():
        return False
    calls = [one for one in called(seen, checkpoint) if one not in ABORTS]
    if calls == [SubtaskCall.OUTPUTS_CANCEL_MARKER]:
        return True
    owed = f"checkpoint {checkpoint} was aborted, so its outputs must get the cancel marker and nothing else"
    return Broken(FailureClass.STUCK, owed, happens(calls, checkpoint))


@rule(steps.decline, invariant="I-58")
def a_declined_checkpoint_is_cancelled_downstream(ledger: Ledger, seen: Seen[None, int, str]) -> Judgement:
    """When the barrier handler aborts a checkpoint, the outputs get its cancel marker once, so that nobody downstream
    waits for its barrier."""
    (checkpoint, _), marker = seen.operands, SubtaskCall.OUTPUTS_CANCEL_MARKER
    told = called(seen, checkpoint).count(marker)
    if told == 1 or (told == 0 and marker in ledger.checkpoints[checkpoint].told):
        return True
    owed = f"the outputs must get the cancel marker of checkpoint {checkpoint} once"
    return Broken(FailureClass.STUCK, owed, f"they got it {many(told, 'time')}")


@rule(*steps.ACTS, invariant="I-45", after_learning=True, signals=(SubtaskCalled,))
def barriers_leave_once_and_in_order(ledger: Ledger, seen: Acted) -> Judgement:
    """The barrier of a checkpoint leaves at most once, not after that of a newer one, and not after its own cancel
    marker; the operators take part in a checkpoint at most once."""
    if ledger.found.repeated is None or ledger.found.repeated[1] in WRITER_CALLS:
        return True
    checkpoint, call = ledger.found.repeated
    owed = f"this must happen once, and in the order of the checkpoints: {happens([call], checkpoint)}"
    return Broken(FailureClass.DUPLICATED, owed, "it happened when that, or the cancel marker, was sent before")


@rule(*steps.ACTS, invariant="I-10", after_learning=True, signals=(SubtaskCalled,))
def the_operators_prepare_before_the_barrier(ledger: Ledger, seen: Acted) -> Judgement:
    """Before the barrier leaves, and before the operators take their snapshots, they have prepared: what they emit then
    belongs in front of the barrier."""
    if ledger.found.early is None or ledger.found.early[1] in WRITER_CALLS:
        return True
    checkpoint, call = ledger.found.early
    owed = f"this must not happen before what it needs: {happens([call], checkpoint)}"
    so_far = happens(ledger.checkpoints[checkpoint].told, checkpoint)
    return Broken(FailureClass.REORDERED, owed, f"so far: {so_far}")


@rule(steps.trigger, invariant="I-10", tickets=("FLINK-18136", "FLINK-18252"), signals=(SubtaskCalled,))
def only_an_unaligned_barrier_has_priority(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """The barrier of an unaligned checkpoint leaves as a priority event, every other one behind the data."""
    (checkpoint,) = seen.operands
    unaligned = ledger.checkpoints[checkpoint].alignment is UNALIGNED
    barriers = [one for one in called(seen, checkpoint) if one in BARRIERS]
    if not barriers:
        return False
    if BARRIERS[not unaligned] not in barriers:
        return True
    owed = f"checkpoint {checkpoint} is {ledger.checkpoints[checkpoint].alignment}, and so must be its barrier"
    return Broken(FailureClass.PROTOCOL, owed, happens(barriers, checkpoint))


# ---- channel state ---------------------------------------------------------------------------------------------------
_STARTED = {
    Alignment.ALIGNED: [],
    Alignment.TIMEOUTABLE: [WRITER_START, SubtaskCall.WRITER_FINISH_INPUT],
    UNALIGNED: [WRITER_START, SubtaskCall.INPUTS_PREPARE],
}
"""By alignment, what is called when the inputs are started."""


@rule(steps.start_inputs, invariant="I-10", tickets=("FLINK-18136", "FLINK-18252", "FLINK-19681"))
def the_inputs_start_with_the_writer(ledger: Ledger, seen: Seen[None, int, str]) -> Judgement:
    """When an unaligned checkpoint starts, the writer begins it, and then the inputs hand over their data. If it is
    timeoutable, the writer begins it and learns that there is no data of the inputs. For a savepoint, and any other
    aligned checkpoint, nothing is called."""
    checkpoint, kind = seen.operands
    due = _STARTED[Alignment(kind)]
    if (calls := called(seen, checkpoint)) == due:
        return True
    owed = f"checkpoint {checkpoint} is {kind}, so its inputs start exactly so: {happens(due, checkpoint)}"
    return Broken(FailureClass.PROTOCOL, owed, happens(calls, checkpoint))


@rule(*steps.ACTS, invariant="I-62", tickets=("FLINK-19681",), after_learning=True, signals=(SubtaskCalled,))
def the_channel_state_writer_is_called_in_order(ledger: Ledger, seen: Acted) -> Judgement:
    """The writer begins a checkpoint once. Only then it learns that the inputs and the outputs are done, each once, the
    latter once the barrier has left, and hands over the result, which it must still hold."""
    for wrong, what in ((ledger.found.repeated, "it happened before"), (ledger.found.early, "it happened too early")):
        if wrong is not None and wrong[1] in WRITER_CALLS:
            owed = f"this must happen once, after what it needs: {happens([wrong[1]], wrong[0])}"
            return Broken(FailureClass.REORDERED, owed, what)
    return True


@rule(steps.inputs_done, invariant="I-52", after_learning=True)
def the_writer_learns_that_the_inputs_are_done(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the inputs have handed over all in-flight data of a checkpoint, the writer learns it, unless the writer
    has aborted the checkpoint."""
    one = ledger.checkpoints[seen.operands[0]]
    if one.is_stopped_in_writer():
        return False
    if SubtaskCall.WRITER_FINISH_INPUT in one.told:
        return True
    owed = f"the inputs have handed over all data of checkpoint {seen.operands[0]}, so the writer must be notified"
    return Broken(FailureClass.STUCK, owed, "the writer was not called")


@rule(steps.inputs_failed, invariant="I-62", after_learning=True)
def the_writer_gives_up_what_the_inputs_did_not_finish(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the inputs will not hand over the rest of their data, the writer aborts the checkpoint, so that its result
    ends."""
    if ledger.checkpoints[seen.operands[0]].is_stopped_in_writer():
        return True
    owed = f"the inputs of checkpoint {seen.operands[0]} have failed, so the channel state writer must abort it"
    return Broken(FailureClass.ORPHANED, owed, "the writer was not called")


@rule(steps.decline, steps.abort, invariant="I-53", tickets=("FLINK-20654",), after_learning=True)
def what_ends_a_checkpoint_ends_its_channel_state(ledger: Ledger, seen: Acted) -> Judgement:
    """If a checkpoint is declined or aborted that the channel state writer has begun and whose channel state is not
    final, the writer aborts it."""
    one = ledger.checkpoints[seen.operands[0]]
    if WRITER_START not in one.told or ledger.is_cancelled():
        return False
    if one.stage is Stage.BEGUN and not (StatePart.INPUTS in one.missing or StatePart.OUTPUTS in one.missing):
        return False
    if one.is_stopped_in_writer():
        return True
    owed = f"checkpoint {seen.operands[0]} can not complete any more, so the channel state writer must abort it"
    return Broken(FailureClass.LEAKED, owed, "the writer was not called")


@rule(steps.decline, steps.trigger, invariant="I-53", tickets=("FLINK-20654",), after_learning=True)
def no_result_is_left_in_the_writer(ledger: Ledger, seen: Acted) -> Judgement:
    """When the task has taken its part of a checkpoint, dropped or declined it, the channel state writer holds no
    result of it."""
    one = ledger.checkpoints[seen.operands[0]]
    if WRITER_START not in one.told:
        return False
    if not one.result:
        return True
    owed = (
        f"the part of the task in checkpoint {seen.operands[0]} is taken or over, so nobody needs the writer's result"
    )
    return Broken(FailureClass.LEAKED, owed, "the channel state writer still holds it")


# ---- time ------------------------------------------------------------------------------------------------------------
@rule(*steps.ACTS, invariant="I-59", tickets=("FLINK-19681",), after_learning=True, signals=(SubtaskCalled,))
def only_a_late_barrier_times_out(ledger: Ledger, seen: Acted) -> Judgement:
    """A barrier becomes unaligned in the outputs only if it is timeoutable and due, and no newer one has left, and it
    was not declined; and once."""
    early = ledger.found.timed_out_early
    if not early:
        return True
    owed = f"the barrier of checkpoint {early} is not due, or is not the newest one, or has become unaligned before"
    return Broken(FailureClass.PROTOCOL, owed, "it became unaligned")


@rule(steps.advance, invariant="I-59", tickets=("FLINK-19681",), after_learning=True)
def a_late_barrier_times_out(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When time has passed and the newest barrier is timeoutable and due, it becomes unaligned in the outputs, unless
    its checkpoint was aborted."""
    one = ledger.checkpoints[ledger.timer.checkpoint]
    if not ledger.timer.checkpoint or one.aborted or ledger.timer.now < one.due:
        return bool(seen.signals)
    owed = f"the barrier of checkpoint {ledger.timer.checkpoint} is due, so it must become unaligned in the outputs"
    return Broken(FailureClass.STUCK, owed, "it did not become unaligned")


# ---- the operators ---------------------------------------------------------------------------------------------------
@rule(steps.complete, steps.abort, invariant="I-45", after_learning=True)
def the_operators_learn_how_a_checkpoint_ended(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the checkpoint coordinator notifies the task that a checkpoint is complete, or was aborted, the operators
    are notified of the same, once, and of nothing else, also not of another checkpoint."""
    if ledger.is_cancelled():
        return False
    checkpoint = seen.operands[0]
    due = ENDS[ledger.checkpoints[checkpoint].aborted]
    told = [one for one in seen.signals if type(one) is SubtaskCalled and one.call in ENDS]
    if [(one.checkpoint, one.call) for one in told] == [(checkpoint, due)]:
        return True
    owed = f"this must happen once, and nothing else: {happens([due], checkpoint)}"
    if others := [one for one in told if one.checkpoint != checkpoint]:
        return Broken(FailureClass.PROTOCOL, owed, happens([others[0].call], others[0].checkpoint))
    return Broken(FailureClass.STUCK, owed, happens([one.call for one in told], checkpoint))


# ---- what fails ------------------------------------------------------------------------------------------------------
@rule(steps.start_inputs, invariant="I-56", tickets=("FLINK-20654",), needs=FAULTS, struck=True)
def a_refused_start_fails_with_its_reason(ledger: Ledger, seen: Acted) -> Judgement:
    """If the inputs refuse a checkpoint, the operation fails with an error of kind checkpoint and the reason of the
    inputs, declined-task-not-ready, which does not count; and nothing is declined yet."""
    struck = faults.struck_by(seen)
    if struck.kind is not FaultKind.REFUSES:
        return False
    if (again := faults.struck_again(ledger.faults, struck)) is not None:
        return again
    due = CheckpointReason.DECLINED_TASK_NOT_READY
    told = [one for one in seen.signals if type(one) in TOLD]
    if refusal(seen.error) is due and not told:
        return True
    owed = f"the inputs refused, so the operation must fail for this checkpoint alone, with the reason {weighed(due)}"
    return Broken(FailureClass.PROTOCOL, owed, got(seen.error))


@rule(steps.trigger, invariant="I-53", needs=FAULTS, struck=True)
def a_failed_snapshot_ends_its_channel_state(ledger: Ledger, seen: Acted) -> Judgement:
    """If the operators fail to take their snapshots, the channel state writer aborts the checkpoint, whose file other
    tasks may share, and holds no result."""
    checkpoint = seen.operands[0]
    if faults.struck_by(seen).place != OPERATOR_SNAPSHOT or not ledger.checkpoints[checkpoint].has_channel_state():
        return False
    calls = called(seen, checkpoint)
    taken = SubtaskCall.WRITER_TAKE_RESULT in calls
    if ABORTS[1] in calls or (taken and ABORTS[0] in calls):
        return True
    owed = f"the operators failed in checkpoint {checkpoint}, so the writer must abort it and remove its result"
    return Broken(FailureClass.LEAKED, owed, happens(calls, checkpoint))


adopt(faults.an_operation_fails_with_what_it_calls, steps.start_inputs, steps.trigger, needs=FAULTS)
faults.see_strikes(RULES, SubtaskCheckpointPort.can_fail, steps.start_inputs, steps.trigger)


# ---- observers -------------------------------------------------------------------------------------------------------
@rule(steps.resources, invariant="I-93", needs=RESOURCES)
def no_timer_and_no_part_outlives_its_checkpoint(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """Before its release, the port holds a timer only for the newest barrier, if it is timeoutable, was not declined
    and did not time out; and a future only for an asynchronous part that is not over, none once the task is
    cancelled."""
    if ledger.phase not in steps.CANCELLED:
        return False
    cancelled = ledger.is_cancelled()
    timers, parts = int(cancelled or ledger.timer.checkpoint > 0), 0 if cancelled else ledger.open_parts()
    for what, most in (("listeners", timers), ("futures", parts)):
        held = getattr(seen.value, what)
        if held is not None and held > most:
            owed = f"it may hold {counted(most, what)} now"
            return Broken(FailureClass.LEAKED, owed, f"it holds {counted(held, what)}")
    return True


adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
