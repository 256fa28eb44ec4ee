"""Reads the channel state files in a folder, and finds everything that is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from conformance.state_files.layout import (
    VERSION,
    Damage,
    Handle,
    Place,
    StateList,
    describe,
    gaps,
    read_header,
    read_segment,
    read_state,
)

FILE, LIST = ".state", ".state.json"
"""What the names of channel state files end with, and those of their lists."""


class StoredState(Struct, frozen=True):
    """A channel state that could be read."""

    file: str
    checkpoint: int
    subtask: int
    output: bool
    channel: int
    records: int | None
    """How many records it has; None: its format does not say where the first one begins."""
    size: int
    """In bytes."""


class Damaged(Struct, frozen=True):
    """Something that is wrong."""

    file: str
    what: str
    offset: int | None = None
    """Where in the file, in bytes from 0; None: it is not in one place."""


class StateAudit(Struct, frozen=True):
    """What an audit of a folder has found."""

    files: int
    """How many channel state files there are."""
    states: tuple[StoredState, ...]
    damaged: tuple[Damaged, ...]


def write_list(folder: Path, states: StateList) -> None:
    """Store what is in a file beside the file, all at once or not at all. Raises: OSError."""
    path = folder / f"{states.file}.json"
    draft = path.with_name(f"{path.name}.draft")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(states), indent=2) + b"\n")
    draft.replace(path)


def audit(folder: Path) -> StateAudit:
    """Read every file in a folder and in those below it. Raises: OSError if the folder cannot be read."""
    if not folder.is_dir():
        raise NotADirectoryError(20, "this is not a folder", str(folder))
    lists = sorted(path for path in folder.rglob(f"*{LIST}") if path.is_file())
    files = sorted(path for path in folder.rglob(f"*{FILE}") if path.is_file())
    found: list[StoredState] = []
    damaged: list[Damaged] = []
    homes: dict[tuple[int, int], str] = {}
    for path in lists:
        name = str(path.relative_to(folder))
        try:
            states = msgspec.json.decode(path.read_bytes(), type=StateList)
        except msgspec.DecodeError as error:
            damaged.append(Damaged(name, f"this is no state list: {error}"))
            continue
        for one in _audit_file(path, name.removesuffix(".json"), states, homes):
            (found if type(one) is StoredState else damaged).append(one)  # type: ignore[arg-type]
    for path in files:
        if path.with_name(f"{path.name}.json") not in lists:
            damaged.append(Damaged(str(path.relative_to(folder)), "no state list stands beside this file"))
    return StateAudit(len(files), tuple(found), tuple(damaged))


def _audit_file(
    path: Path, name: str, states: StateList, homes: dict[tuple[int, int], str]
) -> Iterator[StoredState | Damaged]:
    """`homes`: by checkpoint and record, where it was found, for all files."""
    file = path.with_name(path.name.removesuffix(".json"))
    if states.version != VERSION or states.file != file.name:
        yield Damaged(f"{name}.json", f"the list of {file.name} must have version {VERSION} and name this file")
        return
    if not file.is_file():
        yield Damaged(name, "the file is missing; its state list is there")
        return
    data = file.read_bytes()
    if len(data) != states.length:
        yield Damaged(name, f"the file must have {states.length} bytes, it has {len(data)}", len(data))
    try:
        checkpoint = read_header(data)
    except Damage as damage:
        yield Damaged(name, damage.what, damage.offset)
        return
    if checkpoint != states.checkpoint:
        yield Damaged(name, f"the file must be of checkpoint {states.checkpoint}, it is of {checkpoint}", 8)
    ranges: dict[int, tuple[int, Place]] = {}
    for handle in states.handles:
        place = Place(states.checkpoint, handle.subtask, handle.output, handle.channel)
        try:
            records = read_state(data, states.checkpoint, handle)
        except Damage as damage:
            yield Damaged(name, damage.what, damage.offset)
            continue
        yield StoredState(name, *place, len(records), handle.size)
        yield from _overlaps(name, data, handle, place, ranges)
        yield from _twice(name, place, records, homes)
    for begin, end in gaps(len(data), [(begin, end) for begin, (end, _) in ranges.items()]):
        yield Damaged(name, f"no handle names the bytes from {begin} to {end}", begin)


def _overlaps(
    name: str, data: bytes, handle: Handle, place: Place, ranges: dict[int, tuple[int, Place]]
) -> Iterator[Damaged]:
    for offset in handle.offsets:
        if offset in ranges:
            yield Damaged(
                name, f"two handles name this segment: {describe(ranges[offset][1])}, {describe(place)}", offset
            )
        ranges[offset] = read_segment(data, offset).end, place


def _twice(name: str, place: Place, records: list[int], homes: dict[tuple[int, int], str]) -> Iterator[Damaged]:
    for record in records:
        before = homes.setdefault((place.checkpoint, record), describe(place))
        if before != describe(place) or records.count(record) > 1:
            yield Damaged(name, f"record {record} is stored more than once: {before}; {describe(place)}")
