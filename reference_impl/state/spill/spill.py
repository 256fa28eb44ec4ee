"""The spill store behind its port. Specification: spill.md."""

from __future__ import annotations

from struct import Struct as Packer

from conformance.ports import ErrorKind, Piece, PortError, Resources, SpillConfig, SpillPort

from ...faults import Faults, Faulty
from .storage import Storage
from .store import FetchedState, Limits, Part, SnapshotReader, SpillReader, SpillWriter

_RECORD = Packer(">Q")
RECORD_BYTES = _RECORD.size
"""How many bytes a record takes."""


def encode(records: tuple[int, ...]) -> bytes:
    """K2. The bytes of records, all of the same size."""
    return b"".join([_RECORD.pack(record) for record in records])


def decode(part: Part) -> Piece:
    """K8. The records in what was read."""
    return Piece(part.gate, part.channel, tuple([record for (record,) in _RECORD.iter_unpack(part.body)]))


class Spill(Faulty, SpillPort):
    """One task's spill store: its writer, then its reader and snapshots."""

    def __init__(self, config: SpillConfig) -> None:
        self.config = config
        self.faults = Faults(self)
        self.storage = Storage(config.files, self.faults)
        self.writer: SpillWriter | None = SpillWriter(
            self.storage, Limits(config.segment_records * RECORD_BYTES, config.file_records * RECORD_BYTES)
        )
        """Writer: none when the fetching is over."""
        self.fetched: FetchedState | None = None
        """Fetched: none before the end of the fetching, and if nothing was fetched."""
        self.reader: SpillReader | None = None
        self.snapshots: dict[int, SnapshotReader] = {}

    # ---- thread that fetches -----------------------------------------------------------------------------------------
    def append(self, gate: int, channel: int, records: tuple[int, ...]) -> None:
        """K2 to K5, K14. Append records of one channel to the fetched state (Flink: `FetchedChannelState`,
        FLINK-38544)."""
        writer = self.writing()
        if not (0 <= gate < len(self.config.gates) and 0 <= channel < self.config.gates[gate]):
            raise PortError(ErrorKind.ARGUMENT, f"the task has no channel {channel} of gate {gate}")
        try:
            writer.append(gate, channel, encode(records))
        except PortError:
            self.discard()
            raise

    def finish(self) -> bool:
        """K6, K14. Everything was fetched: the last segment is written."""
        try:
            self.fetched = self.writing().finish()
        except PortError:
            self.discard()
            raise
        self.writer = None
        if self.fetched is not None:
            self.reader = self.fetched.reader()
        return self.fetched is not None

    def writing(self) -> SpillWriter:
        """K2, K6. Raises: PortError STATE if the fetching is over."""
        if self.writer is None:
            raise PortError(ErrorKind.STATE, "the fetching is over")
        return self.writer

    def discard(self) -> None:
        """K14. Delete what was written before `finish`."""
        if self.writer is not None:
            self.writer.discard()
            self.writer = None

    # ---- threads that read -------------------------------------------------------------------------------------------
    def read(self, most: int) -> Piece | None:
        """K8. The reader returns the next records of one channel; None at the end."""
        part = self.reading().next(most * RECORD_BYTES)
        return None if part is None else decode(part)

    def commit(self) -> None:
        """K9. What was read last counts as pushed: a later snapshot does not contain it."""
        self.reading().commit()

    def reading(self) -> SpillReader:
        """K8 to K10. Raises: PortError STATE if there is nothing to read."""
        if self.reader is None:
            raise PortError(ErrorKind.STATE, "there is nothing to read")
        return self.reader

    def close_reader(self) -> None:
        """K9. The reader gives its grant back."""
        if self.reader is not None:
            self.reader.close()

    def snapshot(self, number: int) -> None:
        """K10. A snapshot begins where the last commit of the reader ended."""
        self.snapshots[number] = self.reading().snapshot()

    def read_snapshot(self, number: int, most: int) -> Piece | None:
        """K11. The snapshot returns its next records; None at its end."""
        part = self.snapshots[number].next(most * RECORD_BYTES)
        return None if part is None else decode(part)

    def close_snapshot(self, number: int) -> None:
        """K12. The snapshot gives its grant back."""
        self.snapshots[number].close()

    # ---- the end -----------------------------------------------------------------------------------------------------
    def force_close(self) -> None:
        """K13, K14. The task is over: all files are deleted, even if somebody still reads."""
        self.discard()
        if self.fetched is not None:
            self.fetched.close()

    def release(self) -> None:
        """K15. Everything is closed and deleted."""
        self.force_close()
        self.close_reader()
        for snapshot in self.snapshots.values():
            snapshot.close()
        self.storage.clear()

    # ---- observers ---------------------------------------------------------------------------------------------------
    def buffered(self) -> int:
        """K4. The number of appended records that are in memory."""
        return 0 if self.writer is None else self.writer.size // RECORD_BYTES

    def resources(self) -> Resources:
        """K15. A segment that is not written yet is memory outside a pool."""
        heap = 1 if self.writer is not None and self.writer.size else 0
        grants = 0 if self.fetched is None else self.fetched.grants
        return Resources(0, heap, len(self.storage.existing), 0, 0, self.storage.open, grants)
