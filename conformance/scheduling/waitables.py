"""The things that a logical thread can wait for.

A thread pauses only where it awaits one of these. They do not know the kernel: `await` yields the object to the code
that drives the coroutine. A component that uses them therefore needs no registration and runs under any driver.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from types import coroutine
from typing import Any, Generic, TypeVar

from conformance.scheduling.thread import Thread

T = TypeVar("T")


@coroutine
def _nothing() -> Generator[Any, None, None]:
    yield from ()


_DONE = _nothing()
"""An awaitable at which no thread pauses. It has ended already, so that to await it calls nothing."""
next(_DONE, None)


class Waitable:
    """Something at which a thread can pause. Scenarios and reports show the place of the pause by its `name`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __await__(self) -> Generator[Waitable, None, None]:
        yield self

    def ready(self) -> bool:
        """Returns whether a thread that is paused here can go on."""
        return True

    def grant(self, thread: Thread) -> None:
        """Let the thread go on. A subclass notes here what the thread takes, for example the lock."""

    def holders(self) -> tuple[Thread, ...]:
        """Returns the threads of which one must act before this is ready; empty if no particular thread must."""
        return ()


class Pause(Waitable):
    """A place outside all locks where other threads can run in between, such as a volatile read in Java."""

    __slots__ = ()


class Lock(Waitable):
    """A mutual exclusion: `async with lock`. It is not reentrant: a thread that takes it twice waits for itself.

    `kind` is the name of all locks with the same role ("channel lock"), because lock orders are also compared between
    kinds. A thread may take two locks of one kind only in the order of their `rank`, and only if both have one.
    """

    __slots__ = ("kind", "owner", "rank")

    def __init__(self, name: str, kind: str = "", rank: int | None = None) -> None:
        self.name = name
        self.kind = kind or name
        self.rank = rank
        self.owner: Thread | None = None

    @coroutine
    def __aenter__(self) -> Generator[Lock, None, None]:
        yield self

    def ready(self) -> bool:
        return self.owner is None

    def grant(self, thread: Thread) -> None:
        held = thread.held
        if held:
            thread.order.taken(thread, self)
        self.owner = thread
        held.append(self)

    def release(self, *exc: object) -> Awaitable[None]:
        """Release the lock for its owner. The kernel calls this too, for a thread that it abandons.

        It is also what `async with` calls at its end, with an error if there is one, and awaits."""
        owner = self.owner
        if owner is not None:
            self.owner = None
            held = owner.held
            if held[-1] is self:  # the common case: locks are released in reverse order
                held.pop()
            else:
                held.remove(self)
        return _DONE

    __aexit__ = release

    def holders(self) -> tuple[Thread, ...]:
        return () if self.owner is None else (self.owner,)


class FreeLock(Lock):
    """A lock that is always free, for threads that pause nowhere while they hold it: to take it costs nothing."""

    __slots__ = ()

    def __aenter__(self) -> Any:
        return _DONE

    def __aexit__(self, *exc: object) -> Any:
        return _DONE


class Future(Waitable):
    """Something that happens once, and that threads can wait for."""

    __slots__ = ("done",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False

    def ready(self) -> bool:
        return self.done

    def complete(self) -> None:
        """Complete the future. A second call has no effect."""
        self.done = True


class Condition:
    """A condition of a lock, as a Java monitor has one: `wait` releases the lock, and takes it again at the end."""

    __slots__ = ("lock", "name", "waiting")

    def __init__(self, name: str, lock: Lock) -> None:
        self.name = name
        self.lock = lock
        self.waiting: list[Future] = []

    async def wait(self) -> None:
        """Wait until notified. The caller holds the lock, and holds it again afterwards.

        By then another thread may have undone what the caller waited for, so the caller checks it again in a loop.
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
        """Wake the thread that has waited longest, if any thread waits."""
        if self.waiting:
            self.waiting.pop(0).complete()

    def notify_all(self) -> None:
        """Wake all threads that wait now."""
        while self.waiting:
            self.notify()


class Pool(Waitable):
    """A bounded number of permits: `await pool` takes one, `give_back` returns one.

    The thread that took a permit is a holder until it calls `passed_on`, for example because it put the buffer into a
    queue. From then on any thread may return the permit.
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
        """Note that the thread that took a permit last is no longer a holder."""
        self.borrowers.pop()

    def give_back(self) -> None:
        """Return one permit that was passed on."""
        self.free += 1

    def holders(self) -> tuple[Thread, ...]:
        return tuple(self.borrowers) if len(self.borrowers) == self.size else ()


class Mailbox(Waitable, Generic[T]):
    """A queue of mails. `await mailbox` waits until there is a mail or the mailbox is closed; then call `take`."""

    __slots__ = ("closed", "mails")

    def __init__(self, name: str) -> None:
        self.name = name
        self.mails: list[T] = []
        self.closed = False

    def ready(self) -> bool:
        return self.closed or bool(self.mails)

    def put(self, mail: T) -> bool:
        """Add a mail. Returns whether the mailbox accepted it: a closed one does not."""
        if not self.closed:
            self.mails.append(mail)
        return not self.closed

    def take(self) -> T | None:
        """Remove and return the oldest mail; None if there is none."""
        return self.mails.pop(0) if self.mails else None

    def close(self) -> list[T]:
        """Accept no more mails. Returns those that are left, which no thread will read."""
        left, self.mails, self.closed = self.mails, [], True
        return left
