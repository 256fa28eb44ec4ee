"""What does not end is ended, where that is possible: the only clock that decides anything.

A scenario takes milliseconds. One that takes minutes hangs, on any machine; which limit it ran into is no part of what
is reported.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from conformance.ports import ErrorKind, PortError


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Whatever runs within raises a PortError HUNG after so many seconds: to the suite, the implementation did.

    Only the main thread of a process on a system with timers can be interrupted; elsewhere nothing is limited.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: FrameType | None) -> None:
    raise PortError(ErrorKind.HUNG, "it did not come to an end")
