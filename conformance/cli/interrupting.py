"""Ctrl-C in a long command: the first one ends the search and keeps what it has found, the second one ends the command.

The handler of the signal does nothing but request an `Interruption`, at which the engines look between two scenarios.
So nothing is torn off in the middle, and the command then concludes as it always does.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from conformance.cli.options import say
from conformance.engines.interruption import OnRequest


@contextmanager
def interruptible(quiet: bool = False) -> Iterator[OnRequest]:
    """Yield an interruption that the first Ctrl-C requests while the `with` block runs, which says so if not `quiet`.

    The next one raises KeyboardInterrupt, and one after that ends the process, whatever runs in it.
    """
    interruption = OnRequest()
    if threading.current_thread() is not threading.main_thread():
        yield interruption  # signals arrive in the main thread only
        return

    def again(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    def first(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, again)
        interruption.request()
        with suppress(RuntimeError):  # the signal has come while something was being printed
            if not quiet:
                say("interrupted; what was found so far follows. Ctrl-C again ends the command at once.")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
