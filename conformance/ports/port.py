"""What all component ports have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, Self, TypeAlias, TypeVar

from msgspec import Struct

from conformance.ports.outcomes import Signal

T = TypeVar("T")

Answer: TypeAlias = T | Coroutine[Any, Any, T]
"""An operation answers at once, or is a coroutine: both `def` and `async def` override a port method."""


class Resources(Struct, frozen=True):
    """What a component holds right now, as counts; `None` says that it cannot tell."""

    segments: int | None = None
    """Memory segments taken from a pool and not yet given back."""
    heap: int | None = None
    """Unpooled segments."""
    files: int | None = None
    """Files on disk plus open file handles."""
    listeners: int | None = None
    """Registered call-backs, views included."""
    futures: int | None = None
    """Futures somebody may be waiting for that are neither completed nor failed."""


class Port(ABC):
    """One component of an implementation under test.

    No port owns a thread, a clock or a random source. What would be a call-back is emitted as a signal; the driver
    reads `signals` after each operation and empties it.
    """

    signals: list[Signal]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Gives every port its `signals`, whether or not a subclass calls `super().__init__`."""
        port = super().__new__(cls)
        port.signals = []
        return port

    def emit(self, signal: Signal) -> None:
        """Tell whoever listens to this component."""
        self.signals.append(signal)

    @abstractmethod
    def resources(self) -> Answer[Resources]:
        """What is held right now. Allowed in every state, also after `release`."""

    @abstractmethod
    def release(self) -> Answer[None]:
        """Give everything back, at any moment. Idempotent."""
