"""One task, put together with several gates, outputs and operators, as no component alone has it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    Alignment,
    Barrier,
    BarrierHandlerConfig,
    Buffer,
    ChannelKind,
    CheckpointAcknowledged,
    CheckpointStatus,
    Element,
    ElementTaken,
    EndOfData,
    GateConfig,
    InputStatus,
    PartTaken,
    Port,
    Recovery,
    Resources,
    SubpartitionConfig,
    SubtaskCall,
    WriterConfig,
)
from reference_impl import PUSHED
from reference_impl.faults import Faults
from reference_impl.held import together
from reference_impl.network.channel_info import ChannelInfo, Numbering, numbering
from reference_impl.network.producers import Producers
from reference_impl.network.subpartition import Subpartition
from reference_impl.state.drainer.lists import ListDrainer
from reference_impl.state.writer.at_once import WriterAtOnce
from reference_impl.task.checkpoints import CALLS, PAUSING_CALLS, TaskCheckpoints
from reference_impl.task.inputs import Inputs
from reference_impl.task.operators import Outputs, Telling
from reference_impl.task.states import TaskStates
from reference_impl.task.task import Mail, Task, TaskListener

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
UNALIGNED = Alignment.UNALIGNED
TIMEOUT = 10


class Owner(Port):
    """The owner of the task: it keeps the signals."""

    def resources(self) -> Resources:
        return Resources(0)

    def release(self) -> None:
        """Nothing is its own."""


class Noting(Telling):
    """Operators that note which of their methods were called."""

    def __init__(self, port: Port, numbers: Numbering, calls: list[Any]) -> None:
        super().__init__(port, numbers, Faults(port))
        self.calls = calls

    def prepare(self, checkpoint: int) -> None:
        self.calls.append(("prepare", checkpoint))

    def snapshot(self, checkpoint: int) -> None:
        self.calls.append(("snapshot", checkpoint))

    def complete(self, checkpoint: int) -> None:
        self.calls.append(("complete", checkpoint))

    def abort(self, checkpoint: int) -> None:
        self.calls.append(("abort", checkpoint))


class NotingOutputs(Outputs):
    """Outputs that note which of their methods were called."""

    def __init__(self, calls: list[Any]) -> None:
        self.calls = calls

    async def barrier(self, checkpoint: int, alignment: Alignment) -> None:
        self.calls.append(("barrier", checkpoint, alignment))

    async def cancel_marker(self, checkpoint: int) -> None:
        self.calls.append(("cancel marker", checkpoint))

    async def time_out(self, checkpoint: int) -> None:
        self.calls.append(("time out", checkpoint))


class TwoGates:
    """A task with a gate of a local and a remote channel, and one of a local channel: two inputs, or one that reads
    them as a union."""

    def __init__(self, union: bool = False) -> None:
        self.port = Owner()
        self.calls: list[Any] = []
        kinds = ((LOCAL, REMOTE), (LOCAL,))
        self.numbers = numbering(map(len, kinds))
        self.producers = Producers({info: Subpartition(SubpartitionConfig(2), PUSHED) for info in self.numbers.infos})
        faults = Faults(self.port)
        listener = TaskListener(self.producers, [2, 1])
        states = TaskStates(WriterAtOnce(WriterConfig(1, 1, 1)), 0, self.numbers)
        configs = [kinds] if union else [(of_gate,) for of_gate in kinds]
        gates = [GateConfig(of_input, Recovery.NONE, 2, 0) for of_input in configs]
        inputs = Inputs(self.numbers, gates, PUSHED, listener, faults, self.producers, states)
        operators = Noting(self.port, self.numbers, self.calls)
        drainer = ListDrainer(inputs.gates, Recovery.NONE, {})
        handled = BarrierHandlerConfig(3, TIMEOUT)
        outputs = NotingOutputs(self.calls)
        self.checkpoints = TaskCheckpoints(self.port, inputs, drainer, states, handled, operators, outputs)
        self.task = Task(inputs, listener, self.checkpoints, operators)
        for gate in inputs.gates:
            whole(gate.request_partitions())
        self.producers.request(2, 2)

    def send(self, gate: int, channel: int, *elements: Element) -> None:
        info = ChannelInfo(gate, channel)
        for element in elements:
            whole(self.producers.send(info, element))
        while info in self.producers.readers and whole(self.producers.transfer(info)) is not None:
            pass

    def act(self) -> list[Any]:
        """Run all mails, and then the default action until it finds nothing. Returns what the operators got."""
        while whole(self.task.run_mail()) or whole(self.task.process_input()) is not InputStatus.NOTHING_AVAILABLE:
            pass
        told, self.port.signals = self.port.signals, []
        self.told = [one for one in told if type(one) is not ElementTaken]
        return [(one.channel, one.element) for one in told if type(one) is ElementTaken]


def test_the_coordinator_has_one_method_for_each_call():
    """subtask-checkpoint.md T22."""
    assert set(CALLS) | set(PAUSING_CALLS) == set(SubtaskCall)
    assert not set(CALLS) & set(PAUSING_CALLS)


@pytest.mark.parametrize("union", [False, True], ids=["two inputs", "a union"])
def test_gates_have_their_turns_and_channels_are_numbered_through(union: bool):
    """task-restore.md E12."""
    one = TwoGates(union)
    one.send(0, 0, Buffer((1,)), Buffer((2,)))
    one.send(1, 0, Buffer((3,)), Buffer((4,)))
    assert one.act() == [(0, Buffer((1,))), (2, Buffer((3,))), (0, Buffer((2,))), (2, Buffer((4,)))]


@pytest.mark.parametrize("union", [False, True], ids=["two inputs", "a union"])
def test_a_task_takes_its_part_with_all_gates_with_its_operators_and_its_outputs(union: bool):
    """chain.md C20 to C23, subtask-checkpoint.md T7, T8."""
    one = TwoGates(union)
    one.send(0, 0, Buffer((1,)))
    one.send(0, 1, Buffer((2,)))
    one.send(1, 0, Barrier(1, UNALIGNED))
    assert [mail for mail, _ in one.task.mails.mails] == [Mail.PRIORITY]
    assert whole(one.task.run_mail()), "the barrier is taken before the records of another gate"
    assert one.calls == [("prepare", 1), ("barrier", 1, UNALIGNED), ("snapshot", 1)]
    assert one.checkpoints.status(1) is CheckpointStatus.PENDING
    one.send(0, 0, Barrier(1, UNALIGNED))
    one.send(0, 1, Barrier(1, UNALIGNED))
    one.act()
    assert one.told[-1] == CheckpointAcknowledged(1, PartTaken(unaligned=True, persisted=1, alignment=0))
    assert one.checkpoints.states.read_back(1) == ((), (2,), ()), "of a remote channel, what waits is its own"
    one.checkpoints.subtask.complete(1)
    whole(one.checkpoints.obey())
    assert one.calls[-1] == ("complete", 1)


@pytest.mark.parametrize("union", [False, True], ids=["two inputs", "a union"])
def test_what_a_checkpoint_declines_reaches_the_outputs(union: bool):
    """subtask-checkpoint.md T10, T12."""
    one = TwoGates(union)
    one.send(0, 0, Barrier(1, UNALIGNED))
    one.act()
    one.send(0, 0, Barrier(2, UNALIGNED))
    one.act()
    assert ("cancel marker", 1) in one.calls
    assert one.checkpoints.status(1) is CheckpointStatus.DECLINED
    one.checkpoints.subtask.abort(2)
    whole(one.checkpoints.obey())
    assert one.calls[-1] == ("abort", 2)


def test_a_barrier_in_the_outputs_that_is_overdue_becomes_a_mail():
    """subtask-checkpoint.md T9, T13: handler and coordinator have one clock."""
    one = TwoGates()
    one.checkpoints.subtask.start_inputs(1, Alignment.TIMEOUTABLE)
    one.checkpoints.subtask.trigger(Barrier(1, Alignment.TIMEOUTABLE), 0)
    whole(one.checkpoints.obey())
    one.task.advance(TIMEOUT - 1)
    assert one.task.idle()
    one.task.advance(1)
    one.act()
    assert one.calls[-1] == ("time out", 1)
    assert one.checkpoints.handler.clock.now == TIMEOUT


@pytest.mark.parametrize("gates", [(0, 0), (0, 1), (1, 0)])
def test_the_data_ends_with_that_of_the_last_channel(gates):
    """consumer-loop.md M13."""
    one = TwoGates()
    first = ChannelInfo(*gates)
    places = [first, *(info for info in one.numbers.infos if info != first)]
    for info in places:
        one.send(info.gate, info.channel, EndOfData())
        last = info == places[-1]
        status = InputStatus.END_OF_DATA if last else InputStatus.MORE_AVAILABLE
        assert whole(one.task.process_input()) is status


@pytest.mark.parametrize("union", [False, True], ids=["two inputs", "a union"])
def test_a_task_that_is_released_holds_nothing(union: bool):
    """chain.md C29."""
    one = TwoGates(union)
    one.send(0, 0, Buffer((1,)), Barrier(1, UNALIGNED))
    one.act()
    whole(one.task.release())
    assert together(one.task.resources()) == Resources(0, 0, 0, 0, 0)
