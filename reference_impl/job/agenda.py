"""Which threads of a job have something to do. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from conformance.ports import ErrorKind, PortError, ThreadWoken, Turn

from ..network.listener import Listens

Work: TypeAlias = Callable[[], Coroutine[Any, Any, bool]]
"""A piece of work of a thread. Returns whether there was any."""

ACTED, WAITS = Turn.ACTED, Turn.WAITS
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Agenda:
    """Whoever makes work for a thread wakes it. Nobody asks a thread that waits."""

    __slots__ = ("able", "listener", "waiting", "woken", "work")

    def __init__(self, listener: Listens) -> None:
        self.listener = listener
        self.work: dict[str, Work | None] = {}
        """By name of a thread, its work; None: what it would work for is not there."""
        self.able: dict[str, None] = {}
        """Able: the threads that may have something to do, in the order in which they were woken."""
        self.woken: set[str] = set()
        """Woken: the threads that were woken since they took up their last piece of work."""

    def add(self, thread: str, work: Work | None = None) -> None:
        """A thread of the job, which is asked at first."""
        self.work[thread] = work
        self.able[thread] = None

    def assign(self, thread: str, work: Work | None) -> None:
        """The thread works for somebody else now."""
        self.work[thread] = work
        self.wake(thread)

    def wake(self, thread: str) -> None:
        """There is something to do for the thread."""
        self.woken.add(thread)
        if thread not in self.able:
            self.able[thread] = None
            self.listener.emit(ThreadWoken(thread))

    async def do(self, thread: str) -> Turn:
        """The next piece of work of a thread. If it finds none and was woken meanwhile, it counts as one, too."""
        if thread not in self.work:
            raise PortError(ErrorKind.ARGUMENT, f"there is no thread {thread!r}")
        self.woken.discard(thread)
        work = self.work[thread]
        if (work is not None and await work()) or thread in self.woken:
            return ACTED
        self.able.pop(thread, None)
        return WAITS
