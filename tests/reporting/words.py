"""All that reports can say of a run: what is described, and how. `words.txt` keeps it for people to read at once."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec

from conformance.components import COMPONENTS
from conformance.driver import AnyStep, FailureClass
from conformance.models.fault_words import failure_at
from conformance.ports import (
    INTERFACES,
    CheckpointReason,
    Element,
    Error,
    ErrorKind,
    FaultKind,
    FaultStruck,
    Outcome,
    Resources,
    Signal,
)
from conformance.reporting.words import (
    element_in_words,
    error_in_words,
    failure_class_in_words,
    outcome_in_words,
    pause_in_words,
    signal_in_words,
    step_in_words,
)

LISTED = Path(__file__).with_name("words.txt")
"""What `listed` returns; `python -m tests.reporting.words` writes it anew."""

TEXTS: Mapping[str, str] = {
    "alignment": "aligned", "channels": "01", "kind": "ends", "part": "inputs", "place": "buffer-pool",
    "reason": "declined", "recovery": "pushed", "thread": "task", "stop": "gate lock", "target": "task", "point": "now",
    "until": "idle", "parallelism": "up",
}  # fmt: skip
"""A value of each operand that is a text."""
NAMED = {"lock_name": "recovered channel", "place": "channel-state-writer", "suffix": " 1"}
"""A value of each text in the name of a place of the reference; everything else in such a name is a number."""
WAITABLES = ("BufferPool", "Condition", "Future", "Lock", "Mailbox", "Pause", "Pool", "Waitable", "lock_type")
"""What makes a waitable, by its name or that of the attribute that holds it."""


class Described(NamedTuple):
    """Something that reports describe."""

    what: str
    words: str
    carried: tuple[Any, ...] = ()
    """The values that the words must name."""


def samples(hint: Any, numbers: Iterator[int]) -> list[Any]:
    """Some values of a type: every member of an enumeration, both truth values, an empty tuple and one with two
    items. All numbers are different, so that it shows if the words leave out one."""
    origin = get_origin(hint)
    if hint == Element:
        return samples(get_args(Element)[0], numbers)  # the words of the others are listed by themselves
    if origin in (Union, UnionType):
        return [value for one in get_args(hint) for value in samples(one, numbers)]
    if origin is tuple:
        item = get_args(hint)[0]
        return [(samples(item, numbers)[0], samples(item, numbers)[-1]), ()]
    if hint is NoneType:
        return [None]
    if hint is bool:
        return [True, False]
    if hint is int:
        return [next(numbers)]
    if hint is str:
        return ["what the error says", ""]
    if issubclass(hint, Enum):
        return list(hint)
    assert issubclass(hint, msgspec.Struct), hint
    return objects(hint, numbers)


def objects(cls: type[Any], numbers: Iterator[int]) -> list[Any]:
    """Objects of a class: each of its fields takes each of its values, while the others keep their first ones."""
    choices = [
        [TEXTS[field.name]] if field.name in TEXTS and field.type is str else samples(field.type, numbers)
        for field in msgspec.structs.fields(cls)
    ]
    first = [values[0] for values in choices]
    others = [
        cls(*first[:place], value, *first[place + 1 :])
        for place, values in enumerate(choices)
        for value in values[1:]
    ]  # fmt: skip
    return [cls(*first), *others]


def carried(value: Any) -> tuple[Any, ...]:
    """The values of which something consists."""
    if isinstance(value, msgspec.Struct):
        return tuple(one for name in value.__struct_fields__ for one in carried(getattr(value, name)))
    if isinstance(value, tuple):
        return tuple(one for item in value for one in carried(item))
    return (value,)


def signals() -> list[Described]:
    return [
        Described(type(one).__name__, signal_in_words(one), carried(one.kind if isinstance(one, FaultStruck) else one))
        for cls in get_args(Signal)
        for one in objects(cls, itertools.count(3))
    ]


def elements() -> list[Described]:
    return [
        Described(type(one).__name__, element_in_words(one), carried(one))
        for cls in get_args(Element)
        for one in objects(cls, itertools.count(3))
    ]


def faults() -> list[Described]:
    """Every call of a port that can fail, in each way in which it can."""
    found = {
        (place, kind): Described(f"{place} {kind.value}", failure_at(place, kind))
        for one in INTERFACES.values()
        for place, kinds in one.port.can_fail.items()
        for kind in kinds
    }
    return [found[one] for one in sorted(found)]


def every_kind_of_fault() -> list[Described]:
    return [Described(kind.value, failure_at("buffer-pool", kind)) for kind in FaultKind]


def errors() -> list[Described]:
    kinds = [Error(kind, "what the error says") for kind in ErrorKind]
    reasons = [Error(ErrorKind.CHECKPOINT, "", reason) for reason in CheckpointReason]
    return [
        Described(one.checkpoint_reason or one.kind, error_in_words(one), carried(one)[:2] if one.reason else ())
        for one in (*kinds, *reasons)
    ]


def failure_classes() -> list[Described]:
    return [Described(one.value, failure_class_in_words(one)) for one in FailureClass]


def steps() -> list[Described]:
    """Every step of every component, and the turns."""
    found = []
    for component in COMPONENTS.values():
        for kind in component.kinds:
            numbers = itertools.count(1)
            values = tuple(
                TEXTS[name] if hint is str else samples(hint, numbers)[0] for name, hint in kind.operands.items()
            )
            words = step_in_words((kind.name, *values), component)
            found.append(Described(f"{component.name}, {kind.by}", words, values))
    gate = COMPONENTS["gate"]
    for turn in (("run", "task", "gate lock"), ("finish", "task")):
        found.append(Described("a turn", step_in_words(turn, gate), turn[1:]))
    return found


def answers() -> list[Described]:
    """Every kind of result of every step, but for `done`, faults and resources, which are the same everywhere."""
    alike: dict[tuple[str, Any, Any], list[AnyStep]] = {}
    for component in COMPONENTS.values():
        for kind in component.kinds:
            if kind.answers not in (None, NoneType, Resources) and kind.name != "fault":
                alike.setdefault((component.name, kind.answers, kind.in_words), []).append(kind)
    return [
        Described(
            f"{component}, {', '.join(kind.name for kind in kinds)}",
            outcome_in_words(Outcome(value), kinds[0]),
            carried(value),
        )
        for (component, answer, _), kinds in alike.items()
        for value in samples(answer, itertools.count(3))
    ]


def resources_and_faults() -> list[Described]:
    deque, subpartition = COMPONENTS["deque"].step("resources"), COMPONENTS["subpartition"].step("fault")
    held = [Resources(0, 0, 0, 0, 0), Resources(1, 1, 1, 1, 1, 1, 1), *samples(Resources, itertools.count(3))]
    return [
        *(Described("resources", outcome_in_words(Outcome(one), deque), carried(one)) for one in held[2:]),
        *(Described("resources", outcome_in_words(Outcome(one), deque)) for one in held[:2]),
        *(Described("fault", outcome_in_words(Outcome(one), subpartition), (one,)) for one in (True, False)),
    ]


def places() -> list[Described]:
    """Every place of the reference at which a thread can pause."""
    names = {name for file in _sources(files("reference_impl")) for name in _named(file.read_text(encoding="utf-8"))}
    return [Described(name, pause_in_words(name)) for name in sorted(names)]


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _sources(one)
        elif one.name.endswith(".py"):
            yield one


def _named(source: str) -> Iterator[str]:
    """The names of the waitables that a module makes, and of those that its own kinds of waitables give themselves."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in WAITABLES:
            yield _text(node.args[0])
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) in WAITABLES for base in node.bases):
            yield from (
                _text(call.args[0])
                for call in ast.walk(node)
                if isinstance(call, ast.Call)
                and ast.unparse(call.func) == "super().__init__"
                and not isinstance(call.args[0], ast.Name)  # it has the name that its own kinds give it
            )


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return NAMED.get(ast.unparse(node.value), "1")
    raise AssertionError(f"the name of a place that this test cannot read: {ast.unparse(node)}")


SECTIONS: Mapping[str, Any] = {
    "signals": signals,
    "elements": elements,
    "what fails, and how": faults,
    "how a call fails": every_kind_of_fault,
    "errors": errors,
    "failure classes": failure_classes,
    "where a thread pauses": places,
    "steps": steps,
    "answers": answers,
    "answers of all components": resources_and_faults,
}


def described() -> list[Described]:
    return [one for section in SECTIONS.values() for one in section()]


def listed() -> str:
    """All words, a line each; the lines of one heading without those that say the same of the same."""
    parts = []
    for heading, section in SECTIONS.items():
        lines = dict.fromkeys(f"{one.what}: {one.words}" for one in section())
        parts.append("\n".join((heading.upper(), *lines, "")))
    return "\n".join(parts)


if __name__ == "__main__":
    LISTED.write_text(listed(), encoding="utf-8")
