"""Places in which nothing can be written, for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SMALL = "512k"
"""The size of the file system; the files that fill it leave a page of it."""


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let this process, and whatever it starts, write no file that is larger, in bytes."""
    if resource is None:
        pytest.skip("this system has no limit of the size of files (RLIMIT_FSIZE)")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a small file system on a folder. Skips the test if this user may not do that."""
    folder.mkdir(exist_ok=True)
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"a small file system cannot be mounted: {error}")
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted: {done.stderr.strip()}; run the tests as root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # a traceback may hold an open file


def fill(folder: Path) -> Path:
    """Fill the file system of a folder to the last page, and return the file that does it."""
    path = folder / "filling"
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            pass
    return path


def tree(folder: Path) -> dict[str, bytes | None]:
    """What is in a folder: the content of each file, None for a folder."""
    return {
        str(one.relative_to(folder)): one.read_bytes() if one.is_file() else None
        for one in sorted(folder.rglob("*"))
        if one.name != "filling"
    }


def room(folder: Path) -> int:
    """How many bytes are free."""
    about = os.statvfs(folder)
    return about.f_bavail * about.f_frsize
