"""What decides, per channel, which buffers belong to a checkpoint (Flink: `ChannelStatePersister`)."""

from __future__ import annotations

from abc import abstractmethod

from msgspec import Struct

from conformance.ports.elements import Element
from conformance.ports.port import Answer, Port


class PersisterConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A persister needs no configuration."""


class PersisterPort(Port):
    """The persister of one physical channel. Specification: persister.md.

    Checkpoint ids are >= 1. Whoever calls it holds the lock of the channel, so its operations never pause.
    """

    @abstractmethod
    def start(self, checkpoint: int, known: tuple[int, ...]) -> Answer[None]:
        """`checkpoint` starts; `known` are the record ids that had arrived before and are queued in front of its
        barrier. They are written, and what arrives from now on belongs to it until its barrier does.

        Raises: PortError CHECKPOINT with reason SUBSUMED if a newer barrier was received; nothing is written then.
        """

    @abstractmethod
    def stop(self, checkpoint: int) -> Answer[None]:
        """`checkpoint` is over, whether completed or aborted. A late stop of an older one changes nothing."""

    @abstractmethod
    def maybe_persist(self, element: Element) -> Answer[None]:
        """An element arrived: a copy is written if it is data and a barrier is pending."""

    @abstractmethod
    def barrier(self, element: Element) -> Answer[int | None]:
        """An element arrived: the checkpoint id if it is a barrier, or the announcement of one, that is not obsolete.

        A barrier ends the pending checkpoint; an announcement changes nothing.
        """

    @abstractmethod
    def barrier_received(self) -> Answer[bool]:
        """Whether the barrier of the last checkpoint is here and the checkpoint not over."""

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[int, ...]]:
        """The record ids written for `checkpoint`, in the order written. Allowed in every state."""
