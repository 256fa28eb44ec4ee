"""The elements in recovered channel state, as the engine reads and writes them (Flink: `StreamElementSerializer`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct as Packer

from conformance.ports import ErrorKind, PortError

from ..spill.storage import Storage

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

    __slots__ = ("file", "head", "size", "storage")

    def __init__(self, head: bytes | bytearray, size: int = 0, storage: Storage | None = None, file: int = 0) -> None:
        self.head = head
        """Its first bytes; all of them if it is in memory."""
        self.size = size or len(head)
        self.storage = storage
        self.file = file

    def pieces(self, most: int) -> Iterable[bytes | bytearray]:
        """Returns its bytes, at most so many at once if it is in a file. Raises: PortError IO."""
        return (self.head,) if self.storage is None else self._read(self.storage, most)

    def _read(self, storage: Storage, most: int) -> Iterator[bytes]:
        source = storage.source(self.file, 0)
        try:
            for at in range(0, self.size, most):
                yield source.read(min(most, self.size - at))
        finally:
            source.close()

    def delete(self) -> None:
        """The element was decided: its file is deleted, if it has one."""
        if self.storage is not None:
            self.storage.delete(self.file)

    @property
    def is_record(self) -> bool:
        """Returns whether it is a record of the user."""
        return self.head[LENGTH] <= BARE


def length_at(page: bytes | bytearray, at: int) -> int:
    """Returns the length that stands here. Raises: PortError IO if no body has it."""
    length: int = _LENGTH.unpack_from(page, at)[0]
    if length <= 0:
        raise PortError(ErrorKind.IO, f"no element has a body of {length} bytes")
    return length


def read(element: Element) -> tuple[int, int]:
    """Returns the tag of an element, and the key of a record, the time of a watermark, or what a status says.

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
    """Returns a watermark."""
    return Element(_LENGTH.pack(_SIZES[WATERMARK] - LENGTH) + bytes([WATERMARK]) + _TIME.pack(time))


def status(active: bool) -> Element:
    """Returns a status."""
    return Element(_LENGTH.pack(_SIZES[STATUS] - LENGTH) + bytes([STATUS]) + _STATUS.pack(ACTIVE if active else IDLE))
