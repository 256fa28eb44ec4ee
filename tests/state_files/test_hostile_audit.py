"""A folder of channel state may come from a stranger: whatever is in it is read within limits, or reported."""

from __future__ import annotations

import io
import json
import os
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance import cli
from conformance.engines.stored import audit_folder
from conformance.reporting import audit_lines, audit_table
from conformance.reporting.console import CarefulConsole
from conformance.scenarios.reading import MOST_BYTES
from conformance.state_files import (
    HEADER,
    Damaged,
    Handle,
    Homes,
    Place,
    StateAudit,
    StateList,
    StoredState,
    Unread,
    audit_file,
    encode_header,
    encode_record,
    encode_segment,
    layout,
)
from conformance.state_files import audit as of_a_file
from conformance.system.listing import everything_below
from tests.hostile import DEEP, bytes_of, mutations_of, nested_folders, remove_nested_folders
from tests.state_files.test_audit import CHECKPOINT, NAME, damage, folder_of

LIST = f"{NAME}.json"
HERE = Place(CHECKPOINT, 0, False, 0)


def status(folder: Path) -> object:
    with pytest.raises(SystemExit) as ended:
        cli.main(["audit", str(folder)])
    return ended.value.code


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"file": "\xff"}', "byte 0xff is not valid in UTF-8"),
        (DEEP, "nested more than 64 deep"),
        (b'{"version": ' + b"9" * 5_000 + b"}", "a number has more than 19 digits"),
        (b'{"\x1b[2J": 1}'.decode().encode("utf-16"), "encoded as UTF-16"),
        (b"", "this is no state list"),
    ],
)
def test_a_list_has_the_limits_of_all_files(tmp_path, content, said, capsys):
    folder_of(tmp_path)
    (tmp_path / LIST).write_bytes(content)
    assert status(tmp_path) == 1
    assert said in capsys.readouterr().out


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_folder_of_any_bytes_is_read_or_reported(tmp_path_factory, data):
    folder, states = folder_of(tmp_path_factory.mktemp("any"))
    document = (folder / LIST).read_bytes()
    changed = bytes_of(document) | mutations_of(json.loads(document)).map(lambda one: json.dumps(one).encode())
    (folder / LIST).write_bytes(data.draw(changed | st.just(document)))
    (folder / NAME).write_bytes(data.draw(bytes_of_state((folder / NAME).read_bytes())))
    found = audit_folder(folder)
    CarefulConsole(file=io.StringIO()).print(audit_table(found), *audit_lines(found), markup=False)
    assert found.files == 1
    assert len(found.states) <= len(states.handles)


def bytes_of_state(document: bytes) -> st.SearchStrategy[bytes]:
    places = st.integers(0, len(document))
    changed = st.tuples(places, places, st.binary(max_size=4)).map(
        lambda one: document[: min(one[:2])] + one[2] + document[max(one[:2]) :]
    )
    return st.just(document) | changed | st.binary(max_size=40)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("d", "no state list stands beside this file"),
        ("longer-than-a-path", "this folder cannot be read: File name too long"),
    ],
)
def test_folders_in_each_other_are_read_or_reported(tmp_path, name, said):
    """Seen: a RecursionError, which is status 70."""
    outermost = nested_folders(tmp_path, name)
    try:
        assert damage(outermost) == [said]
    finally:
        remove_nested_folders(outermost)


@pytest.mark.parametrize(("name", "said"), [(NAME, "; its state list is there"), (LIST, "")])
def test_a_large_sparse_file_is_not_read(tmp_path, name, said):
    """Seen: 6 GiB were read."""
    path, _ = folder_of(tmp_path)
    with (path / name).open("r+b") as file:
        file.truncate(6 << 30)
    (told,) = damage(path)
    assert f"the file is larger than {MOST_BYTES >> 20} MiB, and was not read{said}" in told


def test_a_link_that_leads_nowhere_is_damaged(tmp_path, capsys):
    """Seen: "Nothing is damaged", since there is no file behind the link."""
    path, _ = folder_of(tmp_path)
    (path / NAME).unlink()
    (path / NAME).symlink_to("nowhere")
    (path / "alone.state").symlink_to("nowhere")
    (path / "list.state.json").symlink_to("nowhere")
    assert damage(path) == [
        "the file is missing: this is a link that leads nowhere; its state list is there",
        "this is no state list: the file is missing: this is a link that leads nowhere",
        "the file is missing: this is a link that leads nowhere",
    ]
    assert audit_folder(path).files == 2
    assert status(path) == 1


@pytest.mark.parametrize("name", [NAME, LIST, "alone.state"])
@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_not_opened(tmp_path, name, put):
    path, _ = folder_of(tmp_path)
    (path / name).unlink(missing_ok=True)
    put(path / name)
    assert any("this is not a regular file" in one for one in damage(path))


def test_a_link_to_itself_is_reported(tmp_path):
    path, _ = folder_of(tmp_path)
    (path / NAME).unlink()
    (path / NAME).symlink_to(NAME)
    assert damage(path) == ["the file cannot be read: Too many levels of symbolic links; its state list is there"]


def test_no_link_to_a_folder_is_followed(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "loop").symlink_to(tmp_path)
    folder_of(tmp_path / "inside")
    found = audit_folder(tmp_path)
    assert (found.files, found.damaged, [one.file for one in found.unread]) == (1, (), ["inside/loop"])
    assert [one.name for one in everything_below(tmp_path).files] == [NAME, LIST, "loop"]
    assert status(tmp_path) == 3


def test_no_more_than_twenty_of_each_are_shown():
    many = StateAudit(
        1,
        tuple(StoredState("a", 1, 0, False, 0, 1, 1) for _ in range(25)),
        tuple(Damaged("b", "wrong") for _ in range(25)),
        unread=tuple(Unread("c", "closed") for _ in range(21)),
    )
    assert audit_table(many).row_count == 20
    lines = audit_lines(many)
    assert (len(lines), lines[0]) == (1 + 21 + 21 + 1, "5 more channel states could be read.")
    assert (lines[21], lines[42]) == ("5 more places are wrong.", "1 more place is not read.")


@pytest.mark.parametrize("gone", [NAME, LIST])
def test_a_folder_may_change_while_it_is_read(tmp_path, gone, monkeypatch):
    path, _ = folder_of(tmp_path)

    def listed(folder: Path) -> Any:
        found = everything_below(folder)
        (path / gone).unlink()
        return found

    monkeypatch.setattr("conformance.engines.stored.everything_below", listed)
    (told,) = damage(path)
    assert "the file is missing" in told


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("[link=x]y[/link].state", "[link=x]y[/link].state"),
        ("\x1b[2J.state", r"\x1b[2J.state"),
        ("a\nNothing is damaged in 9 files.state", r"a\nNothing is damaged in 9 files.state"),
        ("\udcff.state", r"\udcff.state"),
        ("[/bold].state", "[/bold].state"),
    ],
)
def test_the_name_of_a_file_is_only_a_name(tmp_path, name, shown):
    """Seen: `[link=...]` became an escape sequence of the terminal, `[/bold]` an error of the suite."""
    path, states = folder_of(tmp_path)
    (path / name).parent.mkdir(exist_ok=True)  # "[" is the folder of "bold].state"
    (path / NAME).rename(path / name)
    states = msgspec.structs.replace(states, file="" if "\udcff" in name else Path(name).name)
    (path / f"{name}.json").write_bytes(msgspec.json.encode(states))
    (path / LIST).unlink()
    found = audit_folder(path)
    into = io.StringIO()
    console = CarefulConsole(file=into, width=1_000, force_terminal=True, color_system="truecolor")
    console.print(audit_table(found), soft_wrap=True)
    for line in audit_lines(found):
        console.print(line, markup=False, soft_wrap=True)
    lines = [line.strip() for line in into.getvalue().splitlines()]
    assert any(line.startswith(shown) for line in lines), lines
    assert "\x1b]8" not in into.getvalue()
    assert "\x1b[2J" not in into.getvalue()
    assert sum(line.startswith("Nothing is damaged") for line in lines) <= 1


def test_the_command_shows_names_as_they_are(tmp_path, capsys):
    path = tmp_path / "[link=x]y[/link]\x1b[2J.state"
    path.parent.mkdir()
    path.write_bytes(b"")
    assert status(tmp_path) == 1
    assert r"[link=x]y[/link]\x1b[2J.state: no state list" in capsys.readouterr().out


# ---- the time is linear ----------------------------------------------------------------------------------------------
class Counting(int):
    """A record that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        type(self).compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def one_state(records: int) -> tuple[bytes, StateList]:
    segment = encode_segment(HERE, 0, b"".join(map(encode_record, range(records))))
    data = encode_header(CHECKPOINT) + segment
    handle = Handle(0, False, 0, (HEADER,), len(segment))
    return data, StateList(1, CHECKPOINT, NAME, len(data), (handle,))


def test_the_records_of_a_state_are_not_compared_with_each_other(monkeypatch):
    """Seen: 40,000 records, in 780 kB, took 41 s, because each was looked for in the list of all."""
    data, states = one_state(2_000)
    monkeypatch.setattr(of_a_file, "records_of", lambda *given: [Counting(one) for one in layout.records_of(*given)])
    homes: Homes = {}
    (state,) = audit_file(NAME, data, states, homes)
    assert isinstance(state, StoredState)
    assert state.records == 2_000
    assert {type(one) for one in homes[CHECKPOINT]} == {Counting}
    assert Counting.compared <= 8_000


def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each reading of a segment will have read: for its checksum, and for its records."""
    read: list[int] = []
    decode_records = layout.decode_records

    def checked(data: bytes) -> int:
        read.append(len(data))
        return zlib.crc32(data)

    def decoded(payload: bytes, offset: int = 0) -> list[int]:
        read.append(len(payload))
        return decode_records(payload, offset)

    monkeypatch.setattr(layout, "crc32", checked)
    monkeypatch.setattr(layout, "decode_records", decoded)
    return read


@pytest.mark.parametrize("handles", [1, 500])
def test_a_segment_that_many_handles_name_is_read_once(handles, monkeypatch):
    """Otherwise a list of 64 MiB, which can name the same segment a million times, takes hours."""
    data, states = one_state(200)
    states = msgspec.structs.replace(states, handles=states.handles * handles)
    read = lengths(monkeypatch)
    list(audit_file(NAME, data, states, {}))
    assert 0 < sum(read) <= 2 * len(data)


def test_segments_in_each_other_are_not_read(monkeypatch):
    """Otherwise a file of n segments, each of which has the rest of the file as its payload, takes n² steps."""
    inside = b""
    for _ in range(200):
        inside = encode_segment(HERE, 0, inside)
    data = encode_header(CHECKPOINT) + inside
    head = len(encode_segment(HERE, 0, b"")) - 4  # the checksum stands behind the payload
    handles = tuple(Handle(0, False, 0, (HEADER + head * number,), 0) for number in range(200))
    read = lengths(monkeypatch)
    told = list(audit_file(NAME, data, StateList(1, CHECKPOINT, NAME, len(data), handles), {}))
    assert 0 < sum(read) <= 2 * len(data)
    assert sum("but another one begins at byte" in one.what for one in told) == 199  # type: ignore[union-attr]


def test_a_damaged_length_does_not_accuse_the_next_segment(tmp_path):
    path, _ = folder_of(tmp_path)
    data = bytearray((path / NAME).read_bytes())
    data[HEADER + 28] += 1  # the last byte of the length of the first segment
    (path / NAME).write_bytes(data)
    found = audit_folder(path)
    assert any("but another one begins at byte" in one.what for one in found.damaged)
    assert [one.records for one in found.states] == [2, 1]
