"""Virtual time, which passes only when `Clock.advance` is called."""

from __future__ import annotations

from conformance.scheduling.waitables import Waitable


class Clock:
    """Counts the milliseconds since the run began."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0

    def advance(self, milliseconds: int) -> None:
        """Let time pass. Timers that are due become ready; the driver decides when their threads go on.

        Raises: ValueError if `milliseconds` is negative.
        """
        if milliseconds < 0:
            raise ValueError(f"time does not go back: {milliseconds} ms")
        self.now += milliseconds

    def timer(self, name: str, milliseconds: int) -> Timer:
        """Returns a timer that is ready after so many milliseconds. With 0 it is ready at once."""
        return Timer(name, self, self.now + milliseconds)


class Timer(Waitable):
    """A moment that a thread can wait for: `await clock.timer("alignment timeout", 100)`."""

    __slots__ = ("clock", "due")

    def __init__(self, name: str, clock: Clock, due: int) -> None:
        self.name = name
        self.clock = clock
        self.due = due

    def ready(self) -> bool:
        return self.clock.now >= self.due
