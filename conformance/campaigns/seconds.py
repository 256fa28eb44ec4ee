"""How long a block takes, and each implementation in it. Work is divided by it, and no result depends on it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Seconds(NamedTuple):
    """How long a block took."""

    whole: float = 0.0
    """With what no implementation took, as the start of a process."""
    each: Mapping[str, float] = MappingProxyType({})
    """By implementation: its scenarios and its corpus. Without those for which it is not known."""


UNKNOWN = Seconds()
"""Of a block whose time nobody has measured."""


class Watch:
    """Measures a block while it is run. It reads the clock once for each scenario of each implementation."""

    __slots__ = ("_began", "_each", "_last")

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._each: dict[str, float] = {}

    def begin(self) -> None:
        """What has passed since the last call took no implementation."""
        self._last = time.monotonic()

    def lap(self, name: str) -> None:
        """An implementation took what has passed since the last call."""
        now = time.monotonic()
        self._each[name] = self._each.get(name, 0.0) + now - self._last
        self._last = now

    def add(self, each: Mapping[str, float]) -> None:
        """Add what the watch of another process has measured for each implementation."""
        for name, seconds in each.items():
            self._each[name] = self._each.get(name, 0.0) + seconds

    def read(self) -> Seconds:
        """Return what was measured up to now."""
        return Seconds(time.monotonic() - self._began, self._each)
