"""Elements out of the chunks of one virtual channel, wherever these are cut. Specification: filter.md."""

from __future__ import annotations

from conformance.ports import (
    RECORD_FILE_CREATE,
    RECORD_FILE_DELETE,
    RECORD_FILE_READ,
    RECORD_FILE_WRITE,
    SPILL_FILE_CREATE,
    SPILL_FILE_DELETE,
    SPILL_FILE_READ,
    SPILL_FILE_WRITE,
)

from ...faults import Faults
from ..spill.storage import Appender, Storage
from .buffers import NetworkBuffer
from .elements import HEAD, LENGTH, Element, length_at

_PLACES = {
    SPILL_FILE_CREATE: RECORD_FILE_CREATE,
    SPILL_FILE_WRITE: RECORD_FILE_WRITE,
    SPILL_FILE_READ: RECORD_FILE_READ,
    SPILL_FILE_DELETE: RECORD_FILE_DELETE,
}


class RecordFaults(Faults):
    """What can fail of the files of large records, which are stored as spill files are."""

    __slots__ = ()

    def __init__(self, faults: Faults) -> None:
        super().__init__(faults.port)
        self.armed, self.before = faults.armed, faults.before

    def reach(self, place: str) -> None:
        """X26. Raises: PortError IO if what is called here is to fail."""
        if place in _PLACES:
            super().reach(_PLACES[place])


class PartialRecord:
    """What was read of an element that has not ended (Flink: `SpanningWrapper`)."""

    __slots__ = ("file", "limit", "memory", "size", "storage")

    def __init__(self, storage: Storage, limit: int) -> None:
        self.storage = storage
        self.limit = limit
        self.memory = bytearray()
        """Memory: its bytes, or only the first of them if they are in a file."""
        self.file: Appender | None = None
        self.size = 0
        """How many of its bytes were read."""

    def missing(self) -> int:
        """X4, X5. Returns how many bytes are missing, of its length or of its body. Raises: PortError IO."""
        if self.size < LENGTH:
            return LENGTH - self.size
        return LENGTH + length_at(self.memory, 0) - self.size

    def read(self, page: bytearray, at: int, end: int) -> int:
        """X5, X20. Copy what belongs to it. Returns where the rest begins. Raises: PortError IO."""
        while at < end and (missing := self.missing()):
            until = min(end, at + missing)
            self.append(page[at:until])
            at = until
        return at

    def append(self, part: bytearray) -> None:
        """X21. With more bytes than the limit, they go to a file. Raises: PortError IO."""
        self.size += len(part)
        if self.file is None and self.size > self.limit:
            self.file = self.storage.create()
            self.file.write(bytes(self.memory))
            del self.memory[HEAD:]
        if self.file is not None:
            self.file.write(bytes(part))
            part = part[: max(HEAD - len(self.memory), 0)]
        self.memory += part

    def is_complete(self) -> bool:
        """X5. Whether its last byte was read. Raises: PortError IO."""
        return self.size >= LENGTH and not self.missing()

    def end(self) -> Element:
        """X5, X21. Returns the element, which is complete, and begins with the next one. Raises: PortError IO."""
        element = Element(self.memory)
        if self.file is not None:
            element = Element(self.memory, self.size, self.storage, self.file.number)
            self.file.finish()
        self.memory, self.file, self.size = bytearray(), None, 0
        return element

    def clear(self) -> None:
        """X28. What was read is given up."""
        if self.file is not None:
            self.file.close()
            self.storage.delete(self.file.number)
        self.memory, self.file, self.size = bytearray(), None, 0


class SpanningDeserializer:
    """Reads one buffer after the other, and owns the one that it reads (Flink:
    `SpillingAdaptiveSpanningRecordDeserializer`)."""

    __slots__ = ("at", "buffer", "last", "partial")

    def __init__(self, storage: Storage, limit: int) -> None:
        self.partial = PartialRecord(storage, limit)
        self.buffer: NetworkBuffer | None = None
        self.at = 0
        """At: where in the buffer the next element begins."""
        self.last: Element | None = None
        """Last: the element that was read last, as long as it may have a file."""

    def set_next_buffer(self, buffer: NetworkBuffer) -> None:
        """X5, X25. Take a buffer over, which follows the one before (Flink: `setNextBuffer`)."""
        self.buffer, self.at = buffer, 0

    def next(self) -> Element | None:
        """X5, X20. Returns the next element; nothing if none is complete in the rest of the buffer. What is left is
        copied, and the buffer given back (Flink: `getNextRecord`). Raises: PortError IO."""
        if self.last is not None:
            self.forget()
        buffer = self.buffer
        if buffer is None:
            return None
        at, end = self.at, buffer.size
        if not self.partial.size and end - at >= LENGTH:
            self.at = at + LENGTH + length_at(buffer.page, at)
            if self.at <= end:
                element = Element(buffer.page[at : self.at])
                if self.at == end:
                    self.recycle()
                return element
        self.at = self.partial.read(buffer.page, at, end)
        complete = self.partial.is_complete()
        if not complete or self.at == end:
            self.recycle()
        if not complete:
            return None
        self.last = self.partial.end()
        return self.last

    def forget(self) -> None:
        """X21. It was decided whether the element that was read last is kept."""
        if self.last is not None:
            self.last.delete()
            self.last = None

    def recycle(self) -> None:
        """X25. Give the buffer back, if there is one."""
        if self.buffer is not None:
            self.buffer.recycle()
            self.buffer = None

    def is_inside(self) -> bool:
        """X9. Whether an element has begun and not ended."""
        return self.partial.size > 0

    def clear(self) -> None:
        """X28. The task is over: nothing is held (Flink: `clear`)."""
        self.recycle()
        self.forget()
        self.partial.clear()
