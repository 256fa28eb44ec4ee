"""The scheduler: it knows the threads, which of them can go on, and which of them are in a deadlock.

Interleaving is *fine* or *whole*. Fine: a thread pauses wherever it awaits. Whole: it pauses only where it must wait.
In both cases the caller of the kernel decides which thread goes on.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from conformance.scheduling.lock_order import LockOrder
from conformance.scheduling.thread import Thread
from conformance.scheduling.waitables import Lock, Waitable
from conformance.scheduling.words import with_article


class _Paused:
    """The type of `PAUSED`, which the kernel returns as long as an operation has not ended."""

    def __repr__(self) -> str:
        return "PAUSED"


PAUSED: Any = _Paused()


class Kernel:
    """The threads of one run."""

    __slots__ = ("fine", "in_flight", "order", "threads")

    def __init__(self, names: Sequence[str], fine: bool) -> None:
        self.fine = fine
        self.order = LockOrder()
        self.threads = {name: Thread(name, self.order) for name in names}
        self.in_flight = 0
        """How many threads are in the middle of an operation."""

    def start(self, thread: Thread, operation: tuple[Any, ...], coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Begin an operation on an idle thread. Returns its result, or PAUSED. Raises what the operation raises."""
        thread.operation = operation
        thread.coroutine = coroutine
        self.in_flight += 1
        return self._advance(thread)

    def run(self, thread: Thread, stop: str = "", passed: list[str] | None = None) -> Any:
        """Let a runnable thread go on until it pauses at `stop`, its operation ends, or it must wait.

        Without `stop`, it goes on until it pauses anywhere. `passed` takes the names of the places at which it could
        have paused before. Returns and raises as `start` does.
        """
        while True:
            value = self._resume(thread)
            if value is not PAUSED:
                return value
            at = thread.waits_for
            assert at is not None
            if not stop or at.name == stop or not at.ready():
                return PAUSED
            if passed is not None:
                passed.append(at.name)

    def finish(self, thread: Thread, passed: list[str] | None = None) -> Any:
        """Let a runnable thread go on until its operation ends or it must wait.

        `passed` takes the names of the places at which it could have paused. Returns and raises as `start` does.
        """
        while True:
            value = self._resume(thread)
            if value is not PAUSED or not thread.runnable:
                return value
            if passed is not None:
                assert thread.waits_for is not None
                passed.append(thread.waits_for.name)

    def runnable(self) -> Thread | None:
        """Returns the first thread that is paused and can go on, or None."""
        for thread in self.threads.values():
            at = thread.waits_for
            if at is not None and at.ready():
                return thread
        return None

    def waiting(self) -> str:
        """Returns a text with the operation of each busy thread, and what the thread waits for."""
        return "; ".join(
            f"{thread.name} in {thread.operation[0]} waits for {_name(thread)}"
            for thread in self.threads.values()
            if thread.coroutine is not None
        )

    def deadlock(self) -> str | None:
        """Returns a text that names threads that are deadlocked, or None if there are none.

        A thread is lost if all threads that could end its wait are lost too. A thread that waits for input is not lost,
        because the kernel does not know whether input will come.
        """
        lost = {
            thread: holders
            for thread in self.threads.values()
            if thread.waits_for is not None and not thread.waits_for.ready() and (holders := thread.waits_for.holders())
        }
        while True:
            saved = [thread for thread, holders in lost.items() if any(one not in lost for one in holders)]
            if not saved:
                break
            for thread in saved:
                del lost[thread]
        if not lost:
            return None
        chain: list[Thread] = []
        thread = next(iter(lost))
        while thread not in chain:
            chain.append(thread)
            thread = lost[thread][0]
        circle = chain[chain.index(thread) :]
        return "; ".join(f"{one.name} waits for {_name(one)}, which {lost[one][0].name} holds" for one in circle)

    def leave_open(self, but: Thread | None = None) -> None:
        """Note that the task has failed: every operation in flight may end in any way, `but` that of one thread only if
        the task had failed before."""
        for thread in self.threads.values():
            if thread.coroutine is not None and thread is not but:
                thread.open_ended = True

    def close(self) -> list[str]:
        """Abandon every operation in flight and release the locks of its thread. Nothing is judged.

        Returns: a text for each operation that raised an error when it was abandoned.
        """
        complaints = []
        for thread in self.threads.values():
            if thread.coroutine is not None:
                try:
                    thread.coroutine.close()
                except (Exception, SystemExit) as error:
                    complaints.append(f"{thread.name} raised when {thread.operation[0]} was abandoned: {error}")
                self._over(thread)
                for lock in list(thread.held):
                    lock.release()
        return complaints

    def _resume(self, thread: Thread) -> Any:
        assert thread.waits_for is not None
        thread.waits_for.grant(thread)
        return self._advance(thread)

    def _advance(self, thread: Thread) -> Any:
        coroutine = thread.coroutine
        assert coroutine is not None
        send, fine = coroutine.send, self.fine
        try:
            while True:
                at = send(None)
                if not fine and type(at) is Lock and at.owner is None:  # the common case, without three calls
                    if thread.held:
                        thread.order.taken(thread, at)
                    at.owner = thread
                    thread.held.append(at)
                    continue
                if not isinstance(at, Waitable):
                    raise TypeError(f"an operation awaited {at!r}, which is not a Waitable")
                if fine or not at.ready():
                    if type(at.name) is not str:
                        raise TypeError(f"an operation awaited a {type(at).__name__} whose name is no string")
                    thread.waits_for = at
                    return PAUSED
                at.grant(thread)
        except StopIteration as end:
            thread.coroutine = thread.waits_for = None
            self.in_flight -= 1
            return end.value
        except BaseException:
            self._over(thread)
            coroutine.close()
            raise

    def _over(self, thread: Thread) -> None:
        thread.coroutine = thread.waits_for = None
        self.in_flight -= 1


def _name(thread: Thread) -> str:
    return "nothing" if thread.waits_for is None else with_article(thread.waits_for.name)
