"""The ledger of a spill store: what was appended, what was read and committed, and who may still read."""

from __future__ import annotations

from typing import Any

from conformance.driver import BROKEN, PortLedger, Seen
from conformance.models.recovered_state import FetchedState
from conformance.ports import SPILL_FILE_CLOSE, SPILL_FILE_DELETE, FaultStruck, Piece, Places, SpillConfig


class Snapshot:
    """A snapshot: which record it returns next, and whether it can still return one."""

    __slots__ = ("at", "closed", "ended")

    def __init__(self, at: int) -> None:
        self.at = at
        self.closed = False
        self.ended = False
        """Whether it was read to its end, or a read of it failed, so that it needs its grant no more."""

    def may_hold(self) -> bool:
        """Returns whether it may still have a grant."""
        return not self.closed

    def must_hold(self) -> bool:
        """Returns whether it must still have a grant."""
        return not (self.closed or self.ended)


class Reader:
    """The reader, which hands the records to their channels."""

    __slots__ = ("at", "is_open")

    def __init__(self) -> None:
        self.at = 0
        """How many records it has read."""
        self.is_open = False


class Ledger(PortLedger):
    """Phases: *fetching* until the end of the fetching; then *fetched*, or *empty* if nothing was. *over*: everything
    was deleted by force."""

    __slots__ = ("config", "fetched", "files_left", "largest", "next_record", "reader", "snapshots")

    def __init__(self, config: SpillConfig, can_fail: Places) -> None:
        super().__init__(can_fail)
        self.config = config
        self.restart()

    def restart(self) -> None:
        """Begins with a fresh store."""
        self.begin_life("fetching")
        self.fetched = FetchedState()
        self.next_record = 0
        self.largest = 0
        """How many records were appended at once at most."""
        self.reader = Reader()
        self.snapshots: dict[int, Snapshot] = {}
        self.files_left = 0
        """How many files could not be deleted."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_pending(self) -> bool:
        """Returns whether a piece was read and not committed."""
        return self.reader.at > self.fetched.committed

    def grants(self) -> tuple[int, int]:
        """Returns how many grants there must be at least, and may be at most."""
        holders = self.snapshots.values()
        reader = int(self.reader.is_open)
        return reader + sum(one.must_hold() for one in holders), reader + sum(one.may_hold() for one in holders)

    def most_in_segment(self) -> int:
        """Returns how many records a segment may have: it is written when it is full, after the append that filled
        it."""
        return self.config.segment_records + self.largest

    def least_files(self) -> int:
        """Returns how many files there must be before any is deleted, since each is full at some size."""
        segment = self.most_in_segment()
        fullest = self.config.file_records + segment
        written = len(self.fetched.pieces) - segment
        return max(0, -(-written // fullest))

    def may_keep(self, place: str) -> bool:
        """Returns whether an operation that was struck there may succeed: nothing is lost with a file that cannot be
        deleted, or not closed after it was read."""
        return place == SPILL_FILE_DELETE or (place == SPILL_FILE_CLOSE and self.phase != "fetching")

    # ---- updates -----------------------------------------------------------------------------------------------------
    def append(self, seen: Seen[None], gate: int, channel: int, count: int) -> None:
        """Notes that records were appended."""
        self.largest = max(self.largest, count)
        for _ in range(count):
            self.fetched.pieces.append(Piece(gate, channel, (self.next_record,)))
            self.next_record += 1

    def append_failed(self, seen: Seen[Any], *operands: Any) -> None:
        """Notes that nothing more can be written."""
        self.break_down(seen)
        self.fetched.pieces = []

    def finish(self, seen: Seen[bool]) -> None:
        """Notes that everything was fetched."""
        self.phase = "fetched" if self.fetched.pieces else "empty"
        self.reader.is_open = bool(self.fetched.pieces)

    def discard(self) -> None:
        """Notes that the fetching has failed."""
        self.phase = BROKEN
        self.fetched.pieces = []

    def read(self, seen: Seen[Piece | None], most: int) -> None:
        """Notes what was read."""
        if seen.error is None and seen.value is not None:
            self.reader.at += len(seen.value.records)

    def read_struck(self, seen: Seen[Piece | None], most: int) -> None:
        """Notes what was read although a call failed; if nothing was, the task fails."""
        if seen.error is not None:
            self.break_down(seen)
            return
        self.strike(seen)
        self.read(seen, most)

    def commit(self) -> None:
        """Notes that the piece was handed to its channel."""
        self.fetched.committed = self.reader.at

    def close_reader(self) -> None:
        """Notes that the reader was closed."""
        self.reader.is_open = False

    def close_reader_struck(self, seen: Seen[None]) -> None:
        """Notes that the reader was closed although a call failed."""
        self.strike(seen)
        self.close_reader()

    def snapshot(self, number: int) -> None:
        """Notes that a snapshot was made."""
        self.fetched.make_snapshot(number)
        self.snapshots[number] = Snapshot(self.fetched.committed)

    def read_snapshot(self, seen: Seen[Piece | None], number: int, most: int) -> None:
        """Notes what was read of a snapshot."""
        one = self.snapshots[number]
        if seen.value is None:
            one.ended = True
        else:
            one.at += len(seen.value.records)

    def snapshot_failed(self, seen: Seen[Any], number: int, *most: int) -> None:
        """Notes what was read of a snapshot although a call failed; if nothing was, it cannot be read any more. The
        task goes on."""
        self.strike(seen)
        one = self.snapshots[number]
        if seen.error is None and seen.value is not None:
            one.at += len(seen.value.records)
        else:
            one.ended = True

    def read_again(self, seen: Seen[Piece | None], number: int, most: int) -> None:
        """Notes what was read of a snapshot of which nothing more need be returned."""
        one = self.snapshots[number]
        if seen.value is not None:
            one.at += len(seen.value.records)
        else:
            one.ended = True

    def close_snapshot(self, number: int) -> None:
        """Notes that a snapshot was closed."""
        self.snapshots[number].closed = True

    def close_snapshot_struck(self, seen: Seen[None], number: int) -> None:
        """Notes that a snapshot was closed although a call failed."""
        self.strike(seen)
        self.close_snapshot(number)

    def force_close(self) -> None:
        """Notes that everything was deleted."""
        if self.phase != BROKEN:
            self.phase = "over"

    def force_close_struck(self, seen: Seen[None]) -> None:
        """Notes that everything was deleted but what could not be."""
        self.strike(seen)
        self.force_close()

    def discard_struck(self, seen: Seen[None]) -> None:
        """Notes that the fetching was discarded although a call failed."""
        self.strike(seen)
        self.discard()

    def strike(self, seen: Seen[Any], *most: int) -> None:
        """Notes which calls have failed."""
        self.faults.struck(seen.signals)
        self.files_left += sum(
            type(signal) is FaultStruck and signal.place == SPILL_FILE_DELETE for signal in seen.signals
        )
