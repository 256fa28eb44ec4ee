"""Checkpoint folders that Flink has written: what an audit reads there, and which damage it finds.

The folders come from Flink's own channel state writer, file system storage and metadata. What does not show is tested
as well: Flink's format has no checksums, and a segment does not say to which channel it belongs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.bridges.flink.releases import find_jars
from conformance.bridges.flink.shim import find_jdk
from conformance.bridges.flink.stored import (
    METADATA,
    ReadOther,
    ReadSegment,
    ReadState,
    Source,
    audit_other,
    audit_source,
)
from conformance.cli import cli
from conformance.state_files import Damaged, StateAudit
from tests.bridges.conftest import skip_without

PROGRAM = Path(__file__).parent / "flink_programs" / "WriteCheckpoint.java"
HEADER = LENGTH = 4
IN_FILES, IN_METADATA = "0", "100000"
RECORDS = [(0, False, 3), (0, False, 2), (0, True, None), (1, False, 3), (1, False, 2), (1, True, None)]
"""What the program writes for each subtask: two input channels with so many records, and a subpartition."""
OPERATOR = "00000000000000000000000000000003"
flink_only = [pytest.mark.flink, pytest.mark.xdist_group("flink")]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """By release and arguments of the program, the folder `chk-4` that Flink has written."""
    made: dict[tuple[str, ...], Path] = {}

    def write(release: str, *arguments: str) -> Path:
        skip_without(release)
        if (release, *arguments) not in made:
            folder = tmp_path_factory.mktemp("checkpoints")
            jars = os.pathsep.join(map(str, find_jars(release)))
            run = [find_jdk()[0], "-cp", jars, str(PROGRAM), str(folder), *arguments]
            subprocess.run(run, check=True, timeout=120)
            (made[release, *arguments],) = folder.rglob("chk-4")
        return made[release, *arguments]

    return write


@pytest.fixture
def checkpoint(flink, written, tmp_path):
    """Copies the checkpoint of a release into a new folder, by a number."""

    def copy(number: int = 0, threshold: str = IN_FILES) -> Path:
        return Path(shutil.copytree(written(flink.release, threshold), tmp_path / f"{number:04}" / "chk-4"))

    return copy


def state_file(checkpoint: Path) -> Path:
    (found,) = (path for path in checkpoint.iterdir() if path.name != METADATA)
    return found


def segments(data: bytes) -> list[tuple[int, int]]:
    """Where each segment of a channel state file begins and ends."""
    found, at = [], HEADER
    while at < len(data):
        end = at + LENGTH + int.from_bytes(data[at : at + LENGTH], "big")
        found.append((at, end))
        at = end
    return found


def hurt(found: StateAudit) -> dict[int, list[str]]:
    """What is damaged, by the number of the copy."""
    copies: dict[int, list[str]] = {}
    for one in found.damaged:
        copies.setdefault(int(one.file.split("/")[0]), []).append(one.what)
    return copies


# ---- what Flink has written ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("threshold", [IN_FILES, IN_METADATA])
class TestWhole:
    pytestmark = flink_only

    def test_it_is_read(self, flink, checkpoint, tmp_path, threshold):
        here = checkpoint(0, threshold)
        found = flink.audit(tmp_path)
        assert (found.files, found.damaged) == (1, ())
        assert sorted((one.subtask, one.output) for one in found.states) == sorted(one[:2] for one in RECORDS)
        assert sorted(one.records or 0 for one in found.states) == sorted(one[2] or 0 for one in RECORDS)
        named = here / METADATA if threshold == IN_METADATA else state_file(here)
        assert {one.file for one in found.states} == {str(named.relative_to(tmp_path))}

    def test_metadata_that_was_cut_off_shows(self, flink, checkpoint, tmp_path, threshold):
        data = (checkpoint(0, threshold) / METADATA).read_bytes()
        for length in range(0, len(data), 7):
            (checkpoint(length + 1, threshold) / METADATA).write_bytes(data[:length])
        assert all("Flink cannot read it" in what[0] for what in hurt(flink.audit(tmp_path)).values())
        assert len(hurt(flink.audit(tmp_path))) == len(range(0, len(data), 7))

    def test_whatever_is_overwritten_in_metadata_the_audit_goes_on(self, flink, checkpoint, tmp_path, threshold):
        data = (checkpoint(0, threshold) / METADATA).read_bytes()
        for at in range(len(data)):
            changed = bytearray(data)
            changed[at] ^= 0xA5
            (checkpoint(at + 1, threshold) / METADATA).write_bytes(changed)
        copies = hurt(flink.audit(tmp_path))
        assert 0 not in copies
        assert {1, 2, 3, 4} <= set(copies)  # the magic number


class TestDamagedFiles:
    pytestmark = flink_only

    def test_a_file_that_was_cut_off_shows(self, flink, checkpoint, tmp_path):
        data = state_file(checkpoint()).read_bytes()
        for length in range(len(data)):
            state_file(checkpoint(length + 1)).write_bytes(data[:length])
        copies = hurt(flink.audit(tmp_path))
        assert sorted(copies) == list(range(1, len(data) + 1))
        assert all(f"must have {len(data)} bytes" in what[0] for what in copies.values())

    def test_a_length_that_is_overwritten_shows_and_what_is_in_a_record_does_not(self, flink, checkpoint, tmp_path):
        data = state_file(checkpoint()).read_bytes()
        for at in range(len(data)):
            changed = bytearray(data)
            changed[at] ^= 0xA5
            state_file(checkpoint(at + 1)).write_bytes(changed)
        copies = {number - 1 for number in hurt(flink.audit(tmp_path))}
        visible = {*range(HEADER), *(at for begin, _ in segments(data) for at in range(begin, begin + LENGTH))}
        assert visible <= copies
        content = {at for at, byte in enumerate(data) if byte == ord("r")}
        assert len(content) > len(data) / 2
        assert not copies & content

    def test_what_was_added_shows(self, flink, checkpoint, tmp_path):
        file = state_file(checkpoint())
        data = file.read_bytes()
        begin, end = segments(data)[0]
        file.write_bytes(data + data[begin:end])
        assert hurt(flink.audit(tmp_path)) == {
            0: [f"the file must have {len(data)} bytes, it has {len(data) + end - begin}"]
        }

    def test_a_segment_that_was_moved_shows(self, flink, checkpoint, tmp_path):
        """The file keeps its length, and every handle its offsets."""
        file = state_file(checkpoint())
        data = file.read_bytes()
        first, *others = segments(data)
        file.write_bytes(data[:HEADER] + data[others[0][0] :] + data[first[0] : first[1]])
        assert hurt(flink.audit(tmp_path))[0]

    def test_a_segment_of_the_same_length_in_another_place_does_not_show(self, flink, checkpoint, tmp_path):
        file = state_file(checkpoint())
        data = bytearray(file.read_bytes())
        by_length: dict[int, list[int]] = {}
        for begin, end in segments(bytes(data)):
            by_length.setdefault(end - begin, []).append(begin)
        length, places = next((one, at) for one, at in by_length.items() if len(at) > 1)
        data[places[0] : places[0] + length] = data[places[1] : places[1] + length]
        file.write_bytes(data)
        assert flink.audit(tmp_path).damaged == ()

    def test_a_record_with_a_negative_length_shows(self, flink, checkpoint, tmp_path):
        file = state_file(checkpoint())
        data = bytearray(file.read_bytes())
        data[HEADER + LENGTH] = 0xFF
        file.write_bytes(data)
        assert ["must have a length above 0" in one for one in hurt(flink.audit(tmp_path))[0]] == [True]

    def test_a_file_that_is_missing_shows(self, flink, checkpoint, tmp_path):
        state_file(checkpoint()).unlink()
        assert hurt(flink.audit(tmp_path)) == {0: ["the file is missing; _metadata names it"]}

    def test_the_command_reports_it(self, flink, checkpoint, tmp_path):
        file = state_file(checkpoint())
        name = f"flink-component@{flink.release}"
        asked = ["audit", str(tmp_path), "--implementation", name, "--in-process"]
        assert CliRunner().invoke(cli, asked, standalone_mode=False).return_value == 0
        file.write_bytes(file.read_bytes()[:-1])
        run = CliRunner().invoke(cli, asked, standalone_mode=False)
        assert (run.return_value, "DAMAGED" in run.output) == (1, True)
        file.unlink()
        (file.parent / METADATA).unlink()
        assert CliRunner().invoke(cli, asked, standalone_mode=False).return_value == 3


class TestOtherState:
    """State of operators, keys and coordinators, which is found and not read."""

    pytestmark = flink_only

    @pytest.fixture
    def job(self, flink, written):
        """The folder of the job, where Flink has written it: shared files are named by their whole path."""
        folder = written(flink.release, IN_FILES, "others").parent
        kept = folder.with_name(f"{folder.name}-kept")
        shutil.copytree(folder, kept)
        yield folder
        shutil.rmtree(folder)
        kept.rename(folder)

    def test_it_is_found(self, flink, job):
        found = flink.audit(job)
        assert (found.damaged, found.unreferenced) == ((), ())
        assert sorted((one.kind, -1 if one.subtask is None else one.subtask, one.size) for one in found.others) == [
            ("coordinator", -1, 3), ("keyed", 0, 21), ("keyed", 1, 31), ("keyed", 1, 33), ("operator", 0, 11),
            ("operator", 1, 12),
        ]  # fmt: skip
        assert {one.file.split("/")[0] for one in found.others} == {"chk-4", "shared"}
        assert (
            found.files == 7
        )  # one of channel state, five of other state, and the metadata with that of the coordinator

    def test_each_file_that_is_missing_shows(self, flink, job):
        (lost,) = (job / "shared").iterdir()
        lost.unlink()
        assert [(one.file, one.what) for one in flink.audit(job).damaged] == [
            (
                f"shared/{lost.name}",
                f"the file is missing; the keyed state of subtask 1 of operator {OPERATOR} is in it",
            )
        ]

    def test_a_file_with_another_length_shows(self, flink, job):
        (shared,) = (job / "shared").iterdir()
        for data in (b"", bytes(30), bytes(32)):
            shared.write_bytes(data)
            assert [(one.offset, one.what) for one in flink.audit(job).damaged] == [
                (len(data), f"the file must have 31 bytes for the keyed state of subtask 1 of operator {OPERATOR},"
                 f" it has {len(data)}")
            ]  # fmt: skip

    def test_files_that_nobody_refers_to_are_listed_and_no_damage(self, flink, job):
        (job / "chk-5").mkdir()
        for name in ("chk-4/late", "chk-5/begun", "shared/old", "taskowned/old", "README"):
            (job / name).parent.mkdir(exist_ok=True)
            (job / name).write_bytes(b"x")
        found = flink.audit(job)
        assert (found.damaged, found.unreferenced) == (
            (), ("chk-4/late", "chk-5/begun", "shared/old", "taskowned/old")
        )  # fmt: skip

    def test_nothing_is_called_unreferenced_as_long_as_a_checkpoint_cannot_be_read(self, flink, job):
        (job / "chk-4" / METADATA).write_bytes(b"")
        found = flink.audit(job)
        assert (len(found.damaged), found.unreferenced) == (1, ())


# ---- how it is judged ------------------------------------------------------------------------------------------------
def segment(offset: int, length: int) -> ReadSegment:
    content = (length - LENGTH).to_bytes(LENGTH, "big") + bytes(length - LENGTH)
    return ReadSegment(offset, content)


def judged(*states: tuple[ReadSegment, ...], size: int) -> list[str]:
    """What is damaged in bytes of so many in `_metadata`, with one input channel for each tuple."""
    read = [
        ReadState(0, 0, False, 0, channel, HEADER + sum(one.end - one.offset for one in state), state)
        for channel, state in enumerate(states)
    ]
    source = Source(size, header=HEADER)
    return [one.what for one in audit_source("name", 1, source, read) if isinstance(one, Damaged)]


def test_segments_that_follow_each_other_are_whole():
    assert judged((segment(4, 8), segment(28, 8)), (segment(16, 8),), size=40) == []


def test_bytes_that_nobody_names_show():
    assert judged((segment(4, 8),), (segment(28, 8),), size=50) == [
        "no handle names the bytes from 16 to 28", "no handle names the bytes from 40 to 50",
    ]  # fmt: skip


def test_two_handles_of_the_same_bytes_show():
    assert judged((segment(4, 8),), (segment(4, 8),), size=16) == [
        "two handles name this segment: subtask 0, input channel 0 of gate 0, subtask 0, input channel 1 of gate 0"
    ]


def test_a_segment_inside_another_one_shows():
    assert judged((segment(4, 20),), (segment(12, 8),), size=28) == ["a segment begins at 12 inside another one"]


def test_what_flink_could_not_read_shows_with_its_place():
    wrong = ReadState(0, 1, True, 2, 3, 8, (ReadSegment(9, error="it ends"),))
    (found,) = audit_source("name", 1, Source(9, header=HEADER), [wrong])
    assert found == Damaged(
        "name", "subtask 1, output channel 3 of partition 2: Flink cannot read a segment: it ends", 9
    )


def other(**how: object) -> list[str]:
    """What is wrong with keyed state of subtask 2."""
    return [one.what for one in audit_other("name", ReadOther("keyed", "ab", 2, 5, **how))]  # type: ignore[arg-type]


def test_state_in_metadata_is_there():
    assert other() == []


def test_a_part_of_a_file_must_lie_in_it(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(10))
    assert other(file=str(file), start=5) == []
    assert other(file=str(file), start=0) == []
    assert other(file=str(file), start=6) == [
        "the file must have 11 bytes for the keyed state of subtask 2 of operator ab, it has 10"
    ]
    assert other(file=str(file)) == [
        "the file must have 5 bytes for the keyed state of subtask 2 of operator ab, it has 10"
    ]


def test_a_handle_of_an_unknown_kind_is_not_passed_over():
    assert other(unknown="org.New") == [
        "the keyed state of subtask 2 of operator ab has a handle that is not known, org.New, so it was not looked for"
    ]
