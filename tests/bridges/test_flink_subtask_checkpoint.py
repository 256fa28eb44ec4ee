"""The subtask checkpoint coordinator of released Flink: what was looked into by hand, and what the suite finds."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.batch import searching
from conformance.engines.search import seeds
from conformance.ports import (
    CHECKPOINT_START,
    OPERATOR_SNAPSHOT,
    Alignment,
    Barrier,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    ErrorKind,
    FaultKind,
    FaultStruck,
    PartTaken,
    PortError,
    StatePart,
    SubtaskCall,
    SubtaskCalled,
    SubtaskCheckpointConfig,
)

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

ALIGNED, TIMEOUTABLE, UNALIGNED = Alignment


@pytest.fixture
def task(flink):
    """A task whose barriers may be queued for ten milliseconds."""
    return flink.components()["subtask-checkpoint"](SubtaskCheckpointConfig(10))


def heard(port):
    signals, port.signals = port.signals, []
    return signals


def called(checkpoint, *calls):
    return [SubtaskCalled(checkpoint, call) for call in calls]


def taken(task, checkpoint, alignment, timestamp=0):
    task.start_inputs(checkpoint, alignment)
    task.trigger(Barrier(checkpoint, alignment), timestamp)
    return heard(task)


def test_an_unaligned_checkpoint_is_acknowledged_when_its_last_part_is_final(task):
    """subtask-checkpoint.md T2, T4, T7, T8, T14, T15: the thread of the asynchronous part waits for each part."""
    assert taken(task, 1, UNALIGNED) == called(
        1,
        SubtaskCall.WRITER_START,
        SubtaskCall.INPUTS_PREPARE,
        SubtaskCall.OPERATORS_PREPARE,
        SubtaskCall.OUTPUTS_PRIORITY_BARRIER,
        SubtaskCall.WRITER_FINISH_OUTPUT,
        SubtaskCall.WRITER_TAKE_RESULT,
        SubtaskCall.OPERATORS_SNAPSHOT,
    )
    task.inputs_done(1)
    assert heard(task) == called(1, SubtaskCall.WRITER_FINISH_INPUT)
    for part in StatePart:
        task.run_async(1)
        assert (heard(task), task.resources().futures) == ([], 1)
        task.finish_part(1, part)
    task.run_async(1)
    acknowledged = CheckpointAcknowledged(1, PartTaken(unaligned=False, persisted=0, alignment=0))
    assert (heard(task), task.resources().futures) == ([acknowledged], 0)


def test_an_acknowledgement_says_how_the_task_took_its_part(task):
    """subtask-checkpoint.md T24 (FLINK-31588): a checkpoint that timed out is unaligned if data in flight is stored."""
    taken(task, 1, UNALIGNED)
    task.aligned(1, 7)
    task.state_written(1, StatePart.INPUTS, 2)
    task.inputs_done(1)
    task.aligned(2, 5)
    taken(task, 2, TIMEOUTABLE)
    task.advance(10)
    task.state_written(2, StatePart.OUTPUTS, 1)
    said = []
    for checkpoint in (1, 2):
        for part in StatePart:
            task.finish_part(checkpoint, part)
        task.run_async(checkpoint)
        said += [one.taken for one in heard(task) if isinstance(one, CheckpointAcknowledged)]
    assert said == [PartTaken(True, 2, 7), PartTaken(True, 1, 5)]


def test_a_checkpoint_that_is_given_up_is_declined_twice(task):
    """subtask-checkpoint.md FT5."""
    taken(task, 1, UNALIGNED)
    task.decline(1, CheckpointReason.DECLINED_SUBSUMED)
    first = CheckpointDeclined(1, CheckpointReason.DECLINED_SUBSUMED)
    forgotten = called(1, SubtaskCall.WRITER_ABORT_AND_FORGET)
    assert heard(task) == [*forgotten, first, *called(1, SubtaskCall.OUTPUTS_CANCEL_MARKER)]
    task.finish_part(1, StatePart.OPERATORS)
    task.fail_part(1, StatePart.INPUTS, CheckpointReason.SHARED_STREAM)
    task.run_async(1)
    assert heard(task) == [CheckpointDeclined(1, CheckpointReason.SHARED_STREAM)]


def test_an_abort_reaches_a_thread_that_waits(task):
    """subtask-checkpoint.md T12."""
    taken(task, 1, ALIGNED)
    task.run_async(1)
    task.abort(1)
    assert heard(task) == called(1, SubtaskCall.WRITER_ABORT, SubtaskCall.OPERATORS_ABORT)
    task.finish_part(1, StatePart.OPERATORS)
    task.run_async(1)
    assert (heard(task), task.resources().futures) == ([], 0)


def test_a_part_that_begins_after_the_task_was_cancelled_ends_at_once(task):
    """subtask-checkpoint.md T18 (FLINK-6833)."""
    task.start_inputs(1, ALIGNED)
    task.cancel()
    task.trigger(Barrier(1, ALIGNED), 0)
    heard(task)
    task.finish_part(1, StatePart.OPERATORS)
    task.run_async(1)
    assert (heard(task), task.resources().futures) == ([], 0)


def test_a_barrier_becomes_unaligned_when_it_is_due(task):
    """subtask-checkpoint.md T9, T13. The time is that of the scenario, not that of the machine."""
    task.advance(100)
    taken(task, 1, TIMEOUTABLE, timestamp=95)
    task.advance(4)
    assert (heard(task), task.resources().listeners) == ([], 1)
    task.advance(1)
    assert (heard(task), task.resources().listeners) == (called(1, SubtaskCall.OUTPUTS_TIME_OUT), 0)


@pytest.mark.parametrize("kind", [FaultKind.REFUSES, FaultKind.THROWS])
def test_the_inputs_refuse_or_fail(task, kind):
    """subtask-checkpoint.md T19, T20."""
    assert task.fault(CHECKPOINT_START, kind, 1)
    with pytest.raises(PortError) as failed:
        task.start_inputs(1, UNALIGNED)
    refused = kind is FaultKind.REFUSES
    assert failed.value.kind is (ErrorKind.CHECKPOINT if refused else ErrorKind.IO)
    assert failed.value.checkpoint_reason is (CheckpointReason.DECLINED_TASK_NOT_READY if refused else None)
    assert heard(task) == [*called(1, SubtaskCall.WRITER_START), FaultStruck(CHECKPOINT_START, kind)]


def test_operators_that_fail_leave_no_channel_state(task):
    """subtask-checkpoint.md T21."""
    assert task.fault(OPERATOR_SNAPSHOT, FaultKind.THROWS, 1)
    task.start_inputs(1, TIMEOUTABLE)
    with pytest.raises(PortError) as failed:
        task.trigger(Barrier(1, TIMEOUTABLE), 0)
    assert failed.value.kind is ErrorKind.IO
    assert heard(task)[-1:] == called(1, SubtaskCall.WRITER_ABORT_AND_FORGET)
    task.release()
    assert (task.resources().listeners, task.resources().futures) == (0, 0)


def test_a_search_finds_nothing(flink):
    search = searching(Program(COMPONENTS["subtask-checkpoint"], flink))
    assert all(search.run(text)[1].violation is None for text in seeds(0, "subtask-checkpoint", range(200)))
