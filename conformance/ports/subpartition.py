"""The producer's side of one channel: a FIFO that priority events overtake (Flink: `PipelinedSubpartition`)."""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum

from msgspec import Struct

from conformance.ports.elements import Element
from conformance.ports.outcomes import CheckpointReason
from conformance.ports.port import Answer, Port


class SubpartitionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`exclusive_buffers`: the consumer's exclusive buffers per channel.

    With 0, an empty finished buffer is handed out instead of skipped, so that the consumer can give its credit back.
    """

    exclusive_buffers: int = 2


class Next(StrEnum):
    """What could be polled after this element; `NONE`: nothing, the consumer need not come back before it is told."""

    NONE = "none"
    DATA = "data"
    EVENT = "event"
    PRIORITY = "priority"


class BufferAndBacklog(Struct, frozen=True):
    """A polled element (Flink: `BufferAndBacklog`)."""

    element: Element
    seq: int
    """Its sequence number: the first is 0, each further one is one more, priority elements included."""
    next: Next
    backlog: int
    """Data buffers that are queued and ready, as announced to the consumer; 0 if blocked and nothing can leave."""


class Availability(Struct, frozen=True):
    """Whether something could be polled, and the backlog as in `BufferAndBacklog`."""

    available: bool
    backlog: int


class StateStatus(StrEnum):
    """How far the output state of a checkpoint is."""

    ABSENT = "absent"
    """Nothing was given to the writer."""
    PENDING = "pending"
    """The writer waits for it."""
    WRITTEN = "written"
    FAILED = "failed"
    """The writer was told that it will not come."""


class OutputState(Struct, frozen=True):
    """What this subpartition gave to the channel state writer for one checkpoint: record ids in the order written."""

    status: StateStatus
    ids: tuple[int, ...] = ()


class SubpartitionPort(Port):
    """One subpartition. Specification: subpartition.md.

    The producer adds elements and finishes buffers, the consumer attaches a view and polls. An element that blocks the
    producer (an aligned barrier, the end of recovered output state) stops delivery once it was polled, until the
    consumer resumes it.

    Signals: `DataAvailable`, `PriorityAvailable(seq)`; none before a view is attached.
    """

    @abstractmethod
    def add(self, element: Element) -> Answer[bool]:
        """Append an element; an unaligned barrier goes in front of all that has no priority.

        Data that an unaligned barrier overtakes is given to the writer. For a timeoutable barrier the writer gets a
        channel state future, which completes when it is known which data that is; one that is still open for an
        earlier barrier fails.

        Returns: False if the subpartition is finished or released; the element is recycled then.
        """

    @abstractmethod
    def append(self, ids: tuple[int, ...]) -> Answer[None]:
        """The producer writes further records into the unfinished buffer that it added last. Signals nothing."""

    @abstractmethod
    def finish_buffer(self) -> Answer[None]:
        """The producer finishes that buffer. Signals nothing: the next element, or a flush, does."""

    @abstractmethod
    def flush(self) -> Answer[None]:
        """Make what was written so far readable, also in an unfinished buffer."""

    @abstractmethod
    def finish(self) -> Answer[None]:
        """Append the end of partition; nothing can be added after it. Always signals."""

    @abstractmethod
    def attach_view(self) -> Answer[None]:
        """The consumer arrives. It is not told what is there already; it asks.

        Raises: PortError STATE if released, or attached before.
        """

    @abstractmethod
    def poll(self) -> Answer[BufferAndBacklog | None]:
        """Hand out the next element, or what is readable of an unfinished buffer, which stays.

        Polling a timeoutable barrier keeps it aligned: the writer is told that there is no data for it.
        """

    @abstractmethod
    def available(self, has_credit: bool) -> Answer[Availability]:
        """Whether a poll would answer something; without credit, only an event could leave."""

    @abstractmethod
    def resume(self) -> Answer[None]:
        """The consumer lets a blocked subpartition go on. It then asks whether something is available.

        Raises: PortError STATE if it was not blocked.
        """

    @abstractmethod
    def aligned_timeout(self, checkpoint: int) -> Answer[None]:
        """The alignment timeout of `checkpoint` fired: its barrier, if it is still here, becomes unaligned."""

    @abstractmethod
    def abort(self, checkpoint: int, reason: CheckpointReason) -> Answer[None]:
        """`checkpoint` is over: its channel state future, if open, fails; its barrier stays where it is."""

    @abstractmethod
    def recover(self, element: Element) -> Answer[None]:
        """Append recovered output state, before anything live: a `RecoveryMetadata`, or `Buffer` that belongs to it."""

    @abstractmethod
    def finish_recovery(self, block: bool) -> Answer[None]:
        """All recovered output state is in.

        With `block`, a `RecoveryCompletion` is appended, also if there was none.
        """

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[OutputState]:
        """What the writer was given for `checkpoint`. Allowed in every state, also after `release`."""
