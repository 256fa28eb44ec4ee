"""Recognises states: two runs in the same state can go on in the same ways.

A coroutine cannot be copied, but it can be inspected. The digest of a state has everything reachable from the port, the
ledger and every paused thread: of a thread its locals *and* its evaluation stack, because only the stack has the
position of a loop or the left half of an expression. Objects are numbered in the order in which they are met, so that
sharing counts: two equal lists are not one list. The type of a value counts, too: `1`, `1.0` and `True` are three
results, so they are three states. The digest is the whole canonical form and not a hash of it, so that
different states never have the same digest. An object of an unknown kind is an error, because a guess could merge
different states without notice.

The garbage collector shows the stack of a suspended coroutine. That is a detail of CPython. `check_recognition` tests
it with operations whose states differ only on the stack, and the explorer refuses to run if the test fails.
"""

from __future__ import annotations

import enum
import gc
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, partial
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
)
from typing import Any

import msgspec

from conformance.driver import World
from conformance.scheduling import PAUSED, Kernel, Lock, LockOrder, Thread

State = tuple[Any, ...]

_ATOMS = (int, str, bytes, type(None), range, type, CodeType, BuiltinFunctionType, frozenset)
_ITERATORS: tuple[type, ...] = (
    *(type(one) for one in (iter([]), iter(()), iter(range(0)), reversed([]))),
    enumerate,
    zip,
)
_POINTER = tuple.__itemsize__
"""Bytes that an attribute takes up in an object."""
_LIST, _DICT, _TUPLE, _SAME = "[]", "{}", "()", "="
_BOOLS = (bool, False), (bool, True)


class _Unset:
    """Stands for the value of an attribute that has none."""


class CannotRecognise(TypeError):
    """A state holds an object whose content cannot be compared, or this Python does not show the evaluation stack."""


class Recogniser:
    """Makes the digests of worlds. It remembers how to walk the classes that it has met."""

    def __init__(self) -> None:
        self._atoms: set[type] = set(_ATOMS)
        self._contents: dict[bytes, bytes] = {}
        """The contents of byte arrays that were met, each once: many states hold the same pages."""
        self._walks: dict[type, Callable[[Any, list[Any], dict[int, int]], None]] = {
            list: self._list,
            dict: self._dict,
            tuple: self._tuple,
            bytearray: self._bytes,
            bool: _bool,
            float: _float,
            GeneratorType: self._generator,
            MethodType: self._method,
            CellType: self._cell,
            FunctionType: self._function,
            partial: self._partial,
            Thread: self._thread,
            Kernel: _skip,
            LockOrder: _skip,
            **dict.fromkeys(_ITERATORS, self._iterator),
        }

    def digest(self, world: World) -> State:
        """Returns the digest of the state of a run. Raises: CannotRecognise."""
        return self.walk(world.port, world.ledger, *world.threads.values())

    def walk(self, *roots: Any) -> State:
        """Returns everything reachable from these objects, in one canonical form."""
        out: list[Any] = []
        met: dict[int, int] = {}
        for root in roots:
            self._value(root, out, met)
        return tuple(out)

    def _value(self, value: Any, out: list[Any], met: dict[int, int]) -> None:
        kind = type(value)
        if kind in self._atoms:
            out.append(value)
        else:
            walk = self._walks.get(kind)
            if walk is not None:
                walk(value, out, met)
            else:
                self._learn(value, kind)
                self._value(value, out, met)

    def _learn(self, value: Any, kind: type) -> None:
        """Remember how to walk a class that was not met before."""
        if isinstance(value, enum.Enum) and isinstance(value, (int, float, str, bytes)):  # it equals a plain value
            self._walks[kind] = _members()
            return
        if isinstance(value, (enum.Enum, type)) or _is_frozen(value):
            self._atoms.add(kind)
            return
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            self._walks[kind] = self._named
            return
        if isinstance(value, (set, memoryview, CoroutineType)) or kind.__module__ in (
            "builtins",
            "itertools",
            "collections",
        ):
            raise CannotRecognise(f"a state holds a {kind.__name__}, which cannot be compared with another")
        slots = [  # by the names under which they can be read: that of a private one is not the one in `__slots__`
            name
            for base in reversed(kind.__mro__)
            if "__slots__" in base.__dict__
            for name, one in base.__dict__.items()
            if type(one) is MemberDescriptorType
        ]
        readable = len(slots) + (kind.__dictoffset__ != 0) + (kind.__weakrefoffset__ != 0)
        if kind.__basicsize__ > object.__basicsize__ + readable * _POINTER:  # it has more, which only C can read
            raise CannotRecognise(f"a state holds a {kind.__name__}, whose content cannot be read")
        self._walks[kind] = self._object(kind, tuple(slots))

    def _object(self, kind: type, slots: tuple[str, ...]) -> Callable[[Any, list[Any], dict[int, int]], None]:
        atoms, walk_value = self._atoms, self._value
        readers: dict[tuple[str, ...], tuple[str, tuple[str, ...], Callable[[Any], Any]]] = {}
        with_dict = kind.__dictoffset__ != 0
        fixed = ("", slots, _reader(slots))

        def walk(value: Any, out: list[Any], met: dict[int, int]) -> None:
            if id(value) in met:
                out.append(_SAME)
                out.append(met[id(value)])
                return
            met[id(value)] = len(met)
            out.append(kind)
            has, names, read = fixed
            if with_dict:  # objects of one class may have different attributes
                order = tuple(vars(value))
                if order not in readers:
                    names = (*slots, *sorted(order))
                    same = next((one for one in readers.values() if one[1] == names), None)
                    readers[order] = same or (" ".join(names), names, _reader(names))
                has, names, read = readers[order]
                out.append(has)
            try:
                values = read(value)
            except AttributeError:
                values = [getattr(value, name, _Unset) for name in names]
            for one in values:
                if type(one) in atoms:
                    out.append(one)
                else:
                    walk_value(one, out, met)

        return walk

    def _list(self, value: list[Any], out: list[Any], met: dict[int, int]) -> None:
        if _again(value, out, met):
            return
        out += (_LIST, len(value))
        for one in value:
            self._value(one, out, met)

    def _dict(self, value: dict[Any, Any], out: list[Any], met: dict[int, int]) -> None:
        if _again(value, out, met):
            return
        out += (_DICT, len(value))  # the order of insertion can be observed, so it counts
        for key, one in value.items():
            self._value(key, out, met)
            self._value(one, out, met)

    def _tuple(self, value: tuple[Any, ...], out: list[Any], met: dict[int, int]) -> None:
        out += (_TUPLE, len(value))
        for one in value:
            self._value(one, out, met)

    def _bytes(self, value: bytearray, out: list[Any], met: dict[int, int]) -> None:
        if _again(value, out, met):
            return
        content = bytes(value)
        out += (bytearray, self._contents.setdefault(content, content))

    def _named(self, value: tuple[Any, ...], out: list[Any], met: dict[int, int]) -> None:
        out.append(type(value))
        self._tuple(value, out, met)

    def _generator(self, value: GeneratorType[Any, Any, Any], out: list[Any], met: dict[int, int]) -> None:
        if _again(value, out, met):
            return
        out += (GeneratorType, value.gi_frame is None)
        if value.gi_frame is not None:
            self._frames(value, out, met)

    def _method(self, value: MethodType, out: list[Any], met: dict[int, int]) -> None:
        out.append(value.__func__)
        self._value(value.__self__, out, met)

    def _cell(self, value: CellType, out: list[Any], met: dict[int, int]) -> None:
        if _again(value, out, met):
            return
        out.append(CellType)
        try:
            contents = value.cell_contents
        except ValueError:
            out.append(_Unset)
        else:
            self._value(contents, out, met)

    def _function(self, value: FunctionType, out: list[Any], met: dict[int, int]) -> None:
        defaults, by_name = value.__defaults__ or (), value.__kwdefaults__ or {}
        out += (value.__code__, len(defaults), *by_name)
        for one in (*defaults, *by_name.values()):
            self._value(one, out, met)
        for cell in value.__closure__ or ():
            self._cell(cell, out, met)

    def _partial(self, value: partial[Any], out: list[Any], met: dict[int, int]) -> None:
        if _again(value, out, met):
            return
        out.append(partial)
        self._value(value.func, out, met)
        self._tuple(value.args, out, met)
        self._dict(value.keywords, out, met)

    def _iterator(self, value: Any, out: list[Any], met: dict[int, int]) -> None:
        out.append(type(value))
        inside = value.__reduce__()[1:]
        out.append(len(inside))
        for one in inside:
            if type(one) is tuple:  # made by __reduce__, so only the content is part of the state
                out.append(len(one))
                for part in one:
                    self._value(part, out, met)
            else:
                self._value(one, out, met)

    def _thread(self, value: Thread, out: list[Any], met: dict[int, int]) -> None:
        if _again(value, out, met):
            return
        out.append(value.name)
        self._list(value.held, out, met)
        if value.coroutine is None:
            out.append(None)
            return
        out += (value.operation, value.case, value.open_ended)
        self._list(value.emitted, out, met)
        self._value(value.waits_for, out, met)
        self._frames(value.coroutine, out, met)

    def _frames(self, coroutine: Any, out: list[Any], met: dict[int, int]) -> None:
        """Walk a suspended coroutine, then what it awaits, down to the waitable at which it pauses."""
        awaiting = coroutine
        while awaiting is not None:
            if type(awaiting) is CoroutineType:
                code, frame, inner = awaiting.cr_code, awaiting.cr_frame, awaiting.cr_await
            elif type(awaiting) is GeneratorType:
                code, frame, inner = awaiting.gi_code, awaiting.gi_frame, awaiting.gi_yieldfrom
            else:
                raise CannotRecognise(f"a thread awaits a {type(awaiting).__name__}, whose content cannot be read")
            referents = gc.get_referents(awaiting)
            last = len(referents) - 1 - referents[::-1].index(code)
            values = [value for value in referents[last + 1 :] if value is not inner]
            assert frame is not None  # it is suspended
            out += (code, frame.f_lasti, tuple(frame.f_locals), len(values))
            for value in values:
                self._value(value, out, met)
            awaiting = inner


def _again(value: Any, out: list[Any], met: dict[int, int]) -> bool:
    """Returns whether an object was met before. If it was not, gives it a number."""
    number = met.get(id(value))
    if number is None:
        met[id(value)] = len(met)
        return False
    out += (_SAME, number)
    return True


def _reader(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """Returns a function that reads all these attributes at once."""
    if not names:
        return lambda value: ()
    if len(names) == 1:
        one = attrgetter(names[0])
        return lambda value: (one(value),)
    return attrgetter(*names)


def _bool(value: bool, out: list[Any], met: dict[int, int]) -> None:
    out.append(_BOOLS[value])


def _float(value: float, out: list[Any], met: dict[int, int]) -> None:
    out.append((float, value.hex()))


def _members() -> Callable[[Any, list[Any], dict[int, int]], None]:
    """Returns what walks the members of an enumeration that are equal to plain values."""
    with_kind: dict[Any, tuple[type, Any]] = {}

    def walk(value: Any, out: list[Any], met: dict[int, int]) -> None:
        found = with_kind.get(value)
        if found is None:
            found = with_kind[value] = type(value), value.value
        out.append(found)

    return walk


def _skip(value: Any, out: list[Any], met: dict[int, int]) -> None:
    """Skips the scheduler: its threads are roots, and the lock orders of the past do not influence later steps."""


def _is_frozen(value: Any) -> bool:
    """Returns whether an object is immutable, so that an equal object can replace it."""
    if isinstance(value, msgspec.Struct):
        frozen = type(value).__struct_config__.frozen
    elif is_dataclass(value):
        frozen = getattr(type(value), "__dataclass_params__").frozen  # noqa: B009  # not known to type checkers
    else:
        return False
    if frozen:
        hash(value)  # raises a TypeError if it holds something mutable
    return bool(frozen)


# ---- whether it works on this Python ---------------------------------------------------------------------------------
class _Cell:
    """Operations whose next steps depend on values that no local variable holds."""

    def __init__(self) -> None:
        self.lock = Lock("lock")
        self.x = 0
        self.results: list[tuple[int, int] | None] = []

    async def read(self) -> int:
        async with self.lock:
            return self.x

    async def read_twice(self) -> tuple[int, int]:
        return self.x, await self.read()  # only the stack has the first value

    async def count(self) -> None:
        for _ in (0, 0, 0):  # only an iterator on the stack has the position of the loop
            await self.read()

    async def flip(self) -> None:
        async with self.lock:
            self.x = 1 - self.x


_STEPS = (("a", "read_twice"), ("a", "count"), ("b", "flip"), ("a", ""), ("b", ""))


def outcomes(depth: int, recogniser: Recogniser | None) -> dict[tuple[int, int] | None, None]:
    """Returns what the operations can return, found with or without recognising states."""
    found: dict[tuple[int, int] | None, None] = {}
    seen: set[State] = set()
    frontier: list[tuple[tuple[str, str], ...]] = [()]
    for _ in range(depth):
        following = []
        for prefix in frontier:
            for step in _STEPS:
                kernel, cell = Kernel(("a", "b"), fine=True), _Cell()
                if all(_step(kernel, cell, *one) for one in (*prefix, step)):
                    found.update(dict.fromkeys(cell.results))
                    state = (*prefix, step) if recogniser is None else recogniser.walk(cell, *kernel.threads.values())
                    if state not in seen:
                        seen.add(state)
                        following.append((*prefix, step))
                kernel.close()
        frontier = following
    return found


def _step(kernel: Kernel, cell: _Cell, name: str, operation: str) -> bool:
    thread = kernel.threads[name]
    if operation:
        if thread.coroutine is not None or (name == "a" and cell.results):
            return False
        answer = kernel.start(thread, (operation,), getattr(cell, operation)())
    elif thread.runnable:
        answer = kernel.run(thread)
    else:
        return False
    if name == "a" and answer is not PAUSED:
        cell.results.append(answer)
    return True


@cache
def check_recognition() -> None:
    """Test whether states can be recognised on this Python.

    Raises: CannotRecognise if suspended coroutines do not show their evaluation stack as this file needs it.
    """
    expected = dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1), None])
    try:
        found = outcomes(9, Recogniser())
    except Exception as error:
        raise CannotRecognise(f"states cannot be recognised on this Python: {error}") from error
    if found.keys() != expected.keys():
        raise CannotRecognise("states cannot be recognised on this Python: different states have the same digest")
