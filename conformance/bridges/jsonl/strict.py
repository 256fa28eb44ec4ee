"""The types of what a program answers, without unknown fields.

A type of a port ignores a field that it does not know. If a program misspells a count, that count is then not there,
and nothing is judged of it. What comes over the wire is therefore compared with these types, too, and refused.
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct, defstruct
from msgspec import field as field_of
from msgspec.structs import FieldInfo, fields


@cache
def strict(hint: Any) -> Any:
    """Returns a type like this one, in which no object may have an unknown field; the type itself if it has no objects.

    Values of the two types are not equal: the strict one is there to be compared with, and to be described.
    """
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _strict_struct(hint)
    parts = get_args(hint)
    a_list: Any = tuple
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(map(strict, parts))]  # noqa: UP007  there are as many as there are
    if get_origin(hint) is tuple:
        return a_list[tuple(one if one is ... else strict(one) for one in parts)]
    return hint


def has_objects(hint: Any) -> bool:
    """Returns whether a value of this type may be, or contain, a JSON object with fixed fields."""
    return (isinstance(hint, type) and issubclass(hint, Struct)) or any(map(has_objects, get_args(hint)))


def _strict_struct(struct: type[Struct]) -> type[Struct]:
    about = struct.__struct_config__
    return defstruct(
        struct.__name__,
        [(one.name, strict(one.type), _as_declared(one)) for one in fields(struct)],
        namespace={"__doc__": struct.__doc__},
        module=struct.__module__,
        tag=about.tag,
        tag_field=about.tag_field,
        forbid_unknown_fields=True,
        kw_only=True,
        frozen=True,
        omit_defaults=about.omit_defaults,
    )


def _as_declared(one: FieldInfo) -> Any:
    if one.default is not NODEFAULT:
        return field_of(name=one.encode_name, default=one.default)
    if one.default_factory is not NODEFAULT:
        return field_of(name=one.encode_name, default_factory=one.default_factory)
    return field_of(name=one.encode_name)
