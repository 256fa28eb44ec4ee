"""Implementations that press Ctrl-C themselves, so that a test knows exactly when it was pressed.

They have a known bug, which is found before.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any

from conformance.ports import Capability, Implementation, KnownBug, LegalVariant, find_implementation
from conformance.ports.implementation import Factory
from conformance.system.processes import MARK

BUG = "known-bug:B-88"
RUNS = 400
"""Ctrl-C is pressed when so many ports were made."""


def driver() -> int:
    """The process that has started this one; its parent may be a process that supervises it."""
    return int(os.environ[MARK].rpartition(":")[2].partition(".")[0])


class Pressing(Implementation):
    """Presses Ctrl-C a number of times, in this process or in the one that has started this one."""

    name = "pressing"

    def __init__(self, times: int, parent: bool = False, runs: int = RUNS) -> None:
        self._when = runs
        self._times = times
        self._driver = driver() if parent else os.getpid()
        self._buggy = find_implementation(BUG)
        self._runs = 0

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._buggy.capabilities

    def components(self) -> Mapping[str, Factory]:
        return {name: self._counting(factory) for name, factory in self._buggy.components().items()}

    def _counting(self, factory: Factory) -> Factory:
        def make(config: Any) -> Any:
            self._runs += 1
            if self._runs == self._when:
                for _ in range(self._times):
                    os.kill(self._driver, signal.SIGINT)
            return factory(config)

        return make


def once() -> Pressing:
    return Pressing(1)


def late() -> Pressing:
    return Pressing(1, runs=10 * RUNS)


def twice() -> Pressing:
    return Pressing(2)


def once_from_a_worker() -> Pressing:
    return Pressing(1, parent=True)


def _usual() -> Implementation:
    return find_implementation("reference")


def _deaf() -> Implementation:
    """The reference with a bug. Building it waits until Ctrl-C has gone to the driver and come back from it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.kill(driver(), signal.SIGINT)
    signal.sigwait({signal.SIGINT})
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.raise_signal(signal.SIGINT)
    return find_implementation("known-bug:B-D1")


PRESSES_WHEN_BUILT = KnownBug("X-CTRL", "own", "deque", "a-poll-takes-the-head", "Nothing is wrong.", _deaf)
VARIANT = LegalVariant("X-CTRL", "deque", "FD1", "It presses Ctrl-C.", _deaf, _usual)
