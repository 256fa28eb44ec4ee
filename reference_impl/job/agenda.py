"""Which threads of a job have something to do. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from conformance.ports import ErrorKind, PortError, ThreadWoken, Turn
from conformance.scheduling import Lock, Waitable

from ..network.listener import Listens

Going: TypeAlias = Coroutine[Any, Any, bool]
"""A piece of work that was begun. It returns whether there was anything to do."""
Work: TypeAlias = Callable[[], bool | Going]
"""Begins a piece of work of a thread. Returns whether there was any, or what is still to be done."""
More: TypeAlias = Callable[[], bool]
"""Returns whether a thread that has worked has more to do."""

ACTED, WAITS = Turn.ACTED, Turn.WAITS
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Agenda:
    """Who makes work for a thread wakes it. Nobody asks a thread that waits."""

    __slots__ = ("able", "listener", "signals", "waiting", "work")

    def __init__(self, listener: Listens) -> None:
        self.listener = listener
        self.work: dict[str, tuple[Work, More] | None] = {}
        """By name of a thread, its work; None: what it would work for is not there."""
        self.signals: dict[str, ThreadWoken] = {}
        """By thread, what is signalled when it is woken."""
        self.able: dict[str, None] = {}
        """Able: the threads that were woken since they took up their last piece of work, in this order."""
        self.waiting: dict[str, tuple[Going, Waitable]] = {}
        """Waiting: by thread in the middle of a piece of work, what it waits for."""

    def add(self, thread: str, work: Work | None = None, more: More | None = None) -> None:
        """I-22. A thread of the job."""
        self.work[thread] = None if work is None or more is None else (work, more)
        self.signals[thread] = ThreadWoken(thread)

    def replace(self, thread: str, work: Work, more: More) -> None:
        """I-22. The thread works for somebody else now."""
        self.work[thread] = work, more

    def assign(self, thread: str, work: Work, more: More) -> None:
        """I-22. The thread works for somebody else now, and has something to do."""
        self.replace(thread, work, more)
        self.wake(thread)

    def wake(self, thread: str) -> None:
        """I-22. There is something to do for the thread."""
        if thread not in self.able:
            self.able[thread] = None
            self.listener.emit(self.signals[thread])

    def turn(self, thread: str) -> Turn:
        """I-22. A thread works, or goes on, until it is done or must wait. It is woken again if there is more to do.
        It meets no other thread meanwhile, so that its locks are free."""
        goes_on, piece = self.take_up(thread)
        if type(piece) is not bool:
            try:
                while (at := piece.send(None)).ready():
                    pass
            except StopIteration as end:
                return self.ended(thread, goes_on, end.value)
            self.waiting[thread] = piece, at
            return WAITS
        return self.ended(thread, goes_on, piece)

    async def turn_finely(self, thread: str) -> Turn:
        """I-22. As `turn`, but others can work wherever the thread awaits something."""
        goes_on, piece = self.take_up(thread)
        if type(piece) is not bool:
            try:
                while type(at := piece.send(None)) is Lock or at.ready():
                    await at
            except StopIteration as end:
                return self.ended(thread, goes_on, end.value)
            self.waiting[thread] = piece, at
            return WAITS
        return self.ended(thread, goes_on, piece)

    def take_up(self, thread: str) -> tuple[bool, bool | Going]:
        """I-22. Begin a piece of work, or go on with one. Returns whether it goes on, and the piece. Raises: PortError
        ARGUMENT."""
        if thread not in self.work:
            raise PortError(ErrorKind.ARGUMENT, f"there is no thread {thread!r}")
        self.able.pop(thread, None)
        if thread in self.waiting:
            going, at = self.waiting[thread]
            if not at.ready():  # it was named for what it will do next
                return False, False
            del self.waiting[thread]
            return True, going
        work = self.work[thread]
        return False, work is not None and work[0]()

    def ended(self, thread: str, went_on: bool, acted: bool) -> Turn:
        """I-22. A piece of work is done."""
        if acted or went_on:
            work = self.work[thread]
            if work is not None and work[1]():
                self.wake(thread)
        return ACTED if acted else WAITS

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
