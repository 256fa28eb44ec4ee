"""What ends an engine early without loss: somebody asked for it, and the engine looks between two scenarios.

An interruption is an argument, and it does not end a scenario that has begun. What was run until then is complete, and
is counted, reduced as far as it came, and reported as any result is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class Interruption(Protocol):
    """Somebody may ask an engine to end early. Once this was asked, it stays so."""

    @property
    def requested(self) -> bool:
        """Whether the engine should begin nothing more."""


class Unfinished(Exception):
    """An interruption has ended something that has no partial result."""


class _Never:
    requested = False


NEVER: Interruption = _Never()
"""For callers that let an engine run to its end."""


class OnRequest:
    """An interruption that `request` asks for."""

    def __init__(self) -> None:
        self.requested = False

    def request(self) -> None:
        """Ask for it. A second call does nothing."""
        self.requested = True


def until(interruption: Interruption, things: Iterable[T]) -> Iterator[T]:
    """Yields the things, until the interruption is requested or none is left."""
    for one in things:
        if interruption.requested:
            return
        yield one
