"""One driver at a time: a folder is held as long as the process that holds it lives, however it ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from conformance.campaigns.errors import CampaignError

try:
    import fcntl
except ImportError:  # Windows: nothing is held there
    fcntl = None  # type: ignore[assignment]

LOCK = "driver.lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder. Raises: CampaignError if another process does, saying which."""
    path = folder / LOCK
    with path.open("a+", encoding="utf-8") as file:
        if not _take(file.fileno()):
            raise CampaignError(f"{folder} is being run by {holder(folder) or 'another process'}; wait, or stop that.")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):  # whoever waits for it opens it anew
                path.unlink()


def holder(folder: Path) -> str | None:
    """Who holds a folder now; None if nobody does. What a killed process left behind holds nothing."""
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
