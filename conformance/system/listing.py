"""Lists folders that may come from a stranger, and reads the files in them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from conformance.system.files import content_of

LINKED = "this is a link to a folder, which is not followed"
_MISSING = "the file is missing"


class Closed(Exception):
    """A file that was not read. The text is the reason, as a sentence without a name."""


class Listing(NamedTuple):
    """What is in a folder and in those below it."""

    files: list[Path]
    """Everything that is no folder, sorted: also links, pipes and devices. No link is followed."""
    closed: list[tuple[Path, str]]
    """The folders below it that could not be listed, sorted, each with the reason."""
    linked: list[Path]
    """The links among `files` that lead to folders."""


def everything_below(folder: Path) -> Listing:
    """List a folder and those below it, however deep they are nested.

    A folder that vanishes meanwhile is one that could not be listed. Raises: OSError if `folder` cannot be listed.
    """
    found: list[Path] = []
    closed: list[tuple[Path, str]] = []
    linked: list[Path] = []
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    path = here / entry.name
                    (pending if entry.is_dir(follow_symlinks=False) else found).append(path)
                    if entry.is_symlink() and os.path.isdir(path):
                        linked.append(path)
        except OSError as error:
            if here is folder:
                raise
            closed.append((here, error.strerror or type(error).__name__))
    return Listing(sorted(found), sorted(closed), sorted(linked))


def read_listed(path: Path, most: int) -> bytes:
    """Return the content of a file that was listed, as `content_of` does.

    Raises: Closed, with the reason, also if the file has just vanished.
    """
    try:
        return content_of(path, most)
    except OSError as error:
        raise Closed(trouble_with(path, most) or f"the file cannot be read: {error.strerror}") from None


def trouble_with(path: Path, most: int) -> str | None:
    """Return why `read_listed` would not read a file, as far as that can be seen without opening it."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return f"{_MISSING}: this is a link that leads nowhere" if path.is_symlink() else _MISSING
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"
    if not stat.S_ISREG(about.st_mode):
        return "this is not a regular file"
    return f"the file is larger than {most >> 20} MiB, and was not read" if about.st_size > most else None
