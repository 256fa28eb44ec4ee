"""The consumer of a component: what it was notified of, what it found, and the rules for its notifications."""

from __future__ import annotations

from conformance.driver import Broken, FailureClass, Judgement, Seen, shared
from conformance.models.words import Description
from conformance.ports import DataAvailable, PriorityAvailable, Signal


class KeptError:
    """The error that a component keeps for its consumer, as far as it decides which error a take must fail with."""

    __slots__ = ("either", "operation")

    def __init__(self) -> None:
        self.operation = ""
        """The name of the operation that was refused and whose error is kept; empty: there is none."""
        self.either = False
        """Whether an operation that failed was to be refused as well: either error may be kept."""


class Consumer:
    """The notifications that a consumer got and has not acted on, and how many takes in a row found nothing."""

    __slots__ = ("awake", "empty_takes", "expects_priority", "kept", "most_empty_takes", "probe", "raced")

    def __init__(self, awake: bool = False, most_empty_takes: int = 2) -> None:
        """`most_empty_takes`: how many takes in a row may find nothing and give the consumer a reason to take once
        more."""
        self.awake = awake
        """Whether the consumer has a reason to take: a notification, or the last take said that more follows."""
        self.expects_priority = False
        """Whether the consumer has a reason to expect a priority event: it was notified of one since its last take
        began, or that take said that one follows."""
        self.probe = False
        """Whether the consumer will ask next whether something can be taken."""
        self.raced = False
        """Whether the consumer may be notified once more of what it has taken, because operations have overlapped: a
        channel that has nothing may be queued. A take that nothing overlaps and that finds nothing ends this."""
        self.empty_takes = 0
        """Number of takes in a row that found nothing, each of which had a reason, with no other operation in
        between."""
        self.most_empty_takes = most_empty_takes
        self.kept = KeptError()

    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications among these signals."""
        for signal in signals:
            kind = type(signal)
            if kind is DataAvailable:
                self.awake = True
            elif kind is PriorityAvailable:
                self.awake = self.expects_priority = True

    def begin_take(self) -> None:
        """Notes that a take begins. It uses up all notifications so far; later ones are a reason for another take."""
        self.awake = self.expects_priority = False

    def begin_counted_take(self) -> None:
        """Notes that a take begins, where takes are counted that find nothing. One without a reason does not count."""
        if not self.awake:
            self.empty_takes = -1
        self.begin_take()

    def took(self, more: bool) -> None:
        """Notes that a take is over. `more`: whether the result said that an element follows."""
        self.awake |= more

    def polls_again(self) -> bool:
        """Returns whether the consumer will take, or ask whether something can be taken."""
        return self.awake or self.expects_priority or self.probe

    def leave(self) -> None:
        """Notes that the consumer takes nothing any more."""
        self.awake = self.expects_priority = False


class NumberedConsumer(Consumer):
    """A consumer that is notified of the sequence number of a priority event."""

    __slots__ = ("announced", "announced_before", "stale")

    def __init__(self, awake: bool = False) -> None:
        super().__init__(awake)
        self.announced = self.announced_before = -1
        """The sequence number in the last notification of a priority event, now and when the take in flight began; -1:
        there was none."""
        self.stale = False
        """Whether the consumer was notified of a priority event that it had already taken."""

    def hear_numbers(self, signals: list[Signal], next_number: int) -> None:
        """Notes the notifications among these signals; `next_number` is that of the next element."""
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.awake = True
                if signal.seq < next_number:
                    self.stale = True
                else:
                    self.announced = signal.seq
            elif type(signal) is DataAvailable:
                self.awake = True
        self.expects_priority |= self.announced >= next_number

    def begin_take(self) -> None:
        """Notes that a take begins. It uses up all notifications so far; later ones are a reason for another take."""
        self.awake = self.expects_priority = False
        self.announced_before = self.announced

    def took_number(self, more: bool, number: int) -> None:
        """Notes that a take is over. `number`: the sequence number of a priority event that was taken; -1: it took
        none."""
        self.awake |= more
        self.stale = False
        if self.announced <= number:
            self.announced = -1


class Due:
    """What the take in flight must find, or what the last one had to."""

    __slots__ = ("count", "error", "in_flight", "priority")

    def __init__(self) -> None:
        self.in_flight = False
        self.count = 0
        """How much could certainly be taken when it began."""
        self.priority = self.error = False
        """Whether it must find a priority event; whether it must fail with an error."""


def notifies(signals: list[Signal]) -> bool:
    """Returns whether one of these signals notifies the consumer."""
    return True in [type(signal) is DataAvailable or type(signal) is PriorityAvailable for signal in signals]


Waiting = tuple[Consumer, int, Description]
"""A consumer; a number above 0 if something can certainly be taken by it, otherwise 0; what that is."""


@shared("I-22", quiet=True, formerly=("the-consumer-is-told-of-what-waits",))
def the_consumer_is_notified_of_available_data(waiting: Waiting, seen: Seen[object]) -> Judgement:
    """Whenever no operation is in progress and something can be taken, the consumer has a reason to take: it was
    notified since its last take began, or an operation has returned since that something can be taken."""
    consumer = waiting[0]
    return _must_know(waiting, consumer.awake, "", "the consumer was not notified and does not take again")


@shared("I-22", quiet=True, formerly=("priority-is-told-apart-from-data",))
def the_consumer_is_notified_of_priority_events(waiting: Waiting, seen: Seen[object]) -> Judgement:
    """Whenever no operation is in progress and a priority event can be taken that came when the consumer could be
    notified of it, the consumer knows that it has priority: it was notified of a priority event since its last take
    began, or that take returned that one follows."""
    consumer = waiting[0]
    return _must_know(waiting, consumer.expects_priority, " of a priority event", "it was not notified of one")


def _must_know(waiting: Waiting, knows: bool, of_what: str, observed: str) -> Judgement:
    """Judges whether the consumer knows of what can be taken, if anything can."""
    _, waits, first = waiting
    if knows or not waits:
        return waits > 0
    owed = f"{first()} can be taken, so the consumer must have been notified{of_what}"
    return Broken(FailureClass.STUCK, owed, observed)


@shared("I-22", quiet=True, formerly=("a-consumer-that-finds-nothing-may-sleep",))
def empty_takes_are_not_notified_again_and_again(consumer: Consumer, seen: Seen[object]) -> Judgement:
    """A consumer that was notified, and found nothing several times in a row with no other operation in between, is not
    notified again."""
    empty = consumer.empty_takes
    if not consumer.awake:  # a take that returns nothing, but emits a signal, took the end of recovered data
        return seen.value is None and seen.error is None and not seen.signals
    if empty <= consumer.most_empty_takes:
        return empty > 0
    owed = f"{empty} takes in a row found nothing, so the consumer must not be notified again"
    return Broken(FailureClass.STUCK, owed, "it was notified again")
