"""Whether something can be written at a place, which is tried before a long search.

To try it leaves nothing behind, and changes nothing: an older file is kept until the new one replaces it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from conformance.system.files import kind_of
from conformance.system.streams import descriptor_of, unwritable_kind

_LONGEST_NAME = 255
"""In bytes. The usual file systems take no longer ones."""
_BESIDE = 15
"""By how many bytes the name is longer under which a file is written first."""


def trouble_with_file(path: Path) -> str | None:
    """Return why no file could be written there, in a sentence without a full stop; None if it could."""
    try:
        if path.is_dir():
            return f"{path} is a folder; name a file"
        if len(os.fsencode(path.name)) > _LONGEST_NAME - _BESIDE:
            return f"{path} cannot be written: its name is too long"
        if (kind := unwritable_kind(path)) is not None:
            return f"{path} is {kind}; name a file, or a stream that is open already, such as /dev/stdout"
        if path.exists() and not os.access(path, os.W_OK):
            return f"{path} is read-only"
        if path.is_symlink() or path.exists():
            return None if not path.is_file() or path.is_symlink() else _trouble_in(path.parent)
        return _trouble_in(path.parent)
    except OSError as error:
        return _unwritable(path, error)


def trouble_with_kept_file(path: Path) -> str | None:
    """As `trouble_with_file`, for a file that is written several times, with another one beside it: no stream."""
    try:
        stream = descriptor_of(path) is not None
        if stream or (path.exists() and not path.is_file() and not path.is_dir()):
            kind = "a stream" if stream else kind_of(path.stat())
            return f"{path} is {kind}, and would be written several times; name a file"
    except OSError as error:
        return _unwritable(path, error)
    return trouble_with_file(path)


def trouble_with_folder(path: Path) -> str | None:
    """Return why nothing could be written into a folder, which need not be there yet; None if it could."""
    try:
        if path.exists() and not path.is_dir():
            return f"{path} is {'a file' if path.is_file() else kind_of(path.stat())}; name a folder"
        return _trouble_in(path)
    except OSError as error:
        return _unwritable(path, error)


def _unwritable(path: Path, error: OSError) -> str:
    return f"{path} cannot be written: {error.strerror}"


def _trouble_in(folder: Path) -> str | None:
    """Return why nothing could be written in a folder, which need not be there yet; None if it could.

    Raises: OSError.
    """
    there = folder.absolute()
    if any(len(os.fsencode(name)) > _LONGEST_NAME for name in there.parts):
        return f"{folder} cannot be made: a name in it is too long"
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        return f"{there} is a file, and would have to be a folder"
    with tempfile.TemporaryFile(dir=there):  # it has no name, or loses it at once
        return None
