"""What is handed to the channel state writer for a checkpoint during recovery. Specification: drainer.md.

Lists take the place of the channel state writer, which is a component of its own.
"""

from __future__ import annotations

from conformance.ports import PortError

from ..spill.spill import RECORD_BYTES, decode
from ..spill.store import SnapshotReader


class HandOver:
    """The input state of one checkpoint: first what waits in the channels, then what is not pushed yet."""

    __slots__ = ("first", "is_complete", "is_over", "left", "snapshot", "stored")

    def __init__(self, queued: list[tuple[int, ...]], first: list[int], snapshot: SnapshotReader | None) -> None:
        """N8. `first`: by gate, the number of its first channel. `snapshot`: none if everything was pushed."""
        self.left = [(channel, record) for channel, ids in enumerate(queued) for record in ids]
        """Left: what waits in the channels and is not written."""
        self.first = first
        self.snapshot = snapshot
        self.stored: list[list[int]] = [[] for _ in queued]
        """Stored: by channel through all gates, what is written."""
        self.is_complete = self.is_over = False

    def write(self) -> None:
        """N9, N10. Write the next piece. Raises: PortError IO; the checkpoint has failed then."""
        if self.left:
            channel, record = self.left.pop(0)
            self.stored[channel].append(record)
            return
        try:
            part = None if self.snapshot is None else self.snapshot.next(RECORD_BYTES)
        except PortError:
            self.give_up()
            raise
        if part is None:
            self.is_complete = self.is_over = True
            self.close()
            return
        piece = decode(part)
        self.stored[self.first[piece.gate] + piece.channel] += piece.records

    def give_up(self) -> None:
        """N10, N11."""
        self.is_over = True
        self.close()

    def close(self) -> None:
        """N10, N11. The snapshot is closed on every path."""
        if self.snapshot is not None:
            self.snapshot.close()
