"""Channel state files: what is written is read back, and every kind of damage is found."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from conformance.cli import cli
from conformance.engines.stored import audit_folder
from conformance.state_files import (
    HEADER,
    Damage,
    Handle,
    Place,
    StateAudit,
    StateList,
    decode_records,
    encode_header,
    encode_record,
    encode_segment,
    read_header,
    read_segment,
    read_state,
    write_list,
)
from reference_impl.faults import Faults
from reference_impl.state.writer.storage import Storage
from tests.writers import Writer, registered

CHECKPOINT = 4
NAME = "checkpoint-4.state"
STATES = (
    Place(CHECKPOINT, 0, False, 0),
    Place(CHECKPOINT, 1, False, 0),
    Place(CHECKPOINT, 0, True, 0),
)


def folder_of(path: Path, order: tuple[int, ...] = (0, 1, 0, 2, 1, 0)) -> tuple[Path, StateList]:
    """A folder with one file: two subtasks, three channel states, whose segments are mixed in this order."""
    data = encode_header(CHECKPOINT)
    offsets: list[list[int]] = [[] for _ in STATES]
    sizes = [0] * len(STATES)
    for record, number in enumerate(order):
        segment = encode_segment(STATES[number], len(offsets[number]), encode_record(record))
        offsets[number].append(len(data))
        sizes[number] += len(segment)
        data += segment
    handles = tuple(
        Handle(place.subtask, place.output, place.channel, tuple(offsets[number]), sizes[number])
        for number, place in enumerate(STATES)
    )
    states = StateList(1, CHECKPOINT, NAME, len(data), handles)
    (path / NAME).write_bytes(data)
    write_list(path, states)
    return path, states


def damage(path: Path) -> list[str]:
    return [one.what for one in audit_folder(path).damaged]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=8))
def test_records_are_read_back(records):
    assert decode_records(b"".join(map(encode_record, records))) == records


@given(st.integers(0, 2**64 - 1), st.data())
def test_a_byte_of_a_record_that_was_changed_shows(record, data):
    encoded = bytearray(encode_record(record))
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] ^= data.draw(st.integers(1, 255))
    with suppress(Damage):
        assert decode_records(bytes(encoded)) != [record]


@given(
    st.builds(Place, st.integers(1, 99), st.integers(0, 9), st.booleans(), st.integers(0, 9)),
    st.integers(0, 99), st.binary(max_size=64), st.data(),
)  # fmt: skip
def test_a_byte_of_a_segment_that_was_changed_shows(place, position, payload, data):
    encoded = bytearray(encode_segment(place, position, payload))
    assert read_segment(bytes(encoded), 0)[:3] == (place, position, payload)
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Damage):
        read_segment(bytes(encoded), 0)


def test_a_file_that_is_whole_is_read(tmp_path):
    path, _ = folder_of(tmp_path)
    found = audit_folder(path)
    assert found.damaged == ()
    assert [(one.subtask, one.output, one.records) for one in found.states] == [
        (0, False, 3), (1, False, 2), (0, True, 1),
    ]  # fmt: skip


def test_a_file_that_was_cut_off_shows(tmp_path):
    path, states = folder_of(tmp_path)
    data = (path / NAME).read_bytes()
    for length in range(len(data)):
        (path / NAME).write_bytes(data[:length])
        assert any(f"must have {states.length} bytes" in one for one in damage(path))


def test_every_byte_that_is_overwritten_shows(tmp_path):
    path, _ = folder_of(tmp_path)
    data = (path / NAME).read_bytes()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0xA5
        (path / NAME).write_bytes(changed)
        assert damage(path), f"byte {at}"


def test_a_segment_that_was_written_twice_shows(tmp_path):
    path, states = folder_of(tmp_path)
    data = (path / NAME).read_bytes()
    segment = data[HEADER : read_segment(data, HEADER).end]
    (path / NAME).write_bytes(data + segment)
    write_list(path, msgspec.structs.replace(states, length=len(data + segment)))
    assert damage(path) == [f"no handle names the bytes from {len(data)} to {len(data + segment)}"]


def changed_handle(states: StateList, number: int, **what: object) -> StateList:
    handles = list(states.handles)
    handles[number] = msgspec.structs.replace(handles[number], **what)
    return msgspec.structs.replace(states, handles=tuple(handles))


@pytest.mark.parametrize(
    ("number", "change", "text"),
    [
        (0, lambda one: {"offsets": one.offsets[::-1]}, "segment 0 of"),
        (0, lambda one: {"offsets": one.offsets[1:]}, "segment 0 of"),
        (0, lambda one: {"offsets": (*one.offsets, one.offsets[-1])}, "segment 3 of"),
        (0, lambda one: {"subtask": 1}, "names a segment of checkpoint 4, subtask 0, input channel 0"),
        (0, lambda one: {"output": True}, "names a segment of"),
        (1, lambda one: {"size": one.size - 1}, "its segments have"),
        (1, lambda one: {"offsets": (0,)}, "a segment begins with CSEG"),
        (1, lambda one: {"offsets": (10**6,)}, "a segment must begin here"),
        (2, lambda one: {"offsets": (), "size": 0}, "no handle names the bytes"),
    ],
)
def test_a_handle_that_names_other_bytes_shows(tmp_path, number, change, text):
    path, states = folder_of(tmp_path)
    write_list(path, changed_handle(states, number, **change(states.handles[number])))
    assert any(text in one for one in damage(path)), damage(path)


def test_a_handle_with_another_size_is_wrong_in_no_single_place(tmp_path):
    path, states = folder_of(tmp_path)
    write_list(path, changed_handle(states, 1, size=states.handles[1].size - 1))
    assert [one.offset for one in audit_folder(path).damaged if "its segments have" in one.what] == [None]


def test_two_handles_of_the_same_bytes_show(tmp_path):
    path, states = folder_of(tmp_path)
    write_list(path, msgspec.structs.replace(states, handles=(*states.handles, states.handles[0])))
    assert any("two handles name this segment" in one for one in damage(path))


def test_a_record_in_two_channel_states_shows(tmp_path):
    path, _ = folder_of(tmp_path)
    other = path / "other"
    other.mkdir()
    folder_of(other, (1,))
    assert [one.what for one in audit_folder(path).damaged] == [
        "record 0 is stored more than once: checkpoint 4, subtask 0, input channel 0; "
        "checkpoint 4, subtask 1, input channel 0"
    ]


def test_files_and_lists_that_do_not_belong_together_show(tmp_path):
    path, states = folder_of(tmp_path)
    shutil.copy(path / NAME, path / "alone.state")
    (path / "gone.state.json").write_bytes((path / f"{NAME}.json").read_bytes().replace(NAME.encode(), b"gone.state"))
    (path / "torn.state.json").write_text('{"version": 1')
    write_list(path, msgspec.structs.replace(states, checkpoint=5))
    found = [one.split(":")[0] for one in damage(path)]
    assert found[0] == "the file must be of checkpoint 5, it is of 4"
    assert [one.split(" names")[0] for one in found[1:4]] == [
        f"the handle of checkpoint 5, subtask {place.subtask}, {'output' if place.output else 'input'} channel 0"
        for place in STATES
    ]
    assert found[4:] == [
        f"no handle names the bytes from {HEADER} to {states.length}",
        "the file is missing; its state list is there",
        "this is no state list",
        "no state list stands beside this file",
    ]


def test_what_the_reference_writes_is_whole():
    writer: Writer = registered(0, 1, files=True)
    for subtask in (0, 1):
        writer.start(subtask, 1)
        writer.add_input(subtask, 1, 0, (2 * subtask, 2 * subtask + 1))
        writer.finish_input(subtask, 1)
        writer.finish_output(subtask, 1)
    writer.execute_all()
    folder = writer.port.storage.path("any").parent
    assert audit_folder(folder) == StateAudit(1, audit_folder(folder).states, ())
    assert [one.records for one in audit_folder(folder).states] == [2, 2]
    writer.release()
    assert not folder.exists()


def test_a_list_of_a_file_is_deleted_with_it(tmp_path):
    storage = Storage(True, Faults(registered().port))
    stream = storage.create(1)
    stream.begin(encode_header(1))
    stream.finish()
    storage.describe(StateList(1, 1, stream.name, stream.length, ()))
    assert read_header(storage.read(stream.name)) == 1
    storage.delete(stream.name)
    assert list(storage.path("any").parent.iterdir()) == []
    storage.clear()


def test_a_handle_without_segments_is_an_empty_state():
    assert read_state(encode_header(1), 1, Handle(0, False, 0, (), 0)) == []


def test_the_command_says_what_is_damaged(tmp_path):
    path, states = folder_of(tmp_path)
    run = CliRunner().invoke(cli, ["audit", str(path)], standalone_mode=False)
    assert run.return_value == 0
    assert "Nothing is damaged in 1 file with 3 channel states." in run.output
    (path / NAME).write_bytes((path / NAME).read_bytes()[:-1])
    json_path = tmp_path / "audit.json"
    run = CliRunner().invoke(cli, ["audit", str(path), "--json", str(json_path)], standalone_mode=False)
    assert run.return_value == 1
    assert f"{NAME}, byte {states.length - 1}: the file must have {states.length} bytes" in run.output
    assert json.loads(json_path.read_text())["files"] == 1


def test_a_folder_without_files_proves_nothing(tmp_path):
    run = CliRunner().invoke(cli, ["audit", str(tmp_path)], standalone_mode=False)
    assert run.return_value == 3
    assert "nothing was checked" in run.output


def test_an_implementation_without_a_format_of_its_own_says_so(tmp_path):
    run = CliRunner().invoke(cli, ["audit", str(tmp_path), "--implementation", "reference"], standalone_mode=False)
    assert "reference cannot read channel state" in str(run.exception)


def test_the_published_schema_of_a_state_list_is_the_one_that_is_read():
    published = Path(__file__).parents[2] / "docs" / "channel-state-files.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == msgspec.json.schema(StateList)
