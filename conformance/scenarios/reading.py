"""Reads what a stranger may have written: JSON and TOML, from files and from programs.

Whatever the bytes are, the answer is a value, or an error that says what is wrong, where, and what would be right.
Every decoder of the suite uses these functions, so that the limits are the same everywhere.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec.json import Decoder

from conformance.system.text import neutral

T = TypeVar("T")

MOST_BYTES = 64 << 20
"""No file that is larger than this is read."""
_PIECE = 1 << 16
MOST_DEPTH = 64
"""How deep lists and objects may be nested. What the suite writes is nested about ten deep."""
MOST_DIGITS = 19
"""How many digits an integer may have. One of 64 bits has no more, and other languages cannot read longer ones."""
_LONGEST = 2_000
"""The maximum number of characters of an error message, which may quote the file."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LONG_NUMBER = re.compile(rb"(?<![0-9.])[0-9]{%d}" % (MOST_DIGITS + 1))
_AS_DIGITS = bytes(ord("0") if chr(one).isdigit() and one < 128 else one for one in range(256))
_DIGITS = b"0" * (MOST_DIGITS + 1)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_AT = re.compile(r" \(byte (\d+)\)$")
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "UTF-8 with a byte order mark", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

_CUT_OFF = "the file is damaged or was cut off"
_NOT_OURS = "no file of the suite has that"


class SchemaError(ValueError):
    """A file does not follow its schema.

    The text says what is wrong, in which line and field, and what would be right.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class Unreadable(ValueError):
    """Bytes are not JSON or TOML, or exceed the limits. `str` gives the reason alone, to be quoted with the bytes."""

    def __init__(self, what: str, reason: str, cure: str, at: int | None = None) -> None:
        super().__init__(shortened(reason, 300))
        self._words = f"{what} ({self}); {cure}"
        self._at = at

    def told(self, source: str, data: bytes) -> str:
        """The message about a file with these bytes: its name, the line and column, what is wrong, the cure."""
        place = "" if self._at is None else f", {_place(data, self._at)}"
        return f"{source}{place}: {self._words}"


class Misshapen(ValueError):
    """JSON or TOML has another shape than it must have. The text ends with the path of the field."""


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file. Raises: SchemaError if it is too large; OSError."""
    data = bytearray()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            data += piece
            if len(data) > MOST_BYTES:
                raise SchemaError(f"{path}: the file is larger than {MOST_BYTES >> 20} MiB; no file of the suite is")
    return bytes(data)


def read_text(path: Path) -> str:
    """Returns the content of a text file in UTF-8. Raises: SchemaError, which names the file; OSError."""
    data = read_bytes(path)
    try:
        return _text(data, "this is not text in UTF-8")
    except Unreadable as error:
        raise SchemaError(error.told(str(path), data)) from None


def read_toml(path: Path, form: type[T], right: str) -> T:
    """Returns the content of a TOML file; `right` says what it should contain.

    Raises: SchemaError, which names the file and the field; OSError.
    """
    data = read_bytes(path)
    try:
        return _toml(data, form)
    except Unreadable as error:
        raise SchemaError(error.told(str(path), data)) from None
    except Misshapen as error:
        raise SchemaError(f"{path}: {error}; {right}") from None


def decode_json(data: bytes, form: Decoder[T] | type[T]) -> T:
    """Returns the value that JSON stands for. A `Decoder` is faster than a type, for what is decoded often.

    Raises: Unreadable if it is not JSON or exceeds the limits; Misshapen if it is JSON of another shape.
    """
    if data.count(b"[") + data.count(b"{") > MOST_DEPTH or _DIGITS in data.translate(_AS_DIGITS):
        _check_limits(data)  # exactly, without what is inside strings
    decoder: Decoder[T] = form if isinstance(form, Decoder) else _decoder(cast(Any, form))
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise Misshapen(shortened(str(error))) from None
    except (ValueError, RecursionError) as error:
        raise _not_json(data, error) from None


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Returns a text that may quote a file for a message: cut off if it is too long, and without control characters."""
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text)} characters)"
    return neutral(text)


@cache
def _decoder(form: Any) -> Decoder[Any]:
    return Decoder(form)


def _check_limits(data: bytes) -> None:
    bare = _STRING.sub(b"", data)
    if _LONG_NUMBER.search(bare):
        raise _beyond(f"a number has more than {MOST_DIGITS} digits")
    depth = 0
    for bracket in bare.translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > MOST_DEPTH:
            raise _beyond(f"lists and objects are nested more than {MOST_DEPTH} deep")


def _beyond(reason: str) -> Unreadable:
    return Unreadable("this exceeds what the suite reads", reason, _NOT_OURS)


def _not_json(data: bytes, error: Exception) -> Unreadable:
    """Returns why `data` is not JSON."""
    what = "this is not JSON"
    if isinstance(error, RecursionError):  # brackets inside a string that does not end
        return _beyond(f"lists and objects are nested more than {MOST_DEPTH} deep")
    try:
        _text(data, what)
    except Unreadable as wrong:
        return wrong
    reason = str(error)
    found = _AT.search(reason)
    at = len(data) if found is None else int(found[1])
    return Unreadable(what, _AT.sub("", reason), _CUT_OFF, at)


def _text(data: bytes, what: str) -> str:
    """Returns a text in UTF-8. Raises: Unreadable, which says how it is encoded."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            raise Unreadable(what, f"it is encoded as {encoding}", "save it as UTF-8 without a byte order mark", 0)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = f"byte 0x{data[error.start]:02x} is not valid in UTF-8"
        raise Unreadable(what, reason, "save it as UTF-8", error.start) from None


def _toml(data: bytes, form: type[T]) -> T:
    what = "this is not TOML"
    text = _text(data, what)
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(what, str(error), "correct the line, or see https://toml.io") from None
    except RecursionError:
        raise _beyond("lists and tables are nested too deep") from None
    except ValueError:  # Python refuses to read a number of more than 4,300 digits
        raise _beyond(f"a number has more than {MOST_DIGITS} digits") from None
    try:
        return msgspec.convert(found, form)
    except msgspec.ValidationError as error:
        raise Misshapen(shortened(str(error))) from None


def _place(data: bytes, at: int) -> str:
    line = data.count(b"\n", 0, at) + 1
    begin = data.rfind(b"\n", 0, at) + 1
    return f"line {line}, column {len(data[begin:at].decode(errors='replace')) + 1}"
