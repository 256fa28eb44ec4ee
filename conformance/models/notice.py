"""The notifications of a consumer, and the rules that none of them is missing and none comes again and again."""

from __future__ import annotations

from typing import Protocol

from conformance.driver import Broken, FailureClass, Judgement, Seen, shared
from conformance.ports import DataAvailable, PriorityAvailable, Signal


class Notice:
    """The notifications that a consumer got and has not acted on."""

    __slots__ = ("announced", "awake", "stale", "told")

    def __init__(self, awake: bool = False) -> None:
        self.awake = awake
        """Whether the consumer has a reason to take: a notification, or the last take said that more follows."""
        self.announced = self.told = -1
        """The sequence number in the last notification of a priority event, now and when the take in flight began; -1:
        there was none."""
        self.stale = False
        """Whether the consumer was notified of a priority event that it had already taken."""

    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications among these signals."""
        for signal in signals:
            kind = type(signal)
            if kind is DataAvailable or kind is PriorityAvailable:
                self.awake = True

    def hear_numbers(self, signals: list[Signal], next_number: int) -> None:
        """Notes notifications whose priority events carry sequence numbers; `next_number` is that of the next
        element."""
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
        """Notes that a take begins. It uses up all notifications so far; later ones are a reason for another take."""
        self.awake = False
        self.told = self.announced

    def took(self, more: bool, number: int = -1) -> None:
        """Notes that a take is over.

        `more`: whether the answer said that an element follows. `number`: the sequence number of a priority event that
        was taken.
        """
        self.stale = False
        self.awake |= more
        if self.announced <= number:
            self.announced = -1


def notifies(signals: list[Signal]) -> bool:
    """Returns whether one of these signals notifies the consumer."""
    return True in [type(signal) is DataAvailable or type(signal) is PriorityAvailable for signal in signals]


class Told(Protocol):
    """A ledger of a component that notifies its consumer."""

    @property
    def notice(self) -> Notice:
        """The notifications of the consumer."""

    def something_waits(self) -> int:
        """Returns a number above 0 if something can certainly be taken, otherwise 0."""

    def first(self) -> str:
        """Describes what the next take must find."""


@shared("I-22", quiet=True)
def the_consumer_is_told_of_what_waits(ledger: Told, seen: Seen[object]) -> Judgement:
    """Whenever no operation is in progress and something can be taken, the consumer has a reason to take: it was
    notified since its last take began, or an answer told it that something can be taken."""
    if not ledger.something_waits():
        return False
    if ledger.notice.awake:
        return True
    owed = f"{ledger.first()} can be taken, so the consumer must have been notified"
    return Broken(FailureClass.STUCK, owed, "the consumer was not notified and does not take again")


class Urged(Protocol):
    """A ledger of a component that tells its consumer of priority events."""

    urged: bool
    """Whether the consumer knows that a priority event waits: it was notified of one since its last take began, or that
    take said that one follows."""

    def urgent_waits(self) -> int:
        """Returns a number above 0 if no operation is in flight and a priority event can certainly be taken of which
        the consumer could be told, otherwise 0."""

    def first_urgent(self) -> str:
        """Describes that priority event."""


@shared("I-22", quiet=True)
def priority_is_told_apart_from_data(ledger: Urged, seen: Seen[object]) -> Judgement:
    """Whenever no operation is in progress and a priority event can be taken that came when the consumer could be told
    of it, the consumer knows that it has priority: it was notified of a priority event since its last take began, or
    that take told it that one follows."""
    if not ledger.urgent_waits():
        return False
    if ledger.urged:
        return True
    owed = f"{ledger.first_urgent()} can be taken, so the consumer must have been notified of priority"
    return Broken(FailureClass.STUCK, owed, "it was notified of data at most, not of priority")


class Idle(Protocol):
    """A ledger that counts the takes that found nothing although the consumer had a reason to take."""

    vain: int
    """Number of takes in a row that answered nothing, each of which had a reason, with no other operation in
    between."""

    @property
    def most_in_vain(self) -> int:
        """How many takes in a row may find nothing and give the consumer a reason to take once more."""

    @property
    def notice(self) -> Notice:
        """The notifications of the consumer."""


@shared("I-22", quiet=True)
def a_consumer_that_finds_nothing_may_sleep(ledger: Idle, seen: Seen[object]) -> Judgement:
    """A consumer that was told to take, and found nothing several times in a row with no other operation in between,
    is not told again."""
    if not ledger.notice.awake:  # a take that answers nothing, but tells something, took the end of recovered data
        return seen.value is None and seen.error is None and not seen.signals
    if ledger.vain <= ledger.most_in_vain:
        return ledger.vain > 0
    owed = f"{ledger.vain} takes in a row found nothing, so the consumer must not be notified again"
    return Broken(FailureClass.STUCK, owed, "it was notified again")
