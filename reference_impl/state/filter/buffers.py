"""The buffers of the fetch: those of a pool, and the one segment before the filter. Specification: filter.md."""

from __future__ import annotations

from typing import Protocol

from conformance.ports import BUFFER_POOL, ErrorKind, PortError, SegmentBeforeFilter
from conformance.scheduling import Thread

from ...faults import Faults
from ..pool import BufferPool

POISON = b"\xa5"
"""What is written over a segment that was given back."""


class Owner(Protocol):
    """What gets a buffer back (Flink: `BufferRecycler`)."""

    def passed_on(self, buffer: NetworkBuffer) -> None:
        """X22. The buffer does not belong to the thread any more that asked for it."""

    def recycle(self, buffer: NetworkBuffer) -> None:
        """X25. A buffer is given back."""


class NetworkBuffer:
    """A page and what is in it. The owner gives it back, once: the thread that asked for it, or what took it over."""

    __slots__ = ("number", "owner", "page", "size")

    def __init__(self, number: int, page: int, owner: Owner) -> None:
        self.number = number
        """Another number is another memory segment."""
        self.page = bytearray(page)
        self.size = 0
        """How many bytes of the page are in use."""
        self.owner = owner

    def append(self, part: bytes | bytearray) -> None:
        """X7. Copy bytes, for which there is room."""
        end = self.size + len(part)
        self.page[self.size : end] = part
        self.size = end

    def room(self) -> int:
        """X7. Returns for how many bytes there is room."""
        return len(self.page) - self.size

    def content(self) -> bytes:
        """X16. Returns the bytes that are in it."""
        return bytes(self.page[: self.size])

    def pass_on(self) -> None:
        """X22. The buffer does not belong to the thread any more that asked for it."""
        self.owner.passed_on(self)

    def recycle(self) -> None:
        """X25. Give the buffer back (Flink: `Buffer.recycleBuffer`)."""
        self.owner.recycle(self)


class Numbers:
    """Numbers the memory segments of a task."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        """X18. Returns the number of a new memory segment."""
        self.last += 1
        return self.last


class OutputBuffers(BufferPool):
    """The pool from which each channel gets what is handed to it (Flink: `BufferManager.requestBufferBlocking`)."""

    __slots__ = ("asking", "faults", "idle", "lent", "numbers", "page")

    def __init__(self, size: int, page: int, numbers: Numbers, faults: Faults) -> None:
        super().__init__("buffer of the pool", size)
        self.page = page
        self.numbers = numbers
        self.faults = faults
        self.idle: list[NetworkBuffer] = []
        """Idle: the buffers that were made and are in the pool."""
        self.lent: dict[int, Thread | None] = {}
        """Lent: by number, the buffers that are not in the pool, each with the thread that holds it, until the buffer
        is passed on."""
        self.asking: Thread | None = None
        """Asking: the thread that may take a buffer now."""

    def grant(self, thread: Thread) -> None:
        """X22. The thread takes a buffer."""
        self.asking = thread

    def holders(self) -> tuple[Thread, ...]:
        """X22. The threads that can give a buffer back, if no other can."""
        threads = [thread for thread in self.lent.values() if thread is not None]
        return tuple(threads) if len(threads) == self.free + len(self.lent) else ()

    async def request(self) -> NetworkBuffer:
        """X22, X26, X27. Wait for a buffer, which belongs to the caller. Raises: PortError IO, RELEASED."""
        self.faults.reach(BUFFER_POOL)
        await self.faults.wait(BUFFER_POOL)
        await self
        self.take()
        buffer = self.idle.pop() if self.idle else NetworkBuffer(self.numbers.next(), self.page, self)
        self.lent[buffer.number] = self.asking
        return buffer

    def passed_on(self, buffer: NetworkBuffer) -> None:
        """X22. Every thread may give the buffer back now."""
        self.lent[buffer.number] = None

    def recycle(self, buffer: NetworkBuffer) -> None:
        """X22, X25. A buffer is given back."""
        del self.lent[buffer.number]
        buffer.size = 0
        self.idle.append(buffer)
        self.give_back()


class BeforeFilter:
    """The one heap segment of a task into which what is filtered is read (Flink: `InputChannelRecoveredStateHandler`,
    FLINK-39519)."""

    __slots__ = ("buffer", "freed", "in_use", "numbers", "page", "poison")

    def __init__(self, page: int, numbers: Numbers) -> None:
        self.page = page
        self.poison = POISON * page
        self.numbers = numbers
        self.buffer: NetworkBuffer | None = None
        """Buffer: the segment; none before the first request, and after it was freed."""
        self.in_use = False
        self.freed = False

    def request(self) -> NetworkBuffer:
        """X18, X19. Returns the segment, in use (Flink: `getPreFilterBuffer`). Raises: PortError STATE, RELEASED."""
        self.check()
        if self.buffer is None:
            self.buffer = NetworkBuffer(self.numbers.next(), self.page, self)
        self.in_use = True
        return self.buffer

    def check(self) -> None:
        """X19. Raises: PortError STATE if the segment is in use, RELEASED."""
        if self.freed:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        if self.in_use:
            raise PortError(ErrorKind.STATE, "the segment before the filter is in use")

    def passed_on(self, buffer: NetworkBuffer) -> None:
        """X18. No thread waits for the segment."""

    def recycle(self, buffer: NetworkBuffer) -> None:
        """X20. The segment is given back. It is not freed, and nothing may point into it, so that it is overwritten."""
        buffer.size = 0
        buffer.page[:] = self.poison
        self.in_use = False

    def free(self) -> None:
        """X28. The task is over: the segment is freed, in use or not."""
        self.buffer = None
        self.in_use = False
        self.freed = True

    def seen(self) -> SegmentBeforeFilter | None:
        """X18. Returns the segment, as an observer sees it."""
        return None if self.buffer is None else SegmentBeforeFilter(self.buffer.number, self.in_use)
