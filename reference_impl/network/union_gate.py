"""Several input gates as one. Specification: gate.md, U1 to U16.

The union has the queue of a gate one level up: gates stand in it instead of channels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from conformance.ports import (
    Barrier,
    Buffer,
    BufferOrEvent,
    Element,
    GateConfig,
    GatePort,
    Resources,
)
from conformance.scheduling import Lock

from ..design import Design
from ..faults import Faults, Faulty
from ..held import together
from .channel_info import ChannelInfo, Numbering, numbering
from .gate import Gate
from .listener import GateListener, GateSignals
from .prioritized_deque import PrioritizedDeque

MakeGate: TypeAlias = Callable[[GateConfig, int, GateListener], Gate]
"""Makes the gate with this number; its notifications are for this listener."""


class Union:
    """The union lock guards the queue and available, and nothing else; no other lock is taken while it is held."""

    def __init__(
        self, config: GateConfig, listener: GateListener, make_gate: MakeGate, numbers: Numbering, index: int = 0
    ) -> None:
        """`numbers`: those of all channels of the task, and `index`: that of the first gate in the task, if a task
        reads the union."""
        self.lock_type: type[Lock] = listener.lock_type
        self.lock = self.lock_type("union lock")
        self.numbers = numbers
        self.listener = listener
        self.index = index
        self.gates = [make_gate(config.alone(number), index + number, self) for number in range(len(config.gates))]
        """Gates: the gates of the union, in their order."""
        self.with_data: PrioritizedDeque[Gate] = PrioritizedDeque()
        """Queue: the gates that may have something; priority elements have a priority event."""
        self.is_available = False
        """Available: whether the union says that something can be polled."""

    # ---- notifications of gates --------------------------------------------------------------------------------------
    async def gate_available(self, gate: Gate, data: bool, priority: bool) -> None:
        """U1 to U4. A gate has data or a priority event: it is queued, and the consumer is notified (Flink:
        `UnionInputGate.handleDataAvailable`, `handlePriorityEventAvailable`)."""
        await gate.outside
        async with self.lock:
            changed = self.enqueue(gate, priority and gate.has_priority())
            first_priority = changed and self.with_data.contains_priority(gate) and self.with_data.priority == 1
            available = (changed and len(self.with_data) == 1) or self.finished()
            if available:
                self.is_available = True
        if available or first_priority:
            await self.listener.gate_available(self, available, first_priority)

    def enqueue(self, gate: Gate, priority: bool) -> bool:
        """U1, U2, U8. Put a gate into the queue, or move it to the priority elements. The caller holds the union lock.

        Returns whether the queue changed.
        """
        if gate.finished():
            return False
        if not self.is_queued(gate):
            if priority:
                self.with_data.add_priority(gate)
            else:
                self.with_data.add(gate)
            return True
        if not priority or self.with_data.contains_priority(gate):
            return False
        self.with_data.prioritize(gate)
        return True

    def is_queued(self, gate: Gate) -> bool:
        """U1, U2, U8. Whether this very gate stands in the queue."""
        return any(one is gate for one in self.with_data)

    def state_consumed(self, channel: ChannelInfo) -> None:
        """U5. Pass on that the end of recovered data was taken."""
        self.listener.state_consumed(channel)

    def consumption_resumed(self, channel: ChannelInfo) -> None:
        """U5. Pass on that the producer may go on."""
        self.listener.consumption_resumed(channel)

    def credit_announced(self, channel: ChannelInfo, credit: int) -> None:
        """U5. Pass on the credit."""
        self.listener.credit_announced(channel, credit)

    # ---- task thread -------------------------------------------------------------------------------------------------
    async def poll(self) -> BufferOrEvent | None:
        """U6, U7, U9, U10, U16.

        The gate is polled without the union lock, because it may have to notify the union.
        """
        async with self.lock:
            gate = self.with_data.poll()
            if gate is None:
                self.is_available = self.finished()
        if gate is None:
            return None
        taken = await gate.poll()
        async with self.lock:
            self.queue_again(gate, taken)
            more, more_priority = len(self.with_data) > 0, self.with_data.priority > 0
            if not more:
                self.is_available = self.finished()
        if taken is None:
            return None
        return BufferOrEvent(self.numbers.first[gate.index] + taken.channel, taken.element, more, more_priority)

    def queue_again(self, gate: Gate, taken: BufferOrEvent | None) -> None:
        """U8. The caller holds the union lock."""
        if self.with_data.contains_priority(gate) and gate.has_priority():
            return
        if self.is_queued(gate):
            self.with_data.remove(lambda one: one is gate)
        if gate.available() or (taken is not None and taken.more):
            self.enqueue(gate, taken is not None and gate.has_priority())

    # ---- observers and release ---------------------------------------------------------------------------------------
    def available(self) -> bool:
        """U14. Whether the consumer may poll (Flink: `isAvailable`)."""
        return self.is_available

    def finished(self) -> bool:
        """U14. The union is finished once every gate is."""
        return all(gate.finished() for gate in self.gates)

    async def release(self) -> None:
        """U15. Release all gates, also behind one whose release fails (Flink: `Task.closeAllInputGates`)."""
        failed: Exception | None = None
        for gate in self.gates:
            try:
                await gate.release()
            except Exception as error:
                failed = error
        async with self.lock:
            self.with_data.clear()
        if failed is not None:
            raise failed

    def resources(self) -> Resources:
        """U14. What all gates hold."""
        return together([gate.resources() for gate in self.gates])

    def has_priority(self) -> bool:
        """U14. Whether a priority event stands in front."""
        return self.with_data.priority > 0

    @property
    def requested(self) -> bool:
        """U12. Whether a gate of the union has requested its partitions, so that something can be polled."""
        return any(gate.requested for gate in self.gates)

    def polled(self, number: int) -> ChannelInfo:
        """U9. The channel that a poll has numbered so."""
        return self.numbers.infos[number]


class UnionGate(Union, Faulty, GatePort):
    """A union that stands alone: it makes its gates, and what it notifies is a signal."""

    def __init__(self, config: GateConfig, design: Design) -> None:
        self.design = design
        self.faults = Faults(self)
        numbers = numbering(map(len, config.gates))
        super().__init__(config, GateSignals(self, numbers), self.make_gate, numbers)

    def make_gate(self, config: GateConfig, index: int, listener: GateListener) -> Gate:
        """U5. A gate of the union."""
        return Gate(config, self.design, listener, index, self.faults)

    async def recover(self, channel: int, data: Buffer) -> None:
        """U11. Push a recovered buffer into a channel of its gate."""
        info = self.numbers.infos[channel]
        await self.gates[info.gate].recover(info.channel, data)

    async def finish_recovery(self, channel: int) -> None:
        """U11. Push the end of recovered data into a channel of its gate."""
        info = self.numbers.infos[channel]
        await self.gates[info.gate].finish_recovery(info.channel)

    async def convert(self, gate: int) -> None:
        """U12. Convert one gate (Flink: `convertRecoveredInputChannels`)."""
        await self.gates[gate].convert()

    async def request_partitions(self, gate: int) -> None:
        """U12. Request the subpartitions of one gate (Flink: `requestPartitions`)."""
        await self.gates[gate].request_partitions()

    async def resume(self, channel: int) -> None:
        """U13. Resume the producer of a channel (Flink: `UnionInputGate.resumeConsumption`)."""
        info = self.numbers.infos[channel]
        await self.gates[info.gate].resume(info.channel)

    async def arrive(self, channel: int, element: Element, backlog: int = -1) -> None:
        """U13. An element has arrived in a channel of its gate."""
        info = self.numbers.infos[channel]
        await self.gates[info.gate].arrive(info.channel, element, backlog)

    # ---- what a task does at each gate -------------------------------------------------------------------------------
    async def end_of_output_state(self, channel: int) -> None:
        """U17. A channel has the end of its recovered output state; its gate counts it."""
        info = self.numbers.infos[channel]
        await self.gates[info.gate].end_of_output_state(info.channel)

    async def insert_recovery_barriers(self, checkpoint: int) -> None:
        """U17. Mark in every channel of every gate where a checkpoint starts."""
        for gate in self.gates:
            await gate.insert_recovery_barriers(checkpoint)

    async def checkpoint_started(self, barrier: Barrier) -> None:
        """U17. Every gate starts the checkpoint (Flink: `CheckpointableInput.checkpointStarted`)."""
        for gate in self.gates:
            await gate.checkpoint_started(barrier)

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        """U17. Every gate stops the checkpoint (Flink: `CheckpointableInput.checkpointStopped`)."""
        for gate in self.gates:
            await gate.checkpoint_stopped(checkpoint)

    async def convert_to_priority(self, channel: int, seq: int) -> None:
        """U17. The announced barrier of a remote channel overtakes what is queued (Flink: `convertToPriorityEvent`)."""
        info = self.numbers.infos[channel]
        await self.gates[info.gate].convert_to_priority(info.channel, seq)

    def in_use(self, channel: int) -> int:
        """U17. The number of buffers that wait in a channel."""
        info = self.numbers.infos[channel]
        return self.gates[info.gate].in_use(info.channel)

    def persisted(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """U17. By channel of all gates, the records that were written for a checkpoint."""
        return tuple(written for gate in self.gates for written in gate.persisted(checkpoint))
