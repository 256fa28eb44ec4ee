"""Ports whose operations are performed elsewhere, made from the abstract interface, which they cannot differ from."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from typing import Any, TypeAlias, cast, get_args, get_origin, get_type_hints

import msgspec

from conformance.bridges.jsonl.process import shortened
from conformance.ports import DequePort, Error, ErrorKind, Outcome, Port, PortError, SubpartitionPort
from conformance.ports.implementation import NEW

Ask: TypeAlias = Callable[["RemotePort", tuple[Any, ...]], Outcome]
"""Performs one call of a port elsewhere."""

PORTS: dict[str, type[Port]] = {
    "deque": DequePort,  # type: ignore[type-abstract]  # nobody makes one of these two
    "subpartition": SubpartitionPort,  # type: ignore[type-abstract]
}
"""The components that can be spoken of over a wire."""


class RemotePort(Port):
    """What the ports of all components share here."""

    _ask: Ask


@cache
def remote_class(component: str) -> type[RemotePort]:
    """The port class of a component, each abstract method of which is a call elsewhere."""
    interface = PORTS[component]
    methods = {name: _method(name, answer) for name, answer in answers(component).items()}
    return cast(type[RemotePort], type(f"Remote{interface.__name__}", (RemotePort, interface), methods))


def remote_port(component: str, ask: Ask) -> RemotePort:
    """A port of a component, which asks `ask`."""
    port = remote_class(component)()
    port._ask = ask
    return port


@cache
def answers(component: str) -> dict[str, Any]:
    """The type of the value that each operation of a component answers."""
    interface = PORTS[component]
    return {name: _answer_type(getattr(interface, name)) for name in sorted(interface.__abstractmethods__)}


def convert_outcomes(component: str, calls: Sequence[Sequence[Any]], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of a scenario, with the values of a stepwise run. Nonsense becomes an error, as it does there."""
    types = {**answers(component), NEW: None}
    return [_convert_outcome(call[0], types[call[0]], one) for call, one in zip(calls, outcomes, strict=True)]


def _convert_outcome(name: str, answer: Any, outcome: Outcome) -> Outcome:
    if outcome.error is not None:
        return Outcome(None, outcome.signals, outcome.error)
    try:
        value = _convert(name, answer, outcome.value)
    except PortError as error:
        return Outcome(None, outcome.signals, Error(error.kind, error.reason))
    return Outcome(value, outcome.signals)


def _method(name: str, answer: Any) -> Callable[..., Any]:
    def method(self: RemotePort, *arguments: Any) -> Any:
        outcome = self._ask(self, (name, *arguments))
        for signal in outcome.signals:
            self.emit(signal)
        error = outcome.error
        if error is not None:
            raise PortError(error.kind, error.reason, error.checkpoint_reason)
        return _convert(name, answer, outcome.value)

    method.__name__ = name
    return method


def _convert(name: str, answer: Any, value: Any) -> Any:
    try:
        return msgspec.convert(value, answer)
    except msgspec.ValidationError as error:
        found = shortened(msgspec.json.encode(value))
        raise PortError(
            ErrorKind.CRASHED, f"answered nonsense to {name!r}: {str(error)[:200]}, found {found}"
        ) from None


def _answer_type(method: Callable[..., Any]) -> Any:
    """What T is in the `Answer[T]` that a port method returns: what its coroutine would return."""
    for variant in get_args(get_type_hints(method)["return"]):
        if get_origin(variant) is Coroutine:
            return get_args(variant)[2]
    raise TypeError(f"{method.__qualname__} does not return an Answer")
