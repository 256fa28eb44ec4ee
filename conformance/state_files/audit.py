"""Finds everything that is damaged in a channel state file.

The file and its list may come from a stranger. So the time and the memory that this takes are linear in their sizes,
however many handles name the same bytes: each segment is read once, and belongs to one handle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from conformance.state_files.layout import (
    Damage,
    Place,
    Segment,
    StateList,
    describe,
    gaps,
    read_header,
    read_segment,
    records_of,
    segment_end,
    segments_of,
)


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


class OtherState(Struct, frozen=True):
    """State of an operator that is no channel state. It was found, and not read."""

    file: str
    checkpoint: int
    operator: str
    subtask: int | None
    """None: it is that of the coordinator of the operator."""
    kind: str
    """As the engine calls it, such as *keyed*."""
    size: int
    """In bytes."""


class Damaged(Struct, frozen=True):
    """Something that is wrong."""

    file: str
    what: str
    offset: int | None = None
    """Where in the file, in bytes from 0; None: it is not in one place."""


class Unread(Struct, frozen=True):
    """Something that was not read, though nothing may be wrong with it."""

    file: str
    why: str


class StateAudit(Struct, frozen=True):
    """What an audit of a folder has found."""

    files: int
    """How many files with state there are."""
    states: tuple[StoredState, ...]
    damaged: tuple[Damaged, ...]
    others: tuple[OtherState, ...] = ()
    """The state that is no channel state, if the implementation has such and says where it is."""
    unreferenced: tuple[str, ...] = ()
    """The files of checkpoints to which none of those in the folder refers. That is no damage: they may belong to a
    checkpoint that is still being written, or to another job, or may not have been deleted yet."""
    unread: tuple[Unread, ...] = ()
    checkpoints: int = 0
    """How many checkpoints were read, if the implementation has a file for each; else 0."""
    deleted: int = 0
    """How many checkpoints were deleted while the folder was read. Nothing is reported of them."""

    @property
    def is_anything(self) -> bool:
        """Whether there was anything to check. A checkpoint without state is whole, too."""
        return self.files + self.checkpoints > 0


Homes = dict[int, dict[int, Place]]
"""By checkpoint and record, in which channel state it was found, for all files of a folder."""


def write_list(folder: Path, states: StateList) -> None:
    """Store what is in a file beside the file, all at once or not at all. Raises: OSError."""
    path = folder / f"{states.file}.json"
    draft = path.with_name(f"{path.name}.draft")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(states), indent=2) + b"\n")
    draft.replace(path)


def audit_file(name: str, data: bytes, states: StateList, homes: Homes) -> Iterator[StoredState | Damaged]:
    """Yield the channel states in the content of a file, and what is wrong. `name` stands for the file.

    Records are added to `homes`.
    """
    if len(data) != states.length:
        yield Damaged(name, f"the file must have {states.length} bytes, it has {len(data)}", len(data))
    try:
        checkpoint = read_header(data)
    except Damage as damage:
        yield Damaged(name, damage.what, damage.offset)
        return
    if checkpoint != states.checkpoint:
        yield Damaged(name, f"the file must be of checkpoint {states.checkpoint}, it is of {checkpoint}", 8)
    segments = _Segments(data, {offset for handle in states.handles for offset in handle.offsets})
    for handle in states.handles:
        place = Place(states.checkpoint, handle.subtask, handle.output, handle.channel)
        try:
            mine = segments_of(segments.read, states.checkpoint, handle)
            segments.give(handle.offsets, place)
            records = records_of(handle, mine)
        except Damage as damage:
            yield Damaged(name, damage.what, damage.offset)
            continue
        yield StoredState(name, *place, len(records), handle.size)
        yield from _twice(name, place, records, homes.setdefault(place.checkpoint, {}))
    for begin, end in gaps(len(data), segments.given()):
        yield Damaged(name, f"no handle names the bytes from {begin} to {end}", begin)


class _Segments:
    """The segments of a file that handles name. None is read twice, and no byte is read as part of two segments."""

    def __init__(self, data: bytes, offsets: set[int]) -> None:
        self._data = data
        self._whole: dict[int, Segment] = {}
        self._wrong: dict[int, tuple[int | None, str]] = {}
        """By offset, where in the file something is wrong with the segment, and what."""
        self._owners: dict[int, Place] = {}
        """By offset, the channel state to which a handle has given a segment."""
        ends: dict[int, int] = {}
        for offset in offsets:
            try:
                ends[offset] = segment_end(data, offset)
            except Damage as damage:
                self._wrong[offset] = damage.offset, damage.what
        for (offset, end), (following, _) in pairwise(sorted(ends.items())):
            if end > following:
                what = f"the segment ends at byte {end}, but another one begins at byte {following}"
                self._wrong[offset] = offset, what

    def read(self, offset: int) -> Segment:
        """Return the segment at an offset. Raises: Damage."""
        if offset not in self._whole and offset not in self._wrong:
            try:
                self._whole[offset] = read_segment(self._data, offset)
            except Damage as damage:
                self._wrong[offset] = damage.offset, damage.what
        if offset in self._wrong:
            raise Damage(*self._wrong[offset])
        return self._whole[offset]

    def give(self, offsets: Sequence[int], place: Place) -> None:
        """Give segments that could be read to a channel state. Raises: Damage if another handle has one of them."""
        for offset in offsets:
            if offset in self._owners:
                both = f"{describe(self._owners[offset])}, {describe(place)}"
                raise Damage(offset, f"two handles name this segment: {both}")
        self._owners.update(dict.fromkeys(offsets, place))

    def given(self) -> list[tuple[int, int]]:
        """Return where the segments that belong to a channel state begin and end."""
        return [(offset, self._whole[offset].end) for offset in self._owners]


def _twice(name: str, place: Place, records: list[int], homes: dict[int, Place]) -> Iterator[Damaged]:
    """Yield each record that was found before, here or in another channel state, once."""
    here: set[int] = set()
    told: set[int] = set()
    for record in records:
        before = homes.setdefault(record, place)
        if (before != place or record in here) and record not in told:
            told.add(record)
            yield Damaged(name, f"record {record} is stored more than once: {describe(before)}; {describe(place)}")
        here.add(record)
