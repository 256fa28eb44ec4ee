"""The buffers for recovered data. Specification: drainer.md."""

from __future__ import annotations

from conformance.ports import ErrorKind, PortError
from conformance.scheduling import Waitable

from ...network.channel_info import ChannelInfo


class RecoveryBuffers(Waitable):
    """The thread that hands recovered data to the gates waits here for a buffer. No other thread takes one.

    Each buffer is in use for a channel until the task has taken it out of there, whatever part of a record it holds.
    """

    __slots__ = ("free", "in_use", "released")

    def __init__(self, free: int) -> None:
        """N3. The pool from which recovered buffers come."""
        super().__init__("buffer for recovered data")
        self.free = free
        self.in_use: dict[ChannelInfo, int] = {}
        """In use: by channel, how many buffers were requested for it and not taken out of it."""
        self.released = False

    def ready(self) -> bool:
        """N3, N12. Whether a request gets a buffer now, or the task is over."""
        return self.free > 0 or self.released

    async def request(self, channel: ChannelInfo) -> None:
        """N3 (Flink: `requestBufferBlocking`). Raises: PortError RELEASED."""
        await self
        self.take(channel)

    def take(self, channel: ChannelInfo) -> None:
        """N3. Raises: PortError RELEASED."""
        if self.released:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        self.free -= 1
        self.in_use[channel] = self.in_use.get(channel, 0) + 1

    def recycle(self, channel: ChannelInfo) -> None:
        """N6. The task has taken a buffer of the channel. If recovered ones are there, it was one of them, since live
        data stays behind them."""
        if self.in_use.get(channel, 0):
            self.in_use[channel] -= 1
            self.free += 1

    def release(self) -> None:
        """N12. The thread that waits goes on."""
        self.released = True
