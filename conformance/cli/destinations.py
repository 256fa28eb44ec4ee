"""Options that name a file or a folder to be written: it is tried when the options are read, before a long search.

To try it leaves nothing behind, and changes nothing: an older file is kept until the new one replaces it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import click

_LONGEST_NAME = 255
"""In bytes. The usual file systems take no longer ones."""


class _Destination(click.ParamType):  # type: ignore[type-arg]  # older releases of click have no argument there
    """A path at which something will be written."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path. Fails if nothing could be written there."""
        path = Path(value)
        try:
            trouble = self.trouble(path)
        except OSError as error:
            trouble = f"{path} cannot be written: {error.strerror}"
        if trouble is not None:
            self.fail(trouble, param, ctx)
        return path

    def trouble(self, path: Path) -> str | None:
        """Return why nothing could be written there; None if it could. Raises: OSError."""
        raise NotImplementedError


class _ToFile(_Destination):
    def trouble(self, path: Path) -> str | None:
        if path.is_dir():
            return f"{path} is a folder; name a file"
        if path.exists() and not os.access(path, os.W_OK):
            return f"{path} is read-only"
        if path.is_symlink() or path.exists():
            return None if not path.is_file() or path.is_symlink() else _trouble_in(path.parent)
        return _trouble_in(path.parent)


class _ToFolder(_Destination):
    def trouble(self, path: Path) -> str | None:
        if path.exists() and not path.is_dir():
            return f"{path} is a file; name a folder"
        return _trouble_in(path)


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


TO_FILE, TO_FOLDER = _ToFile(), _ToFolder()
"""The types of such options."""
