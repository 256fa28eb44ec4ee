"""What travels through a channel: buffers of records, and events in band with them.

Records are named by ids, never by bytes; an adapter turns ids into bytes and back. Generic code looks at the `DataType`
of an element and at nothing else, as Flink's network stack does (`Buffer.DataType`).
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import ClassVar, TypeAlias

from msgspec import Struct


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


class Alignment(StrEnum):
    """How a checkpoint barrier travels. A timeoutable barrier starts aligned and may become unaligned on the way."""

    ALIGNED = "aligned"
    TIMEOUTABLE = "timeoutable"
    UNALIGNED = "unaligned"


class Buffer(Struct, frozen=True, tag="buffer", omit_defaults=True):
    """A buffer holding the records `ids`, in this order.

    `finished` is said by a producer only: an unfinished buffer is the last of its queue, and the producer goes on
    writing into it. A polled `Buffer` holds the records that were readable then.
    """

    ids: tuple[int, ...]
    finished: bool = True
    data_type: ClassVar[DataType] = DataType.DATA


class Barrier(Struct, frozen=True, tag="barrier"):
    """The marker of `checkpoint` (an id >= 1)."""

    checkpoint: int
    alignment: Alignment

    @property
    def data_type(self) -> DataType:
        """By alignment: only an unaligned barrier has priority, only the others block."""
        return _BARRIER_TYPES[self.alignment]


class Announcement(Struct, frozen=True, tag="announcement"):
    """Overtakes everything to say that a timeoutable barrier is queued (Flink: `EventAnnouncement`).

    `seq` is the sequence number of that barrier. Made by the consumer's channel, never sent.
    """

    checkpoint: int
    seq: int
    data_type: ClassVar[DataType] = DataType.PRIORITIZED_EVENT


class CancelMarker(Struct, frozen=True, tag="cancel-marker"):
    """Says downstream that `checkpoint` was aborted (Flink: `CancelCheckpointMarker`)."""

    checkpoint: int
    data_type: ClassVar[DataType] = DataType.EVENT


class Event(Struct, frozen=True, tag="event"):
    """Any event without a meaning of its own here. `label` tells one from another."""

    label: int
    data_type: ClassVar[DataType] = DataType.EVENT


class RecoveryMetadata(Struct, frozen=True, tag="recovery-metadata"):
    """Precedes each recovered buffer: whose state it was (Flink: `SubtaskConnectionDescriptor`)."""

    old_subtask: int
    old_channel: int
    data_type: ClassVar[DataType] = DataType.RECOVERY_METADATA


class RecoveryCompletion(Struct, frozen=True, tag="recovery-completion"):
    """The end of recovered output state; sent also when there was none (Flink: `EndOfOutputChannelStateEvent`)."""

    data_type: ClassVar[DataType] = DataType.RECOVERY_COMPLETION


class EndOfData(Struct, frozen=True, tag="end-of-data"):
    """No more records will come; events may."""

    data_type: ClassVar[DataType] = DataType.END_OF_DATA


class EndOfPartition(Struct, frozen=True, tag="end-of-partition"):
    """Nothing at all will come after this."""

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
