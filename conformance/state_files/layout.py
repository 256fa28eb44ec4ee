"""The bytes of a channel state file, version 1. All numbers are unsigned and big-endian.

A file is a header and segments. A segment holds the records of one buffer and says to which channel state it belongs
and which segment of that channel state it is, so that its reader notices every kind of damage: bytes that are
missing, doubled, overwritten, or of another channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from struct import Struct as Packer
from typing import NamedTuple
from zlib import crc32

from msgspec import Struct

VERSION = 1
MAGIC = b"CCSF"
SEGMENT = b"CSEG"

_HEADER = Packer(">4sHHQ")
HEADER = _HEADER.size
"""Length of the header: magic, version, two bytes 0, checkpoint."""
_HEAD = Packer(">4sQIBIII")
_CHECKSUM = Packer(">I")
_RECORD = Packer(">IQ")
_PATTERN = bytes(number * 7 & 0xFF for number in range(256 + 16))
LONGEST = 16
"""Length of the longest padding of a record, exclusive."""


class Damage(Exception):
    """The bytes are not what the format says. `offset`: where in the file, from 0; None: it is not in one place."""

    def __init__(self, offset: int | None, what: str) -> None:
        super().__init__(what if offset is None else f"at byte {offset}: {what}")
        self.offset = offset
        self.what = what


class Place(NamedTuple):
    """The channel state to which a segment belongs."""

    checkpoint: int
    subtask: int
    output: bool
    """Whether it is of a result subpartition, not of an input channel."""
    channel: int


class Segment(NamedTuple):
    """A segment as it stands in a file."""

    place: Place
    position: int
    """Number of the segment in its channel state, from 0."""
    payload: bytes
    end: int
    """Where in the file the next segment begins."""


class Handle(Struct, frozen=True):
    """Names the bytes of one channel state: ranges of a file that it may share with others."""

    subtask: int
    output: bool
    channel: int
    offsets: tuple[int, ...]
    """Where its segments begin, in the order of writing."""
    size: int
    """Sum of the lengths of its segments, in bytes."""


class StateList(Struct, frozen=True, forbid_unknown_fields=True):
    """What is in one file. It is stored beside the file, as JSON."""

    version: int
    checkpoint: int
    file: str
    """Name of the file in the same folder."""
    length: int
    """Length of the file, in bytes."""
    handles: tuple[Handle, ...]


def encode_header(checkpoint: int) -> bytes:
    """Returns the header of a file."""
    return _HEADER.pack(MAGIC, VERSION, 0, checkpoint)


def read_header(data: bytes) -> int:
    """Returns the checkpoint of a file. Raises: Damage."""
    if len(data) < HEADER:
        raise Damage(len(data), f"the file ends in its header, which has {HEADER} bytes")
    magic, version, zero, checkpoint = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise Damage(0, f"a channel state file begins with {MAGIC.decode()}, found {magic!r}")
    if version != VERSION or zero:
        raise Damage(4, f"version {VERSION} is known, found {version}.{zero}")
    return int(checkpoint)


def encode_record(record: int) -> bytes:
    """Returns the bytes of a record: the length of the rest, its id, and a padding that depends on id and place."""
    size = record % LONGEST
    start = record & 0xFF
    return _RECORD.pack(8 + size, record) + _PATTERN[start : start + size]


def decode_records(payload: bytes, offset: int = 0) -> list[int]:
    """Returns the ids of the records in the payload of a segment that begins at `offset`. Raises: Damage."""
    records = []
    at = 0
    while at < len(payload):
        if len(payload) - at < _RECORD.size:
            raise Damage(offset + at, "the segment ends in the middle of a record")
        length, record = _RECORD.unpack_from(payload, at)
        if payload[at : at + 4 + length] != encode_record(record):
            raise Damage(offset + at, f"these are not the bytes of record {record}")
        records.append(record)
        at += 4 + length
    return records


def encode_segment(place: Place, position: int, payload: bytes) -> bytes:
    """Returns the bytes of a segment: magic, place, position, length of the payload, payload, CRC-32 of all before."""
    checkpoint, subtask, output, channel = place
    body = _HEAD.pack(SEGMENT, checkpoint, subtask, output, channel, position, len(payload)) + payload
    return body + _CHECKSUM.pack(crc32(body))


def segment_end(data: bytes, offset: int) -> int:
    """Returns where the segment that begins at `offset` ends, as its head says. Raises: Damage.

    Neither the payload nor the checksum is read.
    """
    return _head(data, offset)[-1]


def _head(data: bytes, offset: int) -> tuple[Place, int, int, int]:
    """Returns the place and the position of a segment, where its payload begins and where it ends. Raises: Damage."""
    if not 0 <= offset <= len(data) - _HEAD.size:
        raise Damage(offset, f"a segment must begin here, but the file has {len(data)} bytes")
    magic, checkpoint, subtask, output, channel, position, length = _HEAD.unpack_from(data, offset)
    if magic != SEGMENT:
        raise Damage(offset, f"a segment begins with {SEGMENT.decode()}, found {magic!r}")
    start = offset + _HEAD.size
    end = start + length + _CHECKSUM.size
    if end > len(data):
        raise Damage(offset, f"the segment ends at byte {end}, but the file has {len(data)} bytes")
    if output > 1:
        raise Damage(offset + 16, f"a channel is an input (0) or an output (1), found {output}")
    return Place(checkpoint, subtask, bool(output), channel), position, start, end


def read_segment(data: bytes, offset: int) -> Segment:
    """Returns the segment that begins at `offset`. Raises: Damage."""
    place, position, start, end = _head(data, offset)
    behind = end - _CHECKSUM.size
    if _CHECKSUM.unpack_from(data, behind)[0] != crc32(data[offset:behind]):
        raise Damage(offset, "the checksum of the segment does not fit its bytes")
    return Segment(place, position, data[start:behind], end)


def read_state(data: bytes, checkpoint: int, handle: Handle) -> list[int]:
    """Returns the records of the channel state that a handle names, in order. Raises: Damage."""
    return records_of(handle, segments_of(partial(read_segment, data), checkpoint, handle))


def segments_of(read: Callable[[int], Segment], checkpoint: int, handle: Handle) -> list[Segment]:
    """Returns the segments that a handle names, which are those of its channel state, without looking into them.

    `read` returns the segment at an offset. Raises: Damage.
    """
    segments: list[Segment] = []
    size = 0
    owed = Place(checkpoint, handle.subtask, handle.output, handle.channel)
    for position, offset in enumerate(handle.offsets):
        segment = read(offset)
        if segment.place != owed:
            raise Damage(offset, f"the handle of {describe(owed)} names a segment of {describe(segment.place)}")
        if segment.position != position:
            what = f"segment {position} of {describe(owed)} must be here, found its segment {segment.position}"
            raise Damage(offset, what)
        segments.append(segment)
        size += segment.end - offset
    if size != handle.size:
        raise Damage(None, f"the handle of {describe(owed)} says {handle.size} bytes, its segments have {size}")
    return segments


def records_of(handle: Handle, segments: Sequence[Segment]) -> list[int]:
    """Returns the records in the segments of a handle, in order. Raises: Damage."""
    records: list[int] = []
    for offset, segment in zip(handle.offsets, segments, strict=True):
        records += decode_records(segment.payload, offset + _HEAD.size)
    return records


def describe(place: Place) -> str:
    """Describes a channel state in words."""
    kind = "output" if place.output else "input"
    return f"checkpoint {place.checkpoint}, subtask {place.subtask}, {kind} channel {place.channel}"


def gaps(length: int, ranges: Sequence[tuple[int, int]], header: int = HEADER) -> list[tuple[int, int]]:
    """Returns the ranges of a file of this length, behind its header, that none of these ranges covers."""
    found = []
    at = header
    for begin, end in sorted(ranges):
        if begin > at:
            found.append((at, begin))
        at = max(at, end)
    if at < length:
        found.append((at, length))
    return found
