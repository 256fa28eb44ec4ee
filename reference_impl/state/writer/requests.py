"""What a subtask asks of its executor, and the result that it is promised. Specification: writer.md."""

from __future__ import annotations

from typing import Protocol

from conformance.ports import (
    SPILL_FILE_READ,
    SPILL_FILE_READ_ON,
    BufferRecycled,
    ChannelStateCompleted,
    ChannelStateFailed,
    CheckpointReason,
    Port,
    Request,
    RequestKind,
    SnapshotClosed,
)
from conformance.state_files import Handle

from ...faults import Faults


class Result:
    """What a subtask learns of its channel state for a checkpoint. It is open, then completed or failed, once."""

    __slots__ = ("checkpoint", "file", "handles", "is_open", "port", "subtask")

    def __init__(self, port: Port, subtask: int, checkpoint: int) -> None:
        self.port = port
        self.subtask = subtask
        self.checkpoint = checkpoint
        self.is_open = True
        self.file = ""
        """Name of the file; empty if nothing was written."""
        self.handles: tuple[Handle, ...] | None = None
        """What is stored; None: the result is not completed."""

    def complete(self, file: str, handles: tuple[Handle, ...]) -> None:
        """W19. The channel state is stored."""
        if self.is_open:
            self.is_open = False
            self.file, self.handles = file, handles
            self.port.emit(ChannelStateCompleted(self.subtask, self.checkpoint))

    def fail(self, reason: CheckpointReason) -> None:
        """W20. There is no channel state."""
        if self.is_open:
            self.is_open = False
            self.port.emit(ChannelStateFailed(self.subtask, self.checkpoint, reason))


class Promise:
    """Buffers that are promised. A request that needs them waits until it is kept or broken."""

    __slots__ = ("is_done", "port", "reason", "records", "refused", "subtask")

    def __init__(self, port: Port, subtask: int) -> None:
        self.port = port
        self.subtask = subtask
        self.is_done = False
        self.records: list[int] = []
        self.reason: CheckpointReason | None = None
        """Why the buffers will not come."""
        self.refused = False
        """Whether nobody needs the buffers any more, so that they are recycled when they come."""

    def keep(self, records: tuple[int, ...]) -> None:
        """W10. The buffers are there."""
        self.is_done = True
        self.records = list(records)
        if self.refused:
            recycle(self.port, self.records)

    def break_it(self, reason: CheckpointReason) -> None:
        """W10. The buffers will not come."""
        self.is_done = True
        self.reason = reason


class Snapshot(Protocol):
    """What of the input of a checkpoint lies in spill files. Its owner closes it."""

    def next(self) -> tuple[int, tuple[int, ...]] | None:
        """W25. The next piece: its channel and its records; None at the end. Raises: PortError IO, RELEASED."""

    def close(self) -> None:
        """W25. It is not read any more."""


class NumberedSnapshot:
    """A snapshot that returns what the caller of the port said."""

    __slots__ = ("faults", "number", "pieces", "place", "port")

    def __init__(self, port: Port, faults: Faults, number: int, pieces: tuple[tuple[int, int], ...]) -> None:
        """W25. `pieces`: the channel and the record of each."""
        self.port = port
        self.faults = faults
        self.number = number
        self.pieces = list(pieces)
        self.place = SPILL_FILE_READ

    def next(self) -> tuple[int, tuple[int, ...]] | None:
        """W25. Raises: PortError IO."""
        if not self.pieces:
            return None
        self.faults.reach(self.place)
        self.place = SPILL_FILE_READ_ON
        channel, record = self.pieces.pop(0)
        return channel, (record,)

    def close(self) -> None:
        """W25. Close the snapshot, and signal it with its number."""
        self.port.emit(SnapshotClosed(self.number))


class Asked:
    """A request of a subtask. Only the fields that its kind needs are set."""

    __slots__ = (
        "channel",
        "checkpoint",
        "kind",
        "port",
        "promise",
        "reason",
        "records",
        "result",
        "snapshot",
        "subtask",
    )

    def __init__(self, port: Port, kind: RequestKind, subtask: int, checkpoint: int) -> None:
        self.port = port
        self.kind = kind
        self.subtask = subtask
        self.checkpoint = checkpoint
        self.result: Result | None = None
        """Of a start: the result that it opens."""
        self.channel = 0
        self.records: list[int] = []
        """Of data: the buffers that are not written yet."""
        self.promise: Promise | None = None
        self.snapshot: Snapshot | None = None
        """Of input in spill files: what is not closed yet."""
        self.reason: CheckpointReason | None = None
        """Of an abort: why."""

    def is_ready(self) -> bool:
        """W9, W10. Whether it can be executed."""
        return self.promise is None or self.promise.is_done

    def described(self) -> Request:
        """W11. The request as the port returns it."""
        return Request(self.subtask, self.kind, self.checkpoint)

    def cancel(self, reason: CheckpointReason) -> None:
        """W12, W23. It will not be executed: its result fails, its buffers are recycled, its snapshot is closed."""
        if self.result is not None:
            self.result.fail(reason)
        recycle(self.port, self.records)
        if self.promise is not None:
            self.promise.refused = True
            recycle(self.port, self.promise.records)
        self.close_snapshot()

    def close_snapshot(self) -> None:
        """W25. Nobody reads the snapshot any more, if there is one."""
        snapshot, self.snapshot = self.snapshot, None
        if snapshot is not None:
            snapshot.close()


def recycle(port: Port, records: list[int]) -> None:
    """W18. Recycle the buffers of these records, in order, and forget them."""
    for record in records:
        port.emit(BufferRecycled(record))
    records.clear()
