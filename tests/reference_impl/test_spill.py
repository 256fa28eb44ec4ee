"""The reference's spill store, rule by rule. Specification: spill.md."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conformance.ports import (
    SPILL_DIRECTORY,
    SPILL_FILE_CLOSE,
    SPILL_FILE_CREATE,
    SPILL_FILE_DELETE,
    SPILL_FILE_OPEN,
    SPILL_FILE_READ,
    SPILL_FILE_SYNC,
    SPILL_FILE_WRITE,
    ErrorKind,
    FaultKind,
    Piece,
    PortError,
    Resources,
    SpillConfig,
)
from reference_impl.state.spill.spill import Spill

FILES = pytest.mark.parametrize("files", [False, True], ids=["memory", "files"])
THROWS = FaultKind.THROWS
NOTHING = Resources(0, 0, 0, 0, 0, 0, 0)


def store(segment: int = 2, file: int = 4, files: bool = False, gates: tuple[int, ...] = (2,)) -> Spill:
    return Spill(SpillConfig(gates, segment, file, files))


def filled(*records: int, files: bool = False, segment: int = 2, file: int = 4) -> Spill:
    """A store that has fetched these records of channel 0."""
    one = store(segment, file, files)
    for record in records:
        one.append(0, 0, (record,))
    assert one.finish() is bool(records)
    return one


def rest(one: Spill, most: int = 1) -> list[int]:
    """Read and commit all that is left; the records."""
    found: list[int] = []
    while (piece := one.read(most)) is not None:
        one.commit()
        found += piece.records
    return found


def of_snapshot(one: Spill, number: int) -> list[int]:
    found: list[int] = []
    while (piece := one.read_snapshot(number, 2)) is not None:
        found += piece.records
    return found


def kind_of(call, *operands) -> ErrorKind:
    with pytest.raises(PortError) as caught:
        call(*operands)
    return caught.value.kind


def test_files_lie_in_a_directory_of_their_own():
    """spill.md K1."""
    one, other = filled(1, files=True), filled(1, files=True)
    folders = [Path(of.storage.folder.name) for of in (one, other) if of.storage.folder is not None]
    assert len(set(folders)) == 2
    assert all(stat.S_IMODE(os.stat(folder).st_mode) == 0o700 for folder in folders)
    one.release()
    other.release()
    assert not any(folder.exists() for folder in folders)


def test_a_file_that_exists_is_not_overwritten():
    """spill.md K1."""
    one = store(file=2, files=True)
    one.append(0, 0, (1, 2))
    folder = one.storage.path(1).parent
    one.storage.path(2).write_bytes(b"another's")
    assert kind_of(one.append, 0, 0, (3, 4)) is ErrorKind.IO
    assert not folder.exists()
    one.release()


@FILES
def test_records_come_back_with_their_gate_and_channel(files):
    """spill.md K2, K3, K8."""
    one = store(gates=(1, 2), files=files)
    one.append(0, 0, (1,))
    one.append(1, 0, (2, 3))
    one.append(1, 1, (4,))
    one.finish()
    found = []
    while (piece := one.read(5)) is not None:
        one.commit()
        found.append(piece)
    assert found == [Piece(0, 0, (1,)), Piece(1, 0, (2, 3)), Piece(1, 1, (4,))]
    one.release()


@pytest.mark.parametrize(("gate", "channel"), [(0, 2), (1, 0), (0, -1), (-1, 0)])
def test_a_channel_that_the_task_does_not_have_is_refused(gate, channel):
    """spill.md K2."""
    one = store()
    assert kind_of(one.append, gate, channel, (1,)) is ErrorKind.ARGUMENT
    assert one.buffered() == 0


def test_nothing_is_appended_after_the_end():
    """spill.md K2, K6."""
    one = filled(1)
    assert kind_of(one.append, 0, 0, (2,)) is ErrorKind.STATE
    assert kind_of(one.finish) is ErrorKind.STATE


@FILES
def test_the_bytes_of_a_segment(files):
    """spill.md K4."""
    one = store(gates=(1, 2), files=files)
    one.append(1, 1, (7,))
    one.finish()
    data = one.storage.path(1).read_bytes() if files else one.storage.contents[1]
    assert data == bytes.fromhex("00000001 00000001 00000008 0000000000000007")
    one.release()


def test_a_segment_is_written_when_it_is_full():
    """spill.md K4."""
    one = store(segment=3)
    waiting = []
    for record in range(4):
        one.append(0, 0, (record,))
        waiting.append(one.buffered())
    assert waiting == [1, 2, 0, 1]
    assert one.resources() == Resources(0, 1, 1, 0, 0, 0, 0)


def test_a_segment_is_written_when_the_channel_changes():
    """spill.md K3, K4."""
    one = store(segment=3)
    one.append(0, 0, (1,))
    one.append(0, 1, (2,))
    assert one.buffered() == 1


@FILES
def test_a_full_file_is_followed_by_another(files):
    """spill.md K5."""
    one = filled(*range(8), segment=2, file=4, files=files)
    assert one.resources().files == 2
    assert one.resources().open_files == 0
    assert rest(one) == list(range(8))
    one.release()


@FILES
def test_without_a_record_there_is_no_file_and_no_grant(files):
    """spill.md K6."""
    one = filled(files=files)
    assert one.resources() == NOTHING
    one.close_reader()
    assert kind_of(one.read, 1) is ErrorKind.STATE
    one.release()


@FILES
def test_the_last_grant_deletes_the_files(files):
    """spill.md K6, K7, K9."""
    one = filled(1, 2, 3, files=files)
    assert one.resources().grants == 1
    rest(one)
    assert one.resources().files == 1
    one.close_reader()
    one.close_reader()
    assert one.resources() == NOTHING
    one.release()


def test_a_piece_is_committed_before_the_next():
    """spill.md K8, K9."""
    one = filled(1, 2)
    one.read(1)
    assert kind_of(one.read, 1) is ErrorKind.STATE
    one.commit()
    assert kind_of(one.commit) is ErrorKind.STATE
    assert one.read(1) == Piece(0, 0, (2,))


@FILES
@pytest.mark.parametrize("shorts", [1, 3])
def test_a_read_that_gets_fewer_bytes_goes_on(files, shorts):
    """spill.md K8."""
    one = filled(1, 2, files=files)
    for _ in range(shorts):
        one.fault(SPILL_FILE_READ, FaultKind.SHORT)
    assert rest(one, 2) == [1, 2]
    one.release()


@FILES
def test_a_file_that_was_cut_off_is_an_error_and_no_endless_loop(files):
    """spill.md K8."""
    one = filled(1, 2, files=files)
    if files:
        path = one.storage.path(1)
        path.write_bytes(path.read_bytes()[:-3])
    else:
        one.storage.contents[1] = one.storage.contents[1][:-3]
    assert kind_of(one.read, 2) is ErrorKind.IO
    one.release()


@FILES
@pytest.mark.parametrize("committed", range(6))
def test_a_snapshot_is_what_was_not_committed(files, committed):
    """spill.md K10, K11. In every position, also in the middle of a segment."""
    one = filled(*range(5), segment=3, file=100, files=files)
    for _ in range(committed):
        one.read(1)
        if one.reader is not None and one.reader.pending:
            one.commit()
    before = min(committed, 5)
    one.snapshot(1)
    pending = one.read(1)
    assert of_snapshot(one, 1) == list(range(before, 5))
    if pending is not None:
        one.commit()
    assert rest(one) == list(range(before + 1, 5))
    one.release()


@FILES
def test_a_snapshot_keeps_the_files_when_the_reader_is_closed(files):
    """spill.md K7, K10, K12."""
    one = filled(1, 2, 3, files=files)
    one.snapshot(1)
    one.snapshot(2)
    rest(one)
    one.close_reader()
    assert one.resources().grants == 2
    assert of_snapshot(one, 1) == [1, 2, 3]
    one.close_snapshot(2)
    one.close_snapshot(2)
    one.close_snapshot(1)
    assert one.resources() == NOTHING
    one.release()


def test_a_snapshot_that_cannot_be_read_gives_back_its_grant():
    """spill.md K12."""
    one = filled(1, 2, 3)
    one.snapshot(1)
    one.read_snapshot(1, 1)
    one.fault(SPILL_FILE_READ, THROWS)
    assert kind_of(one.read_snapshot, 1, 1) is ErrorKind.IO
    assert one.resources().grants == 1
    assert kind_of(one.read_snapshot, 1, 1) is ErrorKind.STATE
    assert rest(one) == [1, 2, 3]


def test_what_was_closed_is_read_no_more_and_opens_nothing():
    """spill.md K9, K12."""
    one = filled(1, 2, 3)
    one.snapshot(1)
    one.snapshot(2)
    one.close_snapshot(2)
    one.close_reader()
    assert kind_of(one.read, 1) is ErrorKind.STATE
    assert kind_of(one.snapshot, 3) is ErrorKind.STATE
    assert kind_of(one.read_snapshot, 2, 1) is ErrorKind.STATE
    assert (one.resources().grants, one.resources().open_files) == (1, 0)


def test_the_directory_goes_with_the_last_file():
    """spill.md K7."""
    one = filled(1, 2, 3, files=True)
    folder = one.storage.path(1).parent
    one.close_reader()
    assert not folder.exists()


def test_a_file_that_has_vanished_is_an_error_when_it_is_read_and_none_when_it_is_deleted():
    """spill.md K7, K14."""
    one = filled(*range(9), files=True)
    one.storage.path(1).unlink()
    assert kind_of(one.read, 1) is ErrorKind.IO
    one.release()
    assert one.resources() == NOTHING


@FILES
def test_by_force_everything_is_deleted(files):
    """spill.md K13."""
    one = filled(1, 2, 3, files=files)
    one.snapshot(1)
    one.read(1)
    one.commit()
    one.read_snapshot(1, 1)
    one.force_close()
    one.force_close()
    assert one.resources().files == 0
    assert kind_of(one.read, 1) is ErrorKind.RELEASED
    assert kind_of(one.read_snapshot, 1, 1) is ErrorKind.RELEASED
    assert kind_of(one.snapshot, 2) is ErrorKind.RELEASED
    one.close_reader()
    one.close_snapshot(1)
    assert one.resources() == NOTHING
    one.release()


@FILES
@pytest.mark.parametrize("end", ["discard", "force_close"])
def test_a_fetching_that_is_given_up_leaves_nothing(files, end):
    """spill.md K13, K14."""
    one = store(files=files)
    for record in range(7):
        one.append(0, 0, (record,))
    getattr(one, end)()
    assert one.resources() == NOTHING
    one.release()


@FILES
@pytest.mark.parametrize(
    ("place", "before"),
    [
        (SPILL_DIRECTORY, 0),
        *[(one, n) for one in (SPILL_FILE_CREATE, SPILL_FILE_WRITE, SPILL_FILE_SYNC, SPILL_FILE_CLOSE) for n in (0, 5)],
    ],
)
def test_what_fails_while_it_is_written_leaves_nothing(files, place, before):
    """spill.md K14, K16."""
    one = store(file=2, files=files)
    for record in range(before):
        one.append(0, 0, (record,))
    one.fault(place, THROWS)
    assert kind_of(one.append, 0, 0, (8, 9)) is ErrorKind.IO
    assert one.resources() == NOTHING
    assert one.storage.folder is None
    one.release()


@FILES
def test_a_file_that_cannot_be_closed_after_it_was_read_counts_as_closed(files):
    """spill.md K16."""
    one = filled(1, 2, 3, files=files, file=2)
    one.snapshot(1)
    one.fault(SPILL_FILE_CLOSE, THROWS)
    assert of_snapshot(one, 1) == [1, 2, 3]
    assert one.resources() == Resources(0, 0, 2, 0, 0, 0, 1)
    one.read(1)
    one.fault(SPILL_FILE_CLOSE, THROWS)
    one.close_reader()
    assert one.resources() == NOTHING
    one.release()


@FILES
@pytest.mark.parametrize("end", ["close_reader", "force_close"])
def test_a_file_that_cannot_be_deleted_stays_until_the_release(files, end):
    """spill.md K16: the other one is deleted."""
    one = filled(1, 2, 3, files=files, file=2)
    one.fault(SPILL_FILE_DELETE, THROWS)
    getattr(one, end)()
    assert one.resources().files == 1
    one.close_reader()
    one.release()
    assert one.resources() == NOTHING
    assert one.storage.folder is None


@FILES
def test_a_fetching_is_given_up_although_its_file_cannot_be_closed(files):
    """spill.md K16."""
    one = store(files=files)
    one.append(0, 0, (1, 2))
    one.fault(SPILL_FILE_CLOSE, THROWS)
    one.discard()
    assert one.resources() == NOTHING
    one.release()


@FILES
@pytest.mark.parametrize("place", [SPILL_FILE_OPEN, SPILL_FILE_READ])
def test_what_cannot_be_read_is_an_error(files, place):
    """spill.md K8, K15."""
    one = filled(1, files=files)
    one.fault(place, THROWS)
    assert kind_of(one.read, 1) is ErrorKind.IO
    one.release()
    assert one.resources() == NOTHING


@FILES
def test_after_release_nothing_is_held(files):
    """spill.md K15."""
    one = filled(1, 2, 3, files=files)
    one.snapshot(1)
    one.read_snapshot(1, 1)
    one.read(1)
    for _ in range(2):
        one.release()
        assert one.resources() == NOTHING
