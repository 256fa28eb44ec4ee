"""The gates of a task. Specification: chain.md, consumer-loop.md, task-restore.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conformance.ports import Barrier, GateConfig, Resources

from ..design import Design
from ..faults import Faults
from ..network.channel import PhysicalChannel
from ..network.channel_info import ChannelInfo, Numbering
from ..network.gate import Gate, physical_channel
from ..network.listener import GateListener
from ..network.producers import Upstream
from ..network.union_gate import Union
from .states import TaskStates


class Inputs:
    """All gates of a task (Flink: `InputGate[]`, `CheckpointedInputGate`)."""

    def __init__(
        self,
        numbers: Numbering,
        configs: Sequence[GateConfig],
        design: Design,
        listener: GateListener,
        faults: Faults,
        upstream: Upstream,
        states: TaskStates | None = None,
    ) -> None:
        """`configs`: of each input of the task; it has one gate, or several that are read as one. `states`: takes the
        input state of the channels; None: a hand-over asks for it (drainer.md N8)."""
        self.numbers = numbers
        self.faults = faults
        self.upstream = upstream
        self.states = states
        self.design = design
        self.gates: list[Gate] = []
        """Gates: all gates of the task, in their order."""
        self.read: list[Gate | Union] = []
        """Read: what the task polls, by input: its gate, or the union of its gates."""
        for config in configs:
            index = len(self.gates)
            if len(config.gates) == 1:
                self.read.append(self.make_gate(config, index, listener))
            else:
                self.read.append(Union(config, listener, self.make_gate, numbers, index))

    def make_gate(self, config: GateConfig, index: int, listener: GateListener) -> Gate:
        """gate.md G1, U5. A gate of the task. `index`: its number among all."""
        gate = Gate(config, self.design, listener, index, self.faults, self.make_channel)
        self.gates.append(gate)
        return gate

    def make_channel(self, gate: Gate, number: int, handed_over: tuple[int, ...], last_stopped: int) -> PhysicalChannel:
        """C25, gate.md G9. A channel is connected with its producer, and its persister with the writer."""
        info = ChannelInfo(gate.index, number)
        channel = physical_channel(gate, number, handed_over, last_stopped, self.upstream.subpartition(info))
        self.upstream.connect(info, channel)
        if self.states is not None:
            channel.persister.writer = partial(self.states.add_input, info)
        return channel

    async def resume(self, info: ChannelInfo) -> None:
        """C24, consumer-loop.md M11 (Flink: `CheckpointableInput.resumeConsumption`)."""
        await self.gates[info.gate].resume(info.channel)

    async def convert_to_priority(self, info: ChannelInfo, seq: int) -> None:
        """consumer-loop.md M11 (Flink: `convertToPriorityEvent`)."""
        await self.gates[info.gate].convert_to_priority(info.channel, seq)

    async def end_of_output_state(self, info: ChannelInfo) -> None:
        """C18 (Flink: `UpstreamRecoveryTracker.handleEndOfRecovery`)."""
        await self.gates[info.gate].end_of_output_state(info.channel)

    async def checkpoint_started(self, barrier: Barrier) -> None:
        """C21, consumer-loop.md M10. Every gate starts the checkpoint in all its channels (Flink:
        `InputGate.checkpointStarted`)."""
        for gate in self.gates:
            await gate.checkpoint_started(barrier)

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        """C23, consumer-loop.md M11. Every gate stops the checkpoint in all its channels (Flink:
        `InputGate.checkpointStopped`)."""
        for gate in self.gates:
            await gate.checkpoint_stopped(checkpoint)

    def finished(self) -> bool:
        """consumer-loop.md M7, task-restore.md E14. Whether every gate has ended (Flink: `InputGate.isFinished`)."""
        return all(gate.finished() for gate in self.gates)

    def available(self) -> bool:
        """consumer-loop.md M14. Whether something can be polled from a gate (Flink: `InputGate.isAvailable`)."""
        return any(one.available() for one in self.read)

    async def release(self) -> None:
        """C29, consumer-loop.md M15, task-restore.md E20. All gates and the producers in reach are released (Flink:
        `InputGate.close`)."""
        for gate in self.gates:
            await gate.release()
        self.upstream.release()

    def resources(self) -> list[Resources]:
        """C29, consumer-loop.md M14, task-restore.md E20. What each gate holds."""
        return [gate.resources() for gate in self.gates]
