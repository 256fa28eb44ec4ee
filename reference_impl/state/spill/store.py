"""Fetched channel state in files: one writer, one reader, and snapshots for checkpoints. Specification: spill.md.

A file is a sequence of segments. A segment belongs to one channel: it has a header (gate, channel, length of the body,
32 bits each) and a body.
"""

from __future__ import annotations

from struct import Struct as Packer

from msgspec import Struct

from conformance.ports import ErrorKind, PortError

from .storage import Appender, Source, Storage

HEADER = Packer(">iii")


class Limits(Struct, frozen=True):
    """Soft limits in bytes: what reaches one ends there."""

    segment: int = 1 << 20
    file: int = 64 << 20


class Part(Struct, frozen=True):
    """Bytes of one channel that were read."""

    gate: int
    channel: int
    body: bytes


class SpillFile(Struct, frozen=True):
    """A file that is complete."""

    number: int
    length: int


class Position(Struct, frozen=True):
    """Where a reader is."""

    file: int = 0
    """Which of the files of the state, from 0."""
    offset: int = 0
    gate: int = 0
    channel: int = 0
    left: int = 0
    """How many bytes of the body of this segment follow; 0: a header follows, or the file ends."""


class SpillWriter:
    """Writes what is fetched."""

    __slots__ = ("appender", "body", "channel", "files", "gate", "limits", "size", "storage")

    def __init__(self, storage: Storage, limits: Limits) -> None:
        self.storage = storage
        self.limits = limits
        self.files: list[SpillFile] = []
        """Complete: the files to which nothing is written any more."""
        self.appender: Appender | None = None
        """The file that is being written."""
        self.gate = self.channel = 0
        self.body: list[bytes] = []
        """Open segment: what is to be written of one channel."""
        self.size = 0
        """How many bytes the open segment has."""

    def append(self, gate: int, channel: int, body: bytes) -> None:
        """K2, K3. Raises: PortError IO."""
        if gate != self.gate or channel != self.channel:
            self.seal()
            self.gate, self.channel = gate, channel
        self.body.append(body)
        self.size += len(body)
        if self.size >= self.limits.segment:
            self.seal()

    def seal(self) -> None:
        """K3, K4. Write the open segment, if it has a body. Raises: PortError IO."""
        if not self.size:
            return
        if self.appender is None:
            self.appender = self.storage.create()
        self.appender.write(HEADER.pack(self.gate, self.channel, self.size))
        for body in self.body:
            self.appender.write(body)
        self.body, self.size = [], 0
        if self.appender.length >= self.limits.file:
            self.rotate()

    def rotate(self) -> None:
        """K5. The file is complete. Raises: PortError IO."""
        appender, self.appender = self.appender, None
        if appender is not None:
            self.files.append(SpillFile(appender.number, appender.length))
            appender.finish()

    def finish(self) -> FetchedState | None:
        """K6. Raises: PortError IO."""
        self.seal()
        self.rotate()
        return FetchedState(self.storage, tuple(self.files)) if self.files else None

    def discard(self) -> None:
        """K14. Delete everything."""
        if self.appender is not None:
            self.appender.close()
            self.appender = None
        self.body, self.size = [], 0
        self.storage.clear()


class FetchedState:
    """The files, as long as anybody was granted them."""

    __slots__ = ("deleted", "files", "grants", "storage")

    def __init__(self, storage: Storage, files: tuple[SpillFile, ...]) -> None:
        """K6. The first grant is for the reader of the state."""
        self.storage = storage
        self.files = files
        self.grants = 1
        """Grants: how many readers may still read the files."""
        self.deleted = False

    def reader(self) -> SpillReader:
        """K6. The reader of the state. It takes over the first grant."""
        return SpillReader(self)

    def acquire(self) -> None:
        """K10. Raises: PortError RELEASED."""
        if self.deleted:
            raise PortError(ErrorKind.RELEASED, "the files were deleted")
        self.grants += 1

    def release(self) -> None:
        """K7, K9, K12. A grant is given back."""
        self.grants -= 1
        if not self.grants:
            self.close()

    def close(self) -> None:
        """K7, K13. Delete the files, once, even if somebody still reads them."""
        if not self.deleted:
            self.deleted = True
            for file in self.files:
                self.storage.delete(file.number)


class Cursor:
    """Reads the state from a position on. It has one file open at most."""

    __slots__ = ("fetched", "position", "source")

    def __init__(self, fetched: FetchedState, position: Position) -> None:
        self.fetched = fetched
        self.position = position
        self.source: Source | None = None

    def next(self, most: int) -> Part | None:
        """K8, K11. At most so many bytes of one segment; None at the end. Raises: PortError IO, RELEASED."""
        fetched = self.fetched
        if fetched.deleted:
            raise PortError(ErrorKind.RELEASED, "the files were deleted")
        at = self.position
        file, offset, gate, channel, left = at.file, at.offset, at.gate, at.channel, at.left
        if not left and file < len(fetched.files) and offset == fetched.files[file].length:
            self.close()
            file, offset = file + 1, 0
        if file == len(fetched.files):
            return None
        if self.source is None:
            self.source = fetched.storage.source(fetched.files[file].number, offset)
        if not left:
            gate, channel, left = HEADER.unpack(self.source.read(HEADER.size))
            offset += HEADER.size
        body = self.source.read(min(most, left))
        self.position = Position(file, offset + len(body), gate, channel, left - len(body))
        return Part(gate, channel, body)

    def close(self) -> None:
        """K9, K12. Close the file that is open."""
        source, self.source = self.source, None
        if source is not None:
            source.close()


class SpillReader:
    """Reads what is to be pushed. It has a grant until it is closed."""

    __slots__ = ("committed", "cursor", "fetched", "is_open", "pending")

    def __init__(self, fetched: FetchedState) -> None:
        self.fetched = fetched
        self.cursor = Cursor(fetched, Position())
        self.committed = Position()
        """Committed: where what was not committed begins."""
        self.pending = False
        """Pending: whether a piece was read and not committed."""
        self.is_open = True

    def next(self, most: int) -> Part | None:
        """K8. Raises: PortError STATE, IO, RELEASED."""
        self.check()
        if self.pending:
            raise PortError(ErrorKind.STATE, "the piece that was read before is not committed")
        part = self.cursor.next(most)
        self.pending = part is not None
        return part

    def commit(self) -> None:
        """K9. Raises: PortError STATE."""
        if not self.pending:
            raise PortError(ErrorKind.STATE, "no piece is to be committed")
        self.committed = self.cursor.position
        self.pending = False

    def snapshot(self) -> SnapshotReader:
        """K10. Raises: PortError STATE, RELEASED."""
        self.check()
        self.fetched.acquire()
        return SnapshotReader(self.fetched, self.committed)

    def check(self) -> None:
        """K9. Raises: PortError STATE if the reader was closed."""
        if not self.is_open:
            raise PortError(ErrorKind.STATE, "the reader was closed")

    def close(self) -> None:
        """K9. A second call changes nothing."""
        if self.is_open:
            self.is_open = False
            self.cursor.close()
            self.fetched.release()


class SnapshotReader:
    """Reads what was not committed when it was made. It has a grant until it is closed."""

    __slots__ = ("cursor", "fetched", "is_open")

    def __init__(self, fetched: FetchedState, position: Position) -> None:
        self.fetched = fetched
        self.cursor = Cursor(fetched, position)
        self.is_open = True

    def next(self, most: int) -> Part | None:
        """K11, K12. At its end, and if a read fails, it closes itself. Raises: PortError STATE, IO, RELEASED."""
        if not self.is_open:
            raise PortError(ErrorKind.STATE, "the snapshot was closed")
        try:
            part = self.cursor.next(most)
        except PortError:
            self.close()
            raise
        if part is None:
            self.close()
        return part

    def close(self) -> None:
        """K12. A second call changes nothing."""
        if self.is_open:
            self.is_open = False
            self.cursor.close()
            self.fetched.release()
