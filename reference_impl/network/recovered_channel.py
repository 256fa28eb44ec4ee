"""The placeholder of an input channel while its state is read. Specification: recovered-channel.md."""

from __future__ import annotations

from conformance.ports import (
    BUFFER_POOL,
    NETWORK_BUFFER_POOL,
    Barrier,
    Buffer,
    BufferAndBacklog,
    ChannelConfig,
    CheckpointReason,
    ErrorKind,
    FaultKind,
    Next,
    PortError,
    RecoveredChannelPort,
    Recovery,
    Resources,
)
from conformance.scheduling import Future

from ..faults import Faults, Faulty
from .channel import END_OF_RECOVERED_STATE, Channel
from .listener import Listener
from .recovered_store import FIRST_RECOVERED, records


class RecoveredChannel(Faulty, Channel, RecoveredChannelPort):
    """The recovered channel of every recovery design. The design says when it may be converted (V12).

    Everything that one rule does happens under the channel lock, unless the rule says otherwise. The gate is notified
    after the channel lock was released.
    """

    def __init__(self, config: ChannelConfig, listener: Listener | None = None, index: int = 0) -> None:
        super().__init__(listener, index, "recovered channel")
        self.recovery = config.recovery
        self.queue: list[Buffer] = []
        """Queue: recovered buffers in the order in which they were pushed, then the end of recovered data."""
        self.seq = FIRST_RECOVERED
        """Next number: the sequence number of the next element that is taken."""
        self.state_read = self.consumed = self.converted = False
        """State read: the end of recovered data was queued. Consumed: that end was taken. Converted: the queue was
        handed over to a physical channel."""
        self.stopped = 0
        """Last stopped: the newest checkpoint that was stopped here; 0 stands for none."""
        self.faults = Faults(self)
        self.refused: Future | None = None
        """Refused: what the push waits for that the buffer pool has refused a buffer; none if no push waits."""
        self.offered = 0
        """Offered: how many buffers, 0 or 1, the channel keeps for that push."""

    # ---- recovery thread ---------------------------------------------------------------------------------------------
    async def push_recovered(self, data: Buffer) -> None:
        """V2 to V4, V18 to V20. Queue a recovered buffer; if the pool has none, wait for one (Flink:
        `RecoveredInputChannel.requestBufferBlocking`, `onRecoveredStateBuffer`)."""
        if BUFFER_POOL in self.faults.armed:
            await self.request_buffer()
        async with self.lock:
            first = self.append(data)
        if first:
            await self.listener.data_available(self)

    async def request_buffer(self) -> None:
        """V18 to V20. Waits for a buffer if the pool has none. A channel that is over needs none.

        Raises: PortError IO if the pool was destroyed, RELEASED if the channel was released meanwhile.
        """
        async with self.lock:
            if self.released or self.converted or self.state_read or not self.faults.refuses(BUFFER_POOL):
                return
            self.refused = Future(f"buffer pool of recovered channel {self.index}")
        await self.refused
        async with self.lock:
            self.refused = None
            if self.offered:
                self.offered = 0  # from here on, the push has it
                return
        self.faults.reach(BUFFER_POOL)
        raise PortError(ErrorKind.RELEASED, "the channel was released while a push was waiting for a buffer")

    async def finish_recovered(self) -> None:
        """V3 to V5. Queue the end of recovered data: all state was read (Flink: `finishReadRecoveredState`)."""
        async with self.lock:
            first = self.append(END_OF_RECOVERED_STATE)
            self.state_read = True
        if first:
            await self.listener.data_available(self)

    def append(self, data: Buffer) -> bool:
        """V2 to V5. Returns whether the queue was empty before, so that the gate must be notified."""
        if self.released or self.converted:
            return False
        if self.state_read:
            raise PortError(ErrorKind.STATE, "all recovered state was read before")
        self.queue.append(data)
        return len(self.queue) == 1

    # ---- buffer pool -------------------------------------------------------------------------------------------------
    async def offer_buffer(self) -> bool:
        """V19. Keeps the buffer if a push waits for one (Flink: `BufferManager.notifyBufferAvailable`)."""
        async with self.lock:
            if self.refused is None or self.refused.done or self.released:
                return False
            self.offered = 1
            self.refused.complete()
            return True

    def fault(self, place: str, kind: FaultKind, nth: int = 1) -> bool:
        """V20. A push that waits for a buffer learns at once that the pool was destroyed."""
        if kind is FaultKind.ENDS and self.refused is not None:
            self.refused.complete()
        return super().fault(place, kind, nth)

    # ---- task thread -------------------------------------------------------------------------------------------------
    async def take(self) -> BufferAndBacklog | None:
        """V6 to V9. Take the next recovered buffer. A take of the end of recovered data completes the future for it and
        returns nothing (Flink: `RecoveredInputChannel.getNextBuffer`, `getStateConsumedFuture`)."""
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
            if not self.queue:
                return None
            head, seq = self.queue.pop(0), self.seq
            self.seq += 1
            if head is END_OF_RECOVERED_STATE:
                self.consumed = True
            following = Next.NONE
            if self.queue:
                following = Next.EVENT if self.queue[0] is END_OF_RECOVERED_STATE else Next.DATA
        if head is not END_OF_RECOVERED_STATE:
            return BufferAndBacklog(head, seq, following, 0)
        self.listener.state_consumed(self)
        return None

    async def next_element(self) -> BufferAndBacklog | None:
        """V6 to V9. As a gate takes it."""
        return await self.take()

    async def checkpoint_started(self, barrier: Barrier) -> None:
        """V10. Refuse: a recovering channel cannot take part in a checkpoint (Flink:
        `RecoveredInputChannel.checkpointStarted`, `CHECKPOINT_DECLINED_TASK_NOT_READY`)."""
        raise PortError(
            ErrorKind.CHECKPOINT, "the channel is still recovering", CheckpointReason.DECLINED_TASK_NOT_READY
        )

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        """V11. Remember the newest checkpoint that is over, for the physical channel (Flink: `checkpointStopped`,
        `lastStoppedCheckpointId`)."""
        self.stopped = max(self.stopped, checkpoint)

    def last_stopped(self) -> int:
        """V17. The newest checkpoint that was stopped here."""
        return self.stopped

    # ---- conversion and release --------------------------------------------------------------------------------------
    async def convert(self) -> tuple[int, ...]:
        """V12 to V14. Hand over what is left in the queue, and release this channel (Flink:
        `RecoveredInputChannel.toInputChannel`)."""
        handed_over = await self.hand_over()
        await self.release()
        return handed_over

    def can_convert(self) -> bool:
        """V12. Whether the physical channel would get all the state that is left."""
        if self.recovery is Recovery.RECOVER_FIRST:
            return self.consumed
        if self.recovery is Recovery.IN_MEMORY:
            return self.state_read
        return not self.queue

    async def hand_over(self) -> tuple[int, ...]:
        """V12, V13, V21. The first of the two critical sections of a conversion. The caller then releases the channel
        (V14).

        Raises: PortError STATE if state would be lost, IO if the physical channel gets no exclusive buffers; nothing
        has changed then.
        """
        async with self.lock:
            if self.converted:
                raise PortError(ErrorKind.STATE, "the channel was converted before")
            if self.released or not self.can_convert():
                raise PortError(ErrorKind.STATE, "recovered state would be lost, or the channel is released")
            if self.faults.refuses(NETWORK_BUFFER_POOL):
                raise PortError(ErrorKind.IO, "the network buffer pool has too few buffers now")
            self.converted = True
            handed_over = records(self.queue)
            self.queue.clear()
            return handed_over

    async def release(self) -> None:
        """V14, V19. Drop the queue; a push that waits for a buffer ends (Flink: `releaseAllResources`)."""
        async with self.lock:
            self.released = True
            self.queue.clear()
            self.offered = 0
            if self.refused is not None:
                self.refused.complete()

    # ---- observers ---------------------------------------------------------------------------------------------------
    def in_use(self) -> int:
        """V16. The number of recovered buffers in the queue (Flink: `getBuffersInUseCount`)."""
        return sum([data is not END_OF_RECOVERED_STATE for data in self.queue])

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        """V17. Nothing: a recovered channel writes no input state."""
        return ()

    def resources(self) -> Resources:
        """V7, V14, V19. The buffers in the queue, one that is kept for the push that waits, and a future until the end
        was taken or the channel was released."""
        return Resources(
            segments=self.in_use() + self.offered,
            heap=0,
            files=0,
            listeners=0,
            futures=int(not (self.consumed or self.released)),
        )
