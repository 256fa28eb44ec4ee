"""Several gates as one. Specification: union-gate.md. The same queue as in a gate, with gates instead of channels."""

from __future__ import annotations

from conformance.ports import (
    Buffer,
    BufferOrEvent,
    ConsumptionResumed,
    CreditAnnounced,
    DataAvailable,
    Element,
    PriorityAvailable,
    Resources,
    Signal,
    StateConsumed,
    UnionGateConfig,
    UnionGatePort,
)
from conformance.scheduling import Lock

from .design import Design
from .gate import Gate
from .prioritized_deque import PrioritizedDeque


class UnionGate(UnionGatePort):
    """Gates under one queue. A gate tells the union something after it has let its own lock go."""

    def __init__(self, config: UnionGateConfig, design: Design) -> None:
        self.lock = Lock("union lock")
        self.gates = [Gate(one, design, self, index) for index, one in enumerate(config.gates)]
        self.places = [(gate, number) for gate in self.gates for number in range(len(gate.channels))]
        """By channel of the union: its gate, and its number there."""
        self.offsets = [sum(len(one.channels) for one in config.gates[:index]) for index in range(len(config.gates))]
        self.with_data: PrioritizedDeque[Gate] = PrioritizedDeque()
        self.is_available = False

    async def recover(self, channel: int, data: Buffer) -> None:
        gate, number = self.places[channel]
        await gate.recover(number, data)

    async def finish_recovery(self, channel: int) -> None:
        gate, number = self.places[channel]
        await gate.finish_recovery(number)

    async def convert(self, gate: int) -> None:
        await self.gates[gate].convert()

    async def request_partitions(self, gate: int) -> None:
        await self.gates[gate].request_partitions()

    async def resume(self, channel: int) -> None:
        gate, number = self.places[channel]
        await gate.resume(number)

    async def arrive(self, channel: int, element: Element) -> None:
        gate, number = self.places[channel]
        await gate.arrive(number, element)

    # ---- what the gates tell ---------------------------------------------------------------------------------------
    async def gate_available(self, gate: Gate, data: bool, priority: bool) -> None:
        """If the priority event was polled before its notification comes, its gate is queued like any other."""
        async with self.lock:
            changed = self.enqueue(gate, priority and gate.has_priority())
            first_priority = changed and self.with_data.contains_priority(gate) and self.with_data.priority == 1
            available = (changed and len(self.with_data) == 1) or self.finished()
            if available:
                self.is_available = True
        if first_priority:
            self.emit(PriorityAvailable(-1))
        if available:
            self.emit(DataAvailable())

    def enqueue(self, gate: Gate, priority: bool) -> bool:
        """Whether the gate was put in the queue, or further to the front. The caller holds the union lock."""
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
        return any(one is gate for one in self.with_data)

    def gate_tells(self, gate: Gate, signal: Signal) -> None:
        """What a gate says of one of its channels is passed on with the number of that channel in the union."""
        offset = self.offsets[gate.index]
        if type(signal) is StateConsumed:
            signal = StateConsumed(offset + signal.channel)
        elif type(signal) is ConsumptionResumed:
            signal = ConsumptionResumed(offset + signal.channel)
        elif type(signal) is CreditAnnounced:
            signal = CreditAnnounced(signal.credit, offset + signal.channel)
        self.emit(signal)

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def poll(self) -> BufferOrEvent | None:
        """The union lock guards the queue only: a gate that is polled may have something to tell the union.

        A gate that turns out to have nothing makes an empty poll; the union stays available if another is queued.
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
        return BufferOrEvent(self.offsets[gate.index] + taken.channel, taken.element, more, more_priority)

    def queue_again(self, gate: Gate, taken: BufferOrEvent | None) -> None:
        """Behind all others, if it has more, or behind those with priority events if it has another of them.

        While it was polled it may have told the union of what the same poll then took; so its place is chosen anew, by
        what it has now. An empty poll cannot say that a priority event follows: the notification will.
        The caller holds the union lock.
        """
        if self.with_data.contains_priority(gate) and gate.has_priority():
            return
        if self.is_queued(gate):
            self.with_data.remove(lambda one: one is gate)
        if gate.available() or (taken is not None and taken.more):
            self.enqueue(gate, taken is not None and gate.has_priority())

    # ---- observers and release -------------------------------------------------------------------------------------
    def available(self) -> bool:
        return self.is_available

    def finished(self) -> bool:
        return all(gate.finished() for gate in self.gates)

    async def release(self) -> None:
        for gate in self.gates:
            await gate.release()
        async with self.lock:
            self.with_data.clear()

    def resources(self) -> Resources:
        held = [gate.resources() for gate in self.gates]
        return Resources(
            segments=sum(one.segments or 0 for one in held),
            heap=0,
            files=0,
            listeners=sum(one.listeners or 0 for one in held),
            futures=sum(one.futures or 0 for one in held),
        )
