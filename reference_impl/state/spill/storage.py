"""What a spill store asks of the operating system: files in a directory, or in memory. Specification: spill.md."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from conformance.ports import (
    SPILL_DIRECTORY,
    SPILL_FILE_CLOSE,
    SPILL_FILE_CREATE,
    SPILL_FILE_DELETE,
    SPILL_FILE_OPEN,
    SPILL_FILE_READ,
    SPILL_FILE_SYNC,
    SPILL_FILE_WRITE,
    ErrorKind,
    PortError,
)

from ...faults import Faults


@contextmanager
def failing_with_io() -> Iterator[None]:
    """K14. Raises: PortError IO for an error of the operating system."""
    try:
        yield
    except OSError as error:
        raise PortError(ErrorKind.IO, str(error)) from error


class Storage:
    """The files of one task. Nobody else knows their directory."""

    __slots__ = ("contents", "existing", "faults", "folder", "in_files", "number", "open")

    def __init__(self, in_files: bool, faults: Faults) -> None:
        self.in_files = in_files
        self.faults = faults
        self.folder: TemporaryDirectory[str] | None = None
        self.contents: dict[int, bytes] = {}
        """In memory, the bytes of each file."""
        self.existing: list[int] = []
        """Files: the numbers of those that exist."""
        self.number = 0
        self.open = 0
        """Open: how many files are open."""

    def path(self, number: int) -> Path:
        """K1. Where a file is. Raises: PortError IO if the directory was deleted."""
        if self.folder is None:
            raise PortError(ErrorKind.IO, f"the directory of file {number} was deleted")
        return Path(self.folder.name, f"{number}.spill")

    def create(self) -> Appender:
        """K1. Make a file that did not exist. Raises: PortError IO."""
        if not self.existing:
            self.make_directory()
        self.faults.reach(SPILL_FILE_CREATE)
        self.number += 1
        return Appender(self, self.number)

    def make_directory(self) -> None:
        """K1. For the first file. Nobody else may read it. Raises: PortError IO."""
        self.faults.reach(SPILL_DIRECTORY)
        if self.in_files:
            with failing_with_io():
                self.folder = TemporaryDirectory(prefix="fetched-channel-state-")

    def source(self, number: int, offset: int) -> Source:
        """K8. Open a file, to read from this offset on. Raises: PortError IO."""
        self.faults.reach(SPILL_FILE_OPEN)
        return Source(self, number, offset)

    def fails(self, place: str) -> bool:
        """K16. What is called at this place is called now. Returns whether that fails, which is reported to nobody."""
        try:
            self.faults.reach(place)
        except PortError:
            return True
        return False

    def delete(self, number: int) -> None:
        """K7, K16. Delete a file, and the directory with the last one. A reader that has it open can still close it."""
        if self.fails(SPILL_FILE_DELETE):
            return
        if self.in_files:
            with failing_with_io():
                self.path(number).unlink(missing_ok=True)
        self.contents.pop(number, None)
        self.existing.remove(number)
        if not self.existing:
            self.remove_directory()

    def remove_directory(self) -> None:
        """K7, K15. Remove the directory, if it was made, and what is left in it."""
        self.contents.clear()
        self.existing.clear()
        if self.folder is not None:
            self.folder.cleanup()
            self.folder = None

    def clear(self) -> None:
        """K15. Delete all files that exist, and the directory."""
        for number in list(self.existing):
            self.delete(number)
        self.remove_directory()


class Appender:
    """A file that is being written."""

    __slots__ = ("file", "length", "number", "storage")

    def __init__(self, storage: Storage, number: int) -> None:
        self.storage = storage
        self.number = number
        self.length = 0
        self.file: BinaryIO | None = None
        if storage.in_files:
            with failing_with_io():
                self.file = storage.path(number).open("xb")
        storage.contents[number] = b""
        storage.existing.append(number)
        storage.open += 1

    def write(self, data: bytes) -> None:
        """K4. Append bytes. Raises: PortError IO; a part may have been written then, as on a full disk."""
        try:
            self.storage.faults.reach(SPILL_FILE_WRITE)
        except PortError:
            self._append(data[: len(data) // 2])
            raise
        self._append(data)

    def _append(self, data: bytes) -> None:
        if self.file is None:
            self.storage.contents[self.number] += data
        else:
            with failing_with_io():
                self.file.write(data)
        self.length += len(data)

    def finish(self) -> None:
        """K5, K16. Flush the file and close it. Raises: PortError IO; the file is closed then, too."""
        try:
            self.storage.faults.reach(SPILL_FILE_SYNC)
        finally:
            self.end()
        self.storage.faults.reach(SPILL_FILE_CLOSE)

    def close(self) -> None:
        """K14, K16. The file is given up."""
        self.end()
        self.storage.fails(SPILL_FILE_CLOSE)

    def end(self) -> None:
        """K5, K14. Close the file that was written."""
        self.storage.open -= 1
        if self.file is not None:
            with failing_with_io():
                self.file.close()


class Source:
    """A file that is being read."""

    __slots__ = ("file", "number", "offset", "storage")

    def __init__(self, storage: Storage, number: int, offset: int) -> None:
        self.storage = storage
        self.number = number
        self.offset = offset
        self.file: BinaryIO | None = None
        if storage.in_files:
            with failing_with_io():
                self.file = storage.path(number).open("rb")
                self.file.seek(offset)
        elif number not in storage.contents:
            raise PortError(ErrorKind.IO, f"there is no file {number}")
        storage.open += 1

    def read(self, count: int) -> bytes:
        """K8. Read so many bytes. Raises: PortError IO, also if the file ends before."""
        data = self._read_some(count)
        while len(data) < count:
            more = self._read_some(count - len(data))
            if not more:
                raise PortError(ErrorKind.IO, f"file {self.number} ends at {self.offset}, in the middle of a segment")
            data += more
        return data

    def _read_some(self, count: int) -> bytes:
        faults = self.storage.faults
        faults.reach(SPILL_FILE_READ)
        if faults.is_short(SPILL_FILE_READ):
            count = (count + 1) // 2
        if self.file is not None:
            with failing_with_io():
                data = self.file.read(count)
        else:
            data = self.storage.contents[self.number][self.offset : self.offset + count]
        self.offset += len(data)
        return data

    def close(self) -> None:
        """K9, K12, K16. Close the file that was read."""
        self.storage.open -= 1
        if self.file is not None:
            with failing_with_io():
                self.file.close()
        self.storage.fails(SPILL_FILE_CLOSE)
