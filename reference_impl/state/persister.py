"""Which buffers of a channel belong to the input state of a checkpoint. Specification: persister.md."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from conformance.ports import (
    CHANNEL_STATE_WRITER,
    Announcement,
    Barrier,
    Buffer,
    CheckpointReason,
    Element,
    ErrorKind,
    PersisterPort,
    PortError,
    Resources,
)

from ..faults import Faults, Faulty


class Mode(Enum):
    """How far the newest checkpoint is in this channel."""

    COMPLETED = "completed"
    """No checkpoint is in progress; the newest one is over."""
    PENDING = "pending"
    """The newest checkpoint has started, and its barrier is still to come."""
    RECEIVED = "received"
    """The barrier of the newest checkpoint is here, and the checkpoint is not over."""


COMPLETED, RECEIVED, PENDING = Mode.COMPLETED, Mode.RECEIVED, Mode.PENDING
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Persister(Faulty, PersisterPort):
    """The persister has no lock: the channel calls it under its own lock, the channel lock."""

    def __init__(self, last_stopped: int = -1, faults: Faults | None = None) -> None:
        self.faults = faults or Faults(self)
        self.mode = COMPLETED
        self.last_seen = last_stopped
        """Newest checkpoint: the newest that was started or stopped here, or whose barrier came."""
        self.written: dict[int, list[int]] = {}
        """Written: by checkpoint, the records handed to the channel state writer, in the order of writing."""
        self.writer: Callable[[int, tuple[int, ...]], None] | None = None
        """Takes records of a checkpoint for the channel state writer; None: there is none."""

    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        """P1 to P3. A checkpoint starts: what is known is written, and from now on what comes before its barrier
        (Flink: `ChannelStatePersister.startPersisting`)."""
        if self.mode is RECEIVED and self.last_seen > checkpoint:
            raise PortError(
                ErrorKind.CHECKPOINT,
                f"the barrier of checkpoint {self.last_seen} came before checkpoint {checkpoint} started",
                CheckpointReason.SUBSUMED,
            )
        if self.last_seen < checkpoint:
            self.mode = PENDING
            self.last_seen = checkpoint
        self.write(checkpoint, known)

    def stop(self, checkpoint: int) -> None:
        """P4, P5. A checkpoint is over: nothing more is written for it (Flink: `stopPersisting`)."""
        if checkpoint >= self.last_seen:
            self.mode = COMPLETED
            self.last_seen = checkpoint

    def maybe_persist(self, element: Element) -> None:
        """P6, P7. Write a buffer that came before the barrier of the checkpoint in progress (Flink: `maybePersist`)."""
        if self.mode is PENDING and type(element) is Buffer:
            self.write(self.last_seen, element.ids)

    def writes(self, element: Element) -> bool:
        """P6, P7. Whether this element is written if it is handed in."""
        return self.mode is PENDING and type(element) is Buffer

    def barrier(self, element: Element) -> int | None:
        """P8 to P11. An event was taken: the checkpoint of a barrier that counts, or of an announcement, is returned
        (Flink: `checkForBarrier`)."""
        if type(element) is Announcement:
            return element.checkpoint
        if type(element) is not Barrier:
            return None
        oldest = self.last_seen + 1 if self.mode is COMPLETED else self.last_seen
        if element.checkpoint < oldest:
            return None
        self.mode = RECEIVED
        self.last_seen = element.checkpoint
        return element.checkpoint

    def barrier_received(self) -> bool:
        """P12. Whether the newest barrier was received and its checkpoint is not over (Flink: `hasBarrierReceived`)."""
        return self.mode is RECEIVED

    def write(self, checkpoint: int, ids: tuple[int, ...]) -> None:
        """P2, P3, P6, P15. Hand copies to the channel state writer."""
        if ids:
            self.faults.reach(CHANNEL_STATE_WRITER)
            self.written.setdefault(checkpoint, []).extend(ids)
            if self.writer is not None:
                self.writer(checkpoint, ids)

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        """P13. The records that were written for a checkpoint."""
        return tuple(self.written.get(checkpoint, ()))

    def resources(self) -> Resources:
        """P2, P6. What was handed to the channel state writer belongs to the writer."""
        return Resources(0, 0, 0, 0, 0)

    def release(self) -> None:
        """P14. Nothing is written from now on."""
        self.mode = COMPLETED
