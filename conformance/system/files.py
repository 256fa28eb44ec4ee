"""Opens files that a stranger may have put there: regular files only, and no more of them than a limit.

To open a FIFO waits until somebody writes, to read a device may never end, and a sparse file is larger than the memory.
Whatever the suite reads and has not written itself in the same call, it reads with these functions.
"""

from __future__ import annotations

import errno
import os
import stat
from os import PathLike
from typing import BinaryIO

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a disk",
}
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""A FIFO that takes the place of a file after it was looked at is opened without waiting, and refused then."""


class NotAFile(OSError):
    """There is something else than a regular file at a path. `strerror` says what."""


class TooLarge(OSError):
    """A file is larger than the limit. `strerror` says the limit."""


def opened(path: str | PathLike[str], mode: int = os.O_RDONLY) -> BinaryIO:
    """Returns a regular file, opened in binary mode for reading, and for whatever else `mode` says.

    Raises: NotAFile if it is a FIFO, a socket, a device or a folder, which is not opened; OSError.
    """
    name = os.fspath(path)
    if not mode & os.O_CREAT or os.path.lexists(name):
        _check(os.stat(name), name)  # to open a device may do something to it
    descriptor = os.open(name, mode | _AT_ONCE, 0o666)
    # Without a buffer, an error of writing belongs to the call that writes.
    file: BinaryIO = os.fdopen(descriptor, "rb") if mode == os.O_RDONLY else os.fdopen(descriptor, "r+b", buffering=0)
    try:
        _check(os.fstat(file.fileno()), name)
    except BaseException:
        file.close()
        raise
    return file


def is_inside(path: str | PathLike[str], folder: str | PathLike[str]) -> bool:
    """Whether a path leads into a folder, once `..` and all links are followed. A folder is not inside of itself."""
    try:
        there, home = os.path.realpath(path), os.path.realpath(folder)
    except (OSError, ValueError):  # no file can have such a name
        return False
    return there.startswith(os.path.join(home, ""))


def content_of(path: str | PathLike[str], most: int) -> bytes:
    """Returns the content of a regular file of at most `most` bytes.

    Raises: NotAFile, TooLarge; OSError.
    """
    with opened(path) as file:
        # Some files are longer than they say, and others say so and would take all memory.
        says = os.fstat(file.fileno()).st_size
        data = file.read(says + 1) if says <= most else b""  # to ask for `most` bytes makes room for them
        if len(data) > says:
            data += file.read(most + 1 - len(data))
        if max(says, len(data)) > most:
            raise TooLarge(errno.EFBIG, f"the file is larger than {_size(most)}; no file of the suite is", str(path))
        return data


def kind_of(found: os.stat_result) -> str:
    """Returns what something is that is no regular file, such as "a FIFO"."""
    return _KINDS.get(stat.S_IFMT(found.st_mode), "no file")


def _check(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise NotAFile(errno.EINVAL, f"this is {kind_of(found)}, and only regular files are read", path)


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
