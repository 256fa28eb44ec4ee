"""Locks the folder of a campaign for one driver. The lock ends with its process, however the process ends.

The lock is on the file `driver.lock`, which stays. A file that were removed at the end could be opened by one process
before and locked after that, while another process makes and locks a new file of the same name.

Who asks who holds the lock must not take it, not even for a moment: a driver that starts in this moment would be
refused. Linux answers that question for locks of open files (fcntl, F_OFD_GETLK). On other systems the file says who
wrote it last, and a driver that ends empties it.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conformance.campaigns.errors import CampaignError
from conformance.system.files import opened
from conformance.system.writing import naming

try:
    import fcntl
except ImportError:  # Windows has no fcntl, so folders are not locked there
    fcntl = None  # type: ignore[assignment]

LOCK = "driver.lock"
_CAN_ASK = hasattr(fcntl, "F_OFD_GETLK")
_FLOCK = struct.Struct("hhqqi0q")
"""`struct flock` of Linux: type, whence, start, length, process."""


@contextmanager
def held(folder: Path, what: str = "campaign") -> Iterator[None]:
    """Lock a folder. `what`: of what it is the folder, for the error.

    Raises: CampaignError, which names the other process, if the folder is locked already; NotWritten.
    """
    path = folder / LOCK
    if path.is_symlink():
        raise CampaignError(f"{path} is a link, and a driver writes into this file. Remove it.")
    with naming(path):
        file = opened(path, os.O_RDWR | os.O_CREAT)
    with file:
        if not _take(file.fileno()):
            raise CampaignError(
                f"The {what} in {folder} is being run by {_told(file.fileno())}. Wait until it ends, or stop it."
            )
        if not _is_at(path, file.fileno()):
            raise CampaignError(f"{folder} was removed by another process. Start again.")
        who = f"process {os.getpid()} on {socket.gethostname()}".encode()
        with naming(path, len(who)):
            file.truncate(0)
            file.write(who)
        try:
            yield
        finally:
            file.truncate(0)


def holder(folder: Path) -> str | None:
    """Return the process that has locked a folder, or None. This never takes the lock."""
    try:
        with opened(folder / LOCK) as file:
            return _told(file.fileno()) if _is_taken(file.fileno()) else None
    except FileNotFoundError:
        return None


def _take(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        if _CAN_ASK:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_taken(descriptor: int) -> bool:
    if not _CAN_ASK:
        return os.fstat(descriptor).st_size > 0
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, asked)
    return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _told(descriptor: int) -> str:
    """Return what the process that holds the lock has written."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 200).decode(errors="replace").strip() or "another process"
