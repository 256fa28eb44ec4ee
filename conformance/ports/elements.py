"""What travels through a channel: buffers of records, and events in band with them.

A record is named by an id; an adapter turns ids into bytes and back. Code that moves elements looks at their `DataType`
and at nothing else, as Flink's network stack does (`Buffer.DataType`).
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, TypeAlias

from msgspec import Struct

from conformance.ports.word import Word


class DataType(Enum):
    """The flags of an element, as in Flink 2.3.0's `Buffer.DataType`."""

    #                            is a buffer, has priority, blocks the producer once polled, needs an announcement
    DATA = ("data", True, False, False, False)
    EVENT = ("event", False, False, False, False)
    PRIORITIZED_EVENT = ("prioritized-event", False, True, False, False)
    ALIGNED_BARRIER = ("aligned-barrier", False, False, True, False)
    TIMEOUTABLE_ALIGNED_BARRIER = ("timeoutable-aligned-barrier", False, False, True, True)
    RECOVERY_COMPLETION = ("recovery-completion", False, False, True, False)
    RECOVERY_METADATA = ("recovery-metadata", False, False, False, False)
    END_OF_DATA = ("end-of-data", False, False, False, False)
    END_OF_PARTITION = ("end-of-partition", False, False, False, False)

    def __init__(self, label: str, is_buffer: bool, has_priority: bool, blocks_upstream: bool, announced: bool) -> None:
        self.label = label
        self.is_buffer = is_buffer
        self.has_priority = has_priority
        self.blocks_upstream = blocks_upstream
        self.needs_announcement = announced


class Alignment(Word):
    """How a checkpoint barrier travels. A timeoutable barrier starts aligned and may become unaligned on the way."""

    ALIGNED = "aligned"
    TIMEOUTABLE = "timeoutable"
    UNALIGNED = "unaligned"


class Buffer(Struct, frozen=True, tag="buffer", omit_defaults=True):
    """A buffer holding the records `ids`, in this order.

    Only a producer adds a buffer with `finished` false: it is the last of its queue, and the producer writes further
    records into it. A polled `Buffer` holds the records that were readable when it was polled.
    """

    ids: tuple[int, ...]
    finished: bool = True
    data_type: ClassVar[DataType] = DataType.DATA


class Barrier(Struct, frozen=True, tag="barrier"):
    """The barrier of `checkpoint` (an id >= 1)."""

    checkpoint: int
    alignment: Alignment

    @property
    def data_type(self) -> DataType:
        """An unaligned barrier has priority; an aligned or timeoutable one blocks its producer."""
        return _BARRIER_TYPES[self.alignment]


class Announcement(Struct, frozen=True, tag="announcement"):
    """A priority event that announces a timeoutable barrier, which is queued (Flink: `EventAnnouncement`).

    `seq` is the sequence number of that barrier. A remote channel makes the announcement; it is never sent.
    """

    checkpoint: int
    seq: int
    data_type: ClassVar[DataType] = DataType.PRIORITIZED_EVENT


class CancelMarker(Struct, frozen=True, tag="cancel-marker"):
    """Notifies the consumer that `checkpoint` was aborted (Flink: `CancelCheckpointMarker`)."""

    checkpoint: int
    data_type: ClassVar[DataType] = DataType.EVENT


class Event(Struct, frozen=True, tag="event"):
    """An event that means nothing to the suite. `label` distinguishes such events."""

    label: int
    data_type: ClassVar[DataType] = DataType.EVENT


class RecoveryMetadata(Struct, frozen=True, tag="recovery-metadata"):
    """Precedes each recovered buffer and says whose state it was (Flink: `SubtaskConnectionDescriptor`)."""

    old_subtask: int
    old_channel: int
    data_type: ClassVar[DataType] = DataType.RECOVERY_METADATA


class RecoveryCompletion(Struct, frozen=True, tag="recovery-completion"):
    """The end of recovered output state, sent also if there was none (Flink: `EndOfOutputChannelStateEvent`)."""

    data_type: ClassVar[DataType] = DataType.RECOVERY_COMPLETION


class EndOfData(Struct, frozen=True, tag="end-of-data"):
    """No more records follow in this channel; events may follow."""

    data_type: ClassVar[DataType] = DataType.END_OF_DATA


class EndOfPartition(Struct, frozen=True, tag="end-of-partition"):
    """The last element of a channel."""

    data_type: ClassVar[DataType] = DataType.END_OF_PARTITION


Element: TypeAlias = (
    Buffer
    | Barrier
    | Announcement
    | CancelMarker
    | Event
    | RecoveryMetadata
    | RecoveryCompletion
    | EndOfData
    | EndOfPartition
)

_BARRIER_TYPES = {
    Alignment.ALIGNED: DataType.ALIGNED_BARRIER,
    Alignment.TIMEOUTABLE: DataType.TIMEOUTABLE_ALIGNED_BARRIER,
    Alignment.UNALIGNED: DataType.PRIORITIZED_EVENT,
}
