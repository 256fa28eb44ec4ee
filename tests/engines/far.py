"""An implementation that takes whole scenarios in one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.driver import as_error
from conformance.ports import Capability, Implementation, Outcome, find_implementation
from conformance.ports.implementation import Call


class FarAway(Implementation):
    """Another implementation, asked in whole scenarios; counts the messages of both kinds."""

    name = "far-away"

    def __init__(self, near: str, component: str = "subpartition") -> None:
        self.near = find_implementation(near)
        self.component = component
        self.messages = self.ports = 0

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.near.capabilities

    def components(self):
        def make(config: Any) -> Any:
            self.ports += 1
            return self.near.components()[self.component](config)

        return {self.component: make}

    @property
    def batch(self):
        return self._batch

    def _batch(self, component: str, config: Any, calls: Sequence[Call]) -> list[Outcome]:
        self.messages += 1
        factory = self.near.components()[component]
        port: Any = None
        outcomes = []
        for name, *arguments in calls:
            value, error = None, None
            try:
                if name == "new":
                    port = factory(*arguments)
                else:
                    value = getattr(port, name)(*arguments)
            except Exception as raised:
                error = as_error(raised)
            outcomes.append(Outcome(value, tuple(port.signals), error))
            port.signals.clear()
        return outcomes
