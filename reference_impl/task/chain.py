"""The smallest job: producers, the network, one gate, and a consumer that counts records. Specification: chain.md."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance.ports import (
    BUFFER_POOL,
    Alignment,
    Barrier,
    Buffer,
    ChainCheckpoint,
    ChainConfig,
    ChainPort,
    ChannelKind,
    CheckpointStatus,
    Consumed,
    CreditAnnounced,
    Element,
    EndOfPartition,
    GateConfig,
    PortError,
    Recovery,
    RecoveryCompletion,
    RecoveryMetadata,
    Resources,
    Signal,
    SubpartitionConfig,
)

from ..design import Design
from ..faults import Faults, Faulty
from ..held import together
from ..network.channel import PhysicalChannel
from ..network.gate import Gate
from ..network.local_channel import LocalChannel
from ..network.reader import Reader
from ..network.remote_channel import RemoteChannel
from ..network.subpartition import Subpartition
from ..state.drainer.lists import ListDrainer, Slices
from .channel_state import ChannelStates
from .task import Task


class ChainSubpartition(Subpartition):
    """The subpartition of a producer, whose output state is written."""

    def __init__(self, config: SubpartitionConfig, design: Design, chain: Chain, channel: int) -> None:
        super().__init__(config, design, chain.faults)
        self.chain = chain
        self.channel = channel

    def write(self, checkpoint: int, ids: tuple[int, ...]) -> None:
        """C2, C25."""
        super().write(checkpoint, ids)
        self.chain.states.write_output(self.channel, checkpoint, ids)


class ChainGate(Gate):
    """The gate of a chain. What it has to tell a producer goes to the reader of that producer's subpartition."""

    def __init__(self, config: GateConfig, design: Design, chain: Chain) -> None:
        self.chain = chain
        super().__init__(config, design, faults=chain.faults)

    def physical_channel(self, number: int, handed_over: tuple[int, ...], last_stopped: int) -> PhysicalChannel:
        """C25, gate.md G9. A local channel gets the subpartition of its producer, each channel its writer."""
        channel = super().physical_channel(number, handed_over, last_stopped)
        if isinstance(channel, LocalChannel):
            channel.subpartition = self.chain.subpartitions[number]
            self.chain.local[number] = channel
        elif isinstance(channel, RemoteChannel):
            self.chain.remote[number] = channel
        channel.persister.writer = partial(self.chain.states.add_input, number)
        return channel

    def emit(self, signal: Signal) -> None:
        """gate.md G6, G7. The signals of the gate are signals of the chain."""
        self.chain.emit(signal)

    def consumption_resumed(self, channel: Any) -> None:
        """C9."""
        self.chain.reader(channel.index).resume()

    def credit_announced(self, channel: Any, credit: int) -> None:
        """C8."""
        self.chain.emit(CreditAnnounced(credit, channel.index))
        self.chain.reader(channel.index).add_credit(credit)


class Chain(Faulty, ChainPort):
    """Has the states of the producers and of the consumer. Readers, drainer and task have their own."""

    def __init__(self, config: ChainConfig, design: Design) -> None:
        """C28."""
        self.config = config
        self.faults = Faults(self)
        nothing = tuple(() for _ in config.channels)
        restored = config.restored or ChainCheckpoint(CheckpointStatus.ABSENT, nothing, nothing, nothing)
        self.states = ChannelStates(len(config.channels))
        self.subpartitions = [
            ChainSubpartition(SubpartitionConfig(config.exclusive_buffers), design, self, channel)
            for channel in range(len(config.channels))
        ]
        """Subpartition: by channel, the one of its producer."""
        self.readers: list[Reader | None] = [None] * len(config.channels)
        """By channel, the reader of a remote channel once it is connected (C6)."""
        self.local: list[LocalChannel | None] = [None] * len(config.channels)
        self.remote: list[RemoteChannel | None] = [None] * len(config.channels)
        """By channel, the physical channel once there is one: a local or a remote channel."""
        gate_config = GateConfig(config.channels, config.recovery, config.exclusive_buffers, config.floating_buffers)
        self.gate = ChainGate(gate_config, design, self)
        input_state, output_state = restored.input_state, restored.output_state
        if config.output_on_downstream:
            both = zip(input_state, output_state, strict=True)
            input_state, output_state = tuple(first + then for first, then in both), nothing
        self.drainer = ListDrainer([self.gate], config.recovery, input_state)
        self.output_left = [list(ids) for ids in output_state]
        """Output left: by channel, recovered output records that are not in the subpartition yet."""
        self.records = [list(ids) for ids in restored.counted]
        """Counted: by channel, the records counted, in order."""
        self.task = Task(self, self.gate, self.drainer, self.states, self.records)

    # ---- producer thread -------------------------------------------------------------------------------------------
    async def produce(self, channel: int, ids: tuple[int, ...]) -> None:
        """C1, C32."""
        self.faults.reach(BUFFER_POOL)
        await self.send(channel, Buffer(ids))

    async def barrier(self, channel: int, checkpoint: int, alignment: Alignment) -> None:
        """C2, C31."""
        try:
            await self.send(channel, Barrier(checkpoint, alignment))
        except PortError:
            self.task.unwritten.append(checkpoint)
            raise

    async def finish(self, channel: int) -> None:
        """C3."""
        await self.send(channel, EndOfPartition())

    async def recover_output(self, channel: int) -> None:
        """C4, C32."""
        self.faults.reach(BUFFER_POOL)
        record = self.output_left[channel].pop(0)
        await self.send(channel, RecoveryMetadata(0, channel))
        await self.send(channel, Buffer((record,)))

    async def finish_output_recovery(self, channel: int) -> None:
        """C5."""
        await self.send(channel, RecoveryCompletion())

    async def send(self, channel: int, element: Element) -> None:
        """C1 to C5, C7. Add an element to the subpartition; its local channel or its reader is told."""
        consumer = self.local[channel]
        if consumer is not None:
            await consumer.add(element)
            return
        subpartition = self.subpartitions[channel]
        if type(element) is EndOfPartition:
            subpartition.finish()
        else:
            subpartition.add(element)
        reader = self.readers[channel]
        if reader is not None:
            reader.hear()

    # ---- network thread --------------------------------------------------------------------------------------------
    async def transfer(self, channel: int) -> Element | None:
        """C10, C31."""
        reader, consumer = self.reader(channel), self.remote[channel]
        assert consumer is not None
        backlog, taken = reader.take_backlog(), reader.next()
        if backlog:
            await consumer.hear_backlog(backlog)
        if taken is None:
            return None
        await consumer.receive(taken.element, taken.seq, taken.backlog)
        return taken.element

    def reader(self, channel: int) -> Reader:
        """C8 to C10. The reader of a remote channel that is connected."""
        reader = self.readers[channel]
        assert reader is not None
        return reader

    # ---- recovery thread -------------------------------------------------------------------------------------------
    async def recover(self, channel: int) -> None:
        """C11, C12."""
        await self.drainer.recover(channel)

    async def finish_recovery(self, channel: int) -> None:
        """C13."""
        await self.drainer.finish(channel)

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def convert(self) -> None:
        """C15."""
        await self.gate.convert()

    async def request_partitions(self) -> None:
        """C6, C15."""
        await self.gate.request_partitions()
        exclusive = self.config.exclusive_buffers
        credit = 0 if self.config.recovery is Recovery.PUSHED else exclusive
        for channel, kind in enumerate(self.config.channels):
            if kind is ChannelKind.REMOTE and self.readers[channel] is None:
                self.readers[channel] = Reader(self.subpartitions[channel], credit, exclusive)

    async def consume(self) -> Consumed | None:
        """C16 to C18."""
        taken = await self.gate.poll()
        if taken is None:
            return None
        element = taken.element
        if type(element) is Buffer:
            self.records[taken.channel].extend(element.ids)
        elif type(element) is Barrier:
            await self.task.barrier(taken.channel, element)
        elif type(element) is EndOfPartition:
            await self.task.end_of_partition(taken.channel)
        elif type(element) is RecoveryCompletion:
            await self.gate.end_of_output_state(taken.channel)
        return Consumed(taken.channel, element, taken.more)

    async def trigger(self, checkpoint: int) -> None:
        """C26."""
        await self.task.trigger(checkpoint)

    # ---- observers and release -------------------------------------------------------------------------------------
    def counted(self) -> Slices:
        """C17."""
        return self.task.take_counted()

    def snapshot(self, checkpoint: int) -> ChainCheckpoint:
        """C27."""
        status = self.task.status(checkpoint)
        if status is not CheckpointStatus.COMPLETED:
            return ChainCheckpoint(status)
        return ChainCheckpoint(
            status,
            self.task.counted[checkpoint],
            self.states.input_state(checkpoint),
            self.states.output_state(checkpoint),
        )

    async def release(self) -> None:
        """C29."""
        await self.gate.release()
        for subpartition in self.subpartitions:
            subpartition.release()
        self.drainer.release()
        self.task.release()
        self.states.close()

    def resources(self) -> Resources:
        """C29. What the gate holds, and the subpartitions that no local channel counts as its own."""
        held = [self.gate.resources()]
        for subpartition, consumer in zip(self.subpartitions, self.local, strict=True):
            if consumer is None:  # no local channel counts it as its own
                held.append(subpartition.resources())
        return together(held)
