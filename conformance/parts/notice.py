"""Who has a reason to look, and whether a wake-up is owed."""

from __future__ import annotations

from typing import Protocol

from conformance.driver import Broken, FailureClass, Judgement, Kind, Seen, shared
from conformance.ports import DataAvailable, PriorityAvailable, Signal


class Notice:
    """What a consumer was told, and has not followed."""

    __slots__ = ("announced", "awake", "stale", "told")

    def __init__(self, awake: bool = False) -> None:
        self.awake = awake
        """The consumer has a reason to look."""
        self.announced = self.told = -1
        """The number of the priority event announced last; the same when the take in flight began."""
        self.stale = False
        """The consumer was told of a priority event that it had taken before."""

    def hear(self, signals: list[Signal]) -> None:
        """The consumer was told something."""
        for signal in signals:
            kind = type(signal)
            if kind is DataAvailable or kind is PriorityAvailable:
                self.awake = True

    def hear_numbers(self, signals: list[Signal], next_number: int) -> None:
        """The same where priority events are announced with numbers; the element taken next has this one."""
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.awake = True
                if signal.seq < next_number:
                    self.stale = True
                else:
                    self.announced = signal.seq
            elif type(signal) is DataAvailable:
                self.awake = True

    def begin_take(self) -> None:
        """The consumer follows what it was told; what it is told from now on is another reason."""
        self.awake = False
        self.told = self.announced

    def took(self, more: bool, number: int = -1) -> None:
        """It took something, or nothing: whether it was told that there is more; the number of a priority event."""
        self.stale = False
        self.awake |= more
        if self.announced <= number:
            self.announced = -1


class Told(Protocol):
    """A ledger whose consumer waits to be told."""

    @property
    def notice(self) -> Notice:
        """What the consumer was told."""

    def something_waits(self) -> int:
        """How much can be taken for certain; 0: nothing, or nobody can say."""

    def first(self) -> str:
        """What comes next, in words."""


@shared("I-22", kind=Kind.EVENTUALLY, quiet=True)
def the_consumer_is_told_of_what_waits(ledger: Told, seen: Seen[object]) -> Judgement:
    """Whenever nothing is in progress and something can be taken, the consumer was told so."""
    if not ledger.something_waits():
        return False
    if ledger.notice.awake:
        return True
    owed = f"{ledger.first()} can be taken, so the consumer must have been told"
    return Broken(FailureClass.STUCK, owed, "it was not, and sleeps")
