"""Places that are no files: streams that this process has open, and devices such as a terminal or /dev/null.

To open a FIFO waits until somebody reads, so it is written only if this process has it open already: then it has a name
such as /dev/stdout, or /dev/fd/63, which is what a shell puts in the place of `>(jq .)`.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from conformance.system.files import NotAFile, kind_of

try:
    import fcntl
except ImportError:  # Windows has no such names of streams
    fcntl = None  # type: ignore[assignment]

_DESCRIPTORS = Path("/dev/fd")
_MOST_LINKS = 40
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""A FIFO that takes the place of something else meanwhile is opened without waiting, and refused then."""


def descriptor_of(path: Path) -> int | None:
    """Return the descriptor that a path such as /dev/stdout or /dev/fd/3 names; None if it names none."""
    for _ in range(_MOST_LINKS):
        try:
            if path.name.isascii() and path.name.isdigit() and path.parent.samefile(_DESCRIPTORS):
                return int(path.name)
            path = path.parent / os.readlink(path)
        except (OSError, ValueError):  # it is no link, or there is nothing
            return None
    return None


def unwritable_kind(path: Path) -> str | None:
    """Return what is at a path if nothing can be written to it, such as "a FIFO"; None if something can, or nothing is
    there.

    Raises: OSError.
    """
    if (descriptor := descriptor_of(path)) is not None and fcntl is not None:
        reads = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        return "open for reading only" if reads else None
    try:
        return _kind(path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return None


def write_through(path: Path, data: bytes) -> None:
    """Write to a stream or a device, or into a file through the links that lead to it.

    Raises: NotAFile if it is a FIFO, a socket or a disk, which is not opened; OSError.
    """
    if (kind := unwritable_kind(path)) is not None:
        raise _refusal(kind, path)
    if (open_one := descriptor_of(path)) is not None:
        _write(open_one, data)  # what was printed there before must stay, so it is not opened anew
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _AT_ONCE, 0o666)
    try:
        if (kind := _kind(os.fstat(descriptor))) is not None:
            raise _refusal(kind, path)
        _write(descriptor, data)
    finally:
        os.close(descriptor)


def _kind(found: os.stat_result) -> str | None:
    return None if stat.S_ISREG(found.st_mode) or stat.S_ISCHR(found.st_mode) else kind_of(found)


def _refusal(kind: str, path: Path) -> NotAFile:
    return NotAFile(errno.EINVAL, f"this is {kind}, and only files, terminals and open streams are written", str(path))


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
