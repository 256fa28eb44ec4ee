"""The rules of a spill store. Specification: spill.md."""

from __future__ import annotations

from typing import Any

from conformance.components.spill import steps
from conformance.components.spill.ledger import Ledger
from conformance.driver import BROKEN, Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models import faults, lifetime
from conformance.models.designs import FAULTS, RESOURCES
from conformance.models.records import compare_ids, in_words
from conformance.models.recovered_state import must_be_granted
from conformance.models.words import are, many, must_fail, truth
from conformance.ports import ErrorKind, Piece, Resources, SpillPort

RULES = Rules[Ledger]("spill", answers_property("spill"))
rule, adopt = RULES.rule, RULES.adopt
Looked = Seen[Resources]


# ---- what is read ----------------------------------------------------------------------------------------------------
def _next(left: list[Piece], piece: Piece | None, most: int) -> Judgement:
    """Judges a piece: the first of what is left, all of one channel, and no more than was asked for."""
    if piece is None:
        if not left:
            return True
        owed = f"{are(len(left), 'record')} still to be read, so there must be a next piece"
        return Broken(FailureClass.LOST, owed, "the read returned nothing")
    count = len(piece.records)
    if not 0 < count <= most:
        return Broken(FailureClass.PROTOCOL, f"a piece has at least one record and at most {most}", f"it has {count}")
    owed_ids = tuple(one.records[0] for one in left[:count])
    if piece.records != owed_ids:
        kind = compare_ids(owed_ids, piece.records, owed_ids[0] if owed_ids else 0)
        return Broken(kind, f"{in_words(owed_ids)} must come next", f"{in_words(piece.records)} came")
    for one in left[:count]:
        if (one.gate, one.channel) != (piece.gate, piece.channel):
            owed = f"record {one.records[0]} belongs to channel {one.channel} of gate {one.gate}"
            observed = f"it was read for channel {piece.channel} of gate {piece.gate}"
            return Broken(FailureClass.CORRUPTED, owed, observed)
    return True


@rule(steps.read, invariant="I-71", tickets=("FLINK-38544",))
def what_was_appended_is_read_once_for_its_channel(ledger: Ledger, seen: Seen[Piece | None, int]) -> Judgement:
    """The reader returns every record that was appended, once, in this order, with the gate and the channel for which
    it was appended. Records of two channels are never in one piece."""
    return _next(ledger.fetched.pieces[ledger.reader.at :], seen.value, seen.operands[0])


@rule(steps.read_snapshot, invariant="I-70", tickets=("FLINK-39524",))
def a_snapshot_holds_what_was_not_committed(ledger: Ledger, seen: Seen[Piece | None, int, int]) -> Judgement:
    """A snapshot returns exactly what was not committed when it was made, also from the middle of a segment, whatever
    the reader and other snapshots have read since."""
    number, most = seen.operands
    return _next(ledger.fetched.pieces[ledger.snapshots[number].at :], seen.value, most)


@rule(steps.read_uncommitted, invariant="I-70")
def a_piece_is_committed_before_the_next_is_read(ledger: Ledger, seen: Seen[Piece | None, int]) -> Judgement:
    """While a piece is not committed, the next one is refused with an error of kind state."""
    return must_fail(seen.error, ErrorKind.STATE, "a piece was read and not committed")


@rule(steps.finish, invariant="I-68")
def nothing_fetched_leaves_nothing_to_read(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """The operation that ends the fetching returns whether there is anything to read."""
    owed = bool(ledger.fetched.pieces)
    if seen.value is owed:
        return True
    text = f"{are(len(ledger.fetched.pieces), 'record')} fetched, so `finish` must return {truth(owed)}"
    return Broken(FailureClass.LOST if owed else FailureClass.PROTOCOL, text, f"it returned {truth(seen.value)}")


# ---- what is refused -------------------------------------------------------------------------------------------------
@rule(steps.append_to_unknown_channel, invariant="I-71")
def a_channel_that_the_task_does_not_have_is_refused(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """Records of a channel that the task does not have are refused with an error of kind argument."""
    return must_fail(seen.error, ErrorKind.ARGUMENT, "the task has no such channel")


@rule(steps.append_late, invariant="I-71")
def nothing_is_appended_after_the_end(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """After the end of the fetching, an append is refused with an error of kind state."""
    return must_fail(seen.error, ErrorKind.STATE, "the fetching is over")


@rule(
    steps.read_closed,
    steps.snapshot_late,
    invariant="I-68",
    formerly=("nothing-is-had-of-a-closed-reader",),
)
def a_closed_reader_refuses_to_read(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """After the reader was closed, a read and a snapshot are refused with an error of kind state; of kind released, if
    the files were deleted then."""
    return _refused(seen, "the reader was closed")


@rule(steps.read_snapshot_again, invariant="I-70", formerly=("a-snapshot-that-was-given-up-does-not-answer-the-end",))
def a_snapshot_closed_early_does_not_return_its_end(ledger: Ledger, seen: Seen[Piece | None, int]) -> Judgement:
    """After a snapshot was closed before its end, another read is refused, so that nobody takes for its end what was
    left out. The same holds after a read of it has failed, unless the read can be tried again. A snapshot that has
    returned its end may return it again."""
    one = ledger.snapshots[seen.operands[0]]
    if seen.error is None and (seen.value is None or not one.closed):
        return _next(ledger.fetched.pieces[one.at :], seen.value, 1)
    return _refused(seen, "nothing more can be read of the snapshot")


def _refused(seen: Seen[Any, *tuple[int, ...]], why: str) -> Judgement:
    if seen.error is not None and seen.error.kind in (ErrorKind.STATE, ErrorKind.RELEASED):
        return True
    return must_fail(seen.error, ErrorKind.STATE, why)


@rule(steps.read_late, steps.read_snapshot_late, invariant="I-68")
def nothing_is_read_after_everything_was_deleted(ledger: Ledger, seen: Seen[Any, *tuple[int, ...]]) -> Judgement:
    """After everything was deleted by force, every further read fails with an error of kind released. A snapshot that
    was read to its end may say so again; it, and one that has failed, may also refuse with an error of kind state."""
    if len(seen.operands) > 1 and (one := ledger.snapshots[seen.operands[0]]).ended:
        if seen.error is None and seen.value is None:
            return _next(ledger.fetched.pieces[one.at :], None, 1)
        return _refused(seen, "nothing more can be read of the snapshot")
    return must_fail(seen.error, ErrorKind.RELEASED, "the files were deleted by force")


# ---- bounds ----------------------------------------------------------------------------------------------------------
@rule(steps.buffered, invariant="I-72", tickets=("FLINK-40081",))
def a_full_segment_is_written(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """At most a full segment of records waits in memory, plus those of one append."""
    most = ledger.most_in_segment()
    if seen.value <= most:
        return seen.value > 0
    return Broken(
        FailureClass.LEAKED,
        f"a segment is full with {many(ledger.config.segment_records, 'record')}, and must be written then",
        f"{are(seen.value, 'record')} in memory",
    )


@rule(steps.resources, invariant="I-72", needs=RESOURCES)
def a_full_file_is_followed_by_another(ledger: Ledger, seen: Looked) -> Judgement:
    """A file exceeds its limit by one segment at most."""
    least = ledger.least_files()
    if ledger.phase != "fetching" or least < 2 or seen.value.files is None:
        return False
    if seen.value.files >= least:
        return True
    owed = f"{are(len(ledger.fetched.pieces), 'record')} appended, so there must be at least {many(least, 'file')}"
    return Broken(FailureClass.LEAKED, owed, f"{are(seen.value.files, 'file')} there")


# ---- files and grants ------------------------------------------------------------------------------------------------
def _is_settled(ledger: Ledger) -> bool:
    return ledger.phase in ("fetched", "empty", "over", BROKEN)


@rule(steps.resources, invariant="I-68", tickets=("FLINK-40520",), needs=RESOURCES)
def files_are_deleted_with_the_last_grant(ledger: Ledger, seen: Looked) -> Judgement:
    """When nobody may read the files any more, or everything was deleted by force, or the fetching has failed, no file
    is left but those whose deletion has failed; if nothing was fetched, there is none."""
    if ledger.released or not _is_settled(ledger) or seen.value.files is None:
        return False
    if ledger.phase in ("fetched", BROKEN) and ledger.grants()[1]:
        return False
    most = ledger.files_left
    if seen.value.files <= most:
        return bool(ledger.next_record)
    owed = f"nobody may read the files, so {many(most, 'file') if most else 'no file'} may be left"
    return Broken(FailureClass.LEAKED, owed, f"{are(seen.value.files, 'file')} left")


@rule(steps.resources, invariant="I-69", needs=RESOURCES, formerly=("everybody-who-may-read-has-one-grant",))
def each_reader_has_one_grant(ledger: Ledger, seen: Looked) -> Judgement:
    """The reader has a grant until it is closed, and each snapshot from the moment it is made. A snapshot that was read
    to its end, or failed, may have given it back before it is closed. Nobody gives a grant back twice."""
    if ledger.released or ledger.phase != "fetched" or seen.value.grants is None:
        return False
    least, most = ledger.grants()
    granted = must_be_granted(seen.value.grants, least, most)
    return bool(ledger.snapshots) if granted is True else granted


@rule(steps.resources, invariant="I-69", needs=RESOURCES)
def a_file_is_open_only_for_those_who_use_it(ledger: Ledger, seen: Looked) -> Judgement:
    """While state is fetched one file is open at most; afterwards one at most for the reader and for each snapshot that
    was not closed."""
    held = seen.value.open_files
    if ledger.released or held is None:
        return False
    if ledger.phase == "fetching":
        most = 1
    elif ledger.phase == BROKEN and not ledger.fetched.pieces:
        most = 0
    else:
        most = ledger.grants()[1]
    if held <= most:
        return True
    return Broken(FailureClass.LEAKED, f"at most {many(most, 'file')} may be open", f"{are(held, 'file')} open")


# ---- what fails ------------------------------------------------------------------------------------------------------
STRUCK = (steps.append, steps.finish, steps.read, steps.read_snapshot)
adopt(faults.an_operation_fails_with_what_it_calls, *STRUCK, needs=FAULTS)
faults.see_strikes(
    RULES, SpillPort.can_fail, *STRUCK, steps.discard, steps.close_reader, steps.close_snapshot, steps.force_close
)
faults.see_later_strikes(RULES, *STRUCK)
adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
