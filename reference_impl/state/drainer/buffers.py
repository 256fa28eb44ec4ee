"""The buffers for recovered data. Specification: drainer.md."""

from __future__ import annotations

from conformance.ports import ErrorKind, PortError
from conformance.scheduling import Waitable


class RecoveryBuffers(Waitable):
    """Whoever hands on recovered data waits here for a buffer. No other thread takes one."""

    __slots__ = ("free", "released")

    def __init__(self, free: int) -> None:
        """N3."""
        super().__init__("buffer for recovered data")
        self.free = free
        self.released = False

    def ready(self) -> bool:
        """N3, N12."""
        return self.free > 0 or self.released

    async def request(self) -> None:
        """N3. Raises: PortError RELEASED."""
        await self
        self.take()

    def take(self) -> None:
        """N3. Raises: PortError RELEASED."""
        if self.released:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        self.free -= 1

    def recycle(self) -> None:
        """N6."""
        self.free += 1

    def release(self) -> None:
        """N12. Whoever waits goes on."""
        self.released = True
