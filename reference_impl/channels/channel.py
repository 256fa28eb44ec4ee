"""What a gate needs of its channels, whatever their kind."""

from __future__ import annotations

from typing import Any, ClassVar

from conformance.ports import Barrier, Data, DataType, Element, InputChannelPort, PhysicalChannelPort, Resources, Taken
from conformance.scheduling import Lock
from reference_impl.channels.listener import Listener, Signals


class EndOfRecoveredState:
    """Queued behind recovered data; never handed to an operator."""

    data_type: ClassVar[DataType] = DataType.EVENT


END_OF_RECOVERED_STATE: Any = EndOfRecoveredState()


class Channel(InputChannelPort):
    """The part that recovered and physical channels share: a place in the gate, a lock, somebody to tell."""

    def __init__(self, listener: Listener | None, index: int, lock_name: str) -> None:
        self.listener: Listener = Signals(self) if listener is None else listener
        self.index = index
        self.lock = Lock(f"{lock_name} {index} lock", "channel lock", index)
        self.released = False

    async def take(self) -> Taken | None:
        raise NotImplementedError

    async def checkpoint_started(self, barrier: Barrier) -> None:
        raise NotImplementedError

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        raise NotImplementedError

    async def push_recovered(self, data: Data) -> None:
        raise NotImplementedError

    async def finish_recovered(self) -> None:
        raise NotImplementedError

    async def release(self) -> None:
        raise NotImplementedError

    def in_use(self) -> int:
        raise NotImplementedError

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        raise NotImplementedError

    def resources(self) -> Resources:
        raise NotImplementedError


class PhysicalChannel(Channel, PhysicalChannelPort):
    """A channel that gets live data. In recovery it hands out what was recovered first."""

    async def take_element(self) -> Taken | None:
        """The next element, the end of recovered state included. The gate calls it, and holds its own lock then."""
        raise NotImplementedError

    async def on_state_consumed(self) -> None:
        """The consumer took the end of recovered state: live data becomes visible, and the gate is told of it.

        The gate calls it without holding its own lock.
        """
        raise NotImplementedError

    async def take(self) -> Taken | None:
        taken = await self.take_element()
        if taken is not None and taken.element is END_OF_RECOVERED_STATE:
            await self.on_state_consumed()
            return None
        return taken

    def read_at_once(self) -> None:
        """The consumer is done with the buffer that it has just taken, before anybody else does anything."""

    async def request(self) -> None:
        """Ask the producer for data. Idempotent."""
        raise NotImplementedError

    async def arrive(self, element: Element) -> None:
        """A live element, with whatever number comes next."""
        raise NotImplementedError

    async def insert_recovery_barrier(self, checkpoint: int) -> bool:
        raise NotImplementedError

    async def resume(self) -> None:
        raise NotImplementedError
