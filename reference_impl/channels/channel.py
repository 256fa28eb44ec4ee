"""What a gate needs of its channels, whatever their kind."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from conformance.ports import (
    Barrier,
    Buffer,
    BufferAndBacklog,
    DataType,
    Element,
    InputChannelPort,
    PhysicalChannelPort,
    Resources,
)
from conformance.scheduling import Lock

from .listener import Listener, Signals


class EndOfRecoveredState:
    """Queued behind recovered data; never handed to an operator."""

    data_type: ClassVar[DataType] = DataType.EVENT


END_OF_RECOVERED_STATE: Any = EndOfRecoveredState()


class Channel(InputChannelPort):
    """The part that recovered and physical channels share: a place in the gate, a lock, a listener."""

    def __init__(self, listener: Listener | None, index: int, lock_name: str) -> None:
        self.listener: Listener = Signals(self) if listener is None else listener
        self.index = index
        self.lock = Lock(f"{lock_name} {index} lock", "channel lock", index)
        self.released = False

    @abstractmethod
    async def next_element(self) -> BufferAndBacklog | None:
        """What the gate polls; it holds its own lock. A physical channel also answers the end of recovered state."""

    def buffer_was_copied(self) -> None:
        """The consumer behind a gate has copied the buffer that was polled, which is free from now on."""

    @abstractmethod
    async def checkpoint_started(self, barrier: Barrier) -> None: ...

    @abstractmethod
    async def checkpoint_stopped(self, checkpoint: int) -> None: ...

    @abstractmethod
    async def push_recovered(self, data: Buffer) -> None: ...

    @abstractmethod
    async def finish_recovered(self) -> None: ...

    @abstractmethod
    async def release(self) -> None: ...

    @abstractmethod
    def in_use(self) -> int: ...

    @abstractmethod
    def persisted(self, checkpoint: int) -> tuple[int, ...]: ...

    @abstractmethod
    def resources(self) -> Resources: ...


class PhysicalChannel(Channel, PhysicalChannelPort):
    """A channel that gets live data. In recovery it hands out what was recovered first."""

    async def take(self) -> BufferAndBacklog | None:
        taken = await self.next_element()
        if taken is None or taken.element is not END_OF_RECOVERED_STATE:
            return taken
        await self.end_of_recovered_state()
        return None

    @abstractmethod
    async def end_of_recovered_state(self) -> None:
        """The consumer took the end of recovered state: live data becomes visible, and the gate is told of it.

        The gate calls it without holding its own lock.
        """

    @abstractmethod
    async def request(self) -> None:
        """Ask the producer for data. Idempotent."""

    @abstractmethod
    async def arrive(self, element: Element) -> None:
        """A live element, with whatever number comes next."""

    @abstractmethod
    async def insert_recovery_barrier(self, checkpoint: int) -> bool: ...

    @abstractmethod
    async def resume(self) -> None: ...
