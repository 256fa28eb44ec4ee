"""Reads what a stranger may have written: JSON and TOML, from files and from programs.

Whatever the bytes are, the result is a value, or an error that says what is wrong, where, and what would be right.
Every decoder of the suite uses these functions, so that the limits are the same everywhere.
"""

from __future__ import annotations

import gc
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec.json import Decoder

from conformance.system.files import TooLarge, content_of
from conformance.system.text import neutral

T = TypeVar("T")

MOST_BYTES = 64 << 20
"""No file that is larger than this is read."""
MOST_BYTES_OF_TOML = 1 << 20
"""No TOML file that is larger than this is read. Its parser is slower than that of JSON, and takes more memory."""
MOST_PARTS = 16
"""How many parts a TOML key may have. The time that a parser takes may grow with their square."""
MOST_VALUES = 1 << 22
"""How many values JSON may have. Each takes up to a hundred bytes of memory, and only a few of the file."""
_PIECE = 1 << 16
"""How much is looked at at once. JSON that is longer is decoded without the garbage collector."""
MOST_DEPTH = 64
"""How deep lists and objects may be nested. What the suite writes is nested about ten deep."""
MOST_DIGITS = 19
"""How many digits an integer may have. One of 64 bits has no more, and other languages cannot read longer ones."""
_LONGEST = 2_000
"""The maximum number of characters of an error message, which may quote the file."""

_LONG_NUMBER = re.compile(rb"(?<![0-9.])[0-9]{%d}" % (MOST_DIGITS + 1))
_AS_DIGITS = bytes(ord("0") if chr(one).isdigit() and one < 128 else one for one in range(256))
_DIGITS = b"0" * (MOST_DIGITS + 1)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_AT = re.compile(r" \(byte (\d+)\)$")
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "UTF-8 with a byte order mark", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

_CUT_OFF = "the file is damaged or was cut off"
_NOT_OURS = "no file of the suite has that"
_OUT_OF_RANGE = "Number out of range"
"""How msgspec begins its complaint about a number that no floating-point number can stand for."""
_QUOTED = re.compile(
    r'''"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)'''
    r"""|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)"""
    r"""|"(?:[^"\\\n]++|\\.)*+(?:"|$|\\?\Z)"""
    r"""|'[^'\n]*+(?:'|$)|\#[^\n]*+""",
    re.DOTALL | re.MULTILINE,
)
"""A string or a comment of TOML. Each alternative goes on to the end of what it has begun, and none ever goes back, so
that a text is looked at once, whatever is in it."""
_AROUND_A_KEY = re.compile(r"[\n=,{}\[\]]")


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


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Returns the content of a file of at most `most` bytes.

    Raises: SchemaError if it is too large; OSError, also if it is not a regular file.
    """
    try:
        return content_of(path, most)
    except TooLarge as error:
        raise SchemaError(f"{path}: {error.strerror}") from None


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Returns the content of a text file in UTF-8. Raises: SchemaError, which names the file; OSError."""
    data = read_bytes(path, most)
    try:
        return _text(data, "this is not text in UTF-8")
    except Unreadable as error:
        raise SchemaError(error.told(str(path), data)) from None


def read_toml(path: Path, form: type[T], right: str) -> T:
    """Returns the content of a TOML file; `right` says what it should contain.

    Raises: SchemaError, which names the file and the field; OSError.
    """
    data = read_bytes(path, MOST_BYTES_OF_TOML)
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
    size = len(data)
    if size > MOST_DIGITS and (
        _DIGITS in data.translate(_AS_DIGITS)
        or (size > 2 * MOST_DEPTH and data.count(b"[") + data.count(b"{") > MOST_DEPTH)
        or size > MOST_VALUES
    ):
        _check_limits(data)  # exactly, without what is inside strings
    decoder: Decoder[T] = form if isinstance(form, Decoder) else _decoder(cast(Any, form))
    try:
        return decoder.decode(data) if size <= _PIECE else _decoded_at_once(data, decoder)
    except msgspec.ValidationError as error:
        if str(error).startswith(_OUT_OF_RANGE):
            raise _beyond("a number is larger than those of 64 bits") from None
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


def _decoded_at_once(data: bytes, decoder: Decoder[T]) -> T:
    """Decode without the garbage collector, which would look again and again at all that is there so far."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return decoder.decode(data)
    finally:
        if enabled:
            gc.enable()


def _check_limits(data: bytes) -> None:
    """Look at what is outside of strings, unless what is there together with them is within the limits."""
    begun = data.count(b"[") + data.count(b"{")
    has_digits = _DIGITS in data.translate(_AS_DIGITS)
    if begun <= MOST_DEPTH and not has_digits and begun + data.count(b",") <= MOST_VALUES:
        return
    bare = without_strings(data)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > MOST_VALUES:
        raise _beyond(f"there are more than {MOST_VALUES:,} values")
    if has_digits and _LONG_NUMBER.search(bare):
        raise _beyond(f"a number has more than {MOST_DIGITS} digits")
    depth = 0
    for bracket in bare.translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > MOST_DEPTH:
            raise _beyond(f"lists and objects are nested more than {MOST_DEPTH} deep")


def without_strings(data: bytes, piece: int = _PIECE) -> bytes:
    """Returns JSON without its strings, the last of which may have no end. `piece`: how many bytes to split at once.

    These are a few passes, none of which ever goes back, so that the time is linear whatever the bytes are.
    """
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    bare = bytearray()
    inside = 0
    for at in range(0, len(data), piece):
        pieces = data[at : at + piece].split(b'"')
        bare += b"".join(pieces[inside::2])
        inside = (inside + len(pieces) - 1) % 2
    return bytes(bare)


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
    if any(part.count(".") >= MOST_PARTS for part in _AROUND_A_KEY.split(_QUOTED.sub("", text))):
        raise _beyond(f"a key has more than {MOST_PARTS} parts")
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
