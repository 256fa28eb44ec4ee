"""Locks the folder of a campaign for one driver. The lock ends with its process, however the process ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from conformance.campaigns.errors import CampaignError

try:
    import fcntl
except ImportError:  # Windows has no fcntl, so folders are not locked there
    fcntl = None  # type: ignore[assignment]

LOCK = "driver.lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a folder. Raises: CampaignError, which names the other process, if the folder is locked already."""
    path = folder / LOCK
    with path.open("a+", encoding="utf-8") as file:
        if not _take(file.fileno()):
            raise CampaignError(
                f"The campaign in {folder} is being run by {holder(folder) or 'another process'}. "
                "Wait until it ends, or stop it."
            )
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):  # a process that waits for the lock opens the file again
                path.unlink()


def holder(folder: Path) -> str | None:
    """Return the process that has locked a folder, or None. The lock file of a killed process is not a lock."""
    path = folder / LOCK
    try:
        with path.open("r+", encoding="utf-8") as file:
            if _take(file.fileno()):
                return None
            return file.read().strip() or "another process"
    except FileNotFoundError:
        return None


def _take(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
