"""Puts a stranger's words into data, field by field, so that a new field is tried without anybody thinking of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

import msgspec

from conformance.driver import Component, Components, Program, Property

FORGED = "FORGED"
"""No line that is printed may begin with it."""
HOSTILE = (
    f"x\n{FORGED} gate conforms\r\n\n# {FORGED}\n\n\x1b[2J\x9b31m\u202e\u2066\u200b\u3164[bold]\\|\\\\|`a`"
    f"<script>{FORGED}()</script>\n```\n[a](http://evil.example) ![b](http://evil.example) _c_ *d* ~~e~~ $f$ &amp; "
    "{{ 7 * 7 }}\u2028\x85y"
)
"""Line breaks, a forged verdict, escape sequences, an override of direction, and markup of every kind."""
TAME = "x and some words y"
"""What the structure of a document with the hostile words must not differ from."""
_OURS = (Component, Components, Program, Property, Enum, BaseException, type)
"""What no stranger writes."""

Field = tuple[str, str]
"""The class and the name of a field."""


def fields_of(value: Any) -> dict[Field, None]:
    """Return the fields in which text can be, wherever they are in the value, in the order of their first place."""
    found: dict[Field, None] = {}
    _visit(value, None, lambda field, text: found.setdefault(field) or text)
    return found


def poisoned(value: Any, field: Field, words: str) -> Any:
    """Return the value with the words behind every text of one field."""
    return _visit(value, None, lambda at, text: f"{text}{words}" if at == field else text)


def _visit(value: Any, field: Field | None, told: Callable[[Field, str], str]) -> Any:
    if isinstance(value, _OURS) or value is None:
        return value
    if isinstance(value, str):
        return value if field is None or type(value) is not str else told(field, value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **dict(_parts(value, [one.name for one in dataclasses.fields(value)], told)))
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **dict(_parts(value, value.__struct_fields__, told)))
    if isinstance(value, Mapping):
        return type(value)((key, _visit(one, field, told)) for key, one in value.items())  # type: ignore[call-arg]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(**dict(_parts(value, value._fields, told)))
    if isinstance(value, (list, tuple)):
        return type(value)(_visit(one, field, told) for one in value)
    return value


def _parts(value: Any, names: Any, told: Callable[[Field, str], str]) -> Iterator[tuple[str, Any]]:
    for name in names:
        yield name, _visit(getattr(value, name), (type(value).__name__, name), told)
