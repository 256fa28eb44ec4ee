"""The calls of an implementation of others, and the rules of a component of others, which are checked for exact types.

What the suite itself implements or declares needs no check: the type checker reads it, and a decoder makes the results
of programs. So the loop of a search has nothing in it that only strangers need.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from types import CoroutineType
from typing import Any

from conformance.driver.judgement import Broken, Unsure
from conformance.driver.rule import Property
from conformance.driver.step import AnyStep
from conformance.ports import ErrorKind, Port, PortError, Signal
from conformance.ports.exact import are_signals, complaint_of_signals, exact


def checked(kind: AnyStep) -> Callable[..., Any]:
    """Returns the call of a kind of step, which fails with an error of kind CRASHED if the result or a signal, or a
    value inside one of them, has not exactly the type that the interface says."""
    call, is_right = kind.call, exact(kind.answers)
    plain = is_right.plain

    def perform(port: Port, ledger: Any, *operands: Any) -> Any:
        value = call(port, ledger, *operands)
        if type(value) is CoroutineType:
            return to_its_end(port, value)
        if type(value) not in plain and not is_right(value):
            raise PortError(ErrorKind.CRASHED, is_right.complaint(value))
        signals = port.signals
        if (signals or type(signals) is not list) and not are_signals(signals):
            raise PortError(ErrorKind.CRASHED, complaint_of_signals(signals))
        return value

    async def to_its_end(port: Port, operation: Coroutine[Any, Any, Any]) -> Any:
        value = await operation
        if not is_right(value):
            raise PortError(ErrorKind.CRASHED, is_right.complaint(value))
        signals_of(port)
        return value

    return perform


def signals_of(port: Port) -> list[Signal]:
    """Returns what a port has emitted. Raises: PortError of kind CRASHED if that is no list of signals."""
    signals = port.signals
    if not are_signals(signals):
        raise PortError(ErrorKind.CRASHED, complaint_of_signals(signals))
    return signals


_JUDGEMENTS = (bool, Broken, Unsure)


def judged(one: Property) -> Property:
    """Returns the property with a check that raises TypeError if it returns no judgement: a rule that returns nothing
    by mistake would look like one that is never put to the test."""

    def check(ledger: Any, seen: Any) -> Any:
        judgement = one.check(ledger, seen)
        if type(judgement) not in _JUDGEMENTS:
            raise TypeError(
                f"the rule {one.slug} of {one.component} returned {judgement!r}, which is no judgement: a rule must "
                "return True, False, Broken or Unsure, and a goal True or False"
            )
        return judgement

    return replace(one, check=check)
