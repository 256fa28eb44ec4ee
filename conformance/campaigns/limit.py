"""Interrupts a scenario that hangs. No other verdict depends on a clock.

A scenario takes milliseconds, so one that takes minutes hangs on any machine. The finding does not contain the limit,
so that it is the same for every limit. In a worker process, a scenario that goes on in spite of the interruption ends
its process.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType

from conformance.ports import ErrorKind, PortError

GRACE_SECONDS = 5.0
"""How long a scenario may go on after it was interrupted, until its process ends."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise a PortError of kind HUNG in the `with` block after this many seconds, as if the implementation raised it.

    Only the main thread can be interrupted, on a system with interval timers. Elsewhere there is no limit.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    hard = _is_worker()
    if hard:  # this needs neither the interpreter nor the consent of the code that runs
        faulthandler.dump_traceback_later(seconds + GRACE_SECONDS, exit=True, file=_nowhere())
    try:
        yield
    finally:
        if hard:
            faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_worker() -> bool:
    """Returns whether this process may be ended: it is one of a pool, or a worker of Spark."""
    return multiprocessing.parent_process() is not None or "pyspark.worker" in sys.modules


@cache
def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


def _ring(number: int, frame: FrameType | None) -> None:
    raise PortError(ErrorKind.HUNG, "the operation did not end")
