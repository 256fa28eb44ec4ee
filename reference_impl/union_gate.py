"""Several gates as one. recovery.md, section 2.9: the same queue one level up, gates instead of channels."""

from __future__ import annotations

from typing import ClassVar

from conformance.ports import (
    Data,
    DataAvailable,
    Element,
    GateTaken,
    PriorityAvailable,
    Resources,
    UnionGateConfig,
    UnionGatePort,
)
from conformance.scheduling import Lock
from reference_impl.design import Design
from reference_impl.gate import ReferenceGate
from reference_impl.prioritized_deque import PrioritizedDeque


class ReferenceUnionGate(UnionGatePort):
    """Gates under one queue. A gate is polled under the union lock; it tells the union after its own was let go."""

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
            changed = self.enqueue(gate, priority)
            first_priority = changed and priority and self.with_data.priority == 1
            first = self.wakes(changed)
        if first_priority:
            self.emit(PriorityAvailable(-1))
        if first:
            self.emit(DataAvailable())

    def enqueue(self, gate: ReferenceGate, priority: bool) -> bool:
        """Whether that changed anything. The caller holds the union lock."""
        if gate.finished():
            return False
        if not any(one is gate for one in self.with_data):
            if priority:
                self.with_data.add_priority(gate)
            else:
                self.with_data.add(gate)
            return True
        if not priority or self.with_data.contains_priority(gate):
            return False
        self.with_data.prioritize(gate)
        return True

    def wakes(self, changed: bool) -> bool:
        """Whether the union becomes available: its first gate was queued, or its last one has ended."""
        if (changed and len(self.with_data) == 1) or self.finished():
            self.is_available = True
            return True
        return False

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def poll(self) -> GateTaken | None:
        """The union lock guards the queue only: a gate that is polled may have something to tell the union."""
        while True:
            async with self.lock:
                gate = self.with_data.poll()
                if gate is None:
                    self.is_available = self.finished()
                    return None
            taken = await gate.poll()
            async with self.lock:
                self.queue_again(gate, taken)
                more, more_priority = len(self.with_data) > 0, self.with_data.priority > 0
                if not more:
                    self.is_available = self.finished()
            if taken is not None:
                channel = self.offsets[gate.index] + taken.channel
                return GateTaken(channel, taken.element, taken.seq, more, more_priority)

    def queue_again(self, gate: ReferenceGate, taken: GateTaken | None) -> None:
        """Behind all others, if there is more; also if the gate was told of more while it was being polled."""
        if taken is not None and taken.more:
            self.enqueue(gate, taken.more_priority)
        elif gate.available():
            self.enqueue(gate, False)

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
