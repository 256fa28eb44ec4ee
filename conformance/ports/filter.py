"""The fetch of recovered channel state by a task that was rescaled: reading, demultiplexing, filtering, handing on."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from conformance.ports.channel import Recovery
from conformance.ports.faults import (
    BUFFER_POOL,
    CHANNEL_PUSH,
    CHANNEL_STATE_READ,
    PARTITIONER,
    RECORD_FILE_CREATE,
    RECORD_FILE_DELETE,
    RECORD_FILE_READ,
    RECORD_FILE_WRITE,
    RECORD_READ,
    RECORD_WRITE,
    FaultKind,
    Places,
)
from conformance.ports.framing import Recovered, Unreadable
from conformance.ports.port import Answer, Port
from conformance.ports.rescale import EdgeKind, RescaleMapping
from conformance.ports.spill import SpillPort

LEAST_PAGE = 1 << 12
"""The smallest page size (Flink: `ConfigurationParserUtils.getPageSize`)."""


class FilteredGate(Struct, frozen=True, forbid_unknown_fields=True):
    """A gate of the task that restores."""

    kind: EdgeKind
    """Decides to which subtask a record of an ambiguous old subtask belongs."""
    mapping: RescaleMapping
    """It has as many channels as the gate. Without old subtasks, the gate has no data."""


class Virtual(Struct, frozen=True, forbid_unknown_fields=True):
    """The channel state of one old channel of one old subtask (Flink: `SubtaskConnectionDescriptor`, `VirtualChannel`).

    Of its bytes, the first ones are input state and the others output state, which its producer had not sent.
    """

    gate: int
    old_subtask: int
    old_channel: int
    elements: tuple[Recovered, ...]
    input_bytes: Annotated[int, Meta(ge=0)]
    """How many of its bytes are input state. They may end inside an element."""
    missing: Annotated[int, Meta(ge=0)] = 0
    """How many of the last bytes are lost: the state is damaged."""


class FilterConfig(Struct, frozen=True, forbid_unknown_fields=True, cache_hash=True):
    """The task that restores, and the channel state that it was assigned."""

    recovery: Recovery
    """RECOVER_FIRST: what is read is pushed into its channel, and demultiplexed when the task processes it. IN_MEMORY:
    filtered before that, into buffers of its channel. PUSHED: filtered into spill segments, then pushed."""
    gates: tuple[FilteredGate, ...]
    state: tuple[Virtual, ...]
    """Virtual channels are numbered as they stand here."""
    parallelism: Annotated[int, Meta(ge=1)]
    """The new parallelism of the vertex. A partitioner of the filter has as many channels."""
    subtask: Annotated[int, Meta(ge=0)]
    """The subtask that restores."""
    max_parallelism: Annotated[int, Meta(ge=1)] = 128
    rescaled: bool = True
    """Whether anything near the vertex was rescaled. If not, nothing is demultiplexed, filtered or dropped."""
    page: int = LEAST_PAGE
    """The size of a buffer in bytes (Flink: `taskmanager.memory.segment-size`)."""
    buffers: Annotated[int, Meta(ge=1)] = 8
    """How many buffers the pool has, from which each channel gets what is handed to it."""
    partial_in_memory: Annotated[int, Meta(ge=1)] = 5 << 20
    """How many bytes of a record that has not ended stay in memory for each virtual channel; with more, they go to a
    file. Only an implementation with the capability `partial-records-in-files` is asked for another number."""
    segment: Annotated[int, Meta(ge=1)] = 1 << 20
    """With PUSHED: a spill segment with more bytes is full."""
    files: bool = False
    """Whether the bytes go to real files, in a folder that the implementation makes and deletes. If not, to memory."""


class Taken(Struct, frozen=True, omit_defaults=True):
    """What the task took out of a channel."""

    buffer: int | None = None
    """The number of the buffer, which the task must give back; none with RECOVER_FIRST, where a buffer is given back
    when all its elements were taken."""
    elements: tuple[Recovered | Unreadable, ...] = ()
    """The elements that end in it. With RECOVER_FIRST there is one, whole."""
    open: int = 0
    """How many of its last bytes are of an element that ends in a later buffer."""
    last: bool = False
    """Whether everything recovered was taken out of this channel. Said once, without a buffer and without elements
    (Flink: `EndOfInputChannelStateEvent`)."""


class SegmentBeforeFilter(Struct, frozen=True):
    """The heap segment into which chunks are read that are filtered (FLINK-39519)."""

    number: int
    """Another number is another segment."""
    in_use: bool


class PartialRecord(Struct, frozen=True):
    """What is kept of a record of which a part was read."""

    virtual: int
    size: int
    """How many of its bytes were read."""
    in_file: bool


class FilterPort(Port):
    """The fetch of recovered channel state, its filter, and the channels into which it goes (Flink:
    `SequentialChannelStateReaderImpl`, `InputChannelRecoveredStateHandler`, `ChannelStateFilteringHandler`,
    `DemultiplexingRecordDeserializer`). Specification: filter.md.

    The scenario says which bytes are read next, so that it can cut anywhere. A port reads them out of the bytes that
    `framing.encode` returns for the elements, and decodes what is taken with `framing.Decoder`. When the segment before
    the filter is given back, the port overwrites it, so that a read of it is noticed. Signals: `FaultStruck`.
    """

    can_fail: ClassVar[Places] = {
        CHANNEL_STATE_READ: (FaultKind.THROWS, FaultKind.SHORT),
        BUFFER_POOL: (FaultKind.ENDS, FaultKind.SLOW),
        CHANNEL_PUSH: (FaultKind.THROWS,),
        PARTITIONER: (FaultKind.THROWS,),
        RECORD_READ: (FaultKind.THROWS,),
        RECORD_WRITE: (FaultKind.THROWS,),
        RECORD_FILE_CREATE: (FaultKind.THROWS,),
        RECORD_FILE_WRITE: (FaultKind.THROWS,),
        RECORD_FILE_READ: (FaultKind.THROWS,),
        RECORD_FILE_DELETE: (FaultKind.THROWS,),
        **SpillPort.can_fail,
    }

    # ---- thread that fetches
    @abstractmethod
    def begin(self) -> Answer[None]:
        """The fetch begins. Called once, first.

        Raises: PortError CONFIG if the page size is below 4 KiB or no power of two; IO if state is to be spilled and
        there is no directory.
        """

    @abstractmethod
    def read(self, virtual: int, length: int) -> Answer[None]:
        """Read the next bytes of a virtual channel, at most a page, and hand on what they complete; waits for buffers.
        The bytes are of one stage, and those of output state are read after all input state. With 0 bytes nothing
        happens.

        Raises: PortError STATE if the gate has no data or knows no such virtual channel, or the segment before the
        filter is in use; IO if what it calls fails, or the bytes are no elements; RELEASED if the task is cancelled
        meanwhile. After an error the fetch is over, but if the segment is in use: then nothing changes.
        """

    @abstractmethod
    def end(self) -> Answer[None]:
        """Everything was read: the channels are notified, with PUSHED once everything was pushed. Called once, after
        the last byte.

        Raises: PortError IO or STATE if a virtual channel ends inside an element, and they are not notified; with
        RECOVER_FIRST, where it is found later, `take` raises it. IO if what it calls fails.
        """

    @abstractmethod
    def request_before_filter(self) -> Answer[int]:
        """Take the segment before the filter, between two reads. Returns: its buffer number for `recycle`.

        Only an implementation with the capability `one-buffer-before-the-filter` is asked for it, in a task that was
        rescaled, with IN_MEMORY and PUSHED. Raises: PortError STATE if it is in use: nothing changes.
        """

    # ---- thread that drains
    @abstractmethod
    def drain(self) -> Answer[bool]:
        """With PUSHED, after `end`: push the next buffer of a spill segment into its channel, once the pool has one.
        Returns: whether there was any; if not, the channels are notified that everything was pushed.

        Raises: PortError IO if what it calls fails; RELEASED if the task is cancelled meanwhile.
        """

    # ---- thread of the task
    @abstractmethod
    def take(self, gate: int, channel: int) -> Answer[Taken | None]:
        """The task takes what comes next out of a channel; nothing if there is nothing yet, or everything was taken.

        Raises: PortError IO or STATE if the demultiplexer fails: the task fails then.
        """

    @abstractmethod
    def recycle(self, buffer: int) -> Answer[None]:
        """A buffer that was taken, or requested, is given back. Called once for each, also after an error and after
        `cancel`, in any order."""

    @abstractmethod
    def checkpoint(self, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
        """An unaligned checkpoint. Returns: by channel, through all gates, the ids of the recovered records of which
        the task has not taken the last byte, in their order.

        Raises: PortError CHECKPOINT DECLINED_TASK_NOT_READY before `end`; with RECOVER_FIRST, before all channels have
        returned their last.
        """

    # ---- canceler
    @abstractmethod
    def cancel(self) -> Answer[None]:
        """The task is cancelled, whatever its threads do: a fetch that waits ends. Then `release` follows."""

    # ---- observer
    @abstractmethod
    def before_filter(self) -> Answer[SegmentBeforeFilter | None]:
        """Return the segment before the filter; nothing if there is none, because it was not needed yet, or because
        the port is released. Only an implementation with the capability `one-buffer-before-the-filter` is asked."""

    @abstractmethod
    def partial(self) -> Answer[tuple[PartialRecord, ...]]:
        """Return what is kept of records that have not ended, by virtual channel. Asked while no operation is running;
        only of an implementation with the capability `bounded-filter-memory`."""
