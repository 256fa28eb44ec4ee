"""Temporary folders that do not outlive their process for long, however that process ends.

A process holds a lock on each of its folders. The operating system releases the lock with the process. So a folder that
nobody holds was left by a process that was killed, and the next process that needs such a folder removes it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, nothing that was left is removed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def scratch(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder, and remove it at the end; first remove what killed processes left under this prefix."""
    home = Path(tempfile.gettempdir()) if parent is None else parent
    remove_abandoned(prefix, home)
    folder, held = _held(prefix, home)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def remove_abandoned(prefix: str, home: Path) -> None:
    """Remove the folders of this user with this prefix that no process holds."""
    for folder in sorted(home.glob(f"{prefix}*")):
        with suppress(OSError):
            if not folder.is_dir() or folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            held = _hold(folder)
            if held is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(held)


def _held(prefix: str, home: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=home))
        if fcntl is None:
            return folder, None
        with suppress(OSError):
            held = _hold(folder)
            if held is not None and folder.exists():
                return folder, held
        # Another process has just taken the new folder for an abandoned one, and removes it.


def _hold(folder: Path) -> int | None:
    """Returns a descriptor that holds the lock of a folder, or None if another process holds it. Raises: OSError."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
