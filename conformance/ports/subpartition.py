"""The producer's side of one channel: a FIFO that priority events overtake (Flink: `PipelinedSubpartition`)."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from msgspec import Struct

from conformance.ports.checkpoint_reason import CheckpointReason
from conformance.ports.elements import Element
from conformance.ports.faults import AVAILABILITY_LISTENER, CHANNEL_STATE_WRITER, PRODUCER, FaultKind, Places
from conformance.ports.port import Answer, Port
from conformance.ports.word import Word


class SubpartitionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`exclusive_buffers`: the consumer's exclusive buffers per channel.

    With 0, a poll returns an empty finished buffer instead of skipping it, so that the consumer can give its credit
    back.
    """

    exclusive_buffers: int = 2


class Next(Word):
    """The type of the element that can be polled next; `NONE`: there is none until the consumer is notified."""

    NONE = "none"
    DATA = "data"
    EVENT = "event"
    PRIORITY = "priority"


class BufferAndBacklog(Struct, frozen=True):
    """A polled element (Flink: `BufferAndBacklog`)."""

    element: Element
    seq: int
    """Its sequence number: 0 for the first element and one more for each further one, priority events included."""
    next: Next
    backlog: int
    """The number of data buffers that are queued and ready; 0 if the subpartition is blocked and nothing can leave."""


class Availability(Struct, frozen=True):
    """The result of `available`, with the backlog as in `BufferAndBacklog`."""

    available: bool
    backlog: int


class StateStatus(Word):
    """Whether the channel state writer has the output state of a checkpoint."""

    ABSENT = "absent"
    """The subpartition gave nothing to the writer."""
    PENDING = "pending"
    """The channel state future is open."""
    WRITTEN = "written"
    """The writer has the data, which may be none."""
    FAILED = "failed"
    """The channel state future failed."""


class OutputState(Struct, frozen=True):
    """What this subpartition gave to the channel state writer for one checkpoint: record ids in the order written."""

    status: StateStatus
    ids: tuple[int, ...] = ()


class SubpartitionPort(Port):
    """One subpartition. Specification: subpartition.md.

    The producer adds elements and finishes buffers, the consumer attaches a view and polls. When the consumer polls an
    element that blocks the producer (an aligned or timeoutable barrier, the end of recovered output state), the
    subpartition is blocked: until the consumer resumes it, it delivers priority events at most.

    Signals: `DataAvailable`, `PriorityAvailable(seq)`; none before a view is attached, and none after release. An
    operation may signal more or less than its docstring says, within the freedoms of the specification.

    An operation fails with an error of kind `io` if the consumer's listener fails when it is notified, or if the
    channel state writer fails when an added barrier hands output state, or a channel state future, to it. If the
    producer has failed, a poll that finds nothing fails in the same way. Then nothing is called any more but observers
    and `release`. Between the failure of the producer and that poll, only polls, observers and `release` are called.
    """

    can_fail: ClassVar[Places] = {
        AVAILABILITY_LISTENER: (FaultKind.THROWS,),
        CHANNEL_STATE_WRITER: (FaultKind.THROWS,),
        PRODUCER: (FaultKind.ENDS,),
    }

    @abstractmethod
    def add(self, element: Element) -> Answer[bool]:
        """Append an element, or insert an unaligned barrier in front of all elements without priority.

        The subpartition gives the channel state writer the data that an unaligned barrier overtakes. For a timeoutable
        barrier it gives the writer a channel state future, which completes when the barrier is polled or becomes
        unaligned; if the future of an older barrier is still open, that one fails.

        Returns: False if the subpartition is finished or released; it recycles the element then.
        """

    @abstractmethod
    def append(self, ids: tuple[int, ...]) -> Answer[None]:
        """The producer writes further records into the unfinished buffer that it added last. Signals nothing."""

    @abstractmethod
    def finish_buffer(self) -> Answer[None]:
        """The producer finishes the buffer that it added last. Signals nothing; adding an element or flushing does."""

    @abstractmethod
    def flush(self) -> Answer[None]:
        """Make all records available that were written so far, also those in an unfinished buffer. Allowed without a
        view, after `finish`, and after `release`."""

    @abstractmethod
    def finish(self) -> Answer[None]:
        """Append the end of partition; nothing can be added after it. Signals `DataAvailable` also while blocked. A
        second call changes nothing, and neither does one after `release`."""

    @abstractmethod
    def attach_view(self) -> Answer[None]:
        """The consumer attaches its view. Signals nothing, even if elements are queued; the consumer asks `available`.

        Raises: PortError STATE if the subpartition is released, or a view was attached before.
        """

    @abstractmethod
    def poll(self) -> Answer[BufferAndBacklog | None]:
        """Return the next element, or the readable part of an unfinished buffer, which stays queued; None if nothing
        can leave. Allowed whenever a view is attached, also without a notification and while blocked.

        A timeoutable barrier that is polled stays aligned: its channel state future completes with no data.
        """

    @abstractmethod
    def available(self, has_credit: bool) -> Answer[Availability]:
        """Whether something is available; without credit, whether the head of the queue is an event.

        With credit, something is available if a finished element is queued or a flush was requested, and the
        subpartition is not blocked or has a priority event that can leave. A poll may differ: it also returns
        the readable part of an unfinished buffer that was not flushed, and while the subpartition is blocked it
        delivers no ordinary event, although the result without credit may be true.
        """

    @abstractmethod
    def resume(self) -> Answer[None]:
        """The consumer unblocks the subpartition. Signals nothing; the consumer asks `available`.

        Raises: PortError STATE if the subpartition is not blocked.
        """

    @abstractmethod
    def aligned_timeout(self, checkpoint: int) -> Answer[None]:
        """Alignment timeout: if the channel state future of `checkpoint` is open, its barrier becomes unaligned.
        Otherwise nothing happens, and so after `release`."""

    @abstractmethod
    def abort(self, checkpoint: int, reason: CheckpointReason) -> Answer[None]:
        """`checkpoint` was aborted: its channel state future, if open, fails; its barrier stays where it is. If it is
        not open, or after `release`, nothing happens."""

    @abstractmethod
    def recover(self, element: Element) -> Answer[None]:
        """Add recovered output state, before anything live: a `RecoveryMetadata`, or the `Buffer` that follows it."""

    @abstractmethod
    def finish_recovery(self, block: bool) -> Answer[None]:
        """All recovered output state was added; with `block`, append a `RecoveryCompletion`, also if there was none.
        Called once, before anything live is added."""

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[OutputState]:
        """Return what the writer was given for `checkpoint`. Allowed in every state, also after `release`."""
