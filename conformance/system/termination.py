"""SIGTERM in a command ends it as Ctrl-C does.

A shell starts what runs in the background so that it ignores SIGINT, and services and builds are stopped with SIGTERM.
What a command has found by then must not be lost there.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM do what SIGINT does at that moment, or raise KeyboardInterrupt if SIGINT is ignored.

    As long as the `with` block runs, and unless somebody else has a use for SIGTERM.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> None:
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.SIG_DFL:  # the next Ctrl-C ends the process, whatever runs in it
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    if not callable(interrupts):
        raise KeyboardInterrupt
    interrupts(signal.SIGINT, frame)
