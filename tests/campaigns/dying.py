"""Implementations that end the process they run in. Found by name, in whichever process a block is run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from conformance.ports import DequePort
from reference_impl.deque import ReferenceDeque
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference

MARK = "CONFORMANCE_TEST_MARK"
"""The environment variable that names a file: `once` dies as long as it does not exist, and makes it."""
FATAL_HANDLE = 15


class DiesLate(ReferenceDeque):
    """Dies in long scenarios only; in the others it forgets, now and then, what was removed."""

    def remove(self, handle: int) -> None:
        if handle >= FATAL_HANDLE:
            os._exit(9)
        if handle != 3:
            super().remove(handle)


class Exits(ReferenceDeque):
    def poll(self) -> int | None:
        sys.exit("enough")


def _with_deque(part: type[DequePort]) -> Reference:
    return type("Dying", (Reference,), {"deque_class": part})("dying", PUSHED)


def late() -> Reference:
    return _with_deque(DiesLate)


def exits() -> Reference:
    return _with_deque(Exits)


def once() -> Reference:
    mark = Path(os.environ[MARK])
    if not mark.exists():
        mark.touch()
        os._exit(9)
    return Reference("once", PUSHED)
