"""The bytes of the elements in recovered channel state, as Flink writes them, and how they are read back.

An element is a length of four bytes and a body; the first byte of the body is its tag (Flink: `StreamElementSerializer`
below `SpanningRecordSerializer`). The value of a record is its id, its key and the length of its padding, of four bytes
each, and the padding. The bytes of the padding depend on the record and on their place, so that `Decoder` notices bytes
that are missing, doubled, overwritten or of another record. All numbers are big-endian.
"""

from __future__ import annotations

from struct import Struct as Packer
from typing import TypeAlias

from msgspec import Struct


class Record(Struct, frozen=True, tag="record", omit_defaults=True):
    """A record of the user."""

    id: int
    """Less than 2³¹. In a task, every record has an id of its own."""
    key: int
    """Less than 2³¹. Its hash is that of a number of 64 bits."""
    size: int
    """How many bytes it takes, with its framing: at least `smallest(timestamp)`."""
    timestamp: int | None = None

    def __str__(self) -> str:
        at = "" if self.timestamp is None else f" at {self.timestamp}"
        return f"record {self.id}{at} for key {self.key}, {self.size} bytes"


class Watermark(Struct, frozen=True, tag="watermark"):
    """No record with a smaller timestamp follows."""

    time: int

    def __str__(self) -> str:
        return f"watermark {self.time}"


class Status(Struct, frozen=True, tag="status"):
    """Whether the sender is active or idle (Flink: `WatermarkStatus`)."""

    active: bool

    def __str__(self) -> str:
        return "active" if self.active else "idle"


class LatencyMarker(Struct, frozen=True, tag="latency-marker"):
    """Measures how long an element takes."""

    time: int

    def __str__(self) -> str:
        return f"latency marker {self.time}"


class Attributes(Struct, frozen=True, tag="attributes"):
    """What the records that follow have in common (Flink: `RecordAttributes`)."""

    backlog: bool

    def __str__(self) -> str:
        return "backlog" if self.backlog else "no backlog"


class Unreadable(Struct, frozen=True, tag="unreadable"):
    """What follows is no element. The bytes that were read first and fit none begin `offset` bytes behind the first
    byte of the channel."""

    offset: int


Recovered: TypeAlias = Record | Watermark | Status | LatencyMarker | Attributes
"""An element in channel state."""

LENGTH = 4
"""How many bytes say how long the body is."""
TIMESTAMPED, BARE, WATERMARK, LATENCY_MARKER, STATUS, ATTRIBUTES = range(6)
"""The tags of a body."""
_VALUE = 12
_PERIOD = 251
_NUMBER, _TIME, _WORDS = Packer(">i"), Packer(">q"), Packer(">iii")
_MARKER = Packer(">qqqi")
_SIZES = {WATERMARK: 8, LATENCY_MARKER: _MARKER.size, STATUS: 4, ATTRIBUTES: 1}
_PATTERN = bytes(number * 89 & 0xFF for number in range(_PERIOD))


def smallest(timestamp: int | None = None) -> int:
    """Returns how many bytes a record takes that has no padding."""
    return LENGTH + 1 + _VALUE + (0 if timestamp is None else _TIME.size)


def size_of(element: Recovered) -> int:
    """Returns how many bytes an element takes."""
    if isinstance(element, Record):
        return element.size
    return LENGTH + 1 + _SIZES[_TAGS[type(element)]]


def encode(element: Recovered) -> bytes:
    """Returns the bytes of an element. Raises: ValueError if a record is smaller than it can be."""
    if isinstance(element, Record):
        padding = element.size - smallest(element.timestamp)
        if padding < 0:
            least = smallest(element.timestamp)
            raise ValueError(f"record {element.id} must have at least {least} bytes, found {element.size}")
        head = bytes([BARE]) if element.timestamp is None else bytes([TIMESTAMPED]) + _TIME.pack(element.timestamp)
        body = head + _WORDS.pack(element.id, element.key, padding) + _padding(element.id, padding)
    elif isinstance(element, Watermark):
        body = bytes([WATERMARK]) + _TIME.pack(element.time)
    elif isinstance(element, LatencyMarker):
        body = bytes([LATENCY_MARKER]) + _MARKER.pack(element.time, 0, 0, 0)
    elif isinstance(element, Status):
        body = bytes([STATUS]) + _NUMBER.pack(0 if element.active else -1)
    else:
        body = bytes([ATTRIBUTES, element.backlog])
    return _NUMBER.pack(len(body)) + body


def decode(body: bytes) -> Recovered:
    """Returns the element that has this body. Raises: ValueError if none has exactly these bytes."""
    tag, rest = body[:1], body[1:]
    kind = tag[0] if tag else -1
    if kind in (TIMESTAMPED, BARE):
        timestamp = _TIME.unpack_from(rest)[0] if kind == TIMESTAMPED and len(rest) >= _TIME.size else None
        value = rest[_TIME.size :] if kind == TIMESTAMPED else rest
        if len(value) >= _VALUE:
            record, key, padding = _WORDS.unpack_from(value)
            if padding == len(value) - _VALUE and value[_VALUE:] == _padding(record, padding):
                return Record(record, key, LENGTH + len(body), timestamp)
    elif len(rest) == _SIZES.get(kind):
        if kind == WATERMARK:
            return Watermark(_TIME.unpack(rest)[0])
        if kind == LATENCY_MARKER:
            return LatencyMarker(_MARKER.unpack(rest)[0])
        if kind == ATTRIBUTES:
            return Attributes(bool(rest[0]))
        if (status := _NUMBER.unpack(rest)[0]) in (0, -1):
            return Status(status == 0)
    raise ValueError(f"no element has these {len(body)} bytes, which begin with {body[:16].hex(' ')}")


class Decoder:
    """Reads the bytes of one channel, in pieces that end anywhere. After `Unreadable` it reads nothing more."""

    __slots__ = ("_before", "_broken", "_rest")

    def __init__(self) -> None:
        self._rest = bytearray()
        self._before = 0
        self._broken = False

    def copy(self) -> Decoder:
        """Returns another one, which has read the same."""
        twin = Decoder()
        twin._rest, twin._before, twin._broken = self._rest.copy(), self._before, self._broken
        return twin

    def read(self, piece: bytes) -> list[Recovered | Unreadable]:
        """Returns the elements that end in the next piece, in their order."""
        found: list[Recovered | Unreadable] = []
        self._rest += piece
        at = 0
        while not self._broken and len(self._rest) - at >= LENGTH:
            (length,) = _NUMBER.unpack_from(self._rest, at)
            if length > 0 and len(self._rest) - at - LENGTH < length:
                break
            try:
                found.append(decode(bytes(self._rest[at + LENGTH : at + LENGTH + max(length, 0)])))
                at += LENGTH + length
            except ValueError:
                found.append(Unreadable(self._before + at))
                self._broken = True
        del self._rest[:at]
        self._before += at
        return found

    @property
    def begun(self) -> int:
        """Returns how many bytes were read of an element that has not ended."""
        return 0 if self._broken else len(self._rest)


_TAGS = {Watermark: WATERMARK, LatencyMarker: LATENCY_MARKER, Status: STATUS, Attributes: ATTRIBUTES}


def _padding(record: int, length: int) -> bytes:
    start = record % _PERIOD
    return (_PATTERN * ((start + length) // _PERIOD + 1))[start : start + length]
