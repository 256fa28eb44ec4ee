"""Notices that another process takes too long for a step, or uses too much memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from conformance.driver import FailureClass
from conformance.engines.position import Reader
from conformance.ports import Limits
from conformance.system.processes import Started

TICK = 0.1
"""How often to look, in seconds."""


class Watch:
    """Watches one process, which notes its steps for `reader`."""

    def __init__(self, started: Started, reader: Reader, limits: Limits) -> None:
        self._started, self._reader, self._limits = started, reader, limits
        self._looked = -TICK
        self.begin()

    def begin(self) -> None:
        """The process begins something new, which may take as long as one step."""
        self._beats, self._since = -1, time.monotonic()

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Let no time pass for the process while the `with` block runs, which may keep it waiting."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._since += time.monotonic() - began

    def complaint(self, patience: float | None) -> tuple[str, FailureClass] | None:
        """Returns what is wrong, and its class. `patience`: the seconds that a step may take; None: no limit."""
        now = time.monotonic()
        if self._reader.beats != self._beats:
            self._beats, self._since = self._reader.beats, now
        if patience is not None and now - self._since > patience:
            return "it did not return in time", FailureClass.HUNG
        if now - self._looked >= TICK / 2:  # a process that writes without end is asked for at every part
            self._looked = now
            if self._started.memory() > self._limits.memory_mib << 20:
                return "its process used too much memory", FailureClass.CRASHED
        return None
