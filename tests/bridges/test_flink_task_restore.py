"""A task of released Flink that restores: what was looked into by hand, and what the suite finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.bridges.flink import releases
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import load_known_failures
from conformance.engines.batch import searching
from conformance.engines.search import seeds
from conformance.ports import (
    BUFFER_POOL,
    CHANNEL_STATE_READ,
    OPERATORS_OPEN,
    Buffer,
    Capability,
    CheckpointReason,
    ElementTaken,
    EndOfPartition,
    ErrorKind,
    FaultKind,
    FaultStruck,
    GateConverted,
    OperatorsOpened,
    OutputStateRestored,
    PortError,
    Recovery,
    TaskRestoreConfig,
    TaskState,
    TaskStateChanged,
    Turn,
)

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

RECOVER_FIRST, IN_MEMORY = Recovery.RECOVER_FIRST, Recovery.IN_MEMORY
RUNNING = TaskStateChanged(TaskState.RUNNING)


@pytest.fixture
def make(flink):
    """Makes a task with a gate for each tuple, of as many channels as it has, that recovers these records."""

    def deploy(recovery, *gates, **settings):
        if recovery is IN_MEMORY and Capability.RECOVERS_IN_MEMORY not in flink.capabilities:
            pytest.skip(f"{flink.version} does not hand recovered buffers over to physical channels")
        state = tuple(records for gate in gates for records in gate)
        sizes = tuple(map(len, gates))
        return flink.components()["task-restore"](TaskRestoreConfig(sizes, state, (1, 2), recovery, **settings))

    return deploy


def heard(port):
    signals, port.signals = port.signals, []
    return signals


def read_all(task):
    while task.read():
        pass


def turn_until_it_waits(task):
    """Lets the task act until it waits or is over, and returns its signals of that time."""
    while task.turn() is Turn.ACTED:
        pass
    return heard(task)


def records(*ids, channel=0):
    return [ElementTaken(channel, Buffer((one,))) for one in ids]


@pytest.mark.parametrize("recovery", [RECOVER_FIRST, IN_MEMORY])
def test_a_task_restores_runs_takes_a_checkpoint_and_finishes(make, recovery):
    """task-restore.md E1, E3, E8 to E16."""
    task = make(recovery, ((0, 1),))
    task.restore()
    assert heard(task) == [
        TaskStateChanged(TaskState.INITIALIZING), OutputStateRestored((1, 2)), OperatorsOpened(),
    ]  # fmt: skip
    assert task.turn() is Turn.WAITS
    read_all(task)
    told = turn_until_it_waits(task)
    assert [one for one in told if isinstance(one, ElementTaken)] == records(0, 1)
    assert {*map(type, told)} == {ElementTaken, GateConverted, TaskStateChanged}
    task.checkpoint(1)
    assert task.persisted(1) == ((),)
    task.arrive(0, Buffer((2,)))
    assert turn_until_it_waits(task) == records(2)
    task.arrive(0, EndOfPartition())
    assert turn_until_it_waits(task) == [ElementTaken(0, EndOfPartition()), TaskStateChanged(TaskState.FINISHED)]
    assert task.turn() is Turn.OVER
    task.release()
    assert task.resources().segments == 0


def test_a_task_runs_before_its_last_gate_is_converted(make):
    """task-restore.md FE10: the mail that ends the restore loop overtakes the one that converts the gate."""
    task = make(RECOVER_FIRST, ((0,),))
    task.restore()
    read_all(task)
    assert turn_until_it_waits(task)[3:] == [*records(0), RUNNING, GateConverted(0)]


def test_in_memory_data_is_processed_before_the_conversion(make):
    """task-restore.md FE11: the executor has handed a record on, and not the end of the recovered state."""
    task = make(IN_MEMORY, ((0, 1),))
    task.restore()
    assert task.read()
    assert task.read()
    assert turn_until_it_waits(task)[3:] == records(0)
    read_all(task)
    assert turn_until_it_waits(task) == [RUNNING, GateConverted(0), *records(1)]


def test_a_checkpoint_with_recovered_data_in_memory_holds_what_was_not_processed(make):
    """task-restore.md E16, I-39: read back out of the channel state that the task has acknowledged."""
    task = make(IN_MEMORY, ((0, 1, 2),))
    task.restore()
    read_all(task)
    while GateConverted(0) not in heard(task):
        task.turn()
    task.checkpoint(1)
    assert task.persisted(1) == ((0, 1, 2),)
    assert turn_until_it_waits(task) == records(0, 1, 2)


@pytest.mark.parametrize("recovery", [RECOVER_FIRST, IN_MEMORY])
def test_a_checkpoint_is_declined_before_the_conversion(make, recovery):
    """task-restore.md E15."""
    task = make(recovery, ((0,),))
    task.restore()
    with pytest.raises(PortError) as error:
        task.checkpoint(1)
    assert error.value.checkpoint_reason is CheckpointReason.DECLINED_TASK_NOT_READY
    assert task.persisted(1) == ((),)
    read_all(task)
    turn_until_it_waits(task)
    task.checkpoint(2)


def test_a_gate_that_is_never_read_does_not_hold_up_another(make):
    """task-restore.md E8, E12: the operators read the second gate only."""
    task = make(RECOVER_FIRST, ((0,),), ((100,),))
    task.select(1)
    task.restore()
    read_all(task)
    assert turn_until_it_waits(task)[3:] == [*records(100, channel=1), GateConverted(1)]
    task.arrive(1, Buffer((101,)))
    assert turn_until_it_waits(task) == records(101, channel=1)
    task.select(-1)
    assert turn_until_it_waits(task) == [*records(0), RUNNING, GateConverted(0)]


def test_a_source_runs_and_then_finishes(make):
    """task-restore.md E4: the suspend mail comes before the first default action, which finds the end of the input."""
    task = make(RECOVER_FIRST)
    task.restore()
    assert len(heard(task)) == 3
    assert task.turn() is Turn.ACTED
    assert heard(task) == [RUNNING]
    assert turn_until_it_waits(task) == [TaskStateChanged(TaskState.FINISHED)]


def test_an_error_of_the_executor_fails_the_task(make):
    """task-restore.md E18."""
    task = make(RECOVER_FIRST, ((0,),))
    task.restore()
    heard(task)
    assert task.fault(CHANNEL_STATE_READ, FaultKind.THROWS, 1)
    read_all(task)
    struck, failed = heard(task)
    assert struck == FaultStruck(CHANNEL_STATE_READ, FaultKind.THROWS)
    assert failed.state is TaskState.FAILED
    assert CHANNEL_STATE_READ in failed.cause
    assert (task.turn(), task.read()) == (Turn.OVER, False)
    with pytest.raises(PortError) as error:
        task.checkpoint(1)
    assert error.value.kind is ErrorKind.RELEASED


def test_an_error_of_the_output_state_gives_its_buffer_back(make):
    """task-restore.md E3, E18: what B-58 does not."""
    task = make(RECOVER_FIRST)
    assert task.fault(CHANNEL_STATE_READ, FaultKind.THROWS, 1)
    task.restore()
    assert heard(task)[-1].state is TaskState.FAILED
    assert task.resources().segments == 0


def test_an_error_of_the_operators_fails_the_task(make):
    """task-restore.md E18."""
    task = make(RECOVER_FIRST, ((0,),))
    assert task.fault(OPERATORS_OPEN, FaultKind.THROWS, 1)
    assert not task.fault(BUFFER_POOL, FaultKind.ENDS, 1)  # recovered data has as many buffers as it needs
    task.restore()
    assert heard(task)[-1].cause.endswith(f"the call at the place {OPERATORS_OPEN} has failed")
    assert task.turn() is Turn.OVER


@pytest.mark.parametrize("reads", range(4))
def test_a_task_can_be_cancelled_at_every_read(make, reads):
    """task-restore.md E19, and the known failure late-request-leaks: the channel of the record that was not read."""
    task = make(RECOVER_FIRST, ((0,),))
    task.restore()
    for _ in range(reads):
        task.read()
    task.cancel()
    assert heard(task)[-1] == TaskStateChanged(TaskState.CANCELED)
    assert (task.turn(), task.read()) == (Turn.OVER, False)
    task.release()
    assert (task.resources().segments == 0) == (reads >= 2)


def test_a_search_finds_nothing_but_the_known_failures(flink):
    search = searching(Program(COMPONENTS["task-restore"], flink))
    violations = [search.run(text)[1].violation for text in seeds(0, "task-restore", range(300))]
    found = {violation.property.slug for violation in violations if violation is not None}
    path = Path(releases.__file__).parent / "known_failures" / f"{flink.release}.toml"
    known = {one.property for one in load_known_failures(path) if one.component == "task-restore"}
    assert found <= known
    assert "after-release-nothing-is-held" in found
