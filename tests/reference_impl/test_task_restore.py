"""The reference's restore of a task, rule by rule. Specification: task-restore.md."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    BUFFER_POOL,
    CHANNEL_STATE_READ,
    CHANNEL_STATE_WRITER,
    OPERATORS_OPEN,
    OPERATORS_PROCESS,
    SPILL_FILE_DELETE,
    SPILL_FILE_READ,
    SPILL_FILE_WRITE,
    SUBPARTITION_REQUEST,
    Buffer,
    CheckpointReason,
    ElementTaken,
    EndOfPartition,
    ErrorKind,
    FaultKind,
    GateConverted,
    OperatorsOpened,
    OutputStateRestored,
    PortError,
    Recovery,
    Resources,
    TaskRestoreConfig,
    TaskState,
    TaskStateChanged,
    Turn,
)
from conformance.scheduling import PAUSED, Kernel
from reference_impl import PUSHED
from reference_impl.task.task_restore import TaskRestore

FIRST, IN_MEMORY, BY_PUSHING = Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED
NOTHING = Resources(0, 0, 0, 0, 0, 0, 0)
DESIGNS = pytest.mark.parametrize("recovery", [FIRST, IN_MEMORY, BY_PUSHING], ids=str)
TWO_GATES = ((0, 1), (100,))


class Task:
    """A task whose operations run whole."""

    def __init__(self, recovery: Recovery = FIRST, state: Any = TWO_GATES, gates: Any = (1, 1), **more: Any) -> None:
        self.port = TaskRestore(TaskRestoreConfig(gates, state, (7, 8), recovery, **more), PUSHED)

    def restore(self) -> Task:
        whole(self.port.restore())
        return self

    def read(self) -> Task:
        """Let the executor do all that it can do now."""
        while whole(self.port.read()):
            pass
        return self

    def turn(self) -> Turn:
        return Turn(whole(self.port.turn()))

    def act(self) -> Task:
        """Let the task do all that it can do now."""
        while self.turn() is Turn.ACTED:
            pass
        return self

    def run(self) -> Task:
        """Let both do all that they can do."""
        for _ in range(4):
            self.read().act()
        return self

    def state(self) -> TaskState | None:
        return self.port.task.state

    def told(self) -> list[Any]:
        """The signals of the task since the last question."""
        told, self.port.signals = self.port.signals, []
        return told

    def taken(self) -> list[tuple[int, Any]]:
        """What the operators got since it was asked last."""
        return [(one.channel, one.element) for one in self.told() if type(one) is ElementTaken]

    def records(self) -> list[int]:
        return [record for _, element in self.taken() if type(element) is Buffer for record in element.ids]

    def checkpoint(self, checkpoint: int) -> CheckpointReason | None:
        """Why the task declines it; None: it does not."""
        try:
            whole(self.port.checkpoint(checkpoint))
        except PortError as error:
            return error.checkpoint_reason
        return None

    def arrive(self, channel: int, *records: int) -> None:
        for record in records:
            whole(self.port.arrive(channel, Buffer((record,))))

    def end(self, channel: int) -> None:
        whole(self.port.arrive(channel, EndOfPartition()))


def changed(state: TaskState, cause: str = "") -> TaskStateChanged:
    return TaskStateChanged(state, cause)


@pytest.mark.parametrize("setting", ["unaligned", "output_on_downstream", "during_recovery"])
def test_without_one_of_three_settings_all_is_processed_first(setting):
    """task-restore.md E1."""
    task = Task(BY_PUSHING, **{setting: False}).restore().run()
    converted = [type(one) for one in task.told()]
    assert converted.index(ElementTaken) < converted.index(GateConverted)
    assert task.state() is TaskState.RUNNING


def test_a_task_that_must_spill_needs_a_directory():
    """task-restore.md E2."""
    task = Task(BY_PUSHING, spill_directories=False)
    with pytest.raises(PortError) as caught:
        task.restore()
    assert caught.value.kind is ErrorKind.ARGUMENT
    assert task.state() is TaskState.FAILED


@pytest.mark.parametrize("recovery", [FIRST, IN_MEMORY], ids=str)
def test_a_task_that_spills_nothing_needs_no_directory(recovery):
    """task-restore.md E2."""
    assert Task(recovery, spill_directories=False).restore().run().state() is TaskState.RUNNING


@DESIGNS
def test_output_state_comes_first_and_then_the_operators_open(recovery):
    """task-restore.md E3."""
    told = Task(recovery).restore().told()
    assert told == [changed(TaskState.INITIALIZING), OutputStateRestored((7, 8)), OperatorsOpened()]


def waiting(task: Task) -> Kernel:
    """Let the executor read until it waits for a buffer."""
    kernel = Kernel(("executor",), fine=False)
    executor = kernel.threads["executor"]
    reads = (kernel.start(executor, ("read",), task.port.read()) for _ in range(10))
    assert PAUSED in reads
    assert not executor.runnable
    assert executor.held == []
    return kernel


@pytest.mark.parametrize("recovery", [FIRST, BY_PUSHING], ids=str)
def test_the_executor_waits_for_a_buffer_until_the_operators_take_a_record(recovery):
    """task-restore.md E5, E7, E13."""
    task = Task(recovery, buffers=1).restore()
    if recovery is BY_PUSHING:
        while task.port.task.drainer is None:
            whole(task.port.read())
        task.turn()
    kernel = waiting(task)
    assert task.turn() is Turn.ACTED
    assert kernel.finish(kernel.threads["executor"]) is True
    waiting(task)
    assert task.act().records() == [0, 1]


def test_data_in_memory_needs_no_buffer_that_is_given_back():
    """task-restore.md E5."""
    assert Task(IN_MEMORY, buffers=1).restore().run().records() == [0, 100, 1]


def test_an_executor_that_waits_for_a_buffer_ends_with_the_task():
    """task-restore.md E18, E20."""
    task = Task(FIRST, buffers=1).restore()
    kernel = waiting(task)
    whole(task.port.cancel())
    assert kernel.finish(kernel.threads["executor"]) is False
    assert task.state() is TaskState.CANCELED


@DESIGNS
def test_the_restore_of_a_source_ends_before_its_first_default_action(recovery):
    """task-restore.md E4, E10, E14."""
    task = Task(recovery, (), ()).restore()
    assert task.turn() is Turn.ACTED
    assert task.state() is TaskState.RUNNING
    assert task.turn() is Turn.OVER
    assert task.state() is TaskState.FINISHED


def test_state_is_read_record_by_record():
    """task-restore.md E5."""
    task = Task(FIRST).restore()
    assert whole(task.port.read())
    assert [gate.in_use(0) for gate in task.port.task.gates] == [1, 0]


def test_pushed_state_is_fetched_before_the_conversion_and_handed_on_after_it():
    """task-restore.md E6, E7, E9."""
    task = Task(BY_PUSHING).restore().read()
    assert [gate.in_use(0) for gate in task.port.task.gates] == [0, 0]
    task.told()
    task.act()
    assert task.told() == [GateConverted(0), GateConverted(1)]
    task.read()
    assert [gate.in_use(0) for gate in task.port.task.gates] == [2, 1]


@DESIGNS
def test_a_gate_with_nothing_to_recover_gets_its_end_too(recovery):
    """task-restore.md E6, E7."""
    task = Task(recovery, ((), ())).restore().run()
    assert task.state() is TaskState.RUNNING
    task.arrive(1, 100)
    task.told()
    assert task.act().records() == [100]


def test_with_data_in_memory_a_gate_is_converted_when_its_state_was_read():
    """task-restore.md E8, E9."""
    task = Task(IN_MEMORY).restore().read()
    task.told()
    assert [task.turn() for _ in range(3)] == [Turn.ACTED] * 3
    assert task.told() == [GateConverted(0), GateConverted(1), changed(TaskState.RUNNING)]


@pytest.mark.parametrize("recovery", [FIRST, BY_PUSHING], ids=str)
def test_a_gate_recovers_although_another_is_never_read(recovery):
    """task-restore.md E8, E12."""
    task = Task(recovery).restore()
    task.port.select(0)
    task.arrive(0, 2)
    task.run()
    assert GateConverted(0) in task.port.signals
    assert task.records() == [0, 1, 2]
    assert task.state() is TaskState.INITIALIZING
    task.port.select(-1)
    task.run()
    assert task.state() is TaskState.RUNNING


@DESIGNS
def test_the_restore_ends_when_all_gates_have_recovered(recovery):
    """task-restore.md E8, E10."""
    told = Task(recovery).restore().run().told()
    assert told.index(changed(TaskState.RUNNING)) > max(told.index(GateConverted(gate)) for gate in (0, 1))


def test_a_turn_runs_a_mail_first():
    """task-restore.md E11."""
    task = Task(IN_MEMORY).restore().read()
    task.arrive(0, 2)
    task.told()
    assert task.turn() is Turn.ACTED
    assert task.told() == [GateConverted(0)]


def test_a_gate_that_is_not_converted_is_not_read():
    """task-restore.md E12."""
    task = Task(IN_MEMORY).restore()
    whole(task.port.read())
    assert task.turn() is Turn.WAITS


def test_gates_are_read_in_turn_each_element_once():
    """task-restore.md E12, E13."""
    task = Task(FIRST).restore().read()
    task.told()
    assert task.act().records() == [0, 100, 1]


def test_a_task_waits_if_there_is_neither_a_mail_nor_an_element():
    """task-restore.md E13."""
    task = Task(FIRST).restore()
    assert task.turn() is Turn.WAITS
    task.read()
    assert task.turn() is Turn.ACTED


@DESIGNS
def test_a_task_finishes_when_every_channel_has_ended(recovery):
    """task-restore.md E14."""
    task = Task(recovery).restore()
    task.end(0)
    task.run()
    assert task.state() is TaskState.RUNNING
    task.end(1)
    assert task.act().state() is TaskState.FINISHED
    assert task.turn() is Turn.OVER


def test_the_end_of_the_input_waits_for_the_end_of_the_restore():
    """task-restore.md E8, E14. The executor stops between the mail that converts and the one that suspends."""
    task = Task(IN_MEMORY, ((),), (1,)).restore()
    kernel = Kernel(("executor",), fine=True)
    executor = kernel.threads["executor"]
    answer = kernel.start(executor, ("read",), task.port.read())
    while answer is PAUSED and executor.waits_for is not task.port.task.outside:
        answer = kernel.run(executor)
    task.end(0)
    assert task.act().taken() == [(0, EndOfPartition())]
    assert task.state() is TaskState.INITIALIZING
    kernel.finish(executor)
    assert task.act().state() is TaskState.FINISHED


@DESIGNS
def test_a_checkpoint_before_the_conversion_is_declined(recovery):
    """task-restore.md E15."""
    task = Task(recovery).restore()
    assert task.checkpoint(1) is CheckpointReason.DECLINED_TASK_NOT_READY
    assert task.port.persisted(1) == ((), ())
    task.run()
    assert task.checkpoint(2) is None


def test_one_gate_that_is_not_converted_is_enough_to_decline():
    """task-restore.md E15."""
    task = Task(IN_MEMORY).restore().read()
    assert task.turn() is Turn.ACTED
    assert task.checkpoint(1) is CheckpointReason.DECLINED_TASK_NOT_READY


@pytest.mark.parametrize("recovery", [IN_MEMORY, BY_PUSHING], ids=str)
def test_a_checkpoint_holds_recovered_data_that_was_not_processed(recovery):
    """task-restore.md E15, E16."""
    task = Task(recovery, ((0, 1, 2), (100,))).restore().read()
    while task.checkpoint(1) is not None:
        assert task.turn() is Turn.ACTED
    assert task.port.persisted(1) == ((0, 1, 2), (100,))
    whole(task.port.read())
    whole(task.port.read())
    task.port.select(0)
    task.told()
    while not task.records():
        assert task.turn() is Turn.ACTED
    assert task.checkpoint(2) is None
    assert task.port.persisted(2) == ((1, 2), (100,))


def test_a_checkpoint_of_a_task_that_is_over_holds_nothing():
    """task-restore.md E16."""
    task = Task(BY_PUSHING).restore().read().act()
    kernel = Kernel(("task",), fine=True)
    thread = kernel.threads["task"]
    assert kernel.start(thread, ("checkpoint", 1), task.port.checkpoint(1)) is PAUSED
    whole(task.port.cancel())
    with pytest.raises(PortError) as caught:
        kernel.finish(thread)
    assert caught.value.kind is ErrorKind.RELEASED
    assert task.port.persisted(1) == ((), ())


@DESIGNS
def test_live_data_waits_for_recovered_data(recovery):
    """task-restore.md E17."""
    task = Task(recovery, ((0, 1),), (1,))
    task.restore().arrive(0, 2)
    task.told()
    assert task.run().records() == [0, 1, 2]


def test_what_arrives_for_a_task_that_is_over_is_dropped():
    """task-restore.md E17."""
    task = Task().restore()
    whole(task.port.cancel())
    task.arrive(0, 2)
    task.end(0)
    assert task.port.resources() == NOTHING


@DESIGNS
@pytest.mark.parametrize("pieces", [0, 1])
def test_an_error_while_state_is_read_fails_the_task(recovery, pieces):
    """task-restore.md E18."""
    task = Task(recovery).restore()
    for _ in range(pieces):
        whole(task.port.read())
    task.told()
    task.port.fault(CHANNEL_STATE_READ, FaultKind.THROWS)
    assert whole(task.port.read())
    failed = task.told()[-1]
    assert failed.state is TaskState.FAILED
    assert CHANNEL_STATE_READ in failed.cause
    assert task.turn() is Turn.OVER


@pytest.mark.parametrize("place", [CHANNEL_STATE_READ, OPERATORS_OPEN])
def test_an_error_of_the_beginning_fails_the_task(place):
    """task-restore.md E18."""
    task = Task()
    task.port.fault(place, FaultKind.THROWS)
    failed = task.restore().told()[-1]
    assert failed.state is TaskState.FAILED
    assert place in failed.cause


def test_a_buffer_pool_that_is_gone_fails_the_task():
    """task-restore.md E18."""
    task = Task(BY_PUSHING).restore().read().act()
    task.port.fault(BUFFER_POOL, FaultKind.ENDS)
    task.read()
    assert task.told()[-1].state is TaskState.FAILED


@DESIGNS
@pytest.mark.parametrize("steps", range(12))
def test_a_task_is_cancelled_in_every_phase(recovery, steps):
    """task-restore.md E19, E20."""
    task = Task(recovery).restore()
    for step in range(steps):
        whole(task.port.read()) if step % 3 else task.turn()
    task.told()
    whole(task.port.cancel())
    assert task.told() == [changed(TaskState.CANCELED)]
    assert task.turn() is Turn.OVER
    assert not whole(task.port.read())
    whole(task.port.cancel())
    assert task.told() == []
    assert task.port.resources() == NOTHING


@DESIGNS
def test_after_release_nothing_is_held(recovery):
    """task-restore.md E20."""
    task = Task(recovery).restore()
    task.arrive(0, 2)
    whole(task.port.read())
    for _ in range(2):
        whole(task.port.release())
        assert task.port.resources() == NOTHING


def cause(task: Task) -> str:
    """Why the task has failed."""
    return next(one.cause for one in task.told() if type(one) is TaskStateChanged and one.state is TaskState.FAILED)


def test_an_error_of_the_default_action_fails_the_task():
    """task-restore.md E13, E18."""
    task = Task(FIRST).restore().read()
    task.port.fault(OPERATORS_PROCESS, FaultKind.THROWS)
    assert task.turn() is Turn.OVER
    assert OPERATORS_PROCESS in cause(task)


def test_an_error_of_the_write_of_a_spill_file_fails_the_task_and_leaves_no_file():
    """task-restore.md E6, E18, E20."""
    task = Task(BY_PUSHING).restore()
    task.port.fault(SPILL_FILE_WRITE, FaultKind.THROWS)
    task.read()
    assert SPILL_FILE_WRITE in cause(task)
    assert (task.port.resources().files, task.port.resources().open_files) == (0, 0)


def test_the_start_of_a_checkpoint_that_fails_fails_the_task():
    """task-restore.md E16, E18."""
    task = Task(IN_MEMORY).restore().read()
    for _ in range(2):
        task.turn()
    task.port.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS)
    with pytest.raises(PortError, match=CHANNEL_STATE_WRITER):
        whole(task.port.checkpoint(1))
    assert CHANNEL_STATE_WRITER in cause(task)
    assert task.port.persisted(1) == ((), ())


def test_a_checkpoint_whose_spill_files_cannot_be_read_fails_alone():
    """task-restore.md E16, E18."""
    task = Task(BY_PUSHING).restore().read()
    task.turn()
    task.port.fault(SPILL_FILE_READ, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        whole(task.port.checkpoint(1))
    assert failed.value.kind is ErrorKind.IO
    assert task.port.persisted(1) == ((), ())
    assert task.run().state() is TaskState.RUNNING
    assert task.checkpoint(2) is None


def test_a_file_that_cannot_be_deleted_stays_until_the_release():
    """task-restore.md E20."""
    task = Task(BY_PUSHING).restore().read()
    task.port.fault(SPILL_FILE_DELETE, FaultKind.THROWS)
    whole(task.port.cancel())
    assert task.port.resources().files == 1
    whole(task.port.release())
    assert task.port.resources() == NOTHING


@DESIGNS
def test_the_error_of_a_request_fails_the_task_that_reads_the_gate(recovery):
    """task-restore.md E21."""
    task = Task(recovery, ((), ())).restore()
    task.port.select(1)
    task.port.fault(SUBPARTITION_REQUEST, FaultKind.THROWS)
    if recovery is FIRST:
        task.port.select(0)
        task.read().turn()
        task.port.select(1)
    task.read().turn()
    assert task.state() is TaskState.INITIALIZING
    task.port.select(0)
    task.act()
    assert SUBPARTITION_REQUEST in cause(task)
