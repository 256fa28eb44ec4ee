"""Situations that a campaign must have seen in a spill store."""

from __future__ import annotations

from conformance.components.spill import steps
from conformance.components.spill.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.ports import Piece, Resources

RULES = Rules[Ledger]("spill")
goal = RULES.goal


@goal(steps.snapshot)
def a_snapshot_was_made_in_the_middle_of_a_segment(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A snapshot was made when one record of a channel was committed and the next of the same channel was not."""
    return ledger.fetched.is_in_the_middle()


@goal(steps.snapshot)
def a_snapshot_was_made_while_a_piece_was_not_committed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A snapshot was made between the read of a piece and its commit."""
    return ledger.is_pending()


@goal(steps.read_snapshot)
def a_snapshot_was_read_after_the_reader_was_closed(ledger: Ledger, seen: Seen[Piece | None, int, int]) -> bool:
    """A snapshot returned records after the reader was closed."""
    return not ledger.reader.is_open and seen.value is not None


@goal(steps.read_snapshot)
def two_snapshots_were_read_in_turn(ledger: Ledger, seen: Seen[Piece | None, int, int]) -> bool:
    """A snapshot returned records while another one was in the middle."""
    return seen.value is not None and any(
        ledger.fetched.snapshots[number] < one.at and one.must_hold()
        for number, one in ledger.snapshots.items()
        if number != seen.operands[0]
    )


@goal(steps.close_snapshot)
def a_snapshot_was_closed_without_being_read(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A snapshot was closed of which nothing was read."""
    (number,) = seen.operands
    one = ledger.snapshots[number]
    return one.at == ledger.fetched.snapshots[number] and one.must_hold()


@goal(steps.read)
def a_read_crossed_from_one_file_to_the_next(ledger: Ledger, seen: Seen[Piece | None, int]) -> bool:
    """A record was read that cannot be in the first file."""
    return ledger.reader.at > ledger.config.file_records + ledger.most_in_segment() and seen.value is not None


@goal(steps.finish)
def nothing_was_fetched(ledger: Ledger, seen: Seen[bool]) -> bool:
    """The fetching ended, and nothing was fetched."""
    return seen.value is False


@goal(steps.force_close)
def everything_was_deleted_while_a_snapshot_was_open(ledger: Ledger, seen: Seen[None]) -> bool:
    """Everything was deleted by force while a snapshot could be read."""
    return any(one.must_hold() for one in ledger.snapshots.values())


@goal(steps.force_close, steps.discard)
def the_fetching_was_broken_off_in_the_middle(ledger: Ledger, seen: Seen[None]) -> bool:
    """Everything was deleted while a segment was open and a file was written."""
    return ledger.phase == "fetching" and len(ledger.fetched.pieces) > ledger.config.segment_records


@goal(steps.resources)
def two_files_were_there_at_once(ledger: Ledger, seen: Seen[Resources]) -> bool:
    """There were two files at least."""
    return (seen.value.files or 0) > 1
