"""What a union adds to its gates: a queue of gates, and polls that may find nothing. Specification: gate.md.

The queue has its own notifications. A poll asks the gate in front, which may have nothing by then, and leaves the other
gates to the next polls. So a consumer that found nothing asks whether the union is available, and a poll must find only
what was certainly there when it began, in a gate into which nothing was coming.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.gate.side import Gate, Side
from conformance.models.consumer import Consumer
from conformance.ports import BufferOrEvent, CreditAnnounced, PriorityAvailable, Signal, StateConsumed
from conformance.ports.elements import Buffer, Element


def credit_of(signals: Sequence[Signal]) -> int:
    """Returns how much credit these signals announce, except by channels that recovered until then: such a channel
    announces all its free buffers for the first time."""
    opened = [signal.channel for signal in signals if type(signal) is StateConsumed]
    return sum(
        [signal.credit for signal in signals if type(signal) is CreditAnnounced and signal.channel not in opened]
    )


class Member:
    """The place of one gate in the union."""

    __slots__ = ("busy", "due", "due_sides", "early", "free", "gate", "owed", "sold", "waited")

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.busy = 0
        """Number of operations in flight that bring an element into this gate. Until they are over, the consumer need
        not find anything here, because one of them may still have to notify it of everything that came meanwhile."""
        self.due = False
        """Whether the last poll had to find an element in this gate when it began."""
        self.due_sides: tuple[Side, ...] = ()
        """The channels in which it had to find an element without priority."""
        self.waited = 0
        """Number of elements without priority that such polls returned from other gates."""
        self.free = self.owed = 0
        """Number of data buffers that were polled from remote channels and for which no credit was announced; number of
        those for which it must be announced at last, because the channel was empty when they came."""
        self.early = 0
        """How much credit was announced outside of polls: an engine may borrow a floating buffer at once, and give it
        back when the other one is polled."""
        self.sold = False
        """Whether a poll announced credit for a buffer."""

    def blocked(self) -> bool:
        """Returns whether all channels are blocked."""
        return False not in [side.blocked for side in self.gate.sides]

    def unread(self) -> bool:
        """Returns whether the gate is not converted and has state that was not read."""
        return not self.gate.converted and any(side.waiting or not side.finished for side in self.gate.sides)


def takes_an_end(signals: Sequence[Signal]) -> bool:
    """Returns whether a poll with these signals has taken the end of the recovered data of a channel."""
    return StateConsumed in [type(signal) for signal in signals]


class Union:
    """The queue of a union."""

    __slots__ = (
        "consumer", "crowded", "due_priority", "interrupted", "members", "mixed", "polling", "priority_notified",
        "starved",
    )  # fmt: skip

    def __init__(self, gates: Sequence[Gate], consumer: Consumer) -> None:
        self.members = [Member(gate) for gate in gates]
        self.consumer = consumer
        consumer.probe = True
        self.mixed = False
        """Whether operations overlapped since the last moment at which none was in flight."""
        self.polling = False
        """Whether a poll is in flight."""
        self.interrupted: Gate | None = None
        """The gate into which an element came during the current or last poll; None: there was none."""
        self.priority_notified = self.due_priority = False
        """Whether the consumer was notified of a priority event during the current or last poll; whether that must take
        one."""
        self.starved = 0
        """Number of polls in a row that found nothing although an element had to be found."""
        self.crowded: set[int] = set()
        """The channels into which live data came while there was something in them, so that it may be in memory for
        which the producer gets no credit."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def turns_of_ends(self) -> int:
        """Returns how many empty polls the ends of recovered data may cause."""
        return sum([side.end_waits() for member in self.members for side in member.gate.sides])

    def is_empty(self) -> bool:
        """Returns whether there were so many empty polls in a row that the union has nothing."""
        return self.consumer.empty_takes > len(self.members) + 1 + self.turns_of_ends()

    def is_unread_elsewhere(self, gate: Gate) -> bool:
        """Returns whether another gate is not converted and has state that was not read."""
        return True in [member.unread() for member in self.members if member.gate is not gate]

    def has_reason(self) -> bool:
        """Returns whether the consumer has a reason to poll."""
        return self.consumer.awake or self.consumer.expects_priority

    # ---- operations in flight ----------------------------------------------------------------------------------------
    def begin(self, in_flight: int) -> None:
        """Notes that an operation begins while so many others are in flight."""
        self.mixed = in_flight > 0
        self.consumer.raced |= self.mixed

    def begin_coming(self, side: Side, element: Element | None = None) -> None:
        """Notes that an operation begins that brings this element, or recovered data, into a channel."""
        self.members[side.gate.number].busy += 1
        if type(element) is Buffer and (side.live or side.waiting):
            self.crowded.add(side.number)

    def came_into(self, gate: Gate) -> None:
        """Notes that an operation is over after which the gate may have notified the consumer."""
        self.members[gate.number].busy -= 1
        self.consumer.empty_takes = 0
        if self.polling:
            self.interrupted = gate

    def hear(self, signals: Sequence[Signal], sides: Sequence[Side]) -> None:
        """Notes the signals that the consumer and producers got."""
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.priority_notified = True
            elif type(signal) is StateConsumed:
                side = sides[signal.channel]
                self.consumer.raced = True
                side.waited = self.members[side.gate.number].waited = 0  # the end of recovered data has had a turn
            elif type(signal) is CreditAnnounced:
                member = self.members[sides[signal.channel].gate.number]
                if not self.polling or member.busy:
                    member.early += signal.credit

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def begin_poll(self) -> None:
        """Notes that a poll begins, and which gates and channels must have an element for it."""
        self.polling = True
        self.interrupted = None
        self.priority_notified = self.due_priority = False
        for member in self.members:
            certain = not member.busy
            member.due_sides = tuple([side for side in member.gate.sides if certain and side.due_ordinary()])
            member.due = bool(member.due_sides)
            for side in member.gate.sides:
                if side not in member.due_sides:
                    side.waited = 0
                if certain and side.urgent and side.gate.requested and side.priority_waits():
                    member.due = True
                    self.due_priority |= not side.urgent[0].silent
            if not member.due:
                member.waited = 0

    def found_nothing(self, signals: Sequence[Signal]) -> None:
        """Notes that a poll is over that has found nothing."""
        consumer = self.consumer
        consumer.expects_priority = self.priority_notified or (consumer.expects_priority and self.due_priority)
        if takes_an_end(signals):  # it was of use, as what comes into a channel is
            consumer.empty_takes = self.starved = 0
            return
        consumer.empty_takes += 1
        if consumer.empty_takes >= len(self.members) and not self.mixed:
            consumer.raced = False
        self.starved = self.starved + 1 if True in [member.due for member in self.members] else 0

    def found(self, taken: BufferOrEvent, side: Side, signals: Sequence[Signal]) -> None:
        """Notes that a poll is over that has taken this element of this channel, which still has it."""
        self.consumer.empty_takes = self.starved = 0
        self.consumer.expects_priority = taken.more_priority or self.priority_notified
        served = self.members[side.gate.number]
        if not taken.element.data_type.has_priority:
            for member in self.members:
                member.waited += member.due
            for other in served.due_sides:
                other.waited += 1
        served.waited = 0
        if type(taken.element) is Buffer and not side.local:
            served.free += 1
            served.owed += not (side.number in self.crowded or side.waiting)
        if len(side.live) <= 1 and not side.waiting and not taken.element.data_type.has_priority:
            self.crowded.discard(side.number)
        if signals and (credit := credit_of(signals)):
            served.sold = True
            served.free -= credit
            served.owed = max(0, served.owed - credit)

    def asked(self, available: bool, in_flight: int) -> None:
        """Notes that the consumer asked whether the union is available."""
        self.consumer.probe = False
        if available:
            self.consumer.awake = True
        elif not in_flight:
            self.consumer.raced = False
