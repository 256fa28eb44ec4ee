"""One channel from its producer to its consumer: what was recovered, what came live, and what has priority.

What is sent counts as sent from the moment the operation begins, since another thread may take it at once, and as there
for `sure` when the operation is over.
"""

from __future__ import annotations

from conformance.parts.input_state import InputState
from conformance.parts.records import records
from conformance.ports import Alignment, Barrier, Buffer, Element


class Sent:
    """One element on its way to the consumer."""

    __slots__ = ("element", "number", "silent", "stashed", "sure")

    def __init__(self, element: Element, number: int = 0, silent: bool = False, stashed: bool = False) -> None:
        self.element = element
        self.number = number
        """Its place among the live elements of its channel."""
        self.silent = silent
        """It came where nobody could be told that it has priority; its turn comes as that of data."""
        self.stashed = stashed
        """It came while the channel was in recovery, and without priority."""
        self.sure = False
        """The operation that sent it is over."""


class Mark:
    """A recovery barrier. It stands behind the first `least` recovered buffers, and behind no more than `most`."""

    __slots__ = ("least", "most")

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most


class Recovered:
    """Recovered buffers, their end, and the recovery barriers between them."""

    __slots__ = ("consumed", "finished", "finishing", "marks", "pushed", "seq", "taken", "waiting")

    def __init__(self, handed_over: tuple[int, ...] = (), recovers: bool = True) -> None:
        """`handed_over`: records that are there from the beginning. Without a recovery, its end was taken long ago."""
        self.waiting: list[Sent] = []
        """Buffers that nobody has taken, from the moment their push began."""
        for record in handed_over:
            self.waiting.append(Sent(Buffer((record,))))
            self.waiting[-1].sure = True
        self.pushed = len(handed_over)
        """How many there were in all, the one that is being pushed included..."""
        self.taken = 0
        """... and how many of them were taken."""
        self.finishing = self.finished = self.consumed = not recovers
        """The end of recovered data is being queued; is there; was taken."""
        self.seq: int | None = None
        """The number that the next recovered buffer must carry; None: any."""
        self.marks: dict[int, Mark] = {}
        """By checkpoint."""

    def there(self) -> int:
        """How many recovered buffers wait for certain."""
        waiting = self.waiting
        return len(waiting) - (not waiting[-1].sure) if waiting else 0

    def left(self) -> tuple[int, ...]:
        """The recovered records that nobody has taken."""
        return records([sent.element for sent in self.waiting])

    def begin_push(self, ids: tuple[int, ...]) -> None:
        """A recovered buffer is on its way."""
        self.waiting.append(Sent(Buffer(ids)))
        self.pushed += 1

    def being_pushed(self) -> Buffer:
        """The buffer whose push has just begun."""
        element = self.waiting[-1].element
        assert type(element) is Buffer
        return element

    def end_push(self) -> None:
        """It is there."""
        if self.waiting:
            self.waiting[-1].sure = True

    def take_recovered(self, seq: int) -> None:
        """The next buffer was taken, with this number."""
        del self.waiting[0]
        self.taken += 1
        self.seq = seq + 1

    def begin_mark(self, checkpoint: int) -> None:
        """A recovery barrier is being inserted, behind what is there for certain."""
        self.marks[checkpoint] = Mark(self.taken + self.there(), 0)

    def end_mark(self, checkpoint: int) -> None:
        """It is there, if the channel was in recovery, in front of what is pushed from now on."""
        if checkpoint in self.marks:
            self.marks[checkpoint].most = self.pushed

    def before(self, place: int) -> tuple[int, ...]:
        """The records that nobody has taken of the first `place` buffers."""
        return records([sent.element for sent in self.waiting[: max(0, place - self.taken)]])


class Lane(Recovered):
    """A physical channel: recovered buffers, and what its producer sends."""

    __slots__ = ("arrived", "blocked", "input", "live", "urgent")

    def __init__(self, handed_over: tuple[int, ...] = (), recovers: bool = True) -> None:
        super().__init__(handed_over, recovers)
        self.live: list[Sent] = []
        """Live elements without priority."""
        self.urgent: list[Sent] = []
        """Elements that stand in front of everything."""
        self.arrived = 0
        """How many live elements were sent."""
        self.blocked = False
        """An element that blocks the producer was taken, and nobody has resumed it."""
        self.input = InputState()

    def head(self) -> Sent | None:
        """The next element without priority."""
        if self.waiting:
            return self.waiting[0]
        return self.live[0] if self.live else None

    def send(self, element: Element, silent: bool = False, stashed: bool = False) -> Sent:
        """An element is on its way."""
        sent = Sent(element, self.arrived, silent, stashed)
        self.arrived += 1
        (self.urgent if element.data_type.has_priority else self.live).append(sent)
        return sent

    def end_send(self) -> None:
        """What was on its way is there."""
        if self.live:
            self.live[-1].sure = True
        for sent in self.urgent:
            sent.sure = True

    def to_front(self, checkpoint: int) -> bool:
        """An announced barrier became a priority event. Whether it was there."""
        for index, sent in enumerate(self.live):
            if type(sent.element) is Barrier and sent.element.checkpoint == checkpoint:
                del self.live[index]
                moved = Sent(Barrier(checkpoint, Alignment.UNALIGNED), sent.number)
                moved.sure = True
                self.urgent.append(moved)
                return True
        return False

    def in_front(self, checkpoint: int) -> tuple[int, ...]:
        """The live records in front of the barrier of a checkpoint, all if it has not come, that nobody has taken."""
        limit = self.input.barrier_at.get(checkpoint, self.arrived)
        return records([sent.element for sent in self.live if sent.number < limit])

    def notice(self, element: Element, number: int = 0) -> None:
        """An element arrived or, in a local channel, was taken: what becomes of the input state?"""
        if type(element) is Buffer:
            self.input.came(element.ids)
        elif type(element) is Barrier:
            self.input.barrier(element.checkpoint, number)
