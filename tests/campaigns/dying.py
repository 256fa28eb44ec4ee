"""Implementations that end the process they run in. Every process that runs a block finds them by name."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from conformance.ports import PortError
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.network.deque import Deque
from reference_impl.state.persister import Persister
from tests.implementations import with_parts

MARK = "CONFORMANCE_TEST_MARK"
"""The environment variable that names a file. If the file does not exist, `once` makes it and ends its process."""


class DiesInDeque(Reference):
    def _deque(self, config: Any) -> Any:
        os._exit(9)


class ExitsInDeque(Reference):
    def _deque(self, config: Any) -> Any:
        sys.exit("enough")


def in_deque() -> Reference:
    return DiesInDeque("dies", PUSHED)


def exits() -> Reference:
    return ExitsInDeque("exits", PUSHED)


class WritesInDeque(Reference):
    def _deque(self, config: Any) -> Any:
        os.write(1, b'{"verdict":"\xff"}')
        return super()._deque(config)


def writes() -> Reference:
    """Writes to stdout, past Python."""
    return WritesInDeque("writes", PUSHED)


class KilledOnce(Reference):
    def _deque(self, config: Any) -> Any:
        mark = Path(os.environ[MARK])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._deque(config)


def once() -> Reference:
    """Killed in one scenario, as by an operating system that needs memory."""
    return KilledOnce("once", PUSHED)


class DiesOfBarriers(Persister):
    """The process ends with a late checkpoint."""

    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        super().start(checkpoint, known)
        if 15 <= checkpoint < 1_000:
            os._exit(9)


def at_a_late_checkpoint() -> Reference:
    """Two or three of a few dozen scenarios come to this checkpoint."""
    made = with_parts("poison", persister=DiesOfBarriers)
    made.name = "poison"
    return made


class HangsInItems(Deque):
    def items(self) -> tuple[int, ...]:
        while True:
            pass


def hanging() -> Reference:
    made = with_parts("hanging", deque=HangsInItems)
    made.name = "hanging"
    return made


class SwallowsInItems(Deque):
    def items(self) -> tuple[int, ...]:
        while True:
            try:
                while True:
                    pass
            except PortError:
                continue


class LeaksInItems(Deque):
    def items(self) -> tuple[int, ...]:
        kept = []
        while True:
            kept.append(bytearray(50 << 20))


def swallowing() -> Reference:
    return with_parts("swallowing", deque=SwallowsInItems)


def leaking() -> Reference:
    return with_parts("leaking", deque=LeaksInItems)
