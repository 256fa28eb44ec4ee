"""Virtual time: it moves when it is told to."""

from __future__ import annotations

from conformance.scheduling.waitables import Waitable


class Clock:
    """Milliseconds since the run began."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0

    def advance(self, milliseconds: int) -> None:
        """Let time pass. Nobody goes on by itself: whose time has come is merely ready."""
        if milliseconds < 0:
            raise ValueError(f"time does not go back: {milliseconds} ms")
        self.now += milliseconds

    def timer(self, name: str, milliseconds: int) -> Timer:
        """Ready in so many milliseconds; one that is due already is ready at once."""
        return Timer(name, self, self.now + milliseconds)


class Timer(Waitable):
    """A moment to wait for: `await clock.timer("alignment timeout", 100)`."""

    __slots__ = ("clock", "due")

    def __init__(self, name: str, clock: Clock, due: int) -> None:
        self.name = name
        self.clock = clock
        self.due = due

    def ready(self) -> bool:
        return self.clock.now >= self.due
