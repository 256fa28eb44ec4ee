"""The smallest job: producers, the network, one gate, and a consumer that counts records. Specification: chain.md.

The consumer is a task without a loop: a notification of its gate is a signal of the chain, and a scenario says when it
takes.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from conformance.ports import (
    BUFFER_POOL,
    Alignment,
    Barrier,
    BarrierHandlerConfig,
    Buffer,
    ChainCheckpoint,
    ChainConfig,
    ChainPort,
    CheckpointReason,
    CheckpointStatus,
    Consumed,
    Element,
    EndOfPartition,
    GateConfig,
    PortError,
    Recovery,
    RecoveryCompletion,
    RecoveryMetadata,
    Resources,
    SubpartitionConfig,
    WriterConfig,
)

from ..design import Design
from ..faults import Faults, Faulty
from ..held import together
from ..network.channel_info import ChannelInfo, numbering
from ..network.listener import GateSignals
from ..network.producers import Producers
from ..network.result_partition import crossing
from ..state.drainer.lists import ListDrainer
from ..state.writer.at_once import WriterAtOnce
from .checkpoints import TaskCheckpoints
from .inputs import Inputs
from .operators import Counting, Outputs
from .states import TaskStates, WritingSubpartition
from .task import Task, TaskListener

CONSUMER = 0
"""The consumer as a subtask of the writer. The producer of channel 0 is subtask 1, and so on."""


class ChainListener(TaskListener):
    """The signals of the gate are signals of the chain; its credit goes to readers as well."""

    def __init__(self, signals: GateSignals, upstream: Producers, channels: int) -> None:
        super().__init__(upstream, [channels])
        self.signals = signals

    def gate_available(self, gate: Any, data: bool, priority: bool) -> Coroutine[Any, Any, None]:
        """gate.md G6. Emit the notification of the gate."""
        return self.signals.gate_available(gate, data, priority)

    def state_consumed(self, channel: ChannelInfo) -> None:
        """gate.md G7. Emit that the end of recovered data was taken."""
        self.signals.state_consumed(channel)

    def credit_announced(self, channel: ChannelInfo, credit: int) -> None:
        """C8. Emit the credit, and give it to the producer's reader."""
        self.signals.credit_announced(channel, credit)
        self.upstream.add_credit(channel, credit)


class ChainOutputs(Outputs):
    """The consumer has no outputs. What its producers have written belongs to its checkpoints."""

    def __init__(self) -> None:
        self.unwritten: list[int] = []
        """Unwritten: the checkpoints for which output state of a channel could not be written."""

    def why_unwritten(self, checkpoint: int) -> CheckpointReason | None:
        """C23, C31. The reason why the output state of a checkpoint was not written; None if it was."""
        return CheckpointReason.IO_EXCEPTION if checkpoint in self.unwritten else None


class Chain(Faulty, ChainPort):
    """Producers, drainer and task have states of their own.

    A producer may be ahead of the others by several checkpoints, so that each has an executor and files of its own.
    """

    def __init__(self, config: ChainConfig, design: Design) -> None:
        """C28. Make the producers and the task, empty or from a restored checkpoint."""
        self.config = config
        self.faults = Faults(self)
        nothing = tuple(() for _ in config.channels)
        restored = config.restored or ChainCheckpoint(CheckpointStatus.ABSENT, nothing, nothing, nothing)
        self.numbers = numbering([len(config.channels)])
        writer = WriterAtOnce(WriterConfig(subtasks=len(nothing) + 1, sharing=1, max_results=1))
        self.states = [TaskStates(writer, subtask, self.numbers) for subtask in range(len(nothing) + 1)]
        """By subtask of the writer, its part. A result is taken at the latest when the task takes its part."""
        buffers = SubpartitionConfig(config.exclusive_buffers)
        self.producers = Producers(
            {
                info: WritingSubpartition(buffers, design, self.faults, self.states[info.channel + 1], info)
                for info in self.numbers.infos
            }
        )
        gates = [GateConfig((config.channels,), config.recovery, config.exclusive_buffers, config.floating_buffers)]
        listener = ChainListener(GateSignals(self, self.numbers), self.producers, len(nothing))
        inputs = Inputs(self.numbers, gates, design, listener, self.faults, self.producers, self.states[CONSUMER])
        (self.gate,) = inputs.gates
        input_state, output_state = restored.input_state, restored.output_state
        if config.output_on_downstream:
            both = zip(input_state, output_state, strict=True)
            input_state, output_state = tuple(first + then for first, then in both), nothing
        to_recover = dict(zip(self.numbers.infos, input_state, strict=True))
        self.drainer = ListDrainer(inputs.gates, config.recovery, to_recover)
        self.output_left = [list(ids) for ids in output_state]
        """Output left: by channel, recovered output records that are not in the subpartition yet."""
        self.counting = Counting(restored.counted)
        handled = BarrierHandlerConfig(len(config.channels), timeout=0)
        self.outputs = ChainOutputs()
        self.checkpoints = TaskCheckpoints(
            self, inputs, self.drainer, self.states[CONSUMER], handled, self.counting, self.outputs
        )
        self.task = Task(inputs, listener, self.checkpoints, self.counting)

    # ---- producer thread ---------------------------------------------------------------------------------------------
    async def produce(self, channel: int, ids: tuple[int, ...]) -> None:
        """C1, C32. A producer writes records into its subpartition."""
        self.faults.reach(BUFFER_POOL)
        await self.send(channel, Buffer(ids))

    async def barrier(self, channel: int, checkpoint: int, alignment: Alignment) -> None:
        """C2, C31. A producer sends the barrier of a checkpoint (Flink: `broadcastEvent`)."""
        try:
            await self.send(channel, Barrier(checkpoint, crossing(alignment, self.config.unaligned)))
        except PortError:
            self.outputs.unwritten.append(checkpoint)
            raise

    async def finish(self, channel: int) -> None:
        """C3. A producer ends its partition."""
        await self.send(channel, EndOfPartition())

    async def recover_output(self, channel: int) -> None:
        """C4, C32. A producer recovers the next record of its output state, with its connection descriptor (Flink:
        `ResultSubpartitionRecoveredStateHandler`)."""
        self.faults.reach(BUFFER_POOL)
        record = self.output_left[channel].pop(0)
        await self.send(channel, RecoveryMetadata(0, channel))
        await self.send(channel, Buffer((record,)))

    async def finish_output_recovery(self, channel: int) -> None:
        """C5. A producer has recovered its output state (Flink: `finishReadRecoveredState`)."""
        await self.send(channel, RecoveryCompletion())

    async def send(self, channel: int, element: Element) -> None:
        """C1 to C5. Add an element to the subpartition of a channel."""
        await self.producers.send(self.numbers.infos[channel], element)

    # ---- network thread ----------------------------------------------------------------------------------------------
    def transfer(self, channel: int) -> Coroutine[Any, Any, Element | None]:
        """C10, C31. The network carries the next element of a remote channel."""
        return self.producers.transfer(self.numbers.infos[channel])

    # ---- recovery thread ---------------------------------------------------------------------------------------------
    def recover(self, channel: int) -> Coroutine[Any, Any, None]:
        """C11, C12. The next recovered record is pushed into its channel (Flink:
        `InputChannelRecoveredStateHandler`)."""
        return self.drainer.recover(self.numbers.infos[channel])

    def finish_recovery(self, channel: int) -> Coroutine[Any, Any, None]:
        """C13. The end of recovered data is pushed into its channel (Flink: `finishReadRecoveredState`)."""
        return self.drainer.finish(self.numbers.infos[channel])

    # ---- task thread -------------------------------------------------------------------------------------------------
    def convert(self) -> Coroutine[Any, Any, None]:
        """C15. Convert the recovered channels of the gate (Flink: `convertRecoveredInputChannels`)."""
        return self.gate.convert()

    async def request_partitions(self) -> None:
        """C6, C15. Connect the channels with their producers (Flink: `SingleInputGate.requestPartitions`)."""
        await self.gate.request_partitions()
        exclusive = self.config.exclusive_buffers
        credit = 0 if self.config.recovery is Recovery.PUSHED else exclusive
        self.producers.request(credit, exclusive)

    async def consume(self) -> Consumed | None:
        """C16 to C18. Take an element from the gate and process it (Flink: `CheckpointedInputGate.pollNext`)."""
        taken = await self.gate.poll()
        if taken is None:
            return None
        await self.task.deal_with(self.numbers.infos[taken.channel], taken.element)
        return Consumed(taken.channel, taken.element, taken.more)

    def trigger(self, checkpoint: int) -> Coroutine[Any, Any, None]:
        """C26. A checkpoint is triggered by a call instead of a barrier (Flink: `triggerCheckpointAsync`)."""
        return self.checkpoints.trigger(checkpoint)

    # ---- observers and release ---------------------------------------------------------------------------------------
    def counted(self) -> tuple[tuple[int, ...], ...]:
        """C17. The records that the consumer has counted so far."""
        return self.counting.take_counted()

    def snapshot(self, checkpoint: int) -> ChainCheckpoint:
        """C27. What a checkpoint holds, read back from its files."""
        status = self.checkpoints.status(checkpoint)
        if status is not CheckpointStatus.COMPLETED:
            return ChainCheckpoint(status)
        consumer, *producers = [states.read_back(checkpoint) for states in self.states]
        output = tuple(state[channel] for channel, state in enumerate(producers))
        return ChainCheckpoint(status, self.counting.counted[checkpoint], consumer, output)

    async def release(self) -> None:
        """C29. The task, its drainer and its files are released."""
        await self.task.release()
        self.drainer.release()
        for states in self.states:
            states.close()

    def resources(self) -> Resources:
        """C29. What the gate holds, and the subpartitions that no local channel counts as its own."""
        return together([self.gate.resources(), *self.producers.resources()])
