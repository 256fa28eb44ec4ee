"""A channel whose producer runs in another process. Specification: remote-channel.md."""

from __future__ import annotations

from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CONNECTION,
    PRODUCER,
    SUBPARTITION_REQUEST,
    Alignment,
    Announcement,
    Barrier,
    Buffer,
    BufferAndBacklog,
    ChannelConfig,
    CheckpointReason,
    Element,
    ErrorKind,
    Next,
    PortError,
    RemoteChannelPort,
    Resources,
)
from conformance.scheduling import Future

from ..faults import Faults, Faulty
from ..state.persister import Persister
from .buffer_manager import BufferManager, FloatingPool
from .channel import END_OF_RECOVERED_STATE, PhysicalChannel
from .listener import Listener
from .prioritized_deque import PrioritizedDeque
from .recovered_store import make_store

NOTHING, DATA, EVENT, PRIORITY = Next.NONE, Next.DATA, Next.EVENT, Next.PRIORITY
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

NONE = -1
"""There is no last barrier."""


class Received:
    """A live element that arrived, with its sequence number."""

    __slots__ = ("element", "seq")

    def __init__(self, element: Element, seq: int) -> None:
        self.element = element
        self.seq = seq


class RemoteChannel(Faulty, PhysicalChannel, RemoteChannelPort):
    """The remote channel of every recovery design. Where recovered data is kept is a matter of its store."""

    def __init__(
        self,
        config: ChannelConfig,
        listener: Listener | None = None,
        index: int = 0,
        last_stopped: int = 0,
        pool: FloatingPool | None = None,
        faults: Faults | None = None,
    ) -> None:
        """R1. `faults`: those of the gate; a channel that stands alone has its own."""
        super().__init__(listener, index, "channel")
        self.received: PrioritizedDeque[Received] = PrioritizedDeque()
        """Received: live elements that arrived, with their numbers; priority events first."""
        self.expected = config.first_number
        """Expected: the sequence number that the next live element must carry."""
        self.faults = faults or Faults(self)
        self.persister = Persister(last_stopped, self.faults)
        self.recovered = make_store(config)
        """Recovered queue, next recovered number, in recovery, and all pushed."""
        self.stash: list[Received] = []
        """Stash: live events without priority that arrived in recovery, with their numbers."""
        self.last_barrier = self.last_barrier_seq = NONE
        """Last barrier: checkpoint and sequence number of the newest barrier that arrived."""
        self.upstream_ready = Future(f"upstream {index} ready")
        """Upstream ready: the producer has sent something; pushes wait for it."""
        self.requested = False
        """Requested: the subpartition was requested."""
        self.failed = False
        """Failed: an error has reached the channel, which the next take returns."""
        self.shares_pool = pool is not None
        """Whether the floating pool belongs to a gate. A channel that stands alone has one of its own."""
        pool = FloatingPool(config.floating_buffers, self.listener.lock_type) if pool is None else pool
        self.buffers = BufferManager(self, config.exclusive_buffers, pool, self.recovered.count())
        self.buffers.announcing = not self.recovered.in_recovery

    # ---- network thread ----------------------------------------------------------------------------------------------
    async def arrive(self, element: Element, backlog: int = -1) -> None:
        """R2 to R12, R14. The element carries the expected number (Flink: `RemoteInputChannel.onBuffer`)."""
        await self.receive(element, self.expected, backlog)

    async def receive(self, element: Element, seq: int, backlog: int) -> None:
        """R2 to R12, R14, R35, R36. An element, or an error, has arrived (Flink: `RemoteInputChannel.onBuffer`,
        `onError`).

        Under the channel lock the element is refused or accepted. Outside it, buffers return to the pool (R12) and the
        gate is notified (R10). The backlog comes last, in a critical section of its own (R14).
        """
        if PRODUCER in self.faults.armed:
            self.faults.strike(PRODUCER)
            await self.keep_error()
            return
        freed = 0
        async with self.lock:
            if seq != self.expected:
                raise PortError(ErrorKind.REORDERING, f"element {seq} came, {self.expected} was expected")
            self.upstream_ready.complete()
            if self.released:
                return
            if element.data_type.blocks_upstream and backlog > 0:
                raise PortError(ErrorKind.ARGUMENT, f"a blocked producer announced a backlog of {backlog}")
            if self.recovered.in_recovery and type(element) is Buffer:
                raise PortError(ErrorKind.PROTOCOL, "data came before the recovered data was consumed")
            if self.faults.slow and self.persister.writes(element):
                await self.faults.wait(CHANNEL_STATE_WRITER)
            was_readable = self.readable()
            priority = self.accept(element, seq)
            readable = self.readable()
            if element.data_type.blocks_upstream and self.buffers.initial_credit == 0:
                freed = self.buffers.release_floating()  # a blocked producer needs none, and has no exclusive ones
        await self.buffers.give_back(freed)
        if priority:
            await self.listener.priority_available(self, seq)
        if readable and not was_readable:
            await self.listener.data_available(self)
        if backlog >= 0:
            await self.hear_backlog(backlog)

    async def hear_backlog(self, backlog: int) -> None:
        """R14. The producer sent its backlog, with an element or in a message of its own (Flink: `onSenderBacklog`)."""
        async with self.lock:
            credit = 0 if self.released else await self.buffers.request_floating(backlog)
        self.buffers.announce(credit)

    async def keep_error(self) -> None:
        """R36. An error has reached the channel. The gate is notified once, so that it takes (Flink:
        `InputChannel.setError`)."""
        async with self.lock:
            told = self.failed or self.released
            self.failed = True
        if not told:
            await self.listener.data_available(self)

    def accept(self, element: Element, seq: int) -> bool:
        """R6 to R9, R13, R35. Returns whether a priority event became the first one (R10)."""
        self.expected = wrapped(self.expected + 1)
        data_type = element.data_type
        if type(element) is Buffer:
            self.buffers.take_for_live()
        if data_type.has_priority:
            self.received.add_priority(Received(element, seq))
        elif self.recovered.in_recovery:
            self.stash.append(Received(element, seq))
        else:
            self.received.add(Received(element, seq))
        if data_type.needs_announcement and type(element) is Barrier:
            self.received.add_priority(Received(Announcement(element.checkpoint, seq), seq))
        checkpoint = self.persister.barrier(element)
        if checkpoint is not None and type(element) is Barrier and checkpoint > self.last_barrier:
            self.last_barrier, self.last_barrier_seq = checkpoint, seq
        self.persister.maybe_persist(element)
        return (data_type.has_priority or data_type.needs_announcement) and self.received.priority == 1

    # ---- recovery thread ---------------------------------------------------------------------------------------------
    async def push_recovered(self, data: Buffer) -> None:
        """R19, R20. Push a recovered buffer, once the upstream is there (Flink:
        `RecoverableInputChannel.onRecoveredStateBuffer`)."""
        if not self.upstream_ready.done:
            await self.upstream_ready
        async with self.lock:
            first = not self.released and self.recovered.push(data)
            if not self.released and data is not END_OF_RECOVERED_STATE:
                self.buffers.take_for_recovered()
        if first:
            await self.listener.data_available(self)

    async def finish_recovered(self) -> None:
        """R19, R20. Push the end of recovered data (Flink: `RecoverableInputChannel`,
        `EndOfInputChannelStateEvent`)."""
        await self.push_recovered(END_OF_RECOVERED_STATE)

    # ---- task thread -------------------------------------------------------------------------------------------------
    async def request(self) -> None:
        """R21, R37. Request the subpartition of the producer; the exclusive buffers are set aside for it (Flink:
        `setup`, `requestSubpartitions`)."""
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
            if not self.requested:
                if self.faults.refuses(SUBPARTITION_REQUEST):
                    return
                self.requested = True
                self.buffers.assign_exclusive()
            waiting = bool(self.recovered)
        if waiting:
            await self.listener.data_available(self)

    def readable(self) -> bool:
        """R10. Whether something could be delivered."""
        return self.next_type() is not NOTHING

    def next_type(self) -> Next:
        """R23. What the next take finds: a priority event, recovered data, or the head of what has arrived."""
        if self.received.priority:
            return PRIORITY
        if self.recovered or self.recovered.in_recovery:
            return self.recovered.next_type()
        if not self.received.elements:
            return NOTHING
        return DATA if type(self.received.elements[0].element) is Buffer else EVENT

    async def next_element(self) -> BufferAndBacklog | None:
        """R22, R24, R36. Take a priority event, or recovered data, or what has arrived; or fail with the error that was
        kept (Flink: `RemoteInputChannel.getNextBuffer`, `checkError`)."""
        async with self.lock:
            if self.released:
                return None
            if self.failed:
                raise PortError(ErrorKind.IO, "the producer, or the connection to it, has failed")
            if self.recovered and not self.received.priority:
                element, seq = self.recovered.take()
            elif self.recovered.in_recovery and not self.received.priority:
                return None
            else:
                head = self.received.poll()
                if head is None:
                    return None
                element, seq = head.element, head.seq
            if type(element) is Buffer:
                self.buffers.hand_out()
            return BufferAndBacklog(element, seq, self.next_type(), 0)

    async def end_of_recovered_state(self) -> None:
        """R25, R38. The end of recovered data was taken: events in the stash can be taken, and credit is announced."""
        async with self.lock:
            self.recovered.clear()
            for stashed in self.stash:
                self.received.add(stashed)
            self.stash = []
            readable = self.readable()
            credit = await self.buffers.open()
        self.listener.state_consumed(self)
        self.buffers.announce(credit)
        if readable:
            await self.listener.data_available(self)

    async def recycle(self, count: int) -> None:
        """R18, R38. The consumer gives buffers back: they become credit, or return to the pool (Flink:
        `BufferManager.recycle`)."""
        freed = credit = 0
        async with self.lock:
            for _ in range(count):
                floating, announced = self.buffers.recycle(self.released)
                freed += floating
                credit += announced
        await self.buffers.give_back(freed)
        self.buffers.announce(credit)

    def buffer_was_copied(self) -> None:
        """R18, gate.md G12. The gate has copied a buffer, which is recycled at once."""
        self.buffers.copied += 1

    async def return_copied(self) -> None:
        """R18, gate.md G12. Recycle the buffers that were copied."""
        if self.buffers.copied:
            await self.recycle(self.buffers.copied)

    async def resume(self) -> None:
        """R26, R38. The producer may go on after an element that blocked it (Flink:
        `RemoteInputChannel.resumeConsumption`)."""
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
        self.faults.reach(CONNECTION)
        self.listener.consumption_resumed(self)

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    async def checkpoint_started(self, barrier: Barrier) -> None:
        """R29, R30, R35. Known data is collected and the persister started in one critical section with arrivals
        (Flink: `RemoteInputChannel.checkpointStarted`, `getInflightBuffersUnsafe`)."""
        checkpoint = barrier.checkpoint
        async with self.lock:
            if checkpoint < self.last_barrier:
                raise PortError(
                    ErrorKind.CHECKPOINT,
                    f"the barrier of checkpoint {self.last_barrier} came before checkpoint {checkpoint} started",
                    CheckpointReason.SUBSUMED,
                )
            if checkpoint > self.last_barrier:
                self.last_barrier = self.last_barrier_seq = NONE
            recovered = self.recovered.known(checkpoint)
            live = tuple(
                record
                for one in self.received
                if type(one.element) is Buffer
                and (self.last_barrier == NONE or is_before(one.seq, self.last_barrier_seq))
                for record in one.element.ids
            )
            if self.faults.slow and recovered + live:
                await self.faults.wait(CHANNEL_STATE_WRITER)
            self.persister.start(checkpoint, recovered + live)

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        """R31. Nothing more is written for this checkpoint (Flink: `RemoteInputChannel.checkpointStopped`,
        `resetLastBarrier`)."""
        async with self.lock:
            self.persister.stop(checkpoint)
            if checkpoint == self.last_barrier:
                self.last_barrier = self.last_barrier_seq = NONE

    async def insert_recovery_barrier(self, checkpoint: int) -> bool:
        """R28. Mark in the recovered queue where a checkpoint starts, if the channel is in recovery (Flink:
        `RecoveryCheckpointBarrier`)."""
        async with self.lock:
            return self.recovered.insert_barrier(checkpoint)

    async def convert_to_priority(self, seq: int) -> None:
        """R27. The last barrier becomes unaligned and overtakes what is queued (Flink:
        `RemoteInputChannel.convertToPriorityEvent`)."""
        async with self.lock:
            ordinary = self.received.elements[self.received.priority :]
            found = next((one for one in [*ordinary, *self.stash] if one.seq == seq), None)
            if self.last_barrier_seq != seq or found is None:
                raise PortError(ErrorKind.STATE, f"element {seq} is not the last barrier of this channel")
            if found in self.stash:
                self.stash.remove(found)
            else:
                self.received.remove(lambda one: one is found)
            assert type(found.element) is Barrier
            self.received.add_priority(Received(Barrier(found.element.checkpoint, Alignment.UNALIGNED), seq))
        await self.listener.priority_available(self, seq, forced=True)

    # ---- observers and release ---------------------------------------------------------------------------------------
    def in_use(self) -> int:
        """R32. The number of buffers that wait in the channel (Flink: `getBuffersInUseCount`)."""
        return self.recovered.count() + sum([type(one.element) is Buffer for one in self.received])

    def in_recovery(self) -> bool:
        """R32. Whether the end of recovered data was not taken yet."""
        return self.recovered.in_recovery

    def free_for_live(self) -> int:
        """R33. The number of buffers that are set aside for live data (Flink: `getNumberOfAvailableBuffers`)."""
        return self.buffers.available()

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        """R32. The records that were written as the input state of a checkpoint."""
        return self.persister.persisted(checkpoint)

    async def release(self) -> None:
        """R34. Drop everything that waits, and return the buffers (Flink: `RemoteInputChannel.releaseAllResources`)."""
        async with self.lock:
            self.released = True
            self.recovered.clear()
            self.received.clear()
            self.stash = []
            self.persister.release()
            freed = self.buffers.release()
        self.upstream_ready.complete()
        await self.buffers.give_back(freed)
        await self.buffers.pool.leave(self.buffers)

    def resources(self) -> Resources:
        """I-93. The channel holds its buffers, memory of its own, and, in recovery, a future.

        A channel that stands alone also holds its place in the line of the pool.
        """
        own, futures = self.buffers.own(), int(self.recovered.in_recovery)
        places = 0 if self.shares_pool else self.buffers.pool.waiting.count(self.buffers)
        return Resources(segments=self.buffers.held(), heap=own, files=0, listeners=places, futures=futures)


def wrapped(number: int) -> int:
    """R6. The number as an integer of 32 bits."""
    return (number + 2**31) % 2**32 - 2**31


def is_before(seq: int, other: int) -> bool:
    """R29. Sequence numbers are integers of 32 bits that wrap around (Flink: `shouldBeSpilled`)."""
    return wrapped(seq - other) < 0
