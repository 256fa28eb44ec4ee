"""Where elements go that were kept: into buffers of their channel, or into spill segments. Specification: filter.md."""

from __future__ import annotations

from typing import Protocol

from conformance.ports import RECORD_WRITE

from ...faults import Faults
from ..spill.store import SpillWriter
from .buffers import NetworkBuffer, OutputBuffers
from .channels import RecoveredInput
from .elements import Element
from .virtual_channel import Descriptor


class Output(Protocol):
    """Takes the elements of one chunk, for one channel."""

    async def append(self, element: Element) -> None:
        """X7, X8. Append an element, whole. Raises: PortError IO, RELEASED."""

    async def finish(self) -> None:
        """X7, X8. The chunk is over. Raises: PortError IO, RELEASED."""

    async def hand_on(self, buffer: NetworkBuffer, descriptor: Descriptor) -> None:
        """X10, X11. Take over a chunk that is not filtered here. Raises: PortError IO, RELEASED."""

    def recycle(self) -> None:
        """X25. The call fails: what was not handed on is given back."""


class BufferOutput:
    """Writes into buffers of the pool, and hands them to the channel (Flink: `ChannelStateFilteringHandler`)."""

    __slots__ = ("buffer", "channel", "faults", "pool")

    def __init__(self, channel: RecoveredInput, pool: OutputBuffers, faults: Faults) -> None:
        self.channel = channel
        self.pool = pool
        self.faults = faults
        self.buffer: NetworkBuffer | None = None
        """Buffer: the one that is being filled."""

    async def append(self, element: Element) -> None:
        """X7, X22. Each buffer that is full is handed on before the next is asked for."""
        if element.is_record:
            self.faults.reach(RECORD_WRITE)
        at = 0
        while at < element.size:
            if self.buffer is None:
                self.buffer = await self.pool.request()
            part = element.read(at, self.buffer.room())
            self.buffer.append(part)
            at += len(part)
            if not self.buffer.room():
                await self.finish()

    async def finish(self) -> None:
        """X7. The buffer is handed on, even if it is not full."""
        buffer, self.buffer = self.buffer, None
        if buffer is not None:
            await self.channel.push(buffer)

    async def hand_on(self, buffer: NetworkBuffer, descriptor: Descriptor) -> None:
        """X10, X11. The buffer is handed on, behind its descriptor."""
        await self.channel.push(buffer, descriptor)

    def recycle(self) -> None:
        """X25. Give back the buffer that was not handed on."""
        if self.buffer is not None:
            self.buffer.recycle()
            self.buffer = None


class SpillOutput:
    """Appends to the open spill segment, a chunk or a page at once (Flink: `FetchedChannelStateWriter`)."""

    __slots__ = ("channel", "faults", "gate", "page", "piece", "writer")

    def __init__(self, gate: int, channel: int, page: int, writer: SpillWriter, faults: Faults) -> None:
        self.gate = gate
        self.channel = channel
        self.page = page
        self.writer = writer
        self.faults = faults
        self.piece = bytearray()
        """Piece: what is appended next."""

    async def append(self, element: Element) -> None:
        """X8. The bytes of one channel follow each other, in as many segments as they need."""
        if element.is_record:
            self.faults.reach(RECORD_WRITE)
        at = 0
        while at < element.size:
            part = element.read(at, self.page)
            self.piece += part
            at += len(part)
            if len(self.piece) >= self.page:
                await self.finish()

    async def finish(self) -> None:
        """X8. The segment stays open. If nothing was kept, none is opened."""
        if self.piece:
            self.writer.append(self.gate, self.channel, bytes(self.piece))
            self.piece.clear()

    async def hand_on(self, buffer: NetworkBuffer, descriptor: Descriptor) -> None:
        """X11, X25. The buffer is given back when its bytes were appended."""
        try:
            self.writer.append(self.gate, self.channel, buffer.content())
        finally:
            buffer.recycle()

    def recycle(self) -> None:
        """X25. There is no buffer."""
