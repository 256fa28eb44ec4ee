"""Interrupts a scenario that hangs. No other verdict depends on a clock.

A scenario takes milliseconds, so one that takes minutes hangs on any machine. The finding does not contain the limit,
so that it is the same for every limit.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from conformance.ports import ErrorKind, PortError

GRACE_SECONDS = 5.0
"""How long a scenario may go on after it was interrupted, until its process is ended."""


def hung() -> PortError:
    """Returns the error of an operation that hangs, as if the implementation raised it."""
    return PortError(ErrorKind.HUNG, "the operation did not end")


@contextmanager
def limited(seconds: float, error: Callable[[], BaseException] = hung) -> Iterator[None]:
    """Raise the error in the `with` block after this many seconds, once.

    Only the main thread can be interrupted, on a system with interval timers. Elsewhere there is no limit.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise error()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
