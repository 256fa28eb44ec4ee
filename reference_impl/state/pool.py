"""A pool in which threads wait until a buffer is free, or the task is over. Specification: drainer.md, filter.md."""

from __future__ import annotations

from conformance.ports import ErrorKind, PortError
from conformance.scheduling import Waitable


class BufferPool(Waitable):
    """How many buffers are free. Who has the others, and until when, is known to those that lend them."""

    __slots__ = ("free", "released")

    def __init__(self, name: str, free: int) -> None:
        super().__init__(name)
        self.free = free
        self.released = False

    def ready(self) -> bool:
        """N3, N12, filter.md X22, X27. Whether a request gets a buffer now, or the task is over."""
        return self.free > 0 or self.released

    def take(self) -> None:
        """N3, filter.md X22. One is free no more. Raises: PortError RELEASED."""
        if self.released:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        self.free -= 1

    def give_back(self) -> None:
        """N6, filter.md X25. A thread that waits for a buffer gets it."""
        self.free += 1

    def release(self) -> None:
        """N12, filter.md X27. The task is over: a thread that waits goes on, and gets an error."""
        self.released = True
