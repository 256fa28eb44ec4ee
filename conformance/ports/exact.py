"""Whether a value has exactly the types that the interface says.

In JSON a number is equal to itself only, and `1`, `1.0` and `true` are not the same. So that an implementation in
Python is judged as a program is, nothing counts here but `type(value)`: no method of the value is called. The driver
asks this after every operation. Most results have a type of which every value is right: these are found in a set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from conformance.ports.outcomes import Signal
from conformance.system.text import neutral

Check: TypeAlias = Callable[[Any], bool]
"""Returns whether a value whose type is right is right inside, too."""
_ATOMS = (NoneType, bool, int, float)
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Exact:
    """What a type of the interface allows. An object is called with a value, and returns whether it is right.

    Of a type that no interface of the suite has, as `dict[str, int]`, a value must be one that JSON can have.
    """

    hint: Any
    """The type."""
    plain: frozenset[type[Any]] = field(init=False, compare=False, repr=False)
    """The types of which every value is right."""
    _inside: Mapping[type[Any], Check] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_inside", _allowed(self.hint))
        object.__setattr__(self, "plain", _plain(self._inside))

    def __call__(self, value: Any) -> bool:
        """Returns whether a value is right."""
        return self._inside.get(type(value), _else(self._inside))(value)

    def complaint(self, value: Any) -> str:
        """Returns a text that says what is wrong with a value, and where."""
        return f"returned a value of the wrong type: {_complaint(value, self.hint, '$')}, found {shown(value)}"


@cache
def exact(hint: Any) -> Exact:
    """Returns what a type of the interface allows."""
    return Exact(hint)


def are_signals(found: Any) -> bool:
    """Returns whether this is a list of signals, each with the types that its declaration says."""
    if type(found) is not list:
        return False
    for one in found:
        kind = type(one)
        if kind not in _PLAIN_SIGNALS and not _SIGNALS.get(kind, _never)(one):
            return False
    return True


def complaint_of_signals(found: Any) -> str:
    """Returns a text that says what is wrong with signals, and where."""
    if type(found) is not list:
        return f"has `signals` of the wrong type: Expected `list`, got `{_type(found)}`"
    said = (_complaint(one, Signal, f"$[{at}]") for at, one in enumerate(found))
    return f"emitted signals of the wrong type: {next(filter(None, said), None)}, found {shown(found)}"


def shown(what: Any) -> str:
    """Returns a value as JSON, shortened to fit into a message; if it has no such form, only its type."""
    try:
        text = msgspec.json.encode(what).decode()
    except Exception:  # an object of an implementation may raise anything
        text = f"a value of type {_type(what)}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


# ---- what a type allows ----------------------------------------------------------------------------------------------
def _always(value: Any) -> bool:
    return True


def _never(value: Any) -> bool:
    return False


def _allowed(hint: Any) -> Mapping[type[Any], Check]:
    """Returns the types that a value of this type may have, each with its check; `object` stands for any other."""
    hint = NoneType if hint is None else hint
    if get_origin(hint) in (Union, UnionType):
        return {kind: check for one in get_args(hint) for kind, check in _allowed(one).items()}
    if hint is str:
        return {str: _is_text}
    if hint in _ATOMS or (isinstance(hint, type) and issubclass(hint, Enum)):
        return {hint: _always}
    if isinstance(hint, type) and issubclass(hint, Struct):
        return {hint: _fields(hint) if hint.__struct_fields__ else _always}
    if get_origin(hint) is tuple:
        first, *rest = get_args(hint)
        return {
            tuple: _elements(_allowed(first)) if rest == [...] else _each([_allowed(one) for one in (first, *rest)])
        }
    return {object: partial(_is_json, hint)}


def _plain(allowed: Mapping[type[Any], Check]) -> frozenset[type[Any]]:
    return frozenset(kind for kind, check in allowed.items() if check is _always)


def _else(allowed: Mapping[type[Any], Check]) -> Check:
    """Returns the check of a value of a type that is not named."""
    return allowed.get(object, _never)


def _is_text(value: str) -> bool:
    """A half of a character is text in Python, and cannot be written."""
    return value.isascii() or not any("\ud800" <= one <= "\udfff" for one in value)


@cache
def _fields(struct: type[Struct]) -> Check:
    """Returns a function that looks at the fields one after the other: an expression is four times as fast as a loop,
    and a search does this in every third step."""
    hints = get_type_hints(struct)
    meant: dict[str, Any] = {}
    parts = []
    for name in struct.__struct_fields__:
        allowed = _allowed(hints[name])
        if _plain(allowed) == allowed.keys():
            meant[f"of_{name}"] = frozenset(allowed) if len(allowed) > 1 else next(iter(allowed))
            parts.append(f"type(value.{name}) {'in' if len(allowed) > 1 else 'is'} of_{name}")
        else:
            meant[f"of_{name}"] = allowed.get
            meant[f"else_{name}"] = _else(allowed)
            parts.append(f"of_{name}(type(value.{name}), else_{name})(value.{name})")
    check: Check = eval(f"lambda value: {' and '.join(parts)}", meant)
    return check


def _elements(allowed: Mapping[type[Any], Check]) -> Check:
    plain, other = _plain(allowed), _else(allowed)

    def check(value: Any) -> bool:
        return plain.issuperset(map(type, value)) or all(allowed.get(type(one), other)(one) for one in value)

    return check


_SIGNALS = _allowed(Signal)
_PLAIN_SIGNALS = _plain(_SIGNALS)


def _each(allowed: Sequence[Mapping[type[Any], Check]]) -> Check:
    def check(value: Any) -> bool:
        return len(value) == len(allowed) and all(
            of.get(type(one), _else(of))(one) for of, one in zip(allowed, value, strict=True)
        )

    return check


def _is_json(hint: Any, value: Any) -> bool:
    try:
        msgspec.convert(msgspec.to_builtins(value), hint)
    except Exception:  # an object of an implementation may raise anything
        return False
    return True


# ---- what is wrong ---------------------------------------------------------------------------------------------------
def _complaint(value: Any, hint: Any, where: str) -> str | None:
    """Returns what is wrong with a value, or with the first part of it that is wrong, or None."""
    allowed = _allowed(hint)
    kind = type(value)
    if kind not in allowed:
        if _else(allowed)(value):
            return None
        names = [_name(one) for one in allowed]
        wants = " | ".join(names) if len(names) <= 3 else "object | null" if "null" in names else "object"
        return f"Expected `{wants}`, got `{_type(value)}` - at `{where}`"
    if kind is str and not _is_text(value):
        return f"Expected text, got half of a character - at `{where}`"
    if kind is tuple:
        mine = hint if get_origin(hint) is tuple else next(one for one in get_args(hint) if get_origin(one) is tuple)
        inner = get_args(mine) if ... not in get_args(mine) else get_args(mine)[:1] * len(value)
        if len(inner) != len(value):
            return f"Expected `array` of length {len(inner)}, got {len(value)} - at `{where}`"
        parts = [(one, inner[at], f"{where}[{at}]") for at, one in enumerate(value)]
    elif issubclass(kind, Struct) and allowed[kind] is not _always:
        hints = get_type_hints(kind)
        parts = [(getattr(value, name), hints[name], f"{where}.{name}") for name in kind.__struct_fields__]
    else:
        return None
    return next(filter(None, (_complaint(*part) for part in parts)), None)


def _name(kind: type[Any]) -> str:
    return {NoneType: "null", tuple: "array"}.get(kind, kind.__name__)


def _type(value: Any) -> str:
    """Returns the name of the type of a value, whatever that type says of itself."""
    return neutral(type.__repr__(type(value)).removeprefix("<class '").removesuffix("'>"))
