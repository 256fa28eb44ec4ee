"""Reads the operations of a port, their operands and their results from the abstract class."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from inspect import isabstract, isfunction, signature
from typing import Any, get_args, get_origin, get_type_hints

from conformance.ports.port import Port

FAULT = Port.fault.__name__
"""The operation that only ports have which call what can fail."""


def operations(port: type[Port]) -> tuple[str, ...]:
    """The operations of a port in the order declared; those that every port has come last.

    Only a port that calls what can fail has the operation `fault`. An operation that a port declares with a body is one
    that only some implementations are asked for.
    """
    lineage = [one for one in port.__mro__ if issubclass(one, Port) and one is not Port]
    declared = dict.fromkeys(name for one in (*reversed(lineage), Port) for name in vars(one))
    optional = {name for one in lineage if isabstract(one) for name, found in vars(one).items() if isfunction(found)}
    common = [name for name in vars(Port) if name in port.__abstractmethods__ or (name == FAULT and port.can_fail)]
    own = (name for name in declared if name in port.__abstractmethods__ or name in optional)
    return (*(name for name in own if name not in common and not name.startswith("_")), *common)


def operand_types(method: Callable[..., Any]) -> dict[str, Any]:
    """The operands of a port method by name, in their order."""
    hints = get_type_hints(method)
    return {name: hints[name] for name in signature(method).parameters if name != "self"}


def answer_type(method: Callable[..., Any]) -> Any:
    """The type T of a port method that is declared to return `Answer[T]`."""
    for variant in get_args(get_type_hints(method)["return"]):
        if get_origin(variant) is Coroutine:
            return get_args(variant)[2]
    raise TypeError(f"{method.__qualname__} does not return an Answer")
