"""Engines that take it easy: the reference, in which one operation always gives the same legal-looking answer.

Which these are follows from what is declared: the type of the result, the errors that the chapter names for the
operation, and the signals that the port names. A lazy operation does nothing at all. A lazy signal is never sent, says
that it came to nothing, or is sent as a refusal.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs

from conformance.components import COMPONENTS
from conformance.driver import Program, Property
from conformance.driver.operations import operations as chapter_rows
from conformance.engines.search import Search, seeds
from conformance.ports import CheckpointReason, ErrorKind, FaultStruck, Implementation, Port, PortError, Signal
from conformance.ports.catalogue import INTERFACES
from conformance.ports.implementation import Factory
from conformance.ports.registry import find_implementation
from conformance.ports.signatures import answer_type, operations
from conformance.scenarios import read_toml
from conformance.system.packaged import chapter

SIGNALS: Mapping[str, type[Struct]] = MappingProxyType(
    {one.__name__: one for one in get_args(Signal) if one is not FaultStruck}
)
"""By name. That a fault has struck is said to the driver, and to nobody else."""
INSTRUMENTS = ("fault", "resources")
"""Operations of a port for the suite alone. Nobody asks an engine for a fault, and one that counts nothing says so."""
ALLOWED: Mapping[str, str] = MappingProxyType(
    {
        "chain: PriorityAvailable: never": "chain.md FC11",
        "coordinator: abort_triggering: nothing": "coordinator.md O26: the suite calls it while nothing is triggered",
        "coordinator: notify_aborted: nothing": "coordinator.md FO4",
        "drainer: abort: nothing": "drainer.md FN7",
        "barrier-handler: alignment_times: empty": "barrier-handler.md I-51: an engine need not measure it",
        "persister: release: nothing": "persister.md: it holds nothing, and after release any result is right",
        "pipeline: JobTaskChanged: never": "PipelinePort: an engine that cannot tell it leaves it out",
        "pipeline: TaskReady: never": "PipelinePort: an engine that cannot tell it leaves it out",
        "pipeline: fail: no": "PipelinePort.fail: nothing has failed then, and the goals of failures stay open",
        "pipeline: fail: yes": "PipelinePort.fail: what never strikes is not signalled, and those goals stay open",
        "pipeline: lose: no": "PipelinePort.lose: nothing is lost then",
        "pipeline: lose: yes": "PipelinePort.lose: less is expected of a job behind a lost message, and it does more",
        "pipeline: stop_with_savepoint: refused disabled": "pipeline.md FJ12",
        "pipeline: settle: no": "PipelinePort.settle: an engine need not wait, and the drain does",
        "pipeline: throttle: nothing": "PipelinePort.throttle: operators that go on hold up less than is allowed",
        "spill: buffered: 0": "spill.md FK1: what is appended may be written at once",
    }
)
"""By name, what an engine may do in its own way, and which sentence of the specification says so."""
AS_THE_REFERENCE = "as the reference"
"""Is kept of a lazy engine that differs from the reference in no scenario: the operation does nothing there either, or
is not called a second time."""
FILE = Path(__file__).resolve().parents[1] / "corpus/lazy.toml"
"""The seed text of the first scenario in which each lazy engine is noticed. Written by this module."""
SOON, MOST = 300, 4_000
"""So many scenarios are tried to find the first one that is kept; so many with an engine that is noticed rarely."""
COMPARED = 100
"""In so many of them it is compared with the reference."""
_HEAD = """\
# The seed text of the first scenario in which each lazy engine is noticed, or that it does as the reference does.
# Written by `python -m tests.components.lazy [COMPONENT ...]`.
"""
_WORD = re.compile(r"\*([\w-]+)\*")
_NAMED = re.compile(r"`(\w+)[`(]")

Answers = Callable[[], object]
"""Returns an answer, or raises one."""


class Lazy(NamedTuple):
    """A lazy engine: what it does in place of the reference."""

    component: str
    habit: str
    """What it does, as `poll: nothing` or `CheckpointTriggered: never`."""
    operation: str = ""
    answers: Answers | None = None
    """Answers the operation, in place of the reference."""
    signal: type[Struct] | None = None
    sends: Callable[[Any], Signal | None] | None = None
    """What it sends in place of each signal of this type; None: nothing."""
    late: bool = False
    """Whether it begins with the second call, or the second signal."""

    @property
    def name(self) -> str:
        """What a test calls it."""
        return f"{self.component}: {self.habit}{' from the second on' if self.late else ''}"

    @property
    def reason(self) -> str | None:
        """Why an engine may do this; None: it may not."""
        return ALLOWED.get(f"{self.component}: {self.habit}")


# ---- what may be answered --------------------------------------------------------------------------------------------
def _errors(component: str, operation: str) -> list[tuple[ErrorKind, CheckpointReason | None]]:
    """The errors that the chapter allows an operation without a fault."""
    words: dict[str, None] = {}
    for row in chapter_rows(chapter(component) or ""):
        if row.method == operation:
            words.update(dict.fromkeys(_WORD.findall(" ".join(one.text for one in row.fails))))
    kinds = [ErrorKind(word) for word in words if word in list(ErrorKind)]
    reasons = [CheckpointReason(word) for word in words if word in list(CheckpointReason)]
    found: list[tuple[ErrorKind, CheckpointReason | None]] = []
    for kind in kinds:
        found += [(kind, one) for one in reasons] if kind is ErrorKind.CHECKPOINT else [(kind, None)]
    return found


def _values(answer: Any) -> Iterator[tuple[str, object]]:
    """Small values of a type, each with words for it: nothing, no and yes, each member, empty."""
    parts = get_args(answer) if isinstance(answer, UnionType) or get_origin(answer) is Union else (answer,)
    for part in parts:
        if part in (None, NoneType):
            yield "nothing", None
        elif part is bool:
            yield from (("no", False), ("yes", True))
        elif part is int:
            yield "0", 0
        elif isinstance(part, type) and issubclass(part, Enum):
            yield from ((str(one), one) for one in part)
        elif get_origin(part) is tuple:
            yield "empty", ()
        elif isinstance(part, type) and issubclass(part, Struct) and len(parts) == 1:
            yield from _structs(part)


def _structs(kind: type[Struct]) -> Iterator[tuple[str, object]]:
    """Values of a struct: with each member of a field that has members, and with its other fields empty."""
    hints = get_type_hints(kind)
    empty, members = {}, []
    for field in structs.fields(kind):
        values = list(_values(hints[field.name]))
        if field.default is not NODEFAULT:
            empty[field.name] = field.default
        elif values:
            empty[field.name] = values[0][1]
        else:
            return
        members += [(f"{field.name} {words}", {field.name: value}) for words, value in values if value is not None]
    tellings = [one for one in members if isinstance(next(iter(one[1].values())), Enum | bool)]
    for words, changes in tellings or [("empty", {})]:
        yield words, kind(**{**empty, **changes})


def _raising(kind: ErrorKind, reason: CheckpointReason | None) -> Answers:
    def raises() -> object:
        raise PortError(kind, "not now", reason)

    return raises


def _returning(value: object) -> Answers:
    return lambda: value


def _operations(component: str) -> Iterator[Lazy]:
    port = INTERFACES[component].port
    for operation in (one for one in operations(port) if one not in INSTRUMENTS):
        method = getattr(port, operation)
        for words, value in _values(answer_type(method)):
            yield Lazy(component, f"{operation}: {words}", operation, _returning(value))
        for kind, reason in _errors(component, operation):
            words = f"{kind} {reason or ''}".strip()
            yield Lazy(component, f"{operation}: fails, {words}", operation, _raising(kind, reason))


# ---- what may be signalled -------------------------------------------------------------------------------------------
def signals_of(port: type[Port]) -> dict[str, type[Struct]]:
    """The signals that the documentation of a port and of its operations names, by name."""
    lineage = [one for one in port.__mro__ if issubclass(one, Port)]
    texts = [one.__doc__ for one in lineage] + [getattr(port, operation).__doc__ for operation in operations(port)]
    named = [name for text in texts for name in _NAMED.findall(text or "")]
    return {name: SIGNALS[name] for name in dict.fromkeys(named) if name in SIGNALS}


def _refusing(refusal: type[Struct], reason: CheckpointReason) -> Callable[[Any], Any]:
    fields = [name for name in refusal.__struct_fields__ if name != "reason"]
    return lambda signal: refusal(**{name: getattr(signal, name) for name in fields}, reason=reason)


def _saying(field: str, value: bool) -> Callable[[Any], Signal]:
    return lambda signal: structs.replace(signal, **{field: value})


def _reasons(component: str) -> list[CheckpointReason]:
    """The reasons that the chapter names, with which a refusal looks legal."""
    words = _WORD.findall(chapter(component) or "")
    return [reason for reason in CheckpointReason if str(reason) in words]


def _never(signal: Any) -> None:
    """A signal that is not sent."""


def _signals(component: str) -> Iterator[Lazy]:
    told = signals_of(INTERFACES[component].port)
    refusals = {name: one for name, one in told.items() if "reason" in one.__struct_fields__}
    for name, kind in told.items():
        yield Lazy(component, f"{name}: never", signal=kind, sends=_never)
        for field, hint in get_type_hints(kind).items():
            for value in (False, True) if hint is bool else ():
                yield Lazy(component, f"{name}: {field} {value}", signal=kind, sends=_saying(field, value))
        for other, refusal in refusals.items():
            if kind is not refusal and set(refusal.__struct_fields__) - {"reason"} <= set(kind.__struct_fields__):
                for reason in _reasons(component):
                    habit = f"{name}: {other} {reason}"
                    yield Lazy(component, habit, signal=kind, sends=_refusing(refusal, reason))


def lazy_engines(component: str) -> list[Lazy]:
    """Returns all lazy engines of a component."""
    always = [*_operations(component), *_signals(component)]
    return [one._replace(late=late) for one in always for late in (False, True)]


# ---- how they are made -----------------------------------------------------------------------------------------------
class Engine(Implementation):
    """An implementation with one component, in which something is lazy."""

    def __init__(self, diligent: Implementation, lazy: Lazy) -> None:
        self.name = f"lazy {lazy.name}"
        self.diligent = diligent
        self.lazy = lazy

    @property
    def capabilities(self) -> Any:
        """Those of the engine that does the work."""
        return self.diligent.capabilities

    def components(self) -> Mapping[str, Factory]:
        """The component."""
        factory = self.diligent.components()[self.lazy.component]
        return {self.lazy.component: lazy_factory(factory, self.lazy)}


def lazy_factory(factory: Factory, lazy: Lazy) -> Factory:
    """Returns what makes lazy ports, of what makes the ports that do the work."""
    port = INTERFACES[lazy.component].port
    names = operations(port)
    made: Any = type(f"Lazy{port.__name__}", (_Wrapper, port), {name: _passed_on(name) for name in names})

    def make(config: Any) -> Port:
        one: Port = made(factory(config), lazy)
        return one

    return make


def _passed_on(name: str) -> Callable[..., object]:
    def operation(self: _Wrapper, *operands: object) -> object:
        if name == self.lazy.operation:
            self.calls += 1
            if self.calls > self.lazy.late:
                assert self.lazy.answers is not None
                return self.lazy.answers()
        return getattr(self.inner, name)(*operands)

    return operation


class _Wrapper(Port):
    """A port that passes everything on but what is lazy."""

    inner: Port
    lazy: Lazy

    def __init__(self, inner: Port, lazy: Lazy) -> None:
        """`inner`: the port that does the work."""
        self.inner, self.lazy = inner, lazy
        self.calls = 0

    @property
    def signals(self) -> list[Signal]:
        """Those of the inner port. The lazy ones are exchanged in place: the driver empties this list."""
        told = self.inner.signals
        lazy = self.lazy
        if lazy.signal is not None and lazy.sends is not None:
            for at in range(len(told) - 1, -1, -1) if any(type(one) is lazy.signal for one in told) else ():
                if type(told[at]) is not lazy.signal:
                    continue
                self.calls += 1
                if self.calls > lazy.late:
                    sent = lazy.sends(told[at])
                    if sent is None:
                        del told[at]
                    else:
                        told[at] = sent
        return told

    @signals.setter
    def signals(self, told: list[Signal]) -> None:
        """A port begins without signals."""


# ---- how they are noticed --------------------------------------------------------------------------------------------
@cache
def programs(component: str) -> tuple[Program, Program]:
    """The program of the reference, and one of a stranger that passes everything on to it."""
    reference = find_implementation("reference")
    return tuple(  # type: ignore[return-value]
        Program(COMPONENTS[component], one) for one in (reference, Engine(reference, Lazy(component, "nothing")))
    )


def searching(lazy: Lazy) -> Search:
    """A search with a lazy engine."""
    reference, stranger = programs(lazy.component)
    return Search(stranger.made_by(lazy_factory(reference.factory, lazy)))


def noticed(search: Search, text: str) -> Property | None:
    """The property that notices a lazy engine in the scenario with this seed text."""
    _, run = search.run(text)
    return None if run.violation is None else run.violation.property


def first_notice(lazy: Lazy, scenarios: int = MOST) -> str:
    """The seed text of the first scenario in which a lazy engine is noticed; empty if there is none."""
    search, texts = searching(lazy), seeds(0, lazy.component, range(scenarios))
    return next((text for text in texts if noticed(search, text) is not None), "")


def differs(lazy: Lazy) -> bool:
    """Whether the histories of a lazy engine and of the reference differ in any scenario."""
    mine, other = searching(lazy), Search(programs(lazy.component)[1])
    return any(history(mine, text) != history(other, text) for text in seeds(0, lazy.component, range(COMPARED)))


def history(search: Search, text: str) -> list[object]:
    """What happened in a scenario, without the texts of errors."""
    found: list[object] = []
    for step, outcome in ((one.step, one.outcome) for one in search.run(text, record=True)[1].entries):
        assert outcome is not None, "a run that is recorded has outcomes"
        error = None if outcome.error is None else (outcome.error.kind, outcome.error.checkpoint_reason)
        found.append((step, outcome.value, outcome.signals, error, outcome.paused_at))
    return found


def kept() -> dict[str, str]:
    """What the file says, by name of a lazy engine."""
    return read_toml(FILE, dict[str, str], "every entry must be a text")


def main(components: list[str]) -> None:
    """Write what becomes of the lazy engines of some components anew, and name those that are not noticed soon."""
    for component in components:
        found = {name: text for name, text in kept().items() if name.partition(":")[0] != component}
        for lazy in (one for one in lazy_engines(component) if not one.reason):
            text = first_notice(lazy, SOON) or ("" if differs(lazy) else AS_THE_REFERENCE)
            if text:
                found[lazy.name] = text
            else:
                print(f"not noticed soon: {lazy.name}", flush=True)
        lines = (f"{json.dumps(name)} = {json.dumps(found[name])}" for name in sorted(found))
        FILE.write_text("\n".join((_HEAD, *lines, "")), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:] or list(COMPONENTS))
