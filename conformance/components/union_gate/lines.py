"""The parts of the ledger for each channel and for each gate of a union."""

from __future__ import annotations

from conformance.models.lane import Lane, Sent
from conformance.models.words import name
from conformance.ports import Buffer, Element, EndOfData, EndOfPartition, Recovery


class Line(Lane):
    """One channel of a union and the elements in it."""

    __slots__ = (
        "crowded", "data_ended", "due", "end_left", "end_sent", "ended", "expects_end", "gate", "last_barrier", "local",
        "number", "told", "waited",
    )  # fmt: skip

    def __init__(self, gate: Gate, number: int, local: bool, passes_blocked: bool) -> None:
        """`passes_blocked`: whether a priority event passes a local channel that is blocked."""
        recovers = gate.recovery is not Recovery.NONE
        super().__init__(recovers=recovers, passes=passes_blocked or not local)
        self.gate = gate
        self.number = number
        """The number of the channel among the channels of all gates."""
        self.local = local
        self.expects_end = recovers
        """Whether the consumer must take the end of recovered data, for which StateConsumed is emitted."""
        self.data_ended = self.end_sent = self.ended = False
        """Whether the end of data was sent; whether the end of partition was sent; whether the consumer took it."""
        self.last_barrier = 0
        self.end_left = False
        """Whether the end of recovered data is perhaps in the physical channel, because it was pushed into it or the
        conversion moved it there, and perhaps takes a turn of its own, as in 2.3.0. No poll shows that turn."""
        self.told = 0
        """How often `StateConsumed` was emitted."""
        self.crowded = False
        """Whether live data came into the channel while there was something in it, so that it may be in memory for
        which the producer gets no credit."""
        self.due = False
        """Whether the last poll had to find an element without priority in this channel when it began."""
        self.waited = 0
        """Number of elements without priority that such polls answered from other channels of the gate."""

    def is_connected(self) -> bool:
        """Returns whether the producer can send an element."""
        return self.gate.converted and (self.gate.requested or self.local) and not self.end_sent

    def readable(self) -> bool:
        """Returns whether a poll that begins now must find an element in this channel."""
        return self.priority_passes() or self.ordinary()

    def ordinary(self) -> bool:
        """Returns whether a poll that begins now must find an element without priority in this channel."""
        return self.next_ordinary(hidden=not (self.consumed and self.gate.requested)) is not None

    def priority_passes(self) -> bool:
        """Returns whether a poll that begins now must find a priority event in this channel."""
        return self.gate.requested and self.priority_waits()

    def comes_first(self) -> bool:
        """Returns whether that priority event must come before everything else."""
        return bool(self.urgent) and not self.urgent[0].silent and self.priority_passes()

    def is_silent(self) -> bool:
        """Returns whether the channel perhaps cannot notify the gate of a priority event that is sent now, because the
        channel has no view, or is blocked."""
        if not self.gate.requested:
            return True
        blocks = self.blocked or any(sent.element.data_type.blocks_upstream for sent in self.live)
        return blocks and not self.passes

    def holds(self, element: Element) -> bool:
        """Returns whether an equal element is in the channel."""
        return element in [sent.element for sent in (*self.waiting, *self.live, *self.urgent)]

    def first(self) -> str:
        """Describes what the next poll must find in this channel."""
        queue = self.urgent if self.priority_passes() else self.waiting or self.live
        recovered = ", recovered," if queue is self.waiting else ""
        return f"{name(queue[0].element)}{recovered} of channel {self.number}"

    def sent(self) -> int:
        """Returns the number of elements in the channel."""
        return len(self.waiting) + len(self.live) + len(self.urgent)

    def held(self) -> int:
        """Returns the number of segments that the channel holds at least. A remote channel may have its data in memory
        that no pool counts."""
        if not self.local:
            return 0 if self.gate.converted else len(self.waiting)
        return len(self.waiting) + self.buffers()

    def send(self, element: Element, silent: bool = False, stashed: bool = False) -> Sent:
        """Notes that the producer begins to send an element, and returns its entry."""
        kind = element.data_type
        self.gate.busy += 1
        self.held_back |= kind.blocks_upstream and not self.local
        self.data_ended |= type(element) is EndOfData
        self.end_sent |= type(element) is EndOfPartition
        if type(element) is Buffer and (self.live or self.waiting):
            self.crowded = True
        return super().send(element, silent or (kind.has_priority and self.is_silent()), stashed)

    def take(self, element: Element) -> None:
        """Notes that the consumer took the first element."""
        kind = element.data_type
        if type(element) is Buffer and not self.local:
            self.gate.free += 1
            self.gate.owed += not (self.crowded or self.waiting)
        if kind.has_priority:
            del self.urgent[0]
        elif self.waiting:
            del self.waiting[0]
        else:
            del self.live[0]
            self.end_left = False
            self.crowded &= bool(self.live)
        self.blocked |= kind.blocks_upstream
        self.ended |= type(element) is EndOfPartition

    def drop(self) -> None:
        """Forgets all elements in the channel: after a release the consumer need not get them."""
        for queue in (self.waiting, self.live, self.urgent):
            queue.clear()


class Gate:
    """One gate of a union."""

    __slots__ = (
        "busy", "converted", "due", "early", "free", "lines", "number", "owed", "recovery", "requested", "requesting",
        "sold", "waited",
    )  # fmt: skip

    def __init__(self, number: int, recovery: Recovery) -> None:
        self.number = number
        self.recovery = recovery
        self.lines: list[Line] = []
        self.converted = recovery is Recovery.NONE
        self.requested = self.requesting = False
        """Whether the partitions were requested; whether a request has begun."""
        self.busy = 0
        """Number of operations in flight that bring an element into this gate. Until they are over, the consumer need
        not find anything here, because one of them may still have to notify it of everything that came meanwhile."""
        self.due = False
        """Whether the last poll had to find an element in this gate when it began."""
        self.waited = 0
        """Number of elements without priority that such polls answered from other gates."""
        self.free = self.owed = 0
        """Number of data buffers that were polled from remote channels and for which no credit was announced; number of
        those for which it must be announced at last."""
        self.early = 0
        """How much credit was announced outside of polls: an engine may borrow a floating buffer at once, and give it
        back when the other one is polled."""
        self.sold = False
        """Whether a poll announced credit for a buffer."""

    def ended(self) -> bool:
        """Returns whether the consumer took the end of partition of every channel."""
        return False not in [line.ended for line in self.lines]

    def blocked(self) -> bool:
        """Returns whether all channels are blocked."""
        return False not in [line.blocked for line in self.lines]

    def credit(self, credit: int) -> None:
        """Notes that a poll announced so much credit for buffers that it recycled."""
        self.sold = True
        self.free -= credit
        self.owed = max(0, self.owed - credit)

    def must_refuse(self) -> bool:
        """Returns whether a conversion would lose state."""
        if self.converted or self.recovery is Recovery.PUSHED:
            return False
        if self.recovery is Recovery.RECOVER_FIRST:
            return False in [line.consumed for line in self.lines]
        return False in [line.finishing for line in self.lines]

    def may_convert(self) -> bool:
        """Returns whether a conversion certainly loses no state, whatever the other gates do."""
        if self.converted:
            return False
        if self.recovery is Recovery.IN_MEMORY:
            return False not in [line.finished for line in self.lines]
        return self.recovery is Recovery.PUSHED or False not in [line.consumed for line in self.lines]

    def unread(self) -> bool:
        """Returns whether the gate is not converted and has state that was not read."""
        return not self.converted and any(line.waiting or not line.finished for line in self.lines)

    def convert(self) -> None:
        """Notes that the gate was converted. With `in-memory`, recovered data was moved into the physical channels."""
        self.converted = True
        for line in self.lines:
            line.waited = 0
        if self.recovery is Recovery.IN_MEMORY:
            for line in self.lines:
                line.expects_end = line.consumed
                line.end_left = not line.consumed
                line.consumed = True

    def turns_of_ends(self) -> int:
        """Returns how many turns the ends of recovered data may use up."""
        return sum([line.end_left for line in self.lines])
