"""Copies of folders in which anything may be: the folder of a job, as an engine has left it."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path


def copy_folder(one: Path, other: Path) -> None:
    """Copy a folder to a place where nothing is yet. Links stay links, and what has no content is left out: a pipe, a
    socket. Raises: OSError."""
    shutil.copytree(one, other, symlinks=True, copy_function=copy_file)


def link_folder(one: Path, other: Path) -> None:
    """As `copy_folder`, but files have a second name where that is possible: what an engine leaves may be large."""
    shutil.copytree(one, other, symlinks=True, copy_function=_link)


def copy_file(one: str, other: str) -> None:
    """Copy a file, unless it has no content or is gone. Raises: OSError."""
    with suppress(FileNotFoundError):
        if _has_content(one):
            shutil.copy2(one, other, follow_symlinks=False)


def _link(one: str, other: str) -> None:
    try:
        if _has_content(one):
            os.link(one, other, follow_symlinks=False)
    except OSError:  # it is on another disk
        copy_file(one, other)


def _has_content(path: str) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
