"""Writes files and folders so that a reader sees the old content or the new one, and never a part of it.

This is the only place of the suite that writes. If the machine refuses, because the disk is full for example, the error
says which file could not be written, how much room it needs, and how to go on.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from conformance.system.files import TooLarge, is_inside
from conformance.system.streams import write_through

_WRONG_NAMES = frozenset(
    {errno.EEXIST, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR}
)
"""Errors that say that no file can be there: the call names the wrong place."""
_NO_ROOM = {
    errno.ENOSPC: "Make room on that disk",
    errno.EDQUOT: "Make room within your quota",
    errno.EFBIG: "Raise the limit of the size of files (ulimit -f)",
}
"""Errors that only writing can have, with the cure."""
_CURES = {
    **_NO_ROOM,
    errno.EACCES: "Make the place writable",
    errno.EPERM: "Make the place writable",
    errno.EROFS: "Make the disk writable",
}

_NO_FOLDER = "No usable temporary directory"
"""How `tempfile` begins to say that it can write in none of the folders for temporary files; it names them."""
_ELSEWHERE = "or set TMPDIR to another folder"


class NotWritten(OSError):
    """The machine refused to write a file or a folder. Nothing of it was left, and an older one is unchanged.

    The text says what and why, how many bytes it needs, and how to go on.
    """

    def __init__(
        self,
        error: OSError,
        path: Path,
        needed: int | None = None,
        cure: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """`needed`: how many bytes are to be written, if that is known. `cure`: what to do, as sentences. `remedy`: the
        part of it that is about the refusal, if that is not what one does about such errors."""
        super().__init__(error.errno, error.strerror or type(error).__name__, str(path))
        self.path = path
        self.needed = needed
        self.cure = cure
        self.remedy = remedy or _CURES.get(self.errno or 0, "See to the disk")

    def __str__(self) -> str:
        cure = self.cure or f"{self.remedy}, and run the same command again."
        return f"{self.path} could not be written: {self.strerror}.{self._room()} {cure}"

    def going_on(self, command: str, before: str = "") -> NotWritten:
        """Return the same error with another cure: the command that goes on from here. `before`: what was kept."""
        cure = f"{self.remedy}, and go on with: {command}"
        return NotWritten(self, self.path, self.needed, f"{before} {cure}".strip(), self.remedy)

    def _room(self) -> str:
        if self.needed is None:
            return ""
        free = ""
        if self.errno == errno.ENOSPC:
            with suppress(OSError):
                free = f", and {shutil.disk_usage(_there(self.path)).free:,} are free there"
        return f" It needs {self.needed:,} bytes{free}."


def told_by(error: BaseException) -> NotWritten | None:
    """Return an error as one of writing if it can be nothing else, with the name of the file if that is known.

    For what writes elsewhere: the libraries that the suite uses, and the output of a command.
    """
    if isinstance(error, NotWritten):
        return error
    if isinstance(error, TooLarge):  # it was to be read, and has the number of a file that is too large to be written
        return None
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.ENOENT and error.filename is None and _NO_FOLDER in str(error.strerror):
        return NotWritten(error, Path("a temporary file"), remedy=f"Make room in one of them, {_ELSEWHERE}")
    if error.errno in (*_NO_ROOM, errno.EROFS):
        home, name = _temporary_folder(), error.filename
        where = f"what the command prints, or a temporary file{home and f' in {home}'},"
        where = where if name is None else os.fsdecode(name)
        is_temporary = name is None or (home and os.path.isabs(where) and is_inside(where, home))
        return NotWritten(error, Path(where), remedy=f"{_CURES[error.errno]}, {_ELSEWHERE}" if is_temporary else None)
    return None


def _temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:  # there is none
        return ""


@contextmanager
def naming(path: Path, needed: int | None = None) -> Iterator[None]:
    """Let every OSError in the `with` block name this path.

    Raises: NotWritten if the machine refuses; OSError if no file can be there.
    """
    try:
        yield
    except NotWritten:
        raise
    except OSError as error:
        if error.errno in _WRONG_NAMES:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise NotWritten(error, path, needed) from error


@contextmanager
def replacing(path: Path, beside: Path | None = None, needed: int | None = None) -> Iterator[Path]:
    """Yield the name under which a file is to be written, in the same folder; then rename it to `path`.

    If the `with` block fails, nothing is left under that name. `beside`: the name, if another one than a fresh one is
    wanted. Raises: as `naming`.
    """
    fresh = _beside(path) if beside is None else beside
    with naming(path, needed):
        try:
            yield fresh
            os.replace(fresh, path)
        except BaseException:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise


def make_folder(path: Path) -> None:
    """Make a folder, and those it lies in, unless it is there. Raises: as `naming`."""
    with naming(path):
        path.mkdir(parents=True, exist_ok=True)


def rename_folder(made: Path, path: Path) -> None:
    """Give a folder that is complete the name under which it counts, which no other one has.

    Raises: FileExistsError if another one has it that is not empty; as `naming`.
    """
    with naming(path):
        try:
            made.rename(path)
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:  # as most systems say it
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
            raise


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document. The same document gives the same bytes on every machine. Raises: as `naming`."""
    write_text(path, json.dumps(document, indent=1, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file, and the folders it lies in. Raises: as `naming`."""
    data = text.encode()
    with naming(path, len(data)):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            write_through(path, data)  # a renamed file must not replace /dev/stdout
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)


def write_bytes(path: Path, data: bytes, beside: Path | None = None, durable: bool = False) -> None:
    """Write a file in a folder that is there. `beside`: see `replacing`. Raises: as `naming`.

    `durable`: after a power failure, the file is the old or the new one, too.
    """
    with replacing(path, beside, len(data)) as fresh:
        fresh.unlink(missing_ok=True)
        with fresh.open("xb", buffering=0) as file:
            written = 0
            while written < len(data):
                written += file.write(data[written:])
            if durable:
                os.fsync(file.fileno())  # before the renaming, which may reach the disk first


def write_folder(path: Path, files: Mapping[str, str | bytes]) -> None:
    """Write a folder with these files, and replace an older folder.

    Raises: as `naming`. The older folder is unchanged then.
    """
    if path.exists() and not path.is_dir():
        raise FileExistsError(errno.EEXIST, "there is a file where a folder is to be written", str(path))
    content = {name: one.encode() if isinstance(one, str) else one for name, one in files.items()}
    with naming(path, sum(map(len, content.values()))):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = _beside(path)
        fresh.mkdir()
        try:
            for name, data in content.items():
                (fresh / name).write_bytes(data)
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


def _there(path: Path) -> Path:
    """Return the innermost folder of a path that exists."""
    return next(one for one in path.absolute().parents if one.is_dir())
