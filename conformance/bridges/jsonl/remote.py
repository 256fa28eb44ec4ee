"""Ports whose operations are performed by another program. Their classes are generated from the abstract ports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, TypeAlias, cast

import msgspec

from conformance.bridges.jsonl.process import shortened
from conformance.bridges.jsonl.protocol import Call, Resume, StrictOutcome
from conformance.bridges.jsonl.strict import has_objects, strict
from conformance.ports import (
    DequePort,
    Error,
    ErrorKind,
    FaultStruck,
    FilterPort,
    Interface,
    Outcome,
    PersisterPort,
    Port,
    PortError,
)
from conformance.ports.implementation import NEW
from conformance.ports.signatures import answer_type, operand_types, operations
from conformance.scheduling import Waitable

Ask: TypeAlias = Callable[["RemotePort", Call | Resume], StrictOutcome]
"""Sends a call of a port, or a `Resume`, and returns the outcome."""
SILENT = frozenset({DequePort, PersisterPort, FilterPort})
"""The components that signal nothing, as their chapters say, but that a fault has struck if they have faults."""


class RemotePort(Port):
    """The base of the generated port classes of all components."""

    _ask: Ask
    _waiting: set[int]
    """Tokens of operations that wait in the program."""
    _ready: set[int]
    """Those of them that the program has listed as ready."""


class Blocked(Waitable):
    """An operation waits in the program. The suite does not know for what, only when it is ready to continue."""

    __slots__ = ("_port", "_token")

    def __init__(self, port: RemotePort, token: int, operation: str) -> None:
        super().__init__(f"in {operation}")
        self._port = port
        self._token = token

    def ready(self) -> bool:
        return self._token in self._port._ready


@cache
def remote_class(interface: Interface) -> type[RemotePort]:
    """The port class of a component; each of its methods sends a call to the program."""
    port = interface.port
    methods = {name: _method(name, answer) for name, answer in answers(interface).items()}
    return cast(type[RemotePort], type(f"Remote{port.__name__}", (RemotePort, port), methods))


def remote_port(interface: Interface, ask: Ask) -> RemotePort:
    """A port of a component, which sends its calls with `ask`."""
    port = remote_class(interface)()
    port._ask = ask
    port._waiting = set()
    port._ready = set()
    return port


@cache
def answers(interface: Interface) -> dict[str, Any]:
    """The type of the value that each operation of a component returns."""
    port = interface.port
    return {name: answer_type(getattr(port, name)) for name in sorted(operations(port))}


@cache
def operands(interface: Interface) -> dict[str, tuple[Any, ...]]:
    """The types of the operands of each operation of a component, in their order."""
    port = interface.port
    return {name: tuple(operand_types(getattr(port, name)).values()) for name in sorted(operations(port))}


def convert_outcomes(
    interface: Interface, calls: Sequence[Sequence[Any]], outcomes: Sequence[StrictOutcome]
) -> list[Outcome]:
    """The outcomes of a scenario, with values of the types of the port, as in a stepwise run.

    A value of another type becomes an error of kind CRASHED, as in a stepwise run.

    Raises: PortError PROTOCOL if an operation waits, since all later outcomes depend on when the driver resumes it.
    """
    for call, outcome in zip(calls, outcomes, strict=True):
        if outcome.blocked is not None:
            raise PortError(ErrorKind.PROTOCOL, f"{call[0]!r} waits: the scenario must be run step by step")
    types = {**answers(interface), NEW: None}
    return [
        _convert_outcome(interface.port, call[0], types[call[0]], one)
        for call, one in zip(calls, outcomes, strict=True)
    ]


def _convert_outcome(port: type[Port], name: str, answer: Any, outcome: StrictOutcome) -> Outcome:
    try:
        _check_signals(port, name, outcome)
        _check_ready(name, outcome, waiting=(), ready=())  # no operation of this scenario waits
        if outcome.error is not None:
            return Outcome(None, outcome.signals, outcome.error)
        value = _convert(name, answer, outcome.value)
    except PortError as error:
        return Outcome(None, outcome.signals, Error(error.kind, error.reason))
    return Outcome(value, outcome.signals)


def _method(name: str, answer: Any) -> Callable[..., Any]:
    def method(self: RemotePort, *arguments: Any) -> Any:
        outcome = self._ask(self, Call((name, *arguments)))
        if outcome.blocked is not None:
            _wait(self, name, outcome.blocked)
            return _waiting(self, name, answer, outcome)
        return _answered(self, name, answer, outcome)

    method.__name__ = name
    return method


async def _waiting(port: RemotePort, name: str, answer: Any, outcome: StrictOutcome) -> Any:
    """Resumes an operation that waits in the program, until it waits no longer."""
    while (token := outcome.blocked) is not None:
        _hear(port, name, outcome)
        await Blocked(port, token, name)
        port._ready.discard(token)
        port._waiting.discard(token)
        outcome = port._ask(port, Resume(token))
        if outcome.blocked is not None:
            _wait(port, name, outcome.blocked)
    return _answered(port, name, answer, outcome)


def _answered(port: RemotePort, name: str, answer: Any, outcome: StrictOutcome) -> Any:
    _hear(port, name, outcome)
    error = outcome.error
    if error is not None:
        raise PortError(error.kind, error.reason, error.checkpoint_reason)
    return _convert(name, answer, outcome.value)


def _wait(port: RemotePort, name: str, token: int) -> None:
    if token in port._waiting:
        raise _nonsense(name, f"it waits with the token {token}, with which another operation waits")
    port._waiting.add(token)


def _hear(port: RemotePort, name: str, outcome: StrictOutcome) -> None:
    _check_signals(type(port), name, outcome)
    _check_ready(name, outcome, port._waiting, port._ready)
    port._ready.update(outcome.ready)
    for signal in outcome.signals:
        port.emit(signal)


def _check_signals(port: type[Port], name: str, outcome: StrictOutcome) -> None:
    """Raises: PortError CRASHED if a component signals something that signals nothing."""
    if outcome.signals and not SILENT.isdisjoint(port.__mro__):
        for signal in outcome.signals:
            if not (port.can_fail and isinstance(signal, FaultStruck)):
                raise _nonsense(name, f"no operation of this component signals {msgspec.to_builtins(signal)['type']}")


def _check_ready(name: str, outcome: StrictOutcome, waiting: Collection[int], ready: Collection[int]) -> None:
    """Raises: PortError CRASHED if a token is listed that no operation has, or that was listed before."""
    for number, token in enumerate(outcome.ready):
        if token not in waiting:
            raise _nonsense(name, f"it lists the token {token} as ready, and no operation waits with this token")
        if token in ready or token in outcome.ready[:number]:
            raise _nonsense(name, f"it lists the token {token} as ready, which was listed before")


def _convert(name: str, answer: Any, value: Any) -> Any:
    try:
        if (allowed := _allowed(answer)) is not None and value is not None:
            msgspec.convert(value, allowed)
        return msgspec.convert(value, answer)
    except msgspec.ValidationError as error:
        raise _nonsense(name, f"{str(error)[:200]}, found {shortened(msgspec.json.encode(value))}") from None


def _nonsense(name: str, why: str) -> PortError:
    return PortError(ErrorKind.CRASHED, f"answered nonsense to {name!r}: {why}")


@cache
def _allowed(answer: Any) -> Any:
    """Returns what a value is compared with first, so that no unknown field is ignored; None if it can have none."""
    return strict(answer) if has_objects(answer) else None
