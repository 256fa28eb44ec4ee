"""The buffers of the fetch: those of a pool, and the one segment before the filter."""

from __future__ import annotations

from typing import Protocol

from conformance.ports import BUFFER_POOL, ErrorKind, PortError, SegmentBeforeFilter
from conformance.scheduling import Thread, Waitable

from ...faults import Faults

POISON = b"\xa5"
"""What is written over a segment that was given back."""


class Owner(Protocol):
    """What gets a buffer back (Flink: `BufferRecycler`)."""

    def passed_on(self, buffer: NetworkBuffer) -> None:
        """The buffer belongs to somebody else than the thread that asked for it."""

    def recycle(self, buffer: NetworkBuffer) -> None:
        """A buffer is given back."""


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

    def append(self, piece: bytes | bytearray, at: int) -> int:
        """Copy as much of a piece as there is room for, from here on. Returns where the rest begins."""
        part = piece[at : at + len(self.page) - self.size]
        end = self.size + len(part)
        self.page[self.size : end] = part
        self.size = end
        return at + len(part)

    def is_full(self) -> bool:
        """Whether there is no room."""
        return self.size == len(self.page)

    def pass_on(self) -> None:
        """The thread that asked for the buffer hands it to somebody else."""
        self.owner.passed_on(self)

    def recycle(self) -> None:
        """Give the buffer back."""
        self.owner.recycle(self)


class Numbers:
    """Numbers the memory segments of a task."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        """Returns the number of a new memory segment."""
        self.last += 1
        return self.last


class OutputBuffers(Waitable):
    """The pool from which each channel gets what is handed to it (Flink: `BufferManager.requestBufferBlocking`)."""

    __slots__ = ("asking", "closed", "faults", "idle", "lent", "numbers", "page", "size")

    def __init__(self, size: int, page: int, numbers: Numbers, faults: Faults) -> None:
        super().__init__("buffer of the pool")
        self.size = size
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
        self.closed = False

    def ready(self) -> bool:
        """Whether a request gets a buffer now, or the task is over."""
        return self.closed or len(self.lent) < self.size

    def grant(self, thread: Thread) -> None:
        """The thread takes a buffer."""
        self.asking = thread

    def holders(self) -> tuple[Thread, ...]:
        """The threads that can give a buffer back, if no other can."""
        threads = [thread for thread in self.lent.values() if thread is not None]
        return tuple(threads) if len(threads) == self.size else ()

    async def request(self) -> NetworkBuffer:
        """Wait for a buffer, which belongs to the caller. Raises: PortError IO, RELEASED."""
        self.faults.reach(BUFFER_POOL)
        await self.faults.wait(BUFFER_POOL)
        await self
        if self.closed:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        buffer = self.idle.pop() if self.idle else NetworkBuffer(self.numbers.next(), self.page, self)
        self.lent[buffer.number] = self.asking
        return buffer

    def passed_on(self, buffer: NetworkBuffer) -> None:
        """A buffer no longer belongs to the thread that asked for it."""
        self.lent[buffer.number] = None

    def recycle(self, buffer: NetworkBuffer) -> None:
        """A buffer is given back: a thread that waits for one gets it."""
        del self.lent[buffer.number]
        buffer.size = 0
        self.idle.append(buffer)

    def close(self) -> None:
        """The task is over: a thread that waits gets an error."""
        self.closed = True


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
        """Returns the segment (Flink: `getPreFilterBuffer`). Raises: PortError STATE if it is in use, RELEASED."""
        if self.freed:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        if self.in_use:
            raise PortError(ErrorKind.STATE, "the segment before the filter is in use")
        if self.buffer is None:
            self.buffer = NetworkBuffer(self.numbers.next(), self.page, self)
        self.in_use = True
        return self.buffer

    def passed_on(self, buffer: NetworkBuffer) -> None:
        """Nobody waits for the segment."""

    def recycle(self, buffer: NetworkBuffer) -> None:
        """The segment is given back: it is not freed, and nobody may read in it what was there."""
        buffer.size = 0
        buffer.page[:] = self.poison
        self.in_use = False

    def free(self) -> None:
        """The task is over: the segment is freed, in use or not."""
        self.buffer = None
        self.in_use = False
        self.freed = True

    def seen(self) -> SegmentBeforeFilter | None:
        """Returns the segment, as an observer sees it."""
        return None if self.buffer is None else SegmentBeforeFilter(self.buffer.number, self.in_use)
