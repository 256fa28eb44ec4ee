"""What a logical thread can wait for.

A thread gives control away where it awaits one of these, and nowhere else. None of them knows the kernel: awaiting one
hands it to whoever drives the coroutine, so that a component built from them needs no registration and runs under any
driver.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Generic, TypeVar

from conformance.scheduling.thread import Thread

T = TypeVar("T")


_NOTHING: Iterator[Any] = iter(())


class _Done:
    """Awaiting it takes no time."""

    __slots__ = ()

    def __await__(self) -> Any:
        return _NOTHING


_DONE = _Done()


class Waitable:
    """Something a thread pauses at. `name` says in reports, and in scenarios, where that is."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __await__(self) -> Generator[Waitable, None, None]:
        yield self

    def ready(self) -> bool:
        """May a thread that pauses here go on?"""
        return True

    def grant(self, thread: Thread) -> None:
        """It goes on."""

    def holders(self) -> tuple[Thread, ...]:
        """The threads of which one must act before this is ready; empty if nobody in particular must."""
        return ()


class Pause(Waitable):
    """A place outside all locks where others may act in between, as a volatile read or a call-back is in Java."""

    __slots__ = ()


class Lock(Waitable):
    """A mutual exclusion: `async with lock`. Not reentrant: a thread that takes it twice waits for itself.

    `kind` names all locks that play the same part ("channel lock"), for rules that hold between kinds. Locks of one
    kind may be taken one inside the other only in the order of their `rank`, if they have one.
    """

    __slots__ = ("kind", "owner", "rank")

    def __init__(self, name: str, kind: str = "", rank: int | None = None) -> None:
        self.name = name
        self.kind = kind or name
        self.rank = rank
        self.owner: Thread | None = None

    def __aenter__(self) -> Lock:
        return self

    def __aexit__(self, *exc: object) -> _Done:
        self.release()
        return _DONE

    def ready(self) -> bool:
        return self.owner is None

    def grant(self, thread: Thread) -> None:
        held = thread.held
        if held:
            thread.order.taken(thread, self)
        self.owner = thread
        held.append(self)

    def release(self) -> None:
        """Give it back, for its owner: a thread that is closed while it is paused does not run."""
        owner = self.owner
        if owner is not None:
            self.owner = None
            held = owner.held
            if held[-1] is self:  # in all but a few cases
                held.pop()
            else:
                held.remove(self)

    def holders(self) -> tuple[Thread, ...]:
        return () if self.owner is None else (self.owner,)


class Future(Waitable):
    """Something that happens once."""

    __slots__ = ("done",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False

    def ready(self) -> bool:
        return self.done

    def complete(self) -> None:
        """It happened. Idempotent."""
        self.done = True


class Condition:
    """A condition of a lock, as a Java monitor has: waiting lets the lock go, and takes it again."""

    __slots__ = ("lock", "name", "waiting")

    def __init__(self, name: str, lock: Lock) -> None:
        self.name = name
        self.lock = lock
        self.waiting: list[Future] = []

    async def wait(self) -> None:
        """Wait until notified. The caller holds the lock, and holds it again afterwards.

        What it waited for may be gone by then: check it again in a loop.
        """
        turn = Future(self.name)
        self.waiting.append(turn)
        self.lock.release()
        try:
            await turn
        finally:
            if turn in self.waiting:
                self.waiting.remove(turn)
        await self.lock

    def notify(self) -> None:
        """Wake the thread that waits longest, if any does."""
        if self.waiting:
            self.waiting.pop(0).complete()

    def notify_all(self) -> None:
        """Wake all that wait now."""
        while self.waiting:
            self.notify()


class Pool(Waitable):
    """A bounded number of permits: `await pool` takes one, `give_back` returns one.

    As long as a permit is in the hands of the thread that took it, that thread is known to be a holder; once it was
    `passed_on`, into a queue say, anybody may return it.
    """

    __slots__ = ("borrowers", "free", "size")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = self.free = size
        self.borrowers: list[Thread] = []

    def ready(self) -> bool:
        return self.free > 0

    def grant(self, thread: Thread) -> None:
        self.free -= 1
        self.borrowers.append(thread)

    def passed_on(self) -> None:
        """The permit taken last is no longer in the hands of its borrower."""
        self.borrowers.pop()

    def give_back(self) -> None:
        """One permit that was passed on is free again."""
        self.free += 1

    def holders(self) -> tuple[Thread, ...]:
        return tuple(self.borrowers) if len(self.borrowers) == self.size else ()


class Mailbox(Waitable, Generic[T]):
    """Mails in the order put in: `await mailbox` until there is one, or it is closed, then `take`."""

    __slots__ = ("closed", "mails")

    def __init__(self, name: str) -> None:
        self.name = name
        self.mails: list[T] = []
        self.closed = False

    def ready(self) -> bool:
        return self.closed or bool(self.mails)

    def put(self, mail: T) -> bool:
        """Whether it was accepted: a closed mailbox takes none."""
        if not self.closed:
            self.mails.append(mail)
        return not self.closed

    def take(self) -> T | None:
        """The oldest mail; None if there is none."""
        return self.mails.pop(0) if self.mails else None

    def close(self) -> list[T]:
        """Take no more; answers the mails that nobody will read."""
        left, self.mails, self.closed = self.mails, [], True
        return left
