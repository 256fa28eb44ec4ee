"""The persister decides which buffers of a channel belong to the input state of a checkpoint."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from msgspec import Struct

from conformance.ports.elements import Element
from conformance.ports.faults import WRITER_THROWS, Places
from conformance.ports.port import Answer, Port


class PersisterConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A persister needs no configuration."""


class PersisterPort(Port):
    """The persister of one physical channel (Flink: `ChannelStatePersister`). Specification: persister.md.

    Checkpoint ids are >= 1. The channel holds its lock while it calls an operation, so operations never pause.

    If the channel state writer fails, so does the operation that has called it, with an error of kind `io`. The task
    fails then, and nothing is called any more but observers and `release`.
    """

    can_fail: ClassVar[Places] = WRITER_THROWS

    @abstractmethod
    def start(self, checkpoint: int, known: tuple[int, ...]) -> Answer[None]:
        """The task starts `checkpoint`; the records `known`, which are queued in front of its barrier, are written.

        If its barrier is still to come, data that arrives before the barrier is written too, by `maybe_persist`.

        Raises: PortError CHECKPOINT, reason SUBSUMED, if the barrier of a newer checkpoint was received; nothing is
        written then.
        """

    @abstractmethod
    def stop(self, checkpoint: int) -> Answer[None]:
        """`checkpoint` was completed or aborted, also before it started. Changes nothing if a newer one is known."""

    @abstractmethod
    def maybe_persist(self, element: Element) -> Answer[None]:
        """The channel hands in an element; if it is data and a checkpoint waits for its barrier, a copy is written."""

    @abstractmethod
    def barrier(self, element: Element) -> Answer[int | None]:
        """Return the checkpoint id of an announcement, or of a barrier that is not obsolete; None for other elements.

        Data behind a barrier that is not obsolete is not written. An obsolete barrier changes nothing, and neither does
        an announcement; its checkpoint id is returned also if that checkpoint is obsolete.
        """

    @abstractmethod
    def barrier_received(self) -> Answer[bool]:
        """Whether the barrier of the newest checkpoint was received and that checkpoint is not over. Allowed in every
        state; after a failure and after `release`, any result is right."""

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[int, ...]]:
        """The record ids written for `checkpoint`, in the order written. Allowed in every state."""
