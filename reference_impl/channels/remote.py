"""A channel over the network. recovery.md, section 2.5."""

from __future__ import annotations

from typing import ClassVar

from conformance.ports import (
    Alignment,
    Announcement,
    Barrier,
    ChannelConfig,
    CheckpointReason,
    Data,
    Element,
    ErrorKind,
    Next,
    PortError,
    RemoteChannelPort,
    Resources,
    Taken,
)
from conformance.scheduling import Future
from reference_impl.channels.buffer_manager import BufferManager, FloatingPool
from reference_impl.channels.channel import PhysicalChannel
from reference_impl.channels.listener import Listener
from reference_impl.channels.persister import Persister
from reference_impl.channels.recovered_store import RecoveredStore, make_store
from reference_impl.prioritized_deque import PrioritizedDeque

NONE = -1
"""No barrier."""


class Received:
    """An element in the queue with its sequence number."""

    __slots__ = ("element", "seq")

    def __init__(self, element: Element, seq: int) -> None:
        self.element = element
        self.seq = seq


class ReferenceRemoteChannel(PhysicalChannel, RemoteChannelPort):
    """Elements in the order received, priority events in front, recovered data before live data."""

    persister_class: ClassVar[type[Persister]] = Persister
    manager_class: ClassVar[type[BufferManager]] = BufferManager

    def __init__(
        self,
        config: ChannelConfig,
        listener: Listener | None = None,
        index: int = 0,
        last_stopped: int = 0,
        pool: FloatingPool | None = None,
    ) -> None:
        super().__init__(listener, index, "channel")
        self.received: PrioritizedDeque[Received] = PrioritizedDeque()
        self.expected = 0
        self.persister = self.persister_class(last_stopped)
        self.store = self.make_store(config)
        self.stash: list[Received] = []
        """Ordinary events that came during recovery; they wait until recovered data is consumed."""
        self.last_barrier = self.last_barrier_seq = NONE
        self.upstream_ready = Future(f"upstream {index} ready")
        self.requested = False
        self.buffers = self.manager_class(
            self, config.exclusive_buffers, FloatingPool(config.floating_buffers) if pool is None else pool
        )
        self.buffers.announcing = not self.store.in_recovery

    def make_store(self, config: ChannelConfig) -> RecoveredStore:
        return make_store(config)

    # ---- network thread --------------------------------------------------------------------------------------------
    async def arrive(self, element: Element) -> None:
        await self.receive(element, self.expected, NONE)

    async def receive(self, element: Element, seq: int, backlog: int) -> None:
        async with self.lock:
            self.check_order(seq)
            self.upstream_ready.complete()
            if self.released:
                return
            self.check_legal(element, backlog)
            first = not self.readable()
            priority = self.accept(element, seq)
            first = first and self.readable()
            freed = self.buffers.release_floating() if self.gives_floating_back(element) else 0
        await self.buffers.give_back(freed)
        await self.tell(first, priority, seq)
        if backlog >= 0:
            await self.on_backlog(backlog)

    def check_order(self, seq: int) -> None:
        if seq != self.expected:
            raise PortError(ErrorKind.REORDERING, f"element {seq} came, {self.expected} was expected")

    def check_legal(self, element: Element, backlog: int) -> None:
        if element.data_type.blocks_upstream and backlog > 0:
            raise PortError(ErrorKind.ARGUMENT, f"a blocked producer announced a backlog of {backlog}")
        if self.store.in_recovery and type(element) is Data:
            raise PortError(ErrorKind.PROTOCOL, "data came before the recovered data was consumed")

    def gives_floating_back(self, element: Element) -> bool:
        """A blocked producer needs no buffers for a while; without exclusive ones all it has are floating."""
        return element.data_type.blocks_upstream and self.buffers.initial_credit == 0

    def accept(self, element: Element, seq: int) -> bool:
        """Queue an element and note what it means for checkpoints. Whether a priority event is the first now."""
        self.expected += 1
        priority = self.enqueue(element, seq)
        checkpoint = self.persister.barrier(element)
        if checkpoint is not None and type(element) is Barrier and checkpoint > self.last_barrier:
            self.last_barrier, self.last_barrier_seq = checkpoint, seq
        self.persister.maybe_persist(element)
        return priority

    def enqueue(self, element: Element, seq: int) -> bool:
        data_type = element.data_type
        if type(element) is Data:
            self.buffers.take_for_live()
        if data_type.has_priority:
            return self.enqueue_priority(element, seq)
        if self.store.in_recovery:
            self.stash.append(Received(element, seq))
        else:
            self.received.add(Received(element, seq))
        if data_type.needs_announcement and type(element) is Barrier:
            return self.enqueue_priority(Announcement(element.checkpoint, seq), seq)
        return False

    def enqueue_priority(self, element: Element, seq: int) -> bool:
        self.received.add_priority(Received(element, seq))
        return self.received.priority == 1

    async def tell(self, first: bool, priority: bool, seq: int) -> None:
        """Nobody holds the lock."""
        if priority:
            await self.listener.priority_available(self, seq)
        if first:
            await self.listener.data_available(self)

    async def on_backlog(self, backlog: int) -> None:
        """The producer has so much behind this element."""
        async with self.lock:
            credit = 0 if self.released else await self.buffers.request_floating(backlog)
        self.buffers.announce(credit)

    # ---- recovery thread -------------------------------------------------------------------------------------------
    async def push_recovered(self, data: Data) -> None:
        await self.wait_for_upstream()
        async with self.lock:
            first = not self.released and self.push(data)
        if first:
            await self.listener.data_available(self)

    def push(self, data: Data) -> bool:
        first = self.store.push(data)
        self.buffers.take_for_recovered()
        return first

    async def finish_recovered(self) -> None:
        await self.wait_for_upstream()
        async with self.lock:
            first = not self.released and self.store.finish()
        if first:
            await self.listener.data_available(self)

    async def wait_for_upstream(self) -> None:
        """Whoever pushes earlier would run the consumer into a channel without a connection."""
        if not self.upstream_ready.done:
            await self.upstream_ready

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def request(self) -> None:
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
            if not self.requested:
                self.requested = True
                self.buffers.assign_exclusive()
            waiting = bool(self.store)
        if waiting:
            await self.listener.data_available(self)

    def readable(self) -> bool:
        return self.next_type() is not Next.NONE

    def next_type(self) -> Next:
        if self.received.priority:
            return Next.PRIORITY
        if self.store or self.store.in_recovery:
            return self.store.next_type()
        if not self.received.elements:
            return Next.NONE
        return Next.DATA if type(self.received.elements[0].element) is Data else Next.EVENT

    async def take_element(self) -> Taken | None:
        async with self.lock:
            if self.released:
                return None
            if self.store and not self.received.priority:
                element, seq = self.store.take()
            elif self.received.priority or not self.store.in_recovery:
                head = self.received.poll()
                if head is None:
                    return None
                element, seq = head.element, head.seq
            else:
                return None
            if type(element) is Data:
                self.buffers.hand_out()
            return Taken(element, seq, self.next_type(), 0)

    async def on_state_consumed(self) -> None:
        async with self.lock:
            self.store.consumed()
            self.replay_stash()
            readable = self.readable()
            credit = self.buffers.open()
        self.listener.state_consumed(self)
        self.buffers.announce(credit)
        if readable:
            await self.listener.data_available(self)

    def replay_stash(self) -> None:
        stash, self.stash = self.stash, []
        for one in stash:
            self.received.add(one)

    async def recycle(self, count: int) -> None:
        freed = credit = 0
        async with self.lock:
            for _ in range(count):
                floating, announced = self.buffers.recycle(self.released)
                freed += floating
                credit += announced
        await self.buffers.give_back(freed)
        self.buffers.announce(credit)

    def read_at_once(self) -> None:
        self.buffers.announce(self.buffers.recycle(self.released)[1])

    async def resume(self) -> None:
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
        self.listener.consumption_resumed(self)

    # ---- checkpoints -----------------------------------------------------------------------------------------------
    async def checkpoint_started(self, barrier: Barrier) -> None:
        """Collecting what is known and waiting for the rest is one critical section with arrivals."""
        async with self.lock:
            self.start(barrier.checkpoint, self.collect_known(barrier.checkpoint))

    def collect_known(self, checkpoint: int) -> tuple[int, ...]:
        if checkpoint < self.last_barrier:
            raise PortError(
                ErrorKind.CHECKPOINT,
                f"the barrier of checkpoint {self.last_barrier} came before checkpoint {checkpoint} started",
                CheckpointReason.SUBSUMED,
            )
        if checkpoint > self.last_barrier:
            self.forget_barrier()
        recovered = self.store.known(checkpoint)
        return recovered + tuple(
            record
            for one in self.received
            if self.is_before_barrier(one)
            for record in one.element.ids  # type: ignore[union-attr]
        )

    def is_before_barrier(self, one: Received) -> bool:
        return type(one.element) is Data and (self.last_barrier == NONE or one.seq < self.last_barrier_seq)

    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        self.persister.start(checkpoint, known)

    def forget_barrier(self) -> None:
        self.last_barrier = self.last_barrier_seq = NONE

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        async with self.lock:
            self.persister.stop(checkpoint)
            if checkpoint == self.last_barrier:
                self.forget_barrier()

    async def insert_recovery_barrier(self, checkpoint: int) -> bool:
        async with self.lock:
            return self.store.insert_barrier(checkpoint)

    async def convert_to_priority(self, seq: int) -> None:
        async with self.lock:
            self.move_to_front(seq)
        await self.listener.priority_available(self, seq, forced=True)

    def move_to_front(self, seq: int) -> None:
        """The announced barrier becomes a priority event."""
        queue = self.received.elements[self.received.priority :]
        found = next((one for one in [*queue, *self.stash] if one.seq == seq), None)
        if self.last_barrier_seq != seq or found is None:
            raise PortError(ErrorKind.STATE, f"element {seq} is not the last barrier of this channel")
        if found in self.stash:
            self.stash.remove(found)
        else:
            self.received.remove(lambda one: one is found)
        assert type(found.element) is Barrier
        self.received.add_priority(Received(Barrier(found.element.checkpoint, Alignment.UNALIGNED), seq))

    # ---- observers and release ---------------------------------------------------------------------------------------
    def in_use(self) -> int:
        return self.store.count() + sum(type(one.element) is Data for one in self.received)

    def in_recovery(self) -> bool:
        return self.store.in_recovery

    def free_for_live(self) -> int:
        return self.buffers.available()

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        return self.persister.persisted(checkpoint)

    async def release(self) -> None:
        async with self.lock:
            self.released = True
            self.store.clear()
            self.received.clear()
            self.stash = []
            self.persister.release()
            freed = self.buffers.release()
        self.upstream_ready.complete()
        await self.buffers.give_back(freed)

    def resources(self) -> Resources:
        return Resources(
            segments=self.buffers.held(), heap=0, files=0, listeners=0, futures=int(self.store.in_recovery)
        )
