"""Where channel state files are kept: in memory, or in a folder. Specification: writer.md."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from conformance.ports import (
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    PortError,
)
from conformance.state_files import StateList, write_list

from ...faults import Faults


class Storage:
    """The files of all executors."""

    __slots__ = ("checkpoints", "contents", "faults", "folder", "in_files", "number", "open")

    def __init__(self, in_files: bool, faults: Faults) -> None:
        self.in_files = in_files
        self.faults = faults
        self.folder: TemporaryDirectory[str] | None = None
        self.contents: dict[str, bytes] = {}
        """By name, the bytes of a file that is closed; in a folder, nothing, since the bytes are on disk."""
        self.checkpoints: dict[str, int] = {}
        """Files: by name, the checkpoint of each file that exists."""
        self.open = 0
        """How many files are open."""
        self.number = 0

    def create(self, checkpoint: int) -> Stream:
        """W15. Make a file. Raises: PortError IO."""
        self.faults.reach(STATE_FILE_OPEN)
        self.number += 1
        name = f"checkpoint-{checkpoint}-{self.number}.state"
        self.checkpoints[name] = checkpoint
        self.open += 1
        return Stream(self, name)

    def path(self, name: str) -> Path:
        """W22. Where a file is; the folder is made for the first one."""
        if self.folder is None:
            self.folder = TemporaryDirectory(prefix="channel-state-")
        return Path(self.folder.name, name)

    def read(self, name: str) -> bytes:
        """W22. All bytes of a file that is closed."""
        return self.path(name).read_bytes() if self.in_files else self.contents[name]

    def describe(self, states: StateList) -> None:
        """W19. Store what is in a file beside it; in memory, the handles are enough."""
        if self.in_files:
            write_list(self.path(states.file).parent, states)

    def delete(self, name: str) -> None:
        """W20. Delete a file that is closed."""
        if self.in_files:
            self.path(name).unlink()
            self.path(f"{name}.json").unlink(missing_ok=True)
        self.contents.pop(name, None)
        del self.checkpoints[name]

    def clear(self) -> None:
        """W24. Delete everything."""
        self.contents.clear()
        self.checkpoints.clear()
        if self.folder is not None:
            self.folder.cleanup()
            self.folder = None


class Stream:
    """A file that is being written."""

    __slots__ = ("file", "length", "name", "parts", "storage")

    def __init__(self, storage: Storage, name: str) -> None:
        self.storage = storage
        self.name = name
        self.length = 0
        self.parts: list[bytes] = []
        self.file: BinaryIO | None = storage.path(name).open("xb") if storage.in_files else None

    def write(self, data: bytes) -> int:
        """W17. Append bytes. Returns where they begin. Raises: PortError IO."""
        self.storage.faults.reach(STATE_FILE_WRITE)
        offset = self.length
        self._append(data)
        return offset

    def begin(self, header: bytes) -> None:
        """W15. Append the header."""
        self._append(header)

    def _append(self, data: bytes) -> None:
        if self.file is None:
            self.parts.append(data)
        else:
            self.file.write(data)
        self.length += len(data)

    def finish(self) -> None:
        """W19. Flush and close a file that is complete. Raises: PortError IO; the file is still to be discarded."""
        self.storage.faults.reach(STATE_FILE_FLUSH)
        if self.file is not None:
            self.file.flush()
        self.storage.faults.reach(STATE_FILE_CLOSE)
        self._close()
        if self.file is None:
            self.storage.contents[self.name] = b"".join(self.parts)

    def discard(self) -> None:
        """W20. Close and delete a file that is given up. That the close fails changes nothing."""
        with suppress(PortError):  # the file is deleted anyway
            self.storage.faults.reach(STATE_FILE_CLOSE)
        self._close()
        self.storage.delete(self.name)

    def _close(self) -> None:
        if self.file is not None:
            self.file.close()
        self.storage.open -= 1
