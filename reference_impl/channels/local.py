"""A channel whose producer is in the same process: it reads the subpartition directly. Specification: local-channel.md.

Two locks: that of the channel, for what is recovered and for the persister, and inside it that of the subpartition.
The listener is told after both were let go.
"""

from __future__ import annotations

from conformance.ports import (
    Barrier,
    Buffer,
    BufferAndBacklog,
    ChannelConfig,
    Element,
    EndOfPartition,
    ErrorKind,
    LocalChannelPort,
    Next,
    PortError,
    PriorityAvailable,
    Resources,
    SubpartitionConfig,
)
from conformance.scheduling import Future, Lock, Pause

from ..design import Design
from ..subpartition import Subpartition
from .channel import END_OF_RECOVERED_STATE, PhysicalChannel
from .listener import Listener
from .persister import Persister
from .recovered_store import make_store


class LocalChannel(PhysicalChannel, LocalChannelPort):
    """The local channel of every recovery design; where recovered data is kept is a matter of its store."""

    def __init__(
        self,
        config: ChannelConfig,
        design: Design,
        listener: Listener | None = None,
        index: int = 0,
        last_stopped: int = 0,
        subpartition: Subpartition | None = None,
    ) -> None:
        super().__init__(listener, index, "local channel")
        self.subpartition = subpartition or Subpartition(SubpartitionConfig(config.exclusive_buffers), design)
        self.subpartition_lock = Lock(f"subpartition {index} lock", "subpartition lock", index)
        self.view = False
        """Whether the subpartition was requested."""
        self.persister = Persister(last_stopped)
        self.recovered = make_store(config)
        self.priority_waits = False
        """A priority event in the view was announced. It counts while recovered data stands in front of the view."""
        self.outside = Pause(f"outside the locks of local channel {index}")
        self.upstream_ready = Future(f"upstream of local channel {index}")

    # ---- producer --------------------------------------------------------------------------------------------------
    async def add(self, element: Element) -> bool:
        async with self.subpartition_lock:
            if type(element) is EndOfPartition:
                accepted = not (self.subpartition.finished or self.subpartition.released)
                self.subpartition.finish()
            else:
                accepted = self.subpartition.add(element)
            told = self.subpartition.signals
            if told:
                self.subpartition.signals = []
        for signal in told:
            if type(signal) is PriorityAvailable:
                await self.outside
                self.priority_waits = bool(self.recovered)
                await self.listener.priority_available(self, signal.seq)
            else:
                await self.listener.data_available(self)
        return accepted

    async def arrive(self, element: Element) -> None:
        await self.add(element)

    # ---- recovery thread -------------------------------------------------------------------------------------------
    async def push_recovered(self, data: Buffer) -> None:
        await self.upstream_ready
        async with self.lock:
            first = not self.released and self.recovered.push(data)
        if first:
            await self.listener.data_available(self)

    async def finish_recovered(self) -> None:
        await self.push_recovered(END_OF_RECOVERED_STATE)

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def request(self) -> None:
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
            if self.view:
                return
            async with self.subpartition_lock:
                self.subpartition.attach_view()
                self.view = True
                self.upstream_ready.complete()
                self.priority_waits = self.subpartition.queue.priority > 0
                available = self.subpartition.something_available()
        if available:
            await self.listener.data_available(self)

    async def next_element(self) -> BufferAndBacklog | None:
        """Recovered data first; only priority events overtake it."""
        async with self.lock:
            if self.released:
                return None
            recovered_first = self.recovered.in_recovery or bool(self.recovered)
            if not recovered_first or self.recovered.in_recovery or self.priority_waits:
                if not self.view:
                    raise PortError(ErrorKind.STATE, "queried for data before the subpartition was requested")
                self.priority_waits = False  # first: an announcement that comes meanwhile raises it again
                async with self.subpartition_lock:
                    hidden = recovered_first and not self.subpartition.queue.priority
                    taken = None if hidden else self.subpartition.poll()
                if taken is not None:  # the persister sees live elements only (FLINK-40016)
                    self.persister.barrier(taken.element)
                    self.persister.maybe_persist(taken.element)
                    if recovered_first and taken.next is Next.PRIORITY:
                        self.priority_waits = True
                    elif recovered_first:
                        taken = BufferAndBacklog(taken.element, taken.seq, self.recovered.next_type(), taken.backlog)
                if taken is not None or not recovered_first:
                    return taken
            if not self.recovered:
                return None
            element, seq = self.recovered.take()
            live_follows = not self.recovered and not self.recovered.in_recovery
            return BufferAndBacklog(
                element, seq, await self.next_live() if live_follows else self.recovered.next_type(), 0
            )

    async def next_live(self) -> Next:
        """What the view could hand out now. The caller holds the lock of the channel."""
        if not self.view:
            return Next.NONE
        async with self.subpartition_lock:
            return self.subpartition.next_type()

    async def end_of_recovered_state(self) -> None:
        async with self.lock:
            self.recovered.clear()
            available = await self.next_live() is not Next.NONE
        self.listener.state_consumed(self)
        if available:
            await self.listener.data_available(self)

    async def resume(self) -> None:
        if self.released or not self.view:
            raise PortError(ErrorKind.STATE, "the channel is released, or was not requested yet")
        async with self.subpartition_lock:
            self.subpartition.resume()
            available = self.subpartition.something_available()
        if available:
            await self.listener.data_available(self)

    # ---- checkpoints -----------------------------------------------------------------------------------------------
    async def insert_recovery_barrier(self, checkpoint: int) -> bool:
        async with self.lock:
            return self.recovered.insert_barrier(checkpoint)

    async def checkpoint_started(self, barrier: Barrier) -> None:
        """Recovered data is written now and never again; live data that is queued belongs to the producer's state."""
        async with self.lock:
            self.persister.start(barrier.checkpoint, self.recovered.known(barrier.checkpoint))

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        async with self.lock:
            self.persister.stop(checkpoint)

    # ---- observers and release -------------------------------------------------------------------------------------
    def in_recovery(self) -> bool:
        return self.recovered.in_recovery

    def in_use(self) -> int:
        return self.recovered.count() + (self.subpartition.backlog if self.view else 0)

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        return self.persister.persisted(checkpoint)

    async def release(self) -> None:
        async with self.lock:
            self.released = True
            self.recovered.clear()
            self.upstream_ready.complete()  # no push waits for an upstream that never comes
        async with self.subpartition_lock:
            self.subpartition.release()
            self.view = False

    def resources(self) -> Resources:
        held = self.subpartition.resources()
        waiting = self.recovered.in_recovery
        return Resources(
            segments=(held.segments or 0) + self.recovered.count(),
            heap=0,
            files=0,
            listeners=int(self.view),
            futures=(held.futures or 0) + int(waiting) + int(waiting and not self.upstream_ready.done),
        )
