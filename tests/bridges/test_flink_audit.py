"""Checkpoint folders that Flink has written: what an audit reads there, and which damage it finds.

The folders come from Flink's own channel state writer, file system storage and metadata. What does not show is tested
as well: Flink's format has no checksums, and a segment does not say to which channel it belongs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.bridges.flink import stored
from conformance.bridges.flink.implementation import flink_component
from conformance.bridges.flink.releases import find_jars
from conformance.bridges.flink.shim import find_jdk
from conformance.bridges.flink.stored import (
    METADATA,
    ReadCheckpoint,
    ReadOther,
    ReadSegment,
    ReadState,
    Source,
    Where,
    audit_checkpoints,
    audit_source,
    look_for,
)
from conformance.cli import cli
from conformance.ports import Limits, UnusableImplementation
from conformance.reporting import audit_lines
from conformance.state_files import Damaged, StateAudit
from conformance.system.listing import LINKED
from tests.bridges.conftest import skip_without

PROGRAMS = Path(__file__).parent / "flink_programs"
HEADER = LENGTH = 4
IN_FILES, IN_METADATA = "0", "100000"
RECORDS = [(0, False, 3), (0, False, 2), (0, True, None), (1, False, 3), (1, False, 2), (1, True, None)]
"""What the program writes for each subtask: two input channels with so many records, and a subpartition."""
OPERATOR = "00000000000000000000000000000003"
flink_only = [pytest.mark.flink, pytest.mark.xdist_group("flink")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """By release, program and arguments of the program, the folder in which the program has written."""
    folders: dict[tuple[str, ...], Path] = {}

    def make(release: str, program: str, *arguments: str) -> Path:
        skip_without(release)
        if (key := (release, program, *arguments)) not in folders:
            folders[key] = folder = tmp_path_factory.mktemp("checkpoints")
            jars = os.pathsep.join(map(str, find_jars(release)))
            run = [find_jdk()[0], "-cp", jars, str(PROGRAMS / program), str(folder), *arguments]
            subprocess.run(run, check=True, timeout=300)
        return folders[key]

    return make


@pytest.fixture
def written(made):
    """By release and arguments of the program, the folder `chk-4` that Flink has written."""

    def find(release: str, *arguments: str) -> Path:
        (found,) = made(release, "WriteCheckpoint.java", *arguments).rglob("chk-4")
        return Path(found)

    return find


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

    def test_it_is_read_whatever_its_folder_is_called(self, flink, checkpoint, tmp_path, threshold, monkeypatch):
        monkeypatch.setenv("LC_ALL", "C")
        folder = checkpoint(0, threshold).parent.rename(tmp_path / "ä b%41#")
        found = flink.audit(folder / ".." / folder.name)
        assert (found.damaged, found.unread, found.unreferenced) == ((), (), ())
        assert len(found.states) == len(RECORDS)

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
            0: [f"the file must have {len(data)} bytes for channel state, it has {len(data) + end - begin}"]
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
        assert hurt(flink.audit(tmp_path)) == {0: ["the file is missing; channel state is in it"]}

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


class TestRareCheckpoints:
    """Of checkpoints that are rare, each in a folder of its own, nobody is accused who is whole."""

    pytestmark = flink_only

    @pytest.fixture
    def crafted(self, flink, made):
        return made(flink.release, "CraftCheckpoints.java")

    def test_what_is_whole_is_not_accused_and_one_that_cannot_be_read_spoils_no_other(self, flink, crafted):
        found = flink.audit(crafted)
        (nested,) = (one for one in found.damaged if "chk-4" in one.file)
        assert (nested.file, nested.what.split(":")[0]) == (f"nested/chk-4/{METADATA}", "Flink cannot read it")
        (long_name,) = (one for one in found.damaged if "chk-4" not in one.file)
        assert long_name.what.startswith("the file is missing")
        assert [(one.file, one.why.split(",")[0]) for one in found.unread] == [
            ("s3://bucket/job/shared/abc", "this is not on a local disk")
        ]
        assert found.checkpoints == 8
        assert sorted((one.file, one.records) for one in found.states) == [
            ("large/chk-4/state", 8), ("merged/shared/merged", 1), ("merged/shared/merged", 1),
        ]  # fmt: skip

    def test_a_checkpoint_without_state_is_whole(self, flink, crafted):
        found = flink.audit(crafted / "stateless")
        assert (found.files, found.checkpoints, found.damaged, found.is_anything) == (0, 1, (), True)

    def test_a_changelog_that_was_cut_off_shows(self, flink, crafted):
        for kind, length in (("plain", 100), ("compressed", 1)):
            file = crafted / kind / "shared" / "changelog"
            data = file.read_bytes()
            file.write_bytes(data[:length])
            (damaged,) = flink.audit(crafted / kind).damaged
            file.write_bytes(data)
            assert damaged.file == "shared/changelog"
            assert damaged.offset == length

    def test_a_state_file_that_is_a_pipe_is_not_opened(self, flink, crafted):
        file = crafted / "large" / "chk-4" / "state"
        kept = file.rename(file.with_name("kept"))
        os.mkfifo(file)
        (damaged,) = flink.audit(crafted / "large").damaged
        file.unlink()
        kept.rename(file)
        assert damaged.what == "this is not a regular file; channel state must be in it"

    def test_a_format_that_the_release_does_not_know_is_no_damage(self, flink, crafted, tmp_path):
        data = (crafted / "plain" / "chk-4" / METADATA).read_bytes()
        (tmp_path / METADATA).write_bytes(data[:7] + b"\7" + data[8:])
        found = flink.audit(tmp_path)
        assert (found.damaged, [one.why for one in found.unread]) == (
            (), ["its format has version 7, which this release does not know"]
        )  # fmt: skip

    def test_whatever_is_overwritten_in_metadata_of_merged_files_and_changelogs_the_audit_goes_on(
        self, flink, crafted, tmp_path
    ):
        data = (crafted / "merged" / "chk-4" / METADATA).read_bytes()
        for at in range(len(data)):
            changed = bytearray(data)
            changed[at] ^= 0xA5
            (tmp_path / f"{at:04}").mkdir()
            (tmp_path / f"{at:04}" / METADATA).write_bytes(changed)
        found = flink.audit(tmp_path)
        assert not any("before it had read this" in one.why for one in found.unread)
        assert {f"{at:04}/{METADATA}" for at in range(4)} <= {one.file for one in found.damaged}


class TestOtherState:
    """State of operators, keys and coordinators, which is found and not read."""

    pytestmark = flink_only

    @pytest.fixture(params=["the same release", "1.20.5"])
    def job(self, request, flink, written):
        """The folder of the job, where a release of Flink has written it: shared files are named by their whole path.
        Each release reads what an older one has written."""
        release = flink.release if request.param == "the same release" else request.param
        folder = written(release, IN_FILES, "others").parent
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
        assert sorted((one.subtask, one.output, one.records) for one in found.states) == sorted(RECORDS)
        # one of channel state, five of other state, and the metadata with that of the coordinator
        assert found.files == 7

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
    return ReadSegment(offset, length)


def judged(*states: tuple[ReadSegment, ...], size: int) -> list[str]:
    """What is damaged in bytes of so many in `_metadata`, with one input channel for each tuple."""
    read = [
        ReadState(0, 0, False, 0, channel, HEADER + sum(one.end - one.offset for one in state), state)
        for channel, state in enumerate(states)
    ]
    source = Source(size=size, header=HEADER)
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
    (found,) = audit_source("name", 1, Source(size=9, header=HEADER), [wrong])
    assert found == Damaged(
        "name", "subtask 1, output channel 3 of partition 2: Flink cannot read a segment: it ends", 9
    )


def other(size: int = 5, **how: Any) -> str | None:
    """What is wrong with state of five bytes."""
    found = look_for(Where(size=size, **how), "name", "it")
    if found is None:
        return None
    return found.what if isinstance(found, Damaged) else f"unread: {found.why}"


def test_state_in_metadata_is_there():
    assert other() is None


def test_a_part_of_a_file_must_lie_in_it(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(10))
    assert other(file=str(file), start=5) is None
    assert other(file=str(file), start=0) is None
    assert other(file=str(file), start=6) == "the file must have at least 11 bytes for it, it has 10"
    assert other(file=str(file)) == "the file must have 5 bytes for it, it has 10"


def test_a_changelog_has_a_byte_more_and_any_length_if_it_is_compressed(tmp_path):
    file = tmp_path / "file"
    for data, said in (
        (bytes(6), None),
        (b"\1x", None),
        (bytes(5), "the file must have 6 bytes for it, it has 5"),
        (b"\1", "the file must have at least 2 bytes for it, it has 1"),
    ):
        file.write_bytes(data)
        assert other(file=str(file), changelog=True) == said


def test_what_cannot_be_looked_for_is_no_damage(tmp_path, monkeypatch):
    assert other(unknown="org.New") == "unread: it has a handle that is not known, org.New, so it was not looked for"
    assert other(elsewhere="s3://a/b") == "unread: this is not on a local disk, so it was not looked for"
    file = tmp_path / "file"
    file.write_bytes(bytes(5))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert other(file=str(file)) == "unread: the file cannot be read: Permission denied; it must be in it"
    (tmp_path / "loop").symlink_to("loop")
    assert "Too many levels" in (other(file=str(tmp_path / "loop")) or "")


def test_whatever_a_name_is_its_file_is_missing(tmp_path):
    for name in ("gone", "gone/gone", "a" * 300, "a\0b"):
        assert other(file=str(tmp_path / name)) == "the file is missing; it is in it"
        assert other(file=str(tmp_path / name), size=0) is None
    assert other(file=str(tmp_path)) == "this is not a regular file; it must be in it"


# ---- a folder, with what Flink would have read -----------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Makes a folder of checkpoints; `read` stands for what Flink reads in each, in the order of their names."""

    def make(*read: ReadCheckpoint, before: Callable[[], object] = lambda: None) -> Path:
        job: Path = tmp_path / "job"
        for number in range(len(read)):
            (job / f"chk-{number}").mkdir(parents=True)
            (job / f"chk-{number}" / METADATA).write_bytes(b"x")

        def reading(paths: list[Path], *_: object) -> list[ReadCheckpoint]:
            before()
            return list(read[: len(paths)])

        monkeypatch.setattr(stored, "_read", reading)
        return job

    return make


def keyed(file: Path) -> ReadCheckpoint:
    return ReadCheckpoint(4, others=(ReadOther(kind="keyed", operator="ab", subtask=0, size=3, file=str(file)),))


def test_of_a_checkpoint_that_is_deleted_meanwhile_nothing_is_reported(folder, tmp_path):
    lost = tmp_path / "job" / "chk-1"
    path = folder(ReadCheckpoint(3), keyed(lost / "state"), before=lambda: shutil.rmtree(lost))
    found = audit_checkpoints(path, "2.3.0")
    assert (found.damaged, found.unread, found.checkpoints, found.deleted) == ((), (), 1, 1)
    assert "1 checkpoint was deleted while the folder was read." in audit_lines(found)


def test_a_file_has_one_name_whatever_leads_to_it(folder, tmp_path):
    path = folder(keyed(tmp_path / "link" / "chk-0" / ".." / "shared" / "state"))
    (path / "shared").mkdir()
    (path / "shared" / "state").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(path)
    for given in (path, tmp_path / "link", path / ".." / "job"):
        found = audit_checkpoints(given, "2.3.0")
        assert (found.damaged, found.unreferenced, [one.file for one in found.others]) == ((), (), ["shared/state"])


def test_a_link_to_a_folder_is_told(folder, tmp_path):
    path = folder(ReadCheckpoint(4))
    (path / "linked").symlink_to(tmp_path)
    found = audit_checkpoints(path, "2.3.0")
    assert [(one.file, one.why) for one in found.unread] == [("linked", LINKED)]
    assert audit_lines(found)[-1].startswith("INCONCLUSIVE: 1 place was not read. Nothing is damaged in 1 checkpoint:")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("echo {}; echo -n [; exit 3", "Flink exited with status 3 before it had read this"),
        ("echo {}; exec sleep 60", "Flink did not answer within 0.5 seconds before it had read this"),
    ],
)
def test_what_was_read_before_flink_ended_or_hung_is_kept(tmp_path, monkeypatch, program, said):
    for number in range(3):
        (tmp_path / f"chk-{number}").mkdir()
        (tmp_path / f"chk-{number}" / METADATA).write_bytes(b"x")
    monkeypatch.setattr(stored, "command", lambda *_, **__: ("sh", "-c", program))
    found = audit_checkpoints(tmp_path, "2.3.0", Limits(0.5))
    assert (found.checkpoints, [(one.file, one.why) for one in found.unread]) == (
        1, [("chk-1/_metadata", said), ("chk-2/_metadata", said)]
    )  # fmt: skip


def test_the_heap_is_a_part_of_the_memory_that_was_given_and_paths_are_no_arguments(tmp_path, monkeypatch):
    """Seen: 9,000 folders with long names were too many arguments."""
    for number in range(3):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / METADATA).touch()
    given: list[object] = []

    def made(*arguments: object, **_: object) -> tuple[str, ...]:
        given.extend(arguments)
        return "sh", "-c", r"tr '\0' '\n' | sed 's/.*/{}/'; echo"

    monkeypatch.setattr(stored, "command", made)
    assert audit_checkpoints(tmp_path, "2.3.0", Limits(600, 1000)).checkpoints == 3
    assert given[-1] == "750m"


def test_a_release_whose_classes_do_not_read_checkpoints_says_which_do(tmp_path):
    with pytest.raises(UnusableImplementation, match=r"with those of 2\.3\.0 or 2\.2\.1"):
        flink_component("1.20.5").audit(tmp_path)
