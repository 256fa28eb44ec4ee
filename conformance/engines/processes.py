"""Calls a function for many arguments, in this process or in several.

The processes end with this one, even if it is killed, and Ctrl-C does not reach them: this process decides what becomes
of what they are doing.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from conformance.engines.interruption import NEVER, Interruption, Unfinished
from conformance.engines.watch import TICK
from conformance.system.garbage import spare_what_is_loaded
from conformance.system.supervisor import end_with_parent

T = TypeVar("T")
Mapping = Callable[[Callable[..., T], Iterable[tuple[Any, ...]]], Iterator[T | None]]


@contextmanager
def mapping(processes: int, interruption: Interruption = NEVER) -> Iterator[Mapping[Any]]:
    """Yields a `map` that keeps the order and may use several processes, which are started fresh and not forked.

    The function gets an interruption as its last argument. After an interruption, the results that are not there yet
    are None.
    """
    if processes <= 1:
        yield lambda function, arguments: _one_by_one(function, arguments, interruption)
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(os.getpid(),),
    )
    whole = False
    try:
        yield lambda function, arguments: _at_once(pool, function, arguments, interruption)
        whole = not interruption.requested
    finally:
        if not whole:  # what they are doing may take minutes, and nobody waits for it any more
            for child in set(multiprocessing.active_children()) - others:
                child.kill()
        pool.shutdown(cancel_futures=True)


def _begin(driver: int) -> None:
    """Prepare a new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    if os.getppid() != driver:  # it has ended before this process could say that it wants to know
        os._exit(0)
    spare_what_is_loaded()


def _one_by_one(
    function: Callable[..., T], arguments: Iterable[tuple[Any, ...]], interruption: Interruption
) -> Iterator[T | None]:
    for one in arguments:
        try:
            yield None if interruption.requested else function(*one, interruption)
        except Unfinished:
            yield None


def _at_once(
    pool: ProcessPoolExecutor,
    function: Callable[..., T],
    arguments: Iterable[tuple[Any, ...]],
    interruption: Interruption,
) -> Iterator[T | None]:
    futures: list[Future[T]] = [pool.submit(function, *one, NEVER) for one in arguments]
    for future in futures:
        while not (future.done() or interruption.requested):
            wait((future,), TICK)
        yield future.result() if future.done() else None
