"""The placeholder of a channel while its state is read. Specification: recovered-channel.md."""

from __future__ import annotations

from conformance.ports import (
    Barrier,
    Buffer,
    BufferAndBacklog,
    ChannelConfig,
    CheckpointReason,
    ErrorKind,
    Next,
    PortError,
    RecoveredChannelPort,
    Recovery,
    Resources,
)

from .channel import END_OF_RECOVERED_STATE, Channel
from .listener import Listener
from .recovered_store import FIRST_RECOVERED, records


class RecoveredChannel(Channel, RecoveredChannelPort):
    """RECOVERING until all state is read, then until its end is consumed, then converted or released.

    Everything happens under the lock of the channel; the gate is told after it was let go.
    """

    def __init__(self, config: ChannelConfig, listener: Listener | None = None, index: int = 0) -> None:
        super().__init__(listener, index, "recovered channel")
        self.recovery = config.recovery
        self.queue: list[Buffer] = []
        """The recovered buffers, and behind the last one the end of recovered state."""
        self.seq = FIRST_RECOVERED
        self.state_read = self.consumed = self.converted = False
        self.stopped = 0
        """The newest checkpoint that was stopped."""

    # ---- recovery thread -------------------------------------------------------------------------------------------
    async def push_recovered(self, data: Buffer) -> None:
        async with self.lock:
            first = self.append(data)
        if first:
            await self.listener.data_available(self)

    async def finish_recovered(self) -> None:
        async with self.lock:
            first = self.append(END_OF_RECOVERED_STATE)
            self.state_read = True
        if first:
            await self.listener.data_available(self)

    def append(self, data: Buffer) -> bool:
        """Whether the queue was empty, so that the gate must be told. What comes after release is recycled."""
        if self.released or self.converted:
            return False
        if self.state_read:
            raise PortError(ErrorKind.STATE, "all recovered state was read before")
        self.queue.append(data)
        return len(self.queue) == 1

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def take(self) -> BufferAndBacklog | None:
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
        return await self.take()

    async def checkpoint_started(self, barrier: Barrier) -> None:
        raise PortError(
            ErrorKind.CHECKPOINT, "the channel is still recovering", CheckpointReason.DECLINED_TASK_NOT_READY
        )

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        self.stopped = max(self.stopped, checkpoint)

    def last_stopped(self) -> int:
        return self.stopped

    # ---- conversion and release ------------------------------------------------------------------------------------
    async def convert(self) -> tuple[int, ...]:
        handed_over = await self.hand_over()
        await self.release()
        return handed_over

    def can_convert(self) -> bool:
        """Whether no state would be lost."""
        if self.recovery is Recovery.RECOVER_FIRST:
            return self.consumed
        if self.recovery is Recovery.IN_MEMORY:
            return self.state_read
        return not self.queue

    async def hand_over(self) -> tuple[int, ...]:
        """What the physical channel takes over; from now on nothing is accepted, and what comes is recycled.

        Raises: PortError STATE if state would be lost; nothing has changed then.
        """
        async with self.lock:
            if self.released or not self.can_convert():
                raise PortError(ErrorKind.STATE, "recovered state would be lost, or the channel is released")
            self.converted = True
            handed_over = records(self.queue)
            self.queue.clear()
            return handed_over

    async def release(self) -> None:
        async with self.lock:
            self.released = True
            self.queue.clear()

    # ---- observers -------------------------------------------------------------------------------------------------
    def in_use(self) -> int:
        return sum(data is not END_OF_RECOVERED_STATE for data in self.queue)

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        return ()

    def resources(self) -> Resources:
        return Resources(
            segments=self.in_use(), heap=0, files=0, listeners=0, futures=int(not (self.consumed or self.released))
        )
