"""How an exploration recognises states: by their whole digests, or, where these do not fit into memory, by a hash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum, StrEnum
from hashlib import blake2b
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any

import msgspec

from conformance.engines.digest import CannotRecognise


class Recognition(StrEnum):
    """What an exploration remembers of a state."""

    EXACT = "exact"
    """The whole digest: different states are never taken for the same."""
    HASH = "hash"
    """A hash of the digest: different states can be taken for the same, with the odds of `collision_odds`."""


HASH_BITS = 128
"""How wide the hash is."""


_SHORT = 48
"""A value whose encoding is longer is represented by a hash of 256 bits, which is not what confuses states."""


class WideHash:
    """Replaces each digest by a hash of it, which is the same in every process and on every machine.

    A digest is a sequence of values. Each of them is encoded so that two encodings are equal if and only if the values
    are, and none is the beginning of another one; what is hashed is the sequence of the encodings. So only the hash
    itself can take different states for the same.
    """

    __slots__ = ("_encodings",)

    def __init__(self) -> None:
        self._encodings = _Encodings()

    def of(self, digest: Iterable[Any]) -> bytes:
        """Returns the hash of a digest. Raises: CannotRecognise if other processes would not know a value of it."""
        content = b"".join(map(self._encodings.__getitem__, digest))
        return blake2b(content, digest_size=HASH_BITS // 8).digest()


class _Encodings(dict[Any, bytes]):
    """By value, its encoding. Values that are equal are one, such as `1` and `True`: where the type counts, a digest
    has it beside the value."""

    def __init__(self) -> None:
        super().__init__()
        self._named: dict[tuple[str, str], Any] = {}
        """By module and name, the class or function that was met there."""

    def __missing__(self, value: Any) -> bytes:
        encoding = self._encoded(value)
        if len(encoding) > _SHORT:
            encoding = b"#" + blake2b(encoding, digest_size=32).digest()
        self[value] = encoding
        return encoding

    def _encoded(self, value: Any) -> bytes:
        if value is None or value is ...:
            return b"N" if value is None else b"."
        if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
            return _joined(b"i", str(int(value)).encode())
        if isinstance(value, float):
            return _joined(b"f", value.hex().encode())
        if isinstance(value, str):
            return _joined(b"s", str.encode(value, "utf-8", "surrogatepass"))
        if isinstance(value, bytes):
            return _joined(b"b", value)
        if isinstance(value, tuple):
            return _joined(b"t", *(self[one] for one in value))
        if isinstance(value, (frozenset, dict)):  # the order in which they were built does not count
            parts = value if isinstance(value, frozenset) else value.items()
            return _joined(b"S" if isinstance(value, frozenset) else b"d", *sorted(self[one] for one in parts))
        if isinstance(value, range):
            first = value[:1]  # equal ranges have equal numbers
            return _joined(b"r", self[len(value)], *(self[one] for one in (*first, *value[1:2])))
        return self._known(value)

    def _known(self, value: Any) -> bytes:
        """Encode what another process finds under its name, or takes apart."""
        kind: Any = type(value)
        if isinstance(value, CodeType):
            return self._code(value)
        if isinstance(value, (type, FunctionType)):
            encoding = _joined(b"T" if isinstance(value, type) else b"F", self._name(value))
            return encoding if isinstance(value, type) else encoding + self._code(value.__code__)
        if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, (ModuleType, type, NoneType)):
            return _joined(b"B", self[str(value.__module__)], self[value.__qualname__])
        if isinstance(value, Enum):
            return _joined(b"E", self[kind], self[value.name or value.value])
        # It is frozen, or the digest would not have it whole: an equal one can replace it, also if it has no `==`.
        if isinstance(value, msgspec.Struct):
            return _joined(b"D", self[kind], *(self[getattr(value, one)] for one in kind.__struct_fields__))
        if is_dataclass(value):
            return _joined(b"D", self[kind], *(self[getattr(value, one.name)] for one in fields(value) if one.compare))
        raise CannotRecognise(f"a state holds a {kind.__name__}, which another process cannot compare")

    def _name(self, value: Any) -> bytes:
        """Encode the name of a class or function. Raises: CannotRecognise if another one has it too."""
        name = str(value.__module__), value.__qualname__
        if self._named.setdefault(name, value) is not value:
            raise CannotRecognise(f"two classes or functions are named {'.'.join(name)}: a hash cannot tell them apart")
        return self[name]

    def _code(self, code: CodeType) -> bytes:
        """Encode what makes codes equal."""
        constants = tuple((type(one).__name__, one) for one in code.co_consts)
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_firstlineno
        about = code.co_name, code.co_code, code.co_exceptiontable, counts, names, constants
        return _joined(b"C", self[about])


def _joined(kind: bytes, *parts: bytes) -> bytes:
    return kind + len(parts).to_bytes(4, "big") + b"".join(len(one).to_bytes(4, "big") + one for one in parts)


def collision_odds(recognition: Recognition, states: int) -> float:
    """Returns the probability, at most, that among so many states any two different ones were taken for the same, if
    every hash is equally likely."""
    return 0.0 if recognition is Recognition.EXACT else states * (states - 1) / 2 / 2**HASH_BITS
