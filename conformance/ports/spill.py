"""The store of fetched channel state that is not pushed into channels yet."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from conformance.ports.faults import (
    SPILL_DIRECTORY,
    SPILL_FILE_CLOSE,
    SPILL_FILE_CREATE,
    SPILL_FILE_DELETE,
    SPILL_FILE_OPEN,
    SPILL_FILE_READ,
    SPILL_FILE_SYNC,
    SPILL_FILE_WRITE,
    FaultKind,
    Places,
)
from conformance.ports.port import Answer, Port


class SpillConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where state goes, and when a segment and a file are full. Both limits are soft: what reaches one ends there.

    Every record takes the same number of bytes, so that the limits are numbers of records.
    """

    gates: tuple[Annotated[int, Meta(ge=1)], ...]
    """The number of channels of each gate of the task that restores."""
    segment_records: Annotated[int, Meta(ge=1)]
    """How many records a segment has when it is full (Flink: 1 MiB)."""
    file_records: Annotated[int, Meta(ge=1)]
    """How many records a file has when it is full (Flink: 64 MiB)."""
    files: bool = False
    """Whether the bytes go to real files, in a folder that the implementation makes and deletes. If not, to memory."""


class Piece(Struct, frozen=True):
    """Records that were read one after the other, all of one channel."""

    gate: int
    channel: int
    """The number of the channel in its gate, in the task that restores."""
    records: tuple[int, ...]


class SpillPort(Port):
    """The spill files of one task (FLINK-38544: fetched channel state). Specification: spill.md.

    One thread appends what it fetches, and finishes. Then another reads it piece by piece, and commits each piece when
    it was handed to its channel. A snapshot is a second reader for a checkpoint: it begins where the first piece begins
    that is not committed. The files exist as long as anybody was granted them: the reader from the start, each snapshot
    until it is closed. A snapshot that was read to its end, or whose read failed, needs its grant no more.
    """

    can_fail: ClassVar[Places] = {
        SPILL_DIRECTORY: (FaultKind.THROWS,),
        SPILL_FILE_CREATE: (FaultKind.THROWS,),
        SPILL_FILE_WRITE: (FaultKind.THROWS,),
        SPILL_FILE_SYNC: (FaultKind.THROWS,),
        SPILL_FILE_OPEN: (FaultKind.THROWS,),
        SPILL_FILE_READ: (FaultKind.THROWS, FaultKind.SHORT),
        SPILL_FILE_CLOSE: (FaultKind.THROWS,),
        SPILL_FILE_DELETE: (FaultKind.THROWS,),
    }

    # ---- thread that fetches
    @abstractmethod
    def append(self, gate: int, channel: int, records: tuple[int, ...]) -> Answer[None]:
        """Fetched records of a channel follow what was appended before; perhaps there are none.

        Raises: PortError ARGUMENT if there is no such channel; STATE if the fetching is over; IO if nothing more can be
        written: everything is deleted then.
        """

    @abstractmethod
    def finish(self) -> Answer[bool]:
        """Everything was fetched. Returns: whether there is anything to read; if not, there is no file. Called once.

        Raises: PortError IO, as `append`.
        """

    @abstractmethod
    def discard(self) -> Answer[None]:
        """The fetching has failed: everything is deleted. Called in place of `finish`."""

    # ---- thread that drains
    @abstractmethod
    def read(self, most: int) -> Answer[Piece | None]:
        """Read the next piece, of at most so many records; nothing at the end, also again. Called after `finish`.

        Raises: PortError STATE if the piece before was not committed, or the reader is closed; RELEASED if the files
        were deleted by force; IO.
        """

    @abstractmethod
    def commit(self) -> Answer[None]:
        """The piece that was read last was handed to its channel. Called once for each piece."""

    @abstractmethod
    def close_reader(self) -> Answer[None]:
        """Nothing more will be read, and no more snapshot be made.

        Allowed at any moment, also after `force_close`. A second call changes nothing, and neither does one before
        `finish`, or after it has found nothing to read.
        """

    # ---- thread of the task
    @abstractmethod
    def snapshot(self, number: int) -> Answer[None]:
        """Make a snapshot of what is not committed. Snapshots are numbered by the caller.

        Raises: PortError STATE if the reader is closed; RELEASED if the files were deleted by force.
        """

    # ---- thread that writes channel state
    @abstractmethod
    def read_snapshot(self, number: int, most: int) -> Answer[Piece | None]:
        """Read the next piece of a snapshot, of at most so many records; nothing at its end.

        Raises: PortError STATE if the snapshot was closed, or a read of it has failed; RELEASED if the files were
        deleted by force; IO.
        """

    @abstractmethod
    def close_snapshot(self, number: int) -> Answer[None]:
        """Nothing more will be read of this snapshot. Allowed at any moment after it was made, also after `force_close`
        and after a failure. A second call changes nothing."""

    # ---- any thread
    @abstractmethod
    def force_close(self) -> Answer[None]:
        """The task is over: everything is deleted, even if somebody still reads. Allowed at any moment, also before
        `finish` and after a failure. A second call changes nothing."""

    # ---- observer
    @abstractmethod
    def buffered(self) -> Answer[int]:
        """Return how many appended records are in memory because they are not written yet. Asked before `finish`."""
