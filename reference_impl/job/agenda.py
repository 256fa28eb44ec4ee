"""Which threads of a job have something to do. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from conformance.ports import ErrorKind, PortError, ThreadWoken, Turn
from conformance.scheduling import Lock, Waitable

from ..network.listener import Listens

Work: TypeAlias = Callable[[], Coroutine[Any, Any, bool]]
"""A piece of work of a thread. Returns whether there was any."""
More: TypeAlias = Callable[[], bool]
"""Returns whether a thread that has worked has more to do."""

ACTED, WAITS = Turn.ACTED, Turn.WAITS
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Agenda:
    """Who makes work for a thread wakes it. Nobody asks a thread that waits."""

    __slots__ = ("able", "listener", "waiting", "work")

    def __init__(self, listener: Listens) -> None:
        self.listener = listener
        self.work: dict[str, tuple[Work, More] | None] = {}
        """By name of a thread, its work; None: what it would work for is not there."""
        self.able: dict[str, None] = {}
        """Able: the threads that were woken since they took up their last piece of work, in this order."""
        self.waiting: dict[str, tuple[Coroutine[Any, Any, bool], Waitable]] = {}
        """Waiting: by thread in the middle of a piece of work, what it waits for."""

    def add(self, thread: str, work: Work | None = None, more: More | None = None) -> None:
        """I-22. A thread of the job."""
        self.work[thread] = None if work is None or more is None else (work, more)

    def assign(self, thread: str, work: Work, more: More) -> None:
        """I-22. The thread works for somebody else now."""
        self.work[thread] = work, more
        self.wake(thread)

    def wake(self, thread: str) -> None:
        """I-22. There is something to do for the thread."""
        if thread not in self.able:
            self.able[thread] = None
            self.listener.emit(ThreadWoken(thread))

    async def turn(self, thread: str) -> Turn:
        """I-22. A thread works, or goes on, until it is done or must wait for anything but a lock. It is woken again
        if there
        is more to do."""
        if thread not in self.work:
            raise PortError(ErrorKind.ARGUMENT, f"there is no thread {thread!r}")
        self.able.pop(thread, None)
        work, waits = self.work[thread], self.waiting.pop(thread, None) if self.waiting else None
        if waits is not None:
            going, at = waits
            if not at.ready():  # it was named for what it will do next
                self.waiting[thread] = waits
                return WAITS
        elif work is not None:
            going = work[0]()
        else:
            return WAITS
        try:
            while True:
                at = going.send(None)
                if type(at) is not Lock and not at.ready():
                    self.waiting[thread] = going, at
                    return WAITS
                await at
        except StopIteration as end:
            if waits is not None or (end.value and work is not None and work[1]()):
                self.wake(thread)
            return ACTED if end.value else WAITS

    def look(self) -> None:
        """I-22. Wake the threads that need not wait any more."""
        for thread, (_, at) in self.waiting.items():
            if at.ready():
                self.wake(thread)

    def close(self) -> None:
        """I-22. No thread goes on."""
        for work, _ in self.waiting.values():
            work.close()
        self.waiting.clear()
