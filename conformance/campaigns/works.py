"""Works that depend on nothing but themselves, so that a runner may do them anywhere and in any order.

A *function* makes the result of a work: of a failure a finding, of a known bug and a seed what a search for it came
to. Both are plain data, as the function is, and the result is the same in whatever process it is made and whatever was
done there before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from conformance.campaigns.names import Names

Work = TypeVar("Work")
Result = TypeVar("Result")
Asked = TypeVar("Asked", contravariant=True)
Made = TypeVar("Made", covariant=True)

Keep = Callable[[Work, Result], None]
"""Keeps the result of a work. It is called by the driver, in any order of works."""


class Function(Protocol[Asked, Made]):
    """Makes results. It is a struct that JSON can hold, so that every process can have it."""

    def ready(self, names: Names) -> AbstractContextManager[Callable[[Asked], Made]]:
        """Return what makes the result of a work in this process; what it has loaded ends with the `with` block.

        What it raises ends the campaign, as UnusableImplementation and NotWritten do.
        """

    def given_up(self, work: Asked, why: str | None, names: Names) -> Made:
        """Return the result of a work that cannot be done. `why`: None if its process died each time."""

    def read(self, work: Asked, data: bytes, names: Names) -> Made:
        """Return the result of a work of which this is the JSON."""

    def about(self, work: Asked) -> str:
        """Return what a work is about, in a few words."""
