"""Scenarios as lists of calls: drawn on the reference, performed anywhere, judged by nobody.

What a ledger would notice is left to the searches. Here it is only seen whether an operation answers in the terms of
its interface, and whether it does so again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CoroutineType
from typing import Any, NamedTuple

import msgspec

from conformance.driver import Component, Program, as_error
from conformance.engines.batch import generator_of, noting
from conformance.engines.search import Search, seeds
from conformance.ports import Error, ErrorKind, Outcome, Signal
from conformance.ports.implementation import NEW, Call, Factory
from conformance.ports.signatures import answer_type, operations
from conformance.scheduling import LockOrder, Thread

ENDING = frozenset({ErrorKind.CRASHED, ErrorKind.HUNG})
"""Errors after which an object is given up."""
MOST_DRAWN = 100
"""Scenarios that are drawn for every operation to occur."""
FEWEST = 3
"""Scenarios that are performed, also if fewer call every operation."""
_SHOWN = 160


class Happened(NamedTuple):
    """One call and what came of it. An operation that waited comes again when it is over."""

    call: Call
    outcome: Outcome

    def same(self, other: Happened) -> bool:
        """Whether the outcomes are the same; what an error says is for people."""
        return told(self.outcome) == told(other.outcome)

    @property
    def ended(self) -> bool:
        """Whether the object was given up here."""
        return self.outcome.error is not None and self.outcome.error.kind in ENDING


def told(outcome: Outcome) -> tuple[Any, ...]:
    """What counts of an outcome."""
    error = outcome.error
    failed = error and (error.kind, error.checkpoint_reason)
    return outcome.value, tuple(outcome.signals), failed, outcome.paused_at is not None


def draw(program: Program) -> Iterator[tuple[Call, ...]]:
    """A handful of scenarios of configurations that the implementation understands, with every operation."""
    calls: list[Call] = []
    drawing = Program(program.component, generator_of(program))
    drawing = drawing.made_by(noting(drawing.factory, calls))
    drawing.configs = tuple(one for one in program.configs if one.interleaving == "whole")
    search = Search(drawing)
    missing = set(operations(program.component.port))
    drawn = 0
    for seed in seeds("doctor", program.component.name, range(MOST_DRAWN)):
        calls.clear()
        search.run(seed)
        new = missing.intersection(call[0] for call in calls)
        if new or drawn < FEWEST:
            missing -= new
            drawn += 1
            yield (*calls, ("resources",))
        elif not missing - {"resources"}:
            return


def perform(component: Component, factory: Factory, calls: Sequence[Call]) -> list[Happened]:
    """Call one after the other. Operations that wait go on as soon as they can. Ends where an object is given up."""
    performance = _Performance(component, factory)
    try:
        for call in calls:
            performance.call(call)
            if performance.happened[-1].ended:
                break
    finally:
        performance.abandon()
    return performance.happened


class _Performance:
    def __init__(self, component: Component, factory: Factory) -> None:
        self.happened: list[Happened] = []
        self._component = component
        self._factory = factory
        self._port: Any = None
        self._waiting: list[_Waiting] = []

    def call(self, call: Call) -> None:
        if call[0] == NEW:
            self.abandon()
            try:
                self._port = self._factory(call[1])
            except Exception as error:
                failed = as_error(error)  # whatever it is, there is nothing to call
                self._note(call, error=Error(ErrorKind.CRASHED, f"{failed.kind}, {failed.reason}"))
            else:
                self._note(call)
            return
        try:
            value = getattr(self._port, call[0])(*call[1:])
        except Exception as error:
            self._note(call, error=as_error(error))
        else:
            if type(value) is CoroutineType:
                self._advance(_Waiting(call, value))
            else:
                self._note(call, value)
        self._go_on()

    def abandon(self) -> None:
        """What waits is forgotten."""
        for one in self._waiting:
            one.coroutine.close()
        self._waiting.clear()

    def _go_on(self) -> None:
        while not self.happened[-1].ended and (one := next((x for x in self._waiting if x.at.ready()), None)):
            self._waiting.remove(one)
            one.at.grant(one.thread)
            self._advance(one)

    def _advance(self, one: _Waiting) -> None:
        try:
            while True:
                one.at = one.coroutine.send(None)
                if not one.at.ready():
                    break
                one.at.grant(one.thread)
        except StopIteration as end:
            self._note(one.call, end.value)
        except Exception as error:
            self._note(one.call, error=as_error(error))
        else:
            self._waiting.append(one)
            self._note(one.call, paused_at=one.at.name)

    def _note(self, call: Call, value: Any = None, error: Error | None = None, paused_at: str | None = None) -> None:
        signals: tuple[Signal, ...] = ()
        if self._port is not None:
            signals = tuple(self._port.signals)
            self._port.signals.clear()
        if error is None and paused_at is None and call[0] != NEW:
            error = nonsense(self._component, call[0], value, signals)
        self.happened.append(Happened(call, Outcome(None if error else value, signals, error, paused_at)))


class _Waiting:
    def __init__(self, call: Call, coroutine: CoroutineType[Any, Any, Any]) -> None:
        self.call = call
        self.coroutine = coroutine
        self.thread = Thread("", LockOrder())
        self.at: Any = None


def nonsense(component: Component, operation: str, value: Any, signals: Sequence[Any]) -> Error | None:
    """What is wrong with the type of an answer, nested values included."""
    for wanted, found, what in (
        (answer_type(getattr(component.port, operation)), value, "answered nonsense"),
        (tuple[Signal, ...], tuple(signals), "emitted nonsense"),
    ):
        try:
            msgspec.convert(msgspec.to_builtins(found), wanted)
        except (TypeError, ValueError, msgspec.ValidationError) as error:
            shown = repr(found)
            shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
            return Error(ErrorKind.CRASHED, f"it {what}: {error}, found {shown}")
    return None


def shown(what: Any) -> str:
    """A call, an outcome or a configuration as it would look on a wire."""
    try:
        text = msgspec.json.encode(what).decode()
    except (TypeError, ValueError):
        text = repr(what)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
