"""Writes folders of channel state that are damaged, or larger than they should be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from conformance.state_files import (
    HEADER,
    Handle,
    Place,
    StateList,
    encode_header,
    encode_record,
    encode_segment,
    write_list,
)
from tests.hostile import nested_folders


def state(folder: Path, records: int = 3, handles: int = 1, name: str = "a.state") -> None:
    """Write a file with one segment of so many records, and a list in which so many handles name it."""
    segment = encode_segment(Place(1, 0, False, 0), 0, b"".join(map(encode_record, range(records))))
    data = encode_header(1) + segment
    (folder / name).write_bytes(data)
    handle = Handle(0, False, 0, (HEADER,), len(segment))
    write_list(folder, StateList(1, 1, name, len(data), (handle,) * handles))


def listed(content: bytes) -> Callable[[Path], None]:
    """Write a file whose list has this content."""

    def prepare(folder: Path) -> None:
        state(folder)
        (folder / "a.state.json").write_bytes(content)

    return prepare


def sparse(name: str) -> Callable[[Path], None]:
    """Make the file or the list 6 GiB long, without content."""

    def prepare(folder: Path) -> None:
        state(folder)
        os.truncate(folder / name, 6 << 30)

    return prepare


def nested(folder: Path) -> None:
    """Make 1,200 folders in each other."""
    nested_folders(folder, "d")


def leading_nowhere(folder: Path) -> None:
    """Make the file a link that leads nowhere."""
    state(folder)
    (folder / "a.state").unlink()
    (folder / "a.state").symlink_to("nowhere")


def piped(folder: Path) -> None:
    """Make the file a FIFO."""
    state(folder)
    (folder / "a.state").unlink()
    os.mkfifo(folder / "a.state")
