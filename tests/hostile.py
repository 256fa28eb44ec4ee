"""What a stranger may write instead of a file or a line of the suite: bytes and values for tests of the decoders."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

DEEP = b"[" * 100_000
"""More brackets than any decoder can follow."""
SHAPES: dict[str, Callable[[int], bytes]] = {
    "a string": lambda size: b'"' + b"a" * (size - 2) + b'"',
    "a string without end": lambda size: b'"' + b"a" * (size - 1),
    "a string without end, of escaped quotes": lambda size: b'["' + b'\\"' * (size // 2 - 1),
    "a string without end, of backslashes": lambda size: b'["' + b"\\" * (size - 2),
    "many short strings": lambda size: _list_of(b'"0123456789abcdefghijkl"', size),
    "many short strings without commas": lambda size: b'""' * (size // 2),
    "many strings with escapes": lambda size: _list_of(b'"a\\\\\\"[[\\u00e9 0123456789"', size),
    "strings that are empty": lambda size: _list_of(b'""', size),
    "lists in each other": lambda size: _list_of(b"[" * 60 + b"]" * 60, size),
    "lists that are empty": lambda size: _list_of(b"[]", size),
    "brackets": lambda size: b"[" * size,
    "brackets in a string": lambda size: b'["' + b"[" * (size - 4) + b'"]',
    "objects": lambda size: _list_of(b'{"a": 0}', size),
    "small numbers": lambda size: _list_of(b"7", size),
    "long numbers": lambda size: _list_of(b"1234567890123456789", size),
    "fractions": lambda size: _list_of(b"0.12345678901234567890123456789e-7", size),
    "one fraction": lambda size: b"0." + b"7" * (size - 2),
    "digits": lambda size: b"9" * size,
    "digits in a string": lambda size: b'["' + b"9" * (size - 4) + b'"]',
    "whitespace": lambda size: b" \n" * (size // 2 - 1) + b"[]",
    "no UTF-8": lambda size: b'["' + b"\xc3\xa9" * (size // 2 - 2) + b'\xff"]',
}
"""JSON, or almost JSON, of a given size. A decoder that ever goes back takes quadratic time for one of them."""
TOML_SHAPES: dict[str, Callable[[int], bytes]] = {
    "a key of many parts": lambda size: b"a." * (size // 2 - 2) + b"a=1",
    "a quoted key of many parts": lambda size: b'"a" . ' * (size // 6) + b"a=1",
    "a table of many parts": lambda size: b"[" + b"a." * (size // 2 - 2) + b"a]",
    "many keys in a deep table": lambda size: b"[a.a.a.a.a.a.a.a.a.a]\n" + _keys(b"a.a.a.a.a.a.a.b%d=1\n", size),
    "a string without end": lambda size: b'a="' + b"x" * (size - 3),
    "a long string without end": lambda size: b'a="""' + b'\\""\n' * (size // 4 - 2),
    "quotes": lambda size: b'"' * size,
    "apostrophes": lambda size: b"'" * size,
    "backslashes": lambda size: b'a="""' + b"\\" * (size - 5),
    "comments": lambda size: b"#'\n" * (size // 3),
    "tables in a list": lambda size: b"[[failure]]\n" * (size // 12),
    "whitespace": lambda size: b" \n" * (size // 2),
    "brackets": lambda size: b"a=" + b"[" * (size - 2),
    "digits": lambda size: b"a=" + b"9" * (size - 2),
}
"""TOML, or almost TOML, of a given size."""
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


def _list_of(one: bytes, size: int) -> bytes:
    return b"[" + b",".join([one] * ((size - 1) // (len(one) + 1))) + b"]"


def _keys(form: bytes, size: int) -> bytes:
    return b"".join(form % number for number in range(size // (len(form) + 3)))


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
    encoded = st.sampled_from(ENCODINGS).map(lambda encoding: document.decode().encode(encoding))
    return st.one_of(damaged(document), encoded)


def damaged(document: bytes) -> st.SearchStrategy[bytes]:
    """The bytes of a file, which need not be text, cut off or changed at one place, or other bytes."""
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
    return st.one_of(st.binary(max_size=40), cut, changed, spliced)


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


def resealed(document: Any) -> bytes:
    """The file of a block or a result with this content, whatever it is, and a checksum that fits."""
    if isinstance(document, dict):
        document["checksum"] = hashlib.sha256(_canonical({**document, "checksum": ""})).hexdigest()
    return _canonical(document) + b"\n"


def _canonical(document: Any) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="surrogatepass")


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
