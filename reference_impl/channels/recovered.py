"""The placeholder of a channel while its state is read. recovery.md, section 2.8."""

from __future__ import annotations

from conformance.ports import (
    Barrier,
    ChannelConfig,
    CheckpointReason,
    Data,
    ErrorKind,
    Next,
    PortError,
    RecoveredChannelPort,
    Recovery,
    Resources,
    Taken,
)
from reference_impl.channels.channel import END_OF_RECOVERED_STATE, Channel
from reference_impl.channels.listener import Listener
from reference_impl.channels.recovered_store import FIRST_RECOVERED


class ReferenceRecoveredChannel(Channel, RecoveredChannelPort):
    """RECOVERING until all state is read, then until its end is consumed, then converted or released.

    Everything happens under the lock of the channel; the gate is told after it was let go.
    """

    def __init__(self, config: ChannelConfig, listener: Listener | None = None, index: int = 0) -> None:
        super().__init__(listener, index, "recovered channel")
        self.recovery = config.recovery
        self.queue: list[Data] = []
        """The recovered buffers, and behind the last one the end of recovered state."""
        self.seq = FIRST_RECOVERED
        self.state_read = self.consumed = self.converted = False
        self.stopped = 0

    # ---- recovery thread -------------------------------------------------------------------------------------------
    async def push_recovered(self, data: Data) -> None:
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

    def append(self, data: Data) -> bool:
        """Whether the queue was empty, so that the gate must be told. What comes too late is recycled."""
        if self.released or self.converted:
            return False
        if self.state_read:
            raise PortError(ErrorKind.STATE, "all recovered state was read before")
        self.queue.append(data)
        return len(self.queue) == 1

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def take(self) -> Taken | None:
        async with self.lock:
            if self.released:
                raise PortError(ErrorKind.STATE, "the channel is released")
            taken = self.next_element()
        if taken is not None and taken.element is END_OF_RECOVERED_STATE:
            self.listener.state_consumed(self)
            return None
        return taken

    def next_element(self) -> Taken | None:
        if not self.queue:
            return None
        head = self.queue.pop(0)
        if head is END_OF_RECOVERED_STATE:
            self.consumed = True
        seq = self.seq
        self.seq += 1
        return Taken(head, seq, self.next_type(), 0)

    def next_type(self) -> Next:
        if not self.queue:
            return Next.NONE
        return Next.EVENT if self.queue[0] is END_OF_RECOVERED_STATE else Next.DATA

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

    async def hand_over(self) -> tuple[int, ...]:
        """What the physical channel takes over; from now on nothing is accepted, and what comes is recycled.

        Raises: PortError STATE if state would be lost; nothing has changed then.
        """
        async with self.lock:
            if self.released or not self.can_convert():
                raise PortError(ErrorKind.STATE, "recovered state would be lost, or the channel is released")
            self.converted = True
            return self.empty_queue()

    def can_convert(self) -> bool:
        if self.recovery is Recovery.RECOVER_FIRST:
            return self.consumed
        if self.recovery is Recovery.IN_MEMORY:
            return self.state_read
        return not self.queue

    def empty_queue(self) -> tuple[int, ...]:
        ids = tuple(record for data in self.queue if data is not END_OF_RECOVERED_STATE for record in data.ids)
        self.queue.clear()
        return ids

    async def release(self) -> None:
        async with self.lock:
            self.released = True
            self.recycle()

    def recycle(self) -> None:
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
