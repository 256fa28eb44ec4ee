"""Writes files and folders so that a reader sees the old content or the new one, and never a part of it."""

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
    """Write a document. The same document gives the same bytes on every machine."""
    write_text(path, json.dumps(document, indent=1, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file, and the folders it lies in.

    Raises: OSError, which always names `path`.
    """
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8", newline="\n")  # a renamed file must not replace /dev/stdout
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


def write_folder(path: Path, files: Mapping[str, str | bytes]) -> None:
    """Write a folder with these files, and replace an older folder.

    Raises: OSError. The older folder is unchanged then.
    """
    if path.exists() and not path.is_dir():
        raise FileExistsError(errno.EEXIST, "there is a file where a folder is to be written", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = _beside(path)
    fresh.mkdir()
    try:
        for name, content in files.items():
            if isinstance(content, str):
                (fresh / name).write_text(content, encoding="utf-8", newline="\n")
            else:
                (fresh / name).write_bytes(content)
        _put_in_place(fresh, path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _put_in_place(fresh: Path, path: Path) -> None:
    """Replace a folder. A rename cannot do this, so the old one is renamed first, and renamed back after an error."""
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
            # another process has just put the same report there: try again
        else:
            return
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _beside(path: Path) -> Path:
    """Return a hidden name in the same folder that no other process uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
