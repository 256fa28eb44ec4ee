"""Where elements go that were kept: into buffers of their channel, or into spill segments."""

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
    """Takes the elements of one chunk."""

    async def append(self, element: Element) -> None:
        """Append an element, whole. Raises: PortError IO, RELEASED."""

    async def finish(self) -> None:
        """The chunk is over. Raises: PortError IO, RELEASED."""

    def recycle(self) -> None:
        """The call fails: what it holds is given back."""

    async def hand_on(self, buffer: NetworkBuffer, descriptor: Descriptor) -> None:
        """Take over a chunk that is not filtered here. Raises: PortError IO, RELEASED."""


class BufferOutput:
    """Writes into buffers of the pool, and hands them to the channel."""

    __slots__ = ("buffer", "channel", "faults", "pool")

    def __init__(self, channel: RecoveredInput, pool: OutputBuffers, faults: Faults) -> None:
        self.channel = channel
        self.pool = pool
        self.faults = faults
        self.buffer: NetworkBuffer | None = None

    async def append(self, element: Element) -> None:
        """Each buffer that is full is handed on before the next is asked for."""
        if element.is_record:
            self.faults.reach(RECORD_WRITE)
        for piece in element.pieces(self.pool.page):
            at = 0
            while at < len(piece):
                if self.buffer is None:
                    self.buffer = await self.pool.request()
                at = self.buffer.append(piece, at)
                if self.buffer.is_full():
                    await self.finish()

    async def finish(self) -> None:
        """The buffer is handed on, even if it is not full."""
        buffer, self.buffer = self.buffer, None
        if buffer is not None:
            await self.channel.push(buffer)

    async def hand_on(self, buffer: NetworkBuffer, descriptor: Descriptor) -> None:
        """The buffer is handed on, behind its descriptor."""
        await self.channel.push(buffer, descriptor)

    def recycle(self) -> None:
        """The buffer that was not handed on."""
        if self.buffer is not None:
            self.buffer.recycle()
            self.buffer = None


class SpillOutput:
    """Appends to the open spill segment, a page or a chunk at once."""

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
        """Bytes of one channel follow each other, in as many segments as they need."""
        if element.is_record:
            self.faults.reach(RECORD_WRITE)
        for piece in element.pieces(self.page):
            self.piece += piece
            if len(self.piece) >= self.page:
                await self.finish()

    async def finish(self) -> None:
        """The segment stays open. If nothing was kept, none is opened."""
        if self.piece:
            self.writer.append(self.gate, self.channel, bytes(self.piece))
            self.piece.clear()

    async def hand_on(self, buffer: NetworkBuffer, descriptor: Descriptor) -> None:
        """The buffer is given back when its bytes were appended."""
        try:
            self.writer.append(self.gate, self.channel, bytes(buffer.page[: buffer.size]))
        finally:
            buffer.recycle()

    def recycle(self) -> None:
        """Nothing is held."""
