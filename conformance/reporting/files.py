"""Writing files and folders so that whoever looks sees the old content or the new one, never half of it."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document. The same document is the same bytes on every machine."""
    write_text(path, json.dumps(document, indent=1, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file, and the folders it lies in.

    Raises: OSError that names `path`, whatever went wrong.
    """
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8", newline="\n")  # /dev/stdout must not become a file
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = _beside(path)
        try:
            fresh.write_text(text, encoding="utf-8", newline="\n")
            os.replace(fresh, path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_folder(path: Path, files: Mapping[str, str]) -> None:
    """Write a folder with these files in place of the folder that is there.

    Raises: OSError; then nothing changed.
    """
    if path.exists() and not path.is_dir():
        raise FileExistsError(errno.EEXIST, "there is a file where a folder is to be written", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = _beside(path)
    fresh.mkdir()
    try:
        for name, text in files.items():
            (fresh / name).write_text(text, encoding="utf-8", newline="\n")
        _put_in_place(fresh, path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _put_in_place(fresh: Path, path: Path) -> None:
    """No move replaces a folder: the old one goes aside first, and comes back if the new one cannot follow."""
    while True:
        aside = _beside(path)
        with suppress(FileNotFoundError):
            os.rename(path, aside)
        try:
            os.rename(fresh, path)
        except OSError:
            if not path.exists():
                if aside.exists():
                    os.rename(aside, path)
                raise
            # somebody else was faster, and has put the same report there: once more
        else:
            return
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _beside(path: Path) -> Path:
    """A name in the same folder that nobody else uses, hidden from who lists it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
