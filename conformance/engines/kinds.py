"""Describes the two sides of a difference in a few words, without the numbers that change from run to run.

Differences with the same cause get the same words, so that many scenarios form a few groups. The words are part of the
data of a campaign: they name types and values of the interface, and never error texts of an implementation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Any

from msgspec import Struct

from conformance.engines.compare import ENABLED, alike
from conformance.ports import Error, Resources
from conformance.scenarios import Entry

Kinds = tuple[str, str]
"""The words for the baseline, and those for the other implementation."""

OVER = "the run is over"
NOT_ENABLED = "not enabled"


def kinds_of(left: Entry | None, right: Entry | None, field: str) -> Kinds:
    """Returns the words for a difference in `field` (see `first_difference`). An entry is None if its run had ended."""
    if field == ENABLED or left is None or right is None or left.outcome is None or right.outcome is None:
        return _enabled(left, right), _enabled(right, left)
    a, b = left.outcome, right.outcome
    if field == "signals":
        return _signals(a.signals, b.signals)
    if field == "error":
        return _error(a.error), _error(b.error)
    return _pair(a.value, b.value)


def _enabled(mine: Entry | None, other: Entry | None) -> str:
    if mine is None:
        return OVER
    if mine.outcome is None:
        return NOT_ENABLED
    return f"goes on with {mine.step[0]}" if other is None or other.step != mine.step else "enabled"


def _signals(left: Sequence[Any], right: Sequence[Any]) -> Kinds:
    words = _names(left), _names(right)
    if words[0] != words[1]:
        return words
    if len(left) != len(right):
        more = len(left) > len(right)
        return f"{words[0]}, {'more' if more else 'fewer'}", f"{words[1]}, {'fewer' if more else 'more'}"
    for a, b in zip(left, right, strict=True):
        if not alike(a, b):
            return _pair(a, b)
    return words


def _names(signals: Sequence[Any]) -> str:
    """Returns the names of the signals without their fields. Several signals of one type in a row are named once."""
    names: list[str] = []
    for signal in signals:
        name = _type_name(signal)
        if not names or names[-1].removesuffix(", several times") != name:
            names.append(name)
        elif names[-1] == name:
            names[-1] = f"{name}, several times"
    return ", then ".join(names) or "no signal"


def _error(error: Error | None) -> str:
    if error is None:
        return "no error"
    reason = "" if error.checkpoint_reason is None else f" ({error.checkpoint_reason.value})"
    return f"error {error.kind.value}{reason}"


def _pair(left: Any, right: Any) -> Kinds:
    """Returns the words for two values that differ: for their kinds, or if these are equal, for what differs inside."""
    if isinstance(left, Struct) and type(left) is type(right):
        for name in left.__struct_fields__:
            a, b = getattr(left, name), getattr(right, name)
            unknown = isinstance(left, Resources) and (a is None or b is None)
            if not unknown and not alike(a, b):
                inner = _pair(a, b)
                return f"{_words(name)}: {inner[0]}", f"{_words(name)}: {inner[1]}"
    if type(left) is int and type(right) is int:
        return ("a smaller number", "a larger number") if left < right else ("a larger number", "a smaller number")
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        if len(left) != len(right):
            return _length(left, right), _length(right, left)
        for a, b in zip(left, right, strict=True):
            if not alike(a, b):
                inner = _pair(a, b)
                return f"in the list {inner[0]}", f"in the list {inner[1]}"
    return _kind(left), _kind(right)


def _length(mine: Sequence[Any], other: Sequence[Any]) -> str:
    return "an empty list" if not mine else "a shorter list" if len(mine) < len(other) else "a longer list"


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, int):
        return "a number"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    if isinstance(value, Struct) and hasattr(value, "element"):
        return f"{_type_name(value)}, {_kind(value.element)}"
    return _type_name(value)


def _type_name(value: Any) -> str:
    """Returns the name of the type in words: `PriorityAvailable` is "priority available"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(value).__name__).lower()


def _words(name: str) -> str:
    return name.replace("_", " ")
