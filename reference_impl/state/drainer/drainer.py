"""Pushes fetched state into channels, and takes snapshots of what is not pushed. Specification: drainer.md.

The drainer lock guards what is pushed together with what is committed. Reading the disk, waiting for the upstream and
asking for a buffer happen outside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.ports import ErrorKind, Piece, PortError
from conformance.scheduling import Pause

from ...network.channel_info import ChannelInfo
from ...network.gate import Gate
from ..spill.spill import RECORD_BYTES, decode
from ..spill.store import SnapshotReader, SpillReader
from .buffers import RecoveryBuffers
from .critical import CriticalSections


class Drainer:
    """It is draining until everything was read, and then ends the recovered data of each channel."""

    def __init__(self, gates: Sequence[Gate], reader: SpillReader | None, buffers: RecoveryBuffers) -> None:
        """N2. `reader`: none if nothing was fetched."""
        self.gates = gates
        self.reader = reader
        self.buffers = buffers
        self.critical = CriticalSections(gates)
        self.disk = Pause("while the disk is read")
        self.fully_read = reader is None
        """Fully read: whether every record was pushed."""
        self.released = False
        self.to_end = [(gate, number) for gate in gates for number in range(len(gate.channels))]
        """To end: the channels that were not notified that all of their recovered data was pushed."""

    async def step(self) -> Piece | None:
        """N3 to N5. Raises: PortError IO, RELEASED."""
        if not self.fully_read:
            piece = await self.read_next()
            if piece is not None:
                await self.push(piece)
                return piece
        while self.to_end:
            gate, number = self.to_end.pop(0)
            await gate.finish_recovery(number)
        return None

    def has_ended(self) -> bool:
        """N5. Whether every channel has got the end of its recovered data."""
        return not self.to_end

    async def read_next(self) -> Piece | None:
        """N3, N5. After the last record, the files are granted to snapshots only. Raises: PortError IO, RELEASED."""
        assert self.reader is not None
        await self.disk
        part = self.reader.next(RECORD_BYTES)
        if part is not None:
            return decode(part)
        async with self.critical.lock:
            self.fully_read = True
        self.reader.close()
        return None

    async def push(self, piece: Piece) -> None:
        """N3, N4. Raises: PortError IO, RELEASED."""
        assert self.reader is not None
        channel = ChannelInfo(piece.gate, piece.channel)
        await self.buffers.request(channel)
        await self.critical.push(channel, piece.records, self.reader.commit)

    async def snapshot_and_mark(self, checkpoint: int) -> SnapshotReader | None:
        """N7, N8. Returns: what is not pushed; none if everything is. Raises: PortError RELEASED."""
        return await self.critical.mark(checkpoint, self.snapshot)

    def snapshot(self) -> SnapshotReader | None:
        """N7, N8. Raises: PortError RELEASED."""
        if self.released:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        if self.fully_read or self.reader is None:
            return None
        return self.reader.snapshot()

    def release(self) -> None:
        """N12. The task is over: reader and fetched files are closed."""
        self.released = True
        if self.reader is not None:
            self.reader.fetched.close()
            self.reader.close()
