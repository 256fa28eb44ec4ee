"""What is handed to the channel state writer for a checkpoint during recovery. Specification: drainer.md.

Lists take the place of the channel state writer, which is a component of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.ports import Alignment, Barrier, ErrorKind, PortError

from ..gate import Gate
from ..spill.spill import RECORD_BYTES, decode
from ..spill.store import SnapshotReader


class HandOver:
    """The input state of one checkpoint: first what waits in the channels, then what is not pushed yet."""

    __slots__ = ("first", "is_complete", "is_over", "left", "snapshot", "stored")

    def __init__(self, queued: list[list[tuple[int, ...]]], snapshot: SnapshotReader | None) -> None:
        """N8. `queued`: by gate and channel. `snapshot`: none if everything was pushed."""
        self.left = [
            (gate, channel, record)
            for gate, channels in enumerate(queued)
            for channel, ids in enumerate(channels)
            for record in ids
        ]
        """Left: what waits in the channels and is not written."""
        self.snapshot = snapshot
        self.stored: list[list[list[int]]] = [[[] for _ in channels] for channels in queued]
        """Stored: by gate and channel, what is written."""
        self.is_complete = self.is_over = False

    def write(self) -> None:
        """N9, N10. Write the next piece. Raises: PortError IO; the checkpoint has failed then."""
        if self.left:
            gate, channel, record = self.left.pop(0)
            self.stored[gate][channel].append(record)
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
        self.stored[piece.gate][piece.channel] += piece.records

    def written(self) -> tuple[tuple[int, ...], ...]:
        """N9. By channel through all gates."""
        return tuple([tuple(ids) for channels in self.stored for ids in channels])

    def give_up(self) -> None:
        """N10, N11."""
        self.is_over = True
        self.close()

    def close(self) -> None:
        """N10, N11. The snapshot is closed on every path."""
        if self.snapshot is not None:
            self.snapshot.close()


async def collect(
    gates: Sequence[Gate], checkpoint: int, snapshot: SnapshotReader | None, is_over: Callable[[], bool]
) -> HandOver:
    """N8. Raises: PortError RELEASED if the task is over; the snapshot is closed then."""
    try:
        queued: list[list[tuple[int, ...]]] = []
        for gate in gates:
            await gate.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
            queued.append(list(gate.persisted(checkpoint)))
            await gate.checkpoint_stopped(checkpoint)
        if is_over():
            raise PortError(ErrorKind.RELEASED, "the task is over")
    except BaseException:  # the snapshot belongs to this thread until it is handed over
        if snapshot is not None:
            snapshot.close()
        raise
    return HandOver(queued, snapshot)
