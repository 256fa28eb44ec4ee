"""Scenarios as lists of calls, which are drawn on the reference, performed on any implementation, and not judged.

The outcomes only show whether an operation returns what its interface allows, and whether the same calls have the
same outcomes again. Searches find what breaks a property.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CoroutineType
from typing import Any, NamedTuple

from conformance.driver import Component, Program, as_error
from conformance.engines.batch import generator_of, noting
from conformance.engines.search import Search, seeds
from conformance.ports import Capability, Error, ErrorKind, Implementation, Outcome, PortError, Signal
from conformance.ports.exact import are_signals, complaint_of_signals, exact, shown
from conformance.ports.implementation import NEW, Call, Factory
from conformance.ports.signatures import FAULT, answer_type, operations
from conformance.scheduling import LockOrder, Thread

ENDING = frozenset({ErrorKind.CRASHED, ErrorKind.HUNG})
"""The kinds of errors after which no more calls are made to an object."""
MOST_DRAWN = 100
"""The largest number of scenarios that are drawn so that every operation occurs."""
FEWEST = 3
"""The smallest number of scenarios that are performed, even if fewer of them call every operation."""


class Happened(NamedTuple):
    """One call and its outcome. An operation that waits has a second entry when it has ended."""

    call: Call
    outcome: Outcome

    def same(self, other: Happened) -> bool:
        """Returns whether the outcomes are the same. The texts of errors are not compared."""
        return told(self.outcome) == told(other.outcome)

    @property
    def ended(self) -> bool:
        """Whether no more calls are made to the object, because this call crashed or hung."""
        return self.outcome.error is not None and self.outcome.error.kind in ENDING


def told(outcome: Outcome) -> tuple[Any, ...]:
    """Returns those parts of an outcome that are compared."""
    error = outcome.error
    failed = error and (error.kind, error.checkpoint_reason)
    return outcome.value, tuple(outcome.signals), failed, outcome.paused_at is not None


def asked_for(program: Program) -> tuple[str, ...]:
    """Returns the operations that scenarios can call on this implementation."""
    every = operations(program.component.port)
    return every if Capability.FAULTS in program.capabilities else tuple(one for one in every if one != FAULT)


def draw(program: Program) -> Iterator[tuple[Call, ...]]:
    """Yields a few scenarios, in configurations that the implementation understands, which call every operation."""
    calls: list[Call] = []
    drawing = Program(program.component, generator_of(program))
    whole = [one for one in program.configs if one.interleaving == "whole"]
    search = Search(drawing.made_by(noting(drawing.factory, calls)).within(whole))
    missing = set(asked_for(program))
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


def unsaid(what: str) -> None:
    """Nobody wants to know what is done now."""


@contextmanager
def in_use(make: Callable[[], Implementation], say: Callable[[str], None] = unsaid) -> Iterator[Implementation]:
    """Make an implementation, and close it at the end of the block. `say` is notified of it."""
    say("")  # to start may take longer than a call
    implementation = make()
    try:
        yield implementation
    finally:
        say("when it was closed")
        implementation.close()
        say("")


def perform(
    component: Component, factory: Factory, calls: Sequence[Call], say: Callable[[str], None] = unsaid
) -> list[Happened]:
    """Perform the calls in order, up to a crash or a hang. Operations that wait go on as soon as they can.

    `say` is notified of each call before it is made.
    """
    performance = _Performance(component, factory)
    try:
        for number, call in enumerate(calls):
            if say is not unsaid:  # the call is not shown for nobody
                say(f"at call {number} of a {component.name}, {shown(call)}")
            performance.call(call)
            if performance.happened[-1].ended:
                break
    finally:
        performance.abandon()
    say("")
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
            except BaseException as error:
                failed = as_error(error)  # after any error there is no port to call
                self._note(call, error=Error(ErrorKind.CRASHED, f"{failed.kind}, {failed.reason}"))
            else:
                self._note(call)
            return
        try:
            value = getattr(self._port, call[0])(*call[1:])
        except BaseException as error:
            self._note(call, error=as_error(error))
        else:
            if type(value) is CoroutineType:
                self._advance(_Waiting(call, value))
            else:
                self._note(call, value)
        self._go_on()

    def abandon(self) -> None:
        """Abandon the operations that wait."""
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
        except BaseException as error:
            self._note(one.call, error=as_error(error))
        else:
            self._waiting.append(one)
            self._note(one.call, paused_at=one.at.name)

    def _note(self, call: Call, value: Any = None, error: Error | None = None, paused_at: str | None = None) -> None:
        signals: tuple[Signal, ...] = ()
        if self._port is not None:
            try:
                emitted = self._port.signals
                if not are_signals(emitted):
                    raise PortError(ErrorKind.CRASHED, complaint_of_signals(emitted))
                signals = tuple(emitted)
                emitted.clear()
            except BaseException as failure:
                error = error or as_error(failure)
        if error is None and paused_at is None and call[0] != NEW:
            is_right = exact(answer_type(getattr(self._component.port, call[0])))
            if not is_right(value):
                error = Error(ErrorKind.CRASHED, is_right.complaint(value))
        self.happened.append(Happened(call, Outcome(None if error else value, signals, error, paused_at)))


class _Waiting:
    def __init__(self, call: Call, coroutine: CoroutineType[Any, Any, Any]) -> None:
        self.call = call
        self.coroutine = coroutine
        self.thread = Thread("", LockOrder())
        self.at: Any = None
