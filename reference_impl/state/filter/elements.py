"""The elements in recovered channel state, as the engine reads and writes them. Specification: filter.md."""

from __future__ import annotations

from struct import Struct as Packer

from conformance.ports import ErrorKind, PortError

from ..spill.storage import Source, Storage

LENGTH = 4
"""How many bytes say how long the body is that follows."""
HEAD = 25
"""How many bytes of an element the serializer must see, to know what it is."""
TIMESTAMPED, BARE, WATERMARK, LATENCY_MARKER, STATUS, ATTRIBUTES = range(6)
ACTIVE, IDLE = 0, -1
_LENGTH, _VALUE, _TIME, _STATUS = Packer(">i"), Packer(">iii"), Packer(">q"), Packer(">i")
_VALUES = {TIMESTAMPED: LENGTH + 1 + 8, BARE: LENGTH + 1}
"""By the tag of a record, where its value begins."""
_SIZES = {WATERMARK: 13, LATENCY_MARKER: 33, STATUS: 9, ATTRIBUTES: 6}
"""By the tag of anything else, how many bytes it has."""


class Element:
    """The bytes of an element, with its length. Those of a large record are in a file."""

    __slots__ = ("file", "head", "size", "source", "storage")

    def __init__(self, head: bytes | bytearray, size: int = 0, storage: Storage | None = None, file: int = 0) -> None:
        self.head = head
        """Its first bytes; all of them if it is in memory."""
        self.size = size or len(head)
        self.storage = storage
        self.file = file
        self.source: Source | None = None
        """Source: the file, once it is read."""

    def read(self, at: int, most: int) -> bytes | bytearray:
        """X21. Returns the next bytes, at most so many; `at`: how many were read before. Raises: PortError IO."""
        if self.storage is None:
            return self.head[at : at + most]
        if self.source is None:
            self.source = self.storage.source(self.file, at)
        return self.source.read(min(most, self.size - at))

    def delete(self) -> None:
        """X21. It was decided whether the element is kept: its file is deleted, if it has one."""
        if self.source is not None:
            self.source.close()
            self.source = None
        if self.storage is not None:
            self.storage.delete(self.file)

    @property
    def is_record(self) -> bool:
        """X4. Returns whether it is a record of the user."""
        return self.head[LENGTH] <= BARE


def length_at(page: bytes | bytearray, at: int) -> int:
    """X4. Returns the length that stands here. Raises: PortError IO if no body has it."""
    length: int = _LENGTH.unpack_from(page, at)[0]
    if length <= 0:
        raise PortError(ErrorKind.IO, f"no element has a body of {length} bytes")
    return length


def read(element: Element) -> tuple[int, int]:
    """X4. Returns the tag of an element, and the key of a record, the time of a watermark, or what a status says
    (Flink: `StreamElementSerializer.deserialize`).

    Raises: PortError IO if there is no such element.
    """
    head, size = element.head, element.size
    tag = head[LENGTH]
    if tag <= BARE:
        at = _VALUES[tag]
        if size >= at + _VALUE.size:
            _, key, padding = _VALUE.unpack_from(head, at)
            if at + _VALUE.size + padding == size:
                return tag, key
    elif size == _SIZES.get(tag):
        if tag == WATERMARK:
            return tag, _TIME.unpack_from(head, LENGTH + 1)[0]
        if tag == STATUS:
            return tag, _STATUS.unpack_from(head, LENGTH + 1)[0]
        return tag, 0
    raise PortError(ErrorKind.IO, f"no element has the tag {tag} and {size} bytes")


def watermark(time: int) -> Element:
    """X13. Returns a watermark (Flink: `StreamElementSerializer.serialize`)."""
    return Element(_LENGTH.pack(_SIZES[WATERMARK] - LENGTH) + bytes([WATERMARK]) + _TIME.pack(time))


def status(active: bool) -> Element:
    """X14. Returns a status."""
    return Element(_LENGTH.pack(_SIZES[STATUS] - LENGTH) + bytes([STATUS]) + _STATUS.pack(ACTIVE if active else IDLE))
