"""The ports of the implementation on which relations are tried, and how their operations are called."""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import Any

from conformance.driver.turns import whole
from conformance.ports import Capability, Port
from conformance.ports.implementation import Factory


def nobody() -> None:
    """Nobody follows the calls."""


class Subject:
    """One component of one implementation."""

    def __init__(
        self, factory: Factory, capabilities: frozenset[Capability], told: Callable[[], None] = nobody
    ) -> None:
        """`told` is called before each call of the implementation."""
        self.capabilities = capabilities
        self._factory = factory
        self._told = told
        self._held: list[Port] = []

    def port(self, config: Any) -> Any:
        """Returns a fresh port, which `release_all` releases unless `release` has done so before."""
        self._told()
        port = self._factory(config)
        self._held.append(port)
        return port

    def begin(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """Calls an operation. Returns its result, or the coroutine that leads to it."""
        self._told()
        return operation(*operands)

    def call(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """Calls an operation that does not wait, and returns its result."""
        value = self.begin(operation, *operands)
        return whole(value) if type(value) is CoroutineType else value

    def release(self, port: Port) -> None:
        """Releases a port, which is not used any more."""
        self._held[:] = [one for one in self._held if one is not port]
        self.call(port.release)

    def release_all(self) -> None:
        """Releases every port that was not released yet. After an error, the others are forgotten."""
        held, self._held = self._held, []
        for port in reversed(held):
            self.call(port.release)
