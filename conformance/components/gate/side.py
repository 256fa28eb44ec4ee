"""The ledger of one gate, and of one channel of it: the elements in it, and what a checkpoint must find there."""

from __future__ import annotations

from conformance.components.gate.credit import Credit
from conformance.models.lane import Lane, Sent
from conformance.ports import Recovery, RecoveryCompletion
from conformance.ports.elements import Announcement, Barrier, Element, EndOfData, EndOfPartition

NONE, RECOVER_FIRST, IN_MEMORY, PUSHED = Recovery.NONE, Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Gate:
    """One gate: how far it is, and its channels."""

    __slots__ = ("converted", "number", "recovery", "requested", "sides")

    def __init__(self, number: int, recovery: Recovery) -> None:
        self.number = number
        self.recovery = recovery
        self.sides: list[Side] = []
        self.converted = recovery is NONE
        """Whether its channels are physical."""
        self.requested = False
        """Whether its partitions were requested."""

    def loses(self) -> bool | None:
        """Returns whether a channel has state that its physical channel would not get; None: unsure, because an
        operation in flight decides."""
        if self.recovery is RECOVER_FIRST:
            return False in [side.consumed for side in self.sides]
        if self.recovery is PUSHED or False not in [side.finished for side in self.sides]:
            return False
        return True if False in [side.finishing for side in self.sides] else None

    def ended(self) -> bool:
        """Returns whether the consumer polled the end of partition of every channel."""
        return False not in [side.ended for side in self.sides]


class Side(Lane):
    """One channel of a gate. What it says about the next poll is certain if no operation is in flight."""

    __slots__ = (
        "completion_sent", "completion_taken", "credit", "data_ended", "end_sent", "ended", "gate", "last_barrier",
        "local", "next_id", "number", "recovery", "resumed", "told_end", "tracked", "waited",
    )  # fmt: skip

    def __init__(
        self, gate: Gate, number: int, local: bool, passes_blocked: bool, next_id: int, credit: Credit | None
    ) -> None:
        """`passes_blocked`: whether a priority event passes a local channel that is blocked."""
        recovery = gate.recovery
        super().__init__(recovers=recovery is not NONE, passes=passes_blocked or not local)
        self.gate = gate
        self.number = number
        """The number of the channel among the channels of all gates."""
        self.local = local
        self.recovery = recovery
        self.next_id = next_id
        """The next id of a record, or label of an event."""
        self.completion_sent = recovery is NONE
        """Whether the producer has sent its end of output state, so that it may send live elements."""
        self.completion_taken = self.tracked = False
        """Whether the consumer took the end of output state; whether it has notified the gate of it."""
        self.resumed = False
        """Whether the producer was resumed after the consumer took its end of output state."""
        self.data_ended = self.end_sent = self.ended = False
        """Whether the end of data was sent; whether the end of partition was sent; whether the consumer took it."""
        self.last_barrier = 0
        self.credit = credit
        """The credit of the producer; None: the channel is local, or its producer does not keep to its credit."""
        self.told_end = False
        """Whether it was notified that the recovered data of the channel was consumed."""
        self.waited = 0
        """Number of polls in a row that returned elements of other channels of the gate while this one was ready."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def ready(self, end: bool = True) -> bool:
        """Returns whether a poll certainly finds something here, provided that no operation is in flight.

        `end`: whether the end of recovered data counts, for which a poll returns no element.
        """
        if self.ended:
            return False
        unread = not self.consumed and not self.unseen_end()
        found = self.next(unread) if self.gate.requested else self.next_ordinary(hidden=True)
        if found is not None:
            return True
        return end and unread and self.finished and not self.waiting

    def due_ordinary(self) -> bool:
        """Returns whether a poll that begins now must find an element without priority here."""
        hidden = not (self.gate.requested and (self.consumed or self.unseen_end()))
        return self.next_ordinary(hidden) is not None

    def urgent_due(self) -> bool:
        """Returns whether a poll must find a priority event here before everything else, because the gate was notified
        of it, provided that no operation is in flight."""
        due = self.gate.requested and not self.ended and self.priority_waits()
        return due and not self.urgent[0].silent

    def end_waits(self) -> bool:
        """Returns whether the end of recovered data is perhaps here, so that a poll may take it and find nothing."""
        return self.finishing and not self.consumed

    def is_connected(self) -> bool:
        """Returns whether the producer can send an element."""
        return self.gate.requested or (self.local and self.gate.converted)

    def may_get_data(self) -> bool:
        """Returns whether the producer may send data: during recovery, that of a remote channel has no credit."""
        return self.local or self.consumed or self.unseen_end()

    def shut(self) -> bool:
        """Returns whether even priority events stay in the channel, so that the consumer is not notified of them."""
        return self.blocked and not self.passes

    def rounds(self) -> int:
        """Returns how many turns this channel may need. In 2.3.0 the conversion moves the end of recovered data into
        the physical channel, and taking it, which no poll shows, uses up a turn."""
        return 1 + (self.recovery is IN_MEMORY and self.end_waits())

    def uses(self) -> int:
        """Returns how many buffers of the gate back the credit of the producer and hold its data that waits here."""
        credit = 0 if self.credit is None else self.credit.granted
        return credit + self.buffers()

    def unseen_end(self) -> bool:
        """Returns whether the end of recovered data may be left in front of live data, and no poll shows it: conversion
        has dropped it, or has handed it over."""
        return self.recovery is IN_MEMORY and self.gate.converted

    def holds_more_than(self, element: Element | None) -> bool:
        """Returns whether anything is here, certainly or not, that is left when this element is taken."""
        if self.ended or type(element) is EndOfPartition:
            return False
        count = len(self.waiting) + len(self.live) + len(self.urgent) + self.end_waits()
        return count > (element is not None)

    def counted(self) -> tuple[int, int]:
        """Returns the number of queued buffers, and that number with events, the end of recovered data and the backlog
        added. What a local producer has added before the request need not count."""
        waiting, live = len(self.waiting), self.buffers()
        end = self.recovery is not NONE and self.finishing
        backlog = 0 if self.credit is None else self.credit.backlog()
        least = waiting + (live if self.gate.requested else 0)
        return least, waiting + live + len(self.urgent) + len(self.live) + end + backlog

    def lacks_mark(self, checkpoint: int) -> bool:
        """Returns whether this channel, once it is physical, is in recovery and has no recovery barrier of the
        checkpoint."""
        return self.recovery is PUSHED and super().lacks_mark(checkpoint)

    # ---- updates -----------------------------------------------------------------------------------------------------
    def begin_arrival(self, element: Element, backlog: int = -1) -> None:
        """Notes that the arrival of a live element begins, and the backlog with which it comes."""
        kind = type(element)
        if self.credit is not None:
            self.credit.send(element, backlog)
        sent = self.send(element, self.shut() or not self.gate.requested)
        self.next_id += 1
        self.completion_sent |= kind is RecoveryCompletion
        self.data_ended |= kind is EndOfData
        self.end_sent |= kind is EndOfPartition
        if type(element) is Barrier:
            self.last_barrier = element.checkpoint
            if element.data_type.needs_announcement and not self.local:
                self.urgent.append(Sent(Announcement(element.checkpoint, -1)))
        if not self.local:
            self.notice(element, sent.number)
            self.held_back |= element.data_type.blocks_upstream

    def end_arrival(self, element: Element) -> None:
        """Notes that the arrival is over. If the channel is shut by now, the consumer was perhaps not notified. Credit
        that was announced while the producer was about to be blocked is lost, too."""
        if self.credit is not None and element.data_type.blocks_upstream:
            self.credit.lose()
        if self.urgent and self.shut():
            for sent in self.urgent:
                sent.silent |= not sent.sure
        self.end_send()

    def take(self, element: Element) -> None:
        """Notes that the consumer took this element."""
        if self.waiting and not element.data_type.has_priority:
            del self.waiting[0]
            self.taken += 1
            return
        del (self.urgent if element.data_type.has_priority else self.live)[0]
        if self.local:
            self.notice(element)
        if element.data_type.blocks_upstream:
            self.blocked = True
            for sent in self.urgent if self.shut() else ():  # they came during this poll, perhaps when it was shut
                sent.silent = True
        if type(element) is RecoveryCompletion:
            self.completion_taken = True
            self.resumed = False
        self.ended |= type(element) is EndOfPartition
        if self.ended and self.credit is not None:
            self.credit.end()
        if not element.data_type.has_priority:
            self.consumed = True  # what conversion hands over, also the end of recovered data, stands in front

    def resume(self) -> None:
        """Notes that the producer was resumed."""
        self.blocked = self.held_back = False

    def start(self, checkpoint: int) -> None:
        """Notes that a checkpoint started: its input state begins with the data that waits in front of its barrier."""
        recovered = self.left()
        if self.recovery is PUSHED:
            mark = self.marks.pop(checkpoint, None)
            sure = self.consumed if mark is None else mark.least == mark.most
            recovered = self.before(mark.least) if mark is not None and sure else ()
            if not sure:  # a push during the insertion decides which recovered records belong to it
                self.input.leave_unsure(checkpoint)
        self.input.started(checkpoint, recovered if self.local else recovered + self.in_front(checkpoint))
