"""Several gates as one. recovery.md, section 2.9: the same queue one level up, gates instead of channels."""

from __future__ import annotations

from typing import ClassVar

from conformance.ports import (
    ConsumptionResumed,
    CreditAnnounced,
    Data,
    DataAvailable,
    Element,
    GateTaken,
    PriorityAvailable,
    Resources,
    Signal,
    StateConsumed,
    UnionGateConfig,
    UnionGatePort,
)
from conformance.scheduling import Lock
from reference_impl.design import Design
from reference_impl.gate import ReferenceGate
from reference_impl.prioritized_deque import PrioritizedDeque


class ReferenceUnionGate(UnionGatePort):
    """Gates under one queue. A gate tells the union something after it has let its own lock go."""

    gate_class: ClassVar[type[ReferenceGate]] = ReferenceGate

    def __init__(self, config: UnionGateConfig, design: Design) -> None:
        self.lock = Lock("union lock")
        self.gates = [self.gate_class(one, design, self, index) for index, one in enumerate(config.gates)]
        self.places = [(gate, number) for gate in self.gates for number in range(len(gate.channels))]
        """By channel of the union: its gate, and its number there."""
        self.offsets = [sum(len(one.channels) for one in config.gates[:index]) for index in range(len(config.gates))]
        self.with_data: PrioritizedDeque[ReferenceGate] = PrioritizedDeque()
        self.is_available = False

    async def recover(self, channel: int, data: Data) -> None:
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
    async def gate_available(self, gate: ReferenceGate, data: bool, priority: bool) -> None:
        async with self.lock:
            changed = self.enqueue(gate, self.still_has_priority(gate, priority))
            first_priority = changed and self.with_data.contains_priority(gate) and self.with_data.priority == 1
            first = self.wakes(changed)
        if first_priority:
            self.emit(PriorityAvailable(-1))
        if first:
            self.emit(DataAvailable())

    def still_has_priority(self, gate: ReferenceGate, priority: bool) -> bool:
        """Checked again: a priority event that was polled before its notification came puts nobody in front."""
        return priority and gate.has_priority()

    def gate_tells(self, gate: ReferenceGate, signal: Signal) -> None:
        """What a gate says of one of its channels is passed on with the number of that channel in the union."""
        offset = self.first_channel(gate)
        if type(signal) is StateConsumed:
            signal = StateConsumed(offset + signal.channel)
        elif type(signal) is ConsumptionResumed:
            signal = ConsumptionResumed(offset + signal.channel)
        elif type(signal) is CreditAnnounced:
            signal = CreditAnnounced(signal.credit, offset + signal.channel)
        self.emit(signal)

    def enqueue(self, gate: ReferenceGate, priority: bool) -> bool:
        """Whether that changed anything. The caller holds the union lock."""
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

    def is_queued(self, gate: ReferenceGate) -> bool:
        return any(one is gate for one in self.with_data)

    def wakes(self, changed: bool) -> bool:
        """Whether the union becomes available: its first gate was queued, or its last one has ended."""
        if (changed and len(self.with_data) == 1) or self.finished():
            self.is_available = True
            return True
        return False

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def poll(self) -> GateTaken | None:
        """The union lock guards the queue only: a gate that is polled may have something to tell the union.

        A gate that turns out to have nothing makes an empty poll; the union stays available if another is queued.
        """
        gate = await self.next_gate()
        if gate is None:
            return None
        taken = await self.ask(gate)
        async with self.lock:
            self.queue_again(gate, taken)
            more, more_priority = len(self.with_data) > 0, self.with_data.priority > 0
            if not more:
                self.is_available = self.finished()
        if taken is None:
            return None
        return GateTaken(self.first_channel(gate) + taken.channel, taken.element, more, more_priority)

    async def next_gate(self) -> ReferenceGate | None:
        async with self.lock:
            gate = self.with_data.poll()
            if gate is None:
                self.is_available = self.finished()
            return gate

    async def ask(self, gate: ReferenceGate) -> GateTaken | None:
        return await gate.poll()

    def first_channel(self, gate: ReferenceGate) -> int:
        """The number in the union of the first channel of a gate."""
        return self.offsets[gate.index]

    def queue_again(self, gate: ReferenceGate, taken: GateTaken | None) -> None:
        """Behind all others, if it has more, or behind those with priority events if it has another of them.

        While it was polled it may have told the union of what the same poll then took; so its place is chosen anew, by
        what it has now. An empty poll cannot say that a priority event follows: the notification will.
        The caller holds the union lock.
        """
        if self.with_data.contains_priority(gate) and gate.has_priority():
            return
        if self.is_queued(gate):
            self.with_data.remove(lambda one: one is gate)
        if self.has_more(gate, taken):
            self.enqueue(gate, taken is not None and gate.has_priority())

    def has_more(self, gate: ReferenceGate, taken: GateTaken | None) -> bool:
        """By what the poll said, or by what has come since."""
        return gate.available() or (taken is not None and taken.more)

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
