"""A channel whose producer is in the same process: it reads the subpartition directly. Specification: local-channel.md.

The channel lock guards the recovered queue, the persister and the life of the channel. The subpartition lock, which is
taken inside it, guards the subpartition. The gate is notified after both were released.
"""

from __future__ import annotations

from conformance.ports import (
    PRODUCER,
    SUBPARTITION_REQUEST,
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
from conformance.scheduling import Future, Pause

from ..design import Design
from ..faults import Faults, Faulty
from ..state.persister import Persister
from .channel import END_OF_RECOVERED_STATE, PhysicalChannel
from .listener import Listener
from .recovered_store import make_store
from .subpartition import Subpartition

NOTHING, PRIORITY = Next.NONE, Next.PRIORITY
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class LocalChannel(Faulty, PhysicalChannel, LocalChannelPort):
    """The local channel of every recovery design. Where recovered data is kept is a matter of its store."""

    def __init__(
        self,
        config: ChannelConfig,
        design: Design,
        listener: Listener | None = None,
        index: int = 0,
        last_stopped: int = 0,
        subpartition: Subpartition | None = None,
        faults: Faults | None = None,
    ) -> None:
        """L1. `faults`: those of the gate; a channel that stands alone has its own."""
        super().__init__(listener, index, "local channel")
        self.subpartition = subpartition or Subpartition(SubpartitionConfig(config.exclusive_buffers), design)
        """Subpartition: what the producer added, and whether it is blocked."""
        lock_type = self.listener.lock_type
        self.subpartition_lock = lock_type(f"subpartition {index} lock", "subpartition lock", index)
        self.view = False
        """View: the channel has asked for its subpartition and is attached to it."""
        self.faults = faults or Faults(self)
        self.persister = Persister(last_stopped, self.faults)
        self.recovered = make_store(config)
        """Recovered queue, next recovered number, in recovery, and all pushed."""
        self.priority_waits = False
        """Priority notified: the gate was notified of a priority event, and no take has looked for it since. Only set
        while recovered buffers are queued: without them every take looks into the view anyway."""
        self.outside = Pause(f"outside the locks of local channel {index}")
        """A scenario can stop the producer here, before the gate is notified of a priority event (L4)."""
        self.upstream_ready = Future(f"upstream of local channel {index}")
        """Upstream ready: there is a view; pushes wait for it."""

    # ---- producer ----------------------------------------------------------------------------------------------------
    async def add(self, element: Element) -> bool:
        """L2 to L4. A producer adds an element to the subpartition; then the gate is notified (Flink:
        `PipelinedSubpartition.add`, `LocalInputChannel.notifyDataAvailable`, `notifyPriorityEvent`)."""
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

    async def time_out(self, checkpoint: int) -> None:
        """L4, subpartition.md S11. The barrier of a checkpoint becomes unaligned if it is still queued; then the gate
        is notified (Flink: `PipelinedSubpartition.alignedBarrierTimeout`)."""
        async with self.subpartition_lock:
            self.subpartition.aligned_timeout(checkpoint)
            told, self.subpartition.signals = self.subpartition.signals, []
        if told:
            await self.outside
            self.priority_waits = bool(self.recovered)
            await self.listener.priority_available(self, self.subpartition.seq)

    async def arrive(self, element: Element, backlog: int = -1) -> None:
        """L2, L3. A local producer needs no credit."""
        await self.add(element)

    # ---- recovery thread ---------------------------------------------------------------------------------------------
    async def push_recovered(self, data: Buffer) -> None:
        """L5 to L7. Push a recovered buffer, once the upstream is there (Flink:
        `RecoverableInputChannel.onRecoveredStateBuffer`)."""
        await self.upstream_ready
        async with self.lock:
            first = not self.released and self.recovered.push(data)
        if first:
            await self.listener.data_available(self)

    async def finish_recovered(self) -> None:
        """L6 to L8. Push the end of recovered data (Flink: `RecoverableInputChannel`,
        `EndOfInputChannelStateEvent`)."""
        await self.push_recovered(END_OF_RECOVERED_STATE)

    # ---- task thread -------------------------------------------------------------------------------------------------
    async def request(self) -> None:
        """L9, L27. Request the subpartition: the channel gets its view (Flink:
        `LocalInputChannel.requestSubpartitions`)."""
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
            if self.view or self.faults.refuses(SUBPARTITION_REQUEST):
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
        """L10 to L15, L26, L28 (Flink: `LocalInputChannel.getNextBuffer`). The end of recovered data is returned too;
        `end_of_recovered_state` follows it (L16).

        If no recovered data stands in front of the view, the view is polled (L11). Otherwise only a priority event may
        leave the view: in recovery every take looks for one (L13), and with data that was handed over a take does so if
        the gate was notified of one (L12). If none is there, the recovered queue is next.
        """
        async with self.lock:
            if self.released:
                return None
            recovered_first = self.recovered.in_recovery or bool(self.recovered)
            if not recovered_first or self.recovered.in_recovery or self.priority_waits:
                if not self.view:
                    raise PortError(ErrorKind.STATE, "queried for data before the subpartition was requested")
                self.priority_waits = False  # reset first: a notification that comes meanwhile sets it again
                async with self.subpartition_lock:
                    hidden = recovered_first and not self.subpartition.queue.priority
                    taken = None if hidden else self.subpartition.poll()
                if taken is not None:  # the persister sees live elements only (FLINK-40016)
                    self.persister.barrier(taken.element)
                    self.persister.maybe_persist(taken.element)
                    if recovered_first and taken.next is PRIORITY:
                        self.priority_waits = True
                    elif recovered_first:
                        taken = BufferAndBacklog(taken.element, taken.seq, self.recovered.next_type(), taken.backlog)
                if taken is None and not recovered_first:
                    self.faults.reach(PRODUCER)
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
        """L12, L16. What the view could deliver now. The caller holds the channel lock."""
        if not self.view:
            return NOTHING
        async with self.subpartition_lock:
            return self.subpartition.next_type()

    async def end_of_recovered_state(self) -> None:
        """L16. The end of recovered data was taken: live data can be taken from now on, and the gate is notified."""
        async with self.lock:
            self.recovered.clear()
            available = await self.next_live() is not NOTHING
        self.listener.state_consumed(self)
        if available:
            await self.listener.data_available(self)

    async def resume(self) -> None:
        """L17. The producer may go on after an element that blocked it (Flink:
        `LocalInputChannel.resumeConsumption`)."""
        if self.released or not self.view:
            raise PortError(ErrorKind.STATE, "the channel is released, or was not requested yet")
        async with self.subpartition_lock:
            self.subpartition.resume()
            available = self.subpartition.something_available()
        if available:
            await self.listener.data_available(self)

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    async def insert_recovery_barrier(self, checkpoint: int) -> bool:
        """L18. Mark in the recovered queue where a checkpoint starts, if the channel is in recovery (Flink:
        `RecoveryCheckpointBarrier`)."""
        async with self.lock:
            return self.recovered.insert_barrier(checkpoint)

    async def checkpoint_started(self, barrier: Barrier) -> None:
        """L19 to L21, L26. The recovered data in front of the recovery barrier is written, and from now on live data in
        front of the barrier (Flink: `LocalInputChannel.checkpointStarted`)."""
        async with self.lock:
            self.persister.start(barrier.checkpoint, self.recovered.known(barrier.checkpoint))

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        """L22. Nothing more is written for this checkpoint (Flink: `LocalInputChannel.checkpointStopped`)."""
        async with self.lock:
            self.persister.stop(checkpoint)

    # ---- observers and release ---------------------------------------------------------------------------------------
    def in_recovery(self) -> bool:
        """L24. Whether the end of recovered data was not taken yet."""
        return self.recovered.in_recovery

    def in_use(self) -> int:
        """L23. The number of buffers that wait in the channel (Flink: `getBuffersInUseCount`)."""
        return self.recovered.count() + (self.subpartition.backlog if self.view else 0)

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        """L24. The records that were written as the input state of a checkpoint."""
        return self.persister.persisted(checkpoint)

    async def release(self) -> None:
        """L25, L29. Give back the recovered buffers and the view; pushes that wait go on (Flink:
        `LocalInputChannel.releaseAllResources`)."""
        async with self.lock:
            self.released = True
            self.recovered.clear()
            self.upstream_ready.complete()  # no push waits for an upstream that never comes
        async with self.subpartition_lock:
            self.subpartition.release()
            self.view = False

    def resources(self) -> Resources:
        """I-93. The subpartition is counted with its channel; in recovery there are futures to wait for."""
        held = self.subpartition.resources()
        waiting = self.recovered.in_recovery
        return Resources(
            segments=(held.segments or 0) + self.recovered.count(),
            heap=0,
            files=0,
            listeners=int(self.view),
            futures=(held.futures or 0) + int(waiting) + int(waiting and not self.upstream_ready.done),
        )
