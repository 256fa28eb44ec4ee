"""A channel whose producer is in the same process: it reads the subpartition directly. recovery.md, section 2.7.

Two locks: that of the channel, for what is recovered and for the persister, and inside it that of the subpartition.
Whoever must be told is told after both were let go.
"""

from __future__ import annotations

from typing import Any, ClassVar

from conformance.ports import (
    Barrier,
    ChannelConfig,
    Data,
    Element,
    EndOfPartition,
    ErrorKind,
    LocalChannelPort,
    Next,
    PortError,
    PriorityAvailable,
    Recovery,
    Resources,
    Signal,
    SubpartitionConfig,
    Taken,
)
from conformance.scheduling import Future, Lock, Pause
from reference_impl.channels.channel import PhysicalChannel
from reference_impl.channels.listener import Listener
from reference_impl.channels.persister import Persister
from reference_impl.channels.reading_order import READING_ORDER, LiveOnly
from reference_impl.channels.recovered_store import RecoveredStore, make_store
from reference_impl.design import Design
from reference_impl.subpartition import ReferenceSubpartition


class ReferenceLocalChannel(PhysicalChannel, LocalChannelPort):
    """The local channel of every generation. Where recovered data lives, and when it is read, is chosen once."""

    subpartition_class: ClassVar[type[ReferenceSubpartition]] = ReferenceSubpartition
    persister_class: ClassVar[type[Persister]] = Persister
    reading_order: ClassVar[dict[Recovery, type[LiveOnly]]] = READING_ORDER

    def __init__(
        self,
        config: ChannelConfig,
        design: Design,
        listener: Listener | None = None,
        index: int = 0,
        last_stopped: int = 0,
        subpartition: ReferenceSubpartition | None = None,
    ) -> None:
        super().__init__(listener, index, "local channel")
        if subpartition is None:
            subpartition = self.subpartition_class(SubpartitionConfig(config.exclusive_buffers), design)
        self.subpartition = subpartition
        self.subpartition_lock = Lock(f"subpartition {index} lock", "subpartition lock", index)
        self.view = False
        """Whether the subpartition was requested."""
        self.persister = self.persister_class(last_stopped)
        self.store = self.make_store(config)
        self.order = self.reading_order[config.recovery](self.store, self)
        self.outside = Pause(f"outside the locks of local channel {index}")
        self.upstream_ready = Future(f"upstream of local channel {index}")

    def make_store(self, config: ChannelConfig) -> RecoveredStore:
        return make_store(config)

    # ---- producer --------------------------------------------------------------------------------------------------
    async def add(self, element: Element) -> bool:
        async with self.subpartition_lock:
            accepted = self.add_to_subpartition(element)
            told = self.drain_signals()
        await self.tell(told)
        return accepted

    async def arrive(self, element: Any) -> None:
        await self.add(element)

    def add_to_subpartition(self, element: Element) -> bool:
        if type(element) is not EndOfPartition:
            return self.subpartition.add(element)
        over = self.subpartition.finished or self.subpartition.released
        self.subpartition.finish()
        return not over

    def drain_signals(self) -> list[Signal]:
        """What the subpartition says, to be passed on once its lock was let go."""
        told = self.subpartition.signals
        if told:
            self.subpartition.signals = []
        return told

    async def tell(self, told: list[Signal]) -> None:
        for signal in told:
            if type(signal) is PriorityAvailable:
                await self.outside
                self.order.priority_announced()
                await self.listener.priority_available(self, signal.seq)
            else:
                await self.listener.data_available(self)

    # ---- recovery thread -------------------------------------------------------------------------------------------
    async def push_recovered(self, data: Data) -> None:
        await self.upstream_ready
        async with self.lock:
            first = not self.released and self.store.push(data)
        if first:
            await self.listener.data_available(self)

    async def finish_recovered(self) -> None:
        await self.upstream_ready
        async with self.lock:
            first = not self.released and self.store.finish()
        if first:
            await self.listener.data_available(self)

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def request(self) -> None:
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
            if self.view:
                return
            available = await self.attach()
        if available:
            await self.listener.data_available(self)

    async def attach(self) -> bool:
        """Whether something is there already."""
        async with self.subpartition_lock:
            self.subpartition.attach_view()
            self.view = True
            self.upstream_ready.complete()
            if self.subpartition.queue.priority:
                self.order.priority_announced()
            return self.subpartition.something_available()

    async def take_element(self) -> Taken | None:
        async with self.lock:
            return None if self.released else await self.order.take()

    async def take_live(self) -> Taken | None:
        self.check_requested()
        async with self.subpartition_lock:
            taken = self.subpartition.poll()
        return self.noted(taken)

    async def take_priority(self) -> Taken | None:
        self.check_requested()
        async with self.subpartition_lock:
            taken = self.subpartition.poll() if self.subpartition.queue.priority else None
        return self.noted(taken)

    def check_requested(self) -> None:
        if not self.view:
            raise PortError(ErrorKind.STATE, "queried for data before the subpartition was requested")

    def noted(self, taken: Taken | None) -> Taken | None:
        """The persister looks at every live element that is handed out. Recovered data is written when a checkpoint
        starts, and never again (FLINK-40016)."""
        if taken is not None:
            self.persister.barrier(taken.element)
            self.persister.maybe_persist(taken.element)
        return taken

    async def next_live(self) -> Next:
        if not self.view:
            return Next.NONE
        async with self.subpartition_lock:
            return self.subpartition.next_type()

    async def on_state_consumed(self) -> None:
        async with self.lock:
            self.store.consumed()
            available = await self.next_live() is not Next.NONE
        self.listener.state_consumed(self)
        if available:
            await self.listener.data_available(self)

    async def resume(self) -> None:
        if self.released:
            raise PortError(ErrorKind.STATE, "the channel is released")
        self.check_requested()
        async with self.subpartition_lock:
            self.subpartition.resume()
            available = self.subpartition.something_available()
        if available:
            await self.listener.data_available(self)

    # ---- checkpoints -----------------------------------------------------------------------------------------------
    async def insert_recovery_barrier(self, checkpoint: int) -> bool:
        async with self.lock:
            return self.store.insert_barrier(checkpoint)

    async def checkpoint_started(self, barrier: Barrier) -> None:
        async with self.lock:
            self.start_persisting(barrier.checkpoint, self.store.known(barrier.checkpoint))

    def start_persisting(self, checkpoint: int, known: tuple[int, ...]) -> None:
        self.persister.start(checkpoint, known)

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        async with self.lock:
            self.persister.stop(checkpoint)

    # ---- observers and release -------------------------------------------------------------------------------------
    def in_recovery(self) -> bool:
        return self.store.in_recovery

    def in_use(self) -> int:
        return self.store.count() + (self.subpartition.backlog if self.view else 0)

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        return self.persister.persisted(checkpoint)

    async def release(self) -> None:
        async with self.lock:
            self.released = True
            self.store.clear()
            self.wake_pushers()
        async with self.subpartition_lock:
            self.subpartition.release()
            self.view = False

    def wake_pushers(self) -> None:
        """Nobody waits for an upstream that will never come."""
        self.upstream_ready.complete()

    def resources(self) -> Resources:
        held = self.subpartition.resources()
        waiting = self.store.in_recovery
        return Resources(
            segments=(held.segments or 0) + self.store.count(),
            heap=0,
            files=0,
            listeners=int(self.view),
            futures=(held.futures or 0) + int(waiting) + int(waiting and not self.upstream_ready.done),
        )
