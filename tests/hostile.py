"""What a stranger may write instead of a file or a line of the suite: bytes and values for tests of the decoders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

DEEP = b"[" * 100_000
"""More brackets than any decoder can follow."""
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7")

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 6),
    st.sampled_from([-(2**63), 2**63, 10**30, 10**4000]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["", "../../x", "a\x00b", "\x1b[2J", "[/bold]", "$.a[0]", "x" * 3_000]),
)
"""Values that JSON can hold, among them those on which decoders fail."""
values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=5), scalars, max_size=2)


def nested_folders(outside: Path, name: str, depth: int = 1_200) -> Path:
    """Make so many folders in each other, and a channel state file in the innermost. Returns the outermost."""
    here = os.open(outside, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("far.state", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    return outside / name


def remove_nested_folders(outermost: Path) -> None:
    """Remove what `nested_folders` made, one by one: Python's own rmtree recurses, and the path may be too long."""
    aside = outermost.with_name("aside")
    while (outermost / outermost.name).is_dir():
        (outermost / outermost.name).rename(aside)
        outermost.rmdir()
        aside.rename(outermost)
    (outermost / "far.state").unlink()
    outermost.rmdir()


def read_or_told(
    error: type[Exception] | tuple[type[Exception], ...], read: Callable[..., T], *arguments: Any
) -> tuple[T | None, str]:
    """What a decoder returns, or the text of the one kind of error that it may raise."""
    try:
        return read(*arguments), ""
    except error as told:
        return None, str(told)


def bytes_of(document: bytes) -> st.SearchStrategy[bytes]:
    """Bytes that are almost those of a document, or have nothing to do with it."""
    size = len(document)
    places = st.integers(0, size)
    cut = places.map(lambda at: document[:at])
    changed = st.tuples(places, places, st.binary(max_size=4)).map(
        lambda one: document[: min(one[:2])] + one[2] + document[max(one[:2]) :]
    )
    pieces = [b"[" * 2_000, b'{"a":' * 2_000, b"9" * 5_000, b"\xff", b'"\\ud800"', b"NaN"]
    spliced = st.tuples(places, st.sampled_from(pieces)).map(
        lambda one: document[: one[0]] + one[1] + document[one[0] :]
    )
    encoded = st.sampled_from(ENCODINGS).map(lambda encoding: document.decode().encode(encoding))
    return st.one_of(st.binary(max_size=40), cut, changed, spliced, encoded)


def mutations_of(document: Any, inner: st.SearchStrategy[Any] = values) -> st.SearchStrategy[Any]:
    """Documents in which one or two values are others, or are missing."""
    places = list(_places(document))

    def changed(edits: list[tuple[int, Any]]) -> Any:
        found = json.loads(json.dumps(document))
        for number, value in edits:
            found = _replaced(found, places[number], value)
        return found

    return st.lists(st.tuples(st.integers(0, len(places) - 1), inner | st.just(GONE)), min_size=1, max_size=2).map(
        changed
    )


GONE = object()
"""Stands for a value that is missing."""


def _places(value: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        for place in _places(one):
            yield (key, *place)


def _replaced(value: Any, place: tuple[Any, ...], by: Any) -> Any:
    if not place:
        return None if by is GONE else by
    key, *rest = place
    there = isinstance(value, dict) and key in value
    if not there and not (isinstance(value, list) and isinstance(key, int) and key < len(value)):
        return value  # an earlier change took it away
    if not rest and by is GONE:
        del value[key]
    else:
        value[key] = _replaced(value[key], tuple(rest), by)
    return value
