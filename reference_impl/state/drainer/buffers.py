"""The buffers for recovered data. Specification: drainer.md."""

from __future__ import annotations

from ...network.channel_info import ChannelInfo
from ..pool import BufferPool


class RecoveryBuffers(BufferPool):
    """The thread that hands recovered data to the gates waits here for a buffer. No other thread takes one.

    Each buffer is in use for a channel until the task has taken it out of there, whatever part of a record it holds.
    """

    __slots__ = ("in_use",)

    def __init__(self, free: int) -> None:
        """N3. The pool from which recovered buffers come."""
        super().__init__("buffer for recovered data", free)
        self.in_use: dict[ChannelInfo, int] = {}
        """In use: by channel, how many buffers were requested for it and not taken out of it."""

    async def request(self, channel: ChannelInfo) -> None:
        """N3 (Flink: `requestBufferBlocking`). Raises: PortError RELEASED."""
        await self
        self.take_for(channel)

    def take_for(self, channel: ChannelInfo) -> None:
        """N3. Raises: PortError RELEASED."""
        self.take()
        self.in_use[channel] = self.in_use.get(channel, 0) + 1

    def recycle(self, channel: ChannelInfo) -> None:
        """N6. The task has taken a buffer of the channel. If recovered ones are there, it was one of them, since live
        data stays behind them."""
        if self.in_use.get(channel, 0):
            self.in_use[channel] -= 1
            self.give_back()
