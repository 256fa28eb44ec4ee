"""Which buffers of a channel belong to a checkpoint. Specification: persister.md."""

from __future__ import annotations

from enum import Enum

from conformance.ports import (
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


class Mode(Enum):
    """Where the channel is between two checkpoints."""

    COMPLETED = "completed"
    PENDING = "pending"
    """The checkpoint has started, its barrier is still to come."""
    RECEIVED = "received"
    """The barrier is here."""


class Persister(PersisterPort):
    """Whoever calls it holds the lock of the channel."""

    def __init__(self, last_stopped: int = -1) -> None:
        self.mode = Mode.COMPLETED
        self.last_seen = last_stopped
        """The newest checkpoint that was started, stopped, or whose barrier came."""
        self.written: dict[int, list[int]] = {}

    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        if self.mode is Mode.RECEIVED and self.last_seen > checkpoint:
            raise PortError(
                ErrorKind.CHECKPOINT,
                f"the barrier of checkpoint {self.last_seen} came before checkpoint {checkpoint} started",
                CheckpointReason.SUBSUMED,
            )
        if self.last_seen < checkpoint:
            self.mode = Mode.PENDING
            self.last_seen = checkpoint
        self.write(checkpoint, known)

    def stop(self, checkpoint: int) -> None:
        if checkpoint >= self.last_seen:
            self.mode = Mode.COMPLETED
            self.last_seen = checkpoint

    def maybe_persist(self, element: Element) -> None:
        if self.mode is Mode.PENDING and type(element) is Buffer:
            self.write(self.last_seen, element.ids)

    def barrier(self, element: Element) -> int | None:
        if type(element) is Announcement:
            return element.checkpoint
        if type(element) is not Barrier:
            return None
        oldest = self.last_seen + 1 if self.mode is Mode.COMPLETED else self.last_seen
        if element.checkpoint < oldest:
            return None
        self.mode = Mode.RECEIVED
        self.last_seen = element.checkpoint
        return element.checkpoint

    def barrier_received(self) -> bool:
        return self.mode is Mode.RECEIVED

    def write(self, checkpoint: int, ids: tuple[int, ...]) -> None:
        """Give copies to the writer."""
        if ids:
            self.written.setdefault(checkpoint, []).extend(ids)

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        return tuple(self.written.get(checkpoint, ()))

    def resources(self) -> Resources:
        return Resources(0, 0, 0, 0, 0)

    def release(self) -> None:
        self.mode = Mode.COMPLETED
