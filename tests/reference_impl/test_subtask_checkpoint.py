"""The subtask checkpoint coordinator, rule by rule of subtask-checkpoint.md."""

from __future__ import annotations

import pytest

from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CHECKPOINT_START,
    OPERATOR_SNAPSHOT,
    Alignment,
    Barrier,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    ErrorKind,
    FaultKind,
    PartTaken,
    PortError,
    StatePart,
    SubtaskCall,
    SubtaskCalled,
    SubtaskCheckpointConfig,
)
from reference_impl.task.subtask_checkpoint import SubtaskCheckpoint

ALIGNED, TIMEOUTABLE, UNALIGNED = Alignment.ALIGNED, Alignment.TIMEOUTABLE, Alignment.UNALIGNED
BEGUN = ["operators-prepare", "outputs-barrier"]
SNAPSHOT = ["writer-finish-output", "writer-take-result", "operators-snapshot"]
DROPPED = ["writer-abort-and-forget"]


def task() -> SubtaskCheckpoint:
    return SubtaskCheckpoint(SubtaskCheckpointConfig(10))


def told(one: SubtaskCheckpoint) -> list[object]:
    """What was signalled since the last question: the name of a call, or the whole signal."""
    signals: list[object] = [
        str(signal.call) if isinstance(signal, SubtaskCalled) else signal for signal in one.signals
    ]
    one.signals.clear()
    return signals


def take(one: SubtaskCheckpoint, checkpoint: int, alignment: Alignment, timestamp: int = 0) -> list[object]:
    """Start the inputs, and take the part of the task; returns what the latter signals."""
    one.start_inputs(checkpoint, alignment)
    one.signals.clear()
    one.trigger(Barrier(checkpoint, alignment), timestamp)
    return told(one)


def finish(one: SubtaskCheckpoint, checkpoint: int, *parts: StatePart) -> list[object]:
    """These parts of the state are final, and the asynchronous part runs."""
    for part in parts:
        one.finish_part(checkpoint, part)
    one.run_async(checkpoint)
    return told(one)


@pytest.mark.parametrize(
    ("alignment", "calls"),
    [
        (ALIGNED, []),
        (UNALIGNED, ["writer-start", "inputs-prepare"]),
        (TIMEOUTABLE, ["writer-start", "writer-finish-input"]),
    ],
)
def test_what_the_start_of_the_inputs_calls(alignment, calls):
    """subtask-checkpoint.md T1, T2, T3, T22."""
    one = task()
    one.start_inputs(1, alignment)
    assert told(one) == calls


def test_the_writer_learns_what_became_of_the_inputs():
    """subtask-checkpoint.md T4."""
    one = task()
    one.inputs_done(1)
    one.inputs_failed(2)
    assert one.signals == [
        SubtaskCalled(1, SubtaskCall.WRITER_FINISH_INPUT), SubtaskCalled(2, SubtaskCall.WRITER_ABORT)
    ]  # fmt: skip


def test_the_barrier_leaves_before_the_snapshots_and_overtakes_only_if_it_is_unaligned():
    """subtask-checkpoint.md T7, T8."""
    one = task()
    assert take(one, 1, ALIGNED) == [*BEGUN, "operators-snapshot"]
    assert take(one, 2, TIMEOUTABLE) == [*BEGUN, *SNAPSHOT]
    assert take(one, 3, UNALIGNED) == ["operators-prepare", "outputs-priority-barrier", *SNAPSHOT]


def test_an_old_checkpoint_is_dropped():
    """subtask-checkpoint.md T5."""
    one = task()
    take(one, 2, ALIGNED)
    assert take(one, 1, UNALIGNED) == DROPPED
    assert one.resources().futures == 1


def test_a_checkpoint_that_was_aborted_leads_to_a_cancel_marker():
    """subtask-checkpoint.md T6, T12."""
    one = task()
    one.abort(2)
    assert told(one) == ["writer-abort", "operators-abort"]
    assert take(one, 2, UNALIGNED) == ["outputs-cancel-marker", *DROPPED]
    assert take(one, 3, ALIGNED) == [*BEGUN, "operators-snapshot"]


def test_the_asynchronous_part_of_an_aborted_checkpoint_is_cancelled():
    """subtask-checkpoint.md T12, T14."""
    one = task()
    take(one, 1, ALIGNED)
    one.abort(1)
    assert told(one) == ["writer-abort", "operators-abort"]
    one.fail_part(1, StatePart.OPERATORS, None)
    assert finish(one, 1, StatePart.OPERATORS) == []


@pytest.mark.parametrize("begun", [False, True])
def test_a_checkpoint_that_the_barrier_handler_gives_up_is_declined(begun):
    """subtask-checkpoint.md T10."""
    one = task()
    one.abort(1)
    if begun:
        take(one, 2, UNALIGNED)
    told(one)
    one.decline(2, CheckpointReason.DECLINED_SUBSUMED)
    declined = CheckpointDeclined(2, CheckpointReason.DECLINED_SUBSUMED)
    assert told(one) == [*DROPPED, declined, "outputs-cancel-marker"]
    assert one.resources().futures == 0
    assert one.aborted == []
    assert take(one, 2, ALIGNED) == DROPPED


def test_the_operators_learn_that_a_checkpoint_is_complete():
    """subtask-checkpoint.md T11."""
    one = task()
    one.complete(1)
    assert told(one) == ["operators-complete"]


def test_a_late_barrier_becomes_unaligned_once():
    """subtask-checkpoint.md T9, T13, T22."""
    one = task()
    take(one, 1, TIMEOUTABLE)
    one.advance(9)
    assert told(one) == []
    assert one.resources().listeners == 1
    one.advance(1)
    one.advance(10)
    assert told(one) == ["outputs-time-out"]
    assert one.resources().listeners == 0
    take(one, 2, TIMEOUTABLE, timestamp=5)
    one.advance(1)
    assert told(one) == ["outputs-time-out"]


@pytest.mark.parametrize(("alignment", "calls"), [(ALIGNED, []), (TIMEOUTABLE, [SubtaskCall.OUTPUTS_TIME_OUT])])
def test_a_newer_barrier_cancels_the_timer_of_an_older_one(alignment, calls):
    """subtask-checkpoint.md T9."""
    one = task()
    take(one, 1, TIMEOUTABLE)
    take(one, 2, alignment)
    one.advance(10)
    assert one.signals == [SubtaskCalled(2, call) for call in calls]


def test_a_checkpoint_is_acknowledged_when_all_of_its_state_is_final():
    """subtask-checkpoint.md T8, T14, T15."""
    one = task()
    take(one, 1, UNALIGNED)
    take(one, 2, ALIGNED)
    assert finish(one, 1, StatePart.OUTPUTS, StatePart.OPERATORS) == []
    assert finish(one, 2, StatePart.OPERATORS) == [CheckpointAcknowledged(2, PartTaken(unaligned=False, persisted=0))]
    assert finish(one, 1, StatePart.INPUTS) == [CheckpointAcknowledged(1, PartTaken(unaligned=True, persisted=0))]
    assert finish(one, 1) == []


@pytest.mark.parametrize("stored", [0, 3])
def test_an_acknowledgement_says_that_a_barrier_overtook_data_after_it_timed_out(stored):
    """subtask-checkpoint.md T15, T24."""
    one = task()
    one.aligned(1, 4)
    take(one, 1, TIMEOUTABLE)
    one.advance(10)
    one.aligned(2, 7)
    if stored:
        one.state_written(1, StatePart.OUTPUTS, stored)
    told = CheckpointAcknowledged(1, PartTaken(unaligned=stored > 0, persisted=stored, alignment=4))
    assert finish(one, 1, *StatePart)[-1:] == [told]


def test_the_alignment_of_an_unaligned_checkpoint_is_over_when_its_last_barrier_comes():
    """subtask-checkpoint.md T24: the inputs and the outputs count together."""
    one = task()
    take(one, 1, UNALIGNED)
    one.state_written(1, StatePart.OUTPUTS, 2)
    one.state_written(1, StatePart.INPUTS, 3)
    one.aligned(1, 6)
    told = CheckpointAcknowledged(1, PartTaken(unaligned=True, persisted=5, alignment=6))
    assert finish(one, 1, *StatePart) == [told]


@pytest.mark.parametrize("reason", [None, CheckpointReason.SHARED_STREAM])
def test_a_checkpoint_is_declined_with_the_reason_of_the_part_that_failed(reason):
    """subtask-checkpoint.md T14, T16."""
    one = task()
    take(one, 1, UNALIGNED)
    one.fail_part(1, StatePart.INPUTS, reason)
    assert finish(one, 1) == []
    assert finish(one, 1, StatePart.OPERATORS) == [CheckpointDeclined(1, reason or CheckpointReason.ASYNC_EXCEPTION)]
    assert one.resources().futures == 0


def test_a_cancelled_task_notifies_nobody_also_of_what_it_begins_then():
    """subtask-checkpoint.md T17, T18."""
    one = task()
    take(one, 1, ALIGNED)
    one.cancel()
    assert one.resources().futures == 0
    take(one, 2, ALIGNED)
    assert one.resources().futures == 0
    one.complete(1)
    one.abort(2)
    assert finish(one, 1, StatePart.OPERATORS) == finish(one, 2, StatePart.OPERATORS) == []


def test_a_checkpoint_that_the_inputs_refuse_fails_alone():
    """subtask-checkpoint.md T19."""
    one = task()
    assert one.fault(CHECKPOINT_START, FaultKind.REFUSES)
    with pytest.raises(PortError) as failed:
        one.start_inputs(1, UNALIGNED)
    assert failed.value.kind is ErrorKind.CHECKPOINT
    assert failed.value.checkpoint_reason is CheckpointReason.DECLINED_TASK_NOT_READY
    assert not failed.value.checkpoint_reason.counts
    one.decline(1, CheckpointReason.DECLINED_TASK_NOT_READY)
    take(one, 2, UNALIGNED)
    assert finish(one, 2, *StatePart) == [CheckpointAcknowledged(2, PartTaken(unaligned=True, persisted=0))]


@pytest.mark.parametrize("place", [CHECKPOINT_START, CHANNEL_STATE_WRITER])
def test_what_else_fails_in_the_inputs_or_the_writer_fails_the_task(place):
    """subtask-checkpoint.md T20."""
    one = task()
    assert one.fault(place, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        one.start_inputs(1, UNALIGNED)
    assert failed.value.kind is ErrorKind.IO


def test_a_writer_that_fails_when_the_outputs_are_done_fails_the_task():
    """subtask-checkpoint.md T20."""
    one = task()
    one.start_inputs(1, TIMEOUTABLE)
    assert one.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        one.trigger(Barrier(1, TIMEOUTABLE), 0)
    assert failed.value.kind is ErrorKind.IO


def test_operators_that_fail_leave_nothing_in_the_writer():
    """subtask-checkpoint.md T21."""
    one = task()
    one.start_inputs(1, UNALIGNED)
    assert one.fault(OPERATOR_SNAPSHOT, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        one.trigger(Barrier(1, UNALIGNED), 0)
    assert failed.value.kind is ErrorKind.IO
    assert SubtaskCalled(1, SubtaskCall.OPERATORS_SNAPSHOT) not in one.signals
    assert one.signals[-1] == SubtaskCalled(1, SubtaskCall.WRITER_ABORT_AND_FORGET)
    assert one.resources().futures == 0


def test_after_release_nothing_is_held():
    """subtask-checkpoint.md T22, T23."""
    one = task()
    take(one, 1, TIMEOUTABLE)
    one.release()
    one.release()
    held = one.resources()
    assert (held.listeners, held.futures) == (0, 0)


def test_the_reasons_that_count():
    """subtask-checkpoint.md I-57."""
    counted = [str(reason) for reason in CheckpointReason if reason.counts]
    assert counted == ["declined", "expired", "io-exception", "async-exception", "finalize-failure"]
