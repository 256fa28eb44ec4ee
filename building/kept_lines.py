"""Keeps what a long run has come to as lines of a file, so that the same command again runs what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from conformance.system.writing import write_text

Line = TypeVar("Line", bound=msgspec.Struct)


def read_lines(file: Path, kind: type[Line]) -> list[Line]:
    """Returns the lines of a file, none if it is not there. One that a kill has cut off does not count.

    Raises: msgspec.ValidationError if a line is whole, and another version has written it.
    """
    found = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            found.append(msgspec.json.decode(line, type=kind))
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:  # no JSON: it was cut off, or is empty
            continue
    return found


def add_line(file: Path, line: msgspec.Struct) -> None:
    """Adds a line. Raises: OSError."""
    with file.open("ab") as opened:
        opened.write(b"\n" + msgspec.json.encode(line) + b"\n")  # the line in front of it may have been cut off


def write_lines(file: Path, lines: Iterable[msgspec.Struct]) -> None:
    """Writes a file anew, which then has these lines and no others. Raises: OSError."""
    write_text(file, "".join(f"{msgspec.json.encode(line).decode()}\n" for line in lines))
