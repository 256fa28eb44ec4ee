"""Each channel of a union, and each gate."""

from __future__ import annotations

from conformance.parts.lane import Lane, Sent
from conformance.parts.words import name
from conformance.ports import Element, EndOfData, EndOfPartition, Recovery


class Line(Lane):
    """One channel, and what is on its way through it."""

    __slots__ = (
        "barriers", "ended", "expects_end", "gate", "halted", "holds_priority", "local", "number", "sent_end",
        "stopping",
    )  # fmt: skip

    def __init__(self, gate: Gate, number: int, local: bool, passes_blocked: bool) -> None:
        """`passes_blocked`: a priority event passes a local channel that is blocked."""
        recovers = gate.recovery is not Recovery.NONE
        super().__init__(recovers=recovers)
        self.gate = gate
        self.number = number
        """Among the channels of all gates."""
        self.local = local
        self.holds_priority = local and not passes_blocked
        """While it is blocked, not even a priority event passes."""
        self.expects_end = recovers
        """The end of recovered data is to be taken, and told."""
        self.halted = False
        """The producer, elsewhere, sent what blocks it, and has not been resumed."""
        self.stopping = self.sent_end = self.ended = False
        """No data is sent any more; the end of the partition was sent; it was taken."""
        self.barriers = 0

    def is_connected(self) -> bool:
        """Whether the producer can send something."""
        return self.gate.converted and (self.gate.requested or self.local) and not self.sent_end

    def readable(self) -> bool:
        """Whether an element must be found by a poll that begins now."""
        return (bool(self.urgent) and self.passes()) or self.ordinary()

    def ordinary(self) -> bool:
        """Whether that is so of an element without priority."""
        if self.waiting:
            return self.waiting[0].sure
        if not (self.live and self.live[0].sure and self.consumed and self.gate.requested):
            return False
        return not (self.blocked and self.local)

    def passes(self) -> bool:
        """Whether that is so of a priority event."""
        if not (self.urgent and self.urgent[0].sure and self.gate.requested):
            return False
        return not (self.blocked and self.holds_priority)

    def comes_first(self) -> bool:
        """Whether it comes before everything else, too."""
        return bool(self.urgent) and not self.urgent[0].silent and self.passes()

    def is_silent(self) -> bool:
        """Whether a priority event that is sent now may find nobody to tell: no view, or one that does not listen."""
        if not self.gate.requested:
            return True
        blocks = self.blocked or any(sent.element.data_type.blocks_upstream for sent in self.live)
        return blocks and self.holds_priority

    def holds(self, element: Element) -> bool:
        """Whether such an element is on its way through it."""
        return element in [sent.element for sent in (*self.waiting, *self.live, *self.urgent)]

    def first(self) -> str:
        """What must be found in it, in words."""
        queue = self.urgent if self.passes() else self.waiting or self.live
        recovered = ", recovered," if queue is self.waiting else ""
        return f"{name(queue[0].element)}{recovered} of channel {self.number}"

    def send(self, element: Element, silent: bool = False, stashed: bool = False) -> Sent:
        """The producer sends an element."""
        kind = element.data_type
        self.gate.busy += 1
        self.halted |= kind.blocks_upstream and not self.local
        self.stopping |= type(element) is EndOfData
        self.sent_end |= type(element) is EndOfPartition
        return super().send(element, silent or (kind.has_priority and self.is_silent()), stashed)

    def take(self, element: Element) -> None:
        """The consumer took what stood in front."""
        kind = element.data_type
        del (self.urgent if kind.has_priority else self.waiting or self.live)[0]
        self.blocked |= kind.blocks_upstream
        self.ended |= type(element) is EndOfPartition

    def drop(self) -> None:
        """What was on its way is owed no more."""
        for queue in (self.waiting, self.live, self.urgent):
            queue.clear()


class Gate:
    """One gate."""

    __slots__ = ("busy", "converted", "due", "lines", "number", "recovery", "requested", "waited")

    def __init__(self, number: int, recovery: Recovery) -> None:
        self.number = number
        self.recovery = recovery
        self.lines: list[Line] = []
        self.converted = recovery is Recovery.NONE
        self.requested = False
        self.busy = 0
        """Operations in flight that bring something: until they are over the consumer need not find anything here,
        since one of them may be about to tell it of all that came meanwhile."""
        self.due = False
        """When the last poll began, something here had to be found."""
        self.waited = 0
        """Elements without priority that such polls took elsewhere."""

    def ended(self) -> bool:
        """Whether the end of every channel was taken."""
        return False not in [line.ended for line in self.lines]

    def blocked(self) -> bool:
        """Whether all channels wait to be resumed."""
        return False not in [line.blocked for line in self.lines]

    def must_refuse(self) -> bool:
        """Whether there is state that a conversion would lose."""
        if self.converted or self.recovery is Recovery.PUSHED:
            return False
        if self.recovery is Recovery.RECOVER_FIRST:
            return False in [line.consumed for line in self.lines]
        return False in [line.finishing for line in self.lines]

    def may_convert(self) -> bool:
        """Whether, whatever the other gates do, there is nothing that a conversion would lose."""
        if self.converted:
            return False
        if self.recovery is Recovery.IN_MEMORY:
            return False not in [line.finished for line in self.lines]
        return self.recovery is Recovery.PUSHED or False not in [line.consumed for line in self.lines]

    def unread(self) -> bool:
        """Whether there is state that was not read, and the channels are not physical."""
        return not self.converted and any(line.waiting or not line.finished for line in self.lines)

    def convert(self) -> None:
        """The channels are physical now. Recovered data in memory went with them."""
        self.converted = True
        if self.recovery is Recovery.IN_MEMORY:
            for line in self.lines:
                line.expects_end = line.consumed
                line.consumed = True

    def turns_of_ends(self) -> int:
        """Turns in which the consumer may be given the end of recovered data, which it does not show: where it moves
        into the physical channel with the data (2.3.0), it takes a turn like any other element."""
        return sum([line.finishing for line in self.lines]) if self.recovery is Recovery.IN_MEMORY else 0
