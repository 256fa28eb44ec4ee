"""The elements between the producer and the consumer of one channel: recovered buffers, live elements, priority events.

An element counts as sent when the operation that sends it begins, because another thread may take it at once. It is
`sure` when that operation is over: from then on the consumer must find it.
"""

from __future__ import annotations

from conformance.models.input_state import InputState
from conformance.models.records import records
from conformance.models.starts import DECLINED, SUBSUMED, SUBSUMED_OR_DECLINED, UNOPPOSED, Refusal
from conformance.ports import Alignment, Barrier, Buffer, Element, EndOfPartition, Next

_NONE, _DATA, _EVENT = Next.NONE, Next.DATA, Next.EVENT


class Sent:
    """One element that was sent and that the consumer has not taken."""

    __slots__ = ("element", "number", "silent", "stashed", "sure")

    def __init__(self, element: Element, number: int = 0, silent: bool = False, stashed: bool = False) -> None:
        self.element = element
        self.number = number
        """The position of the element among the live elements of its channel, from 0."""
        self.silent = silent
        """Whether the element has priority but the channel could not notify the consumer of that. The consumer may then
        take it as late as if it had no priority."""
        self.stashed = stashed
        """Whether the element has no priority and came while the channel was in recovery."""
        self.sure = False
        """Whether the operation that sent the element is over, so that the consumer must find it."""


class Mark:
    """A recovery barrier. It stands behind at least `least` and at most `most` recovered buffers.

    The two numbers differ if a push was in flight while the recovery barrier was inserted.
    """

    __slots__ = ("least", "most")

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most


class Recovered:
    """The recovered buffers of one channel, the end of recovered data, and the recovery barriers between the
    buffers."""

    __slots__ = (
        "consumed", "consumed_again", "end_left", "finished", "finishing", "marks", "pushed", "seq", "taken", "waiting",
    )  # fmt: skip

    def __init__(self, handed_over: tuple[int, ...] = (), recovers: bool = True) -> None:
        """Begins with one buffer for each record in `handed_over`.

        `recovers`: whether an end of recovered data will come. If not, it counts as taken.
        """
        self.waiting: list[Sent] = []
        """Recovered buffers that were not taken, from the moment their push begins."""
        for record in handed_over:
            self.waiting.append(Sent(Buffer((record,))))
            self.waiting[-1].sure = True
        self.pushed = len(handed_over)
        """Number of recovered buffers so far, including one whose push is in flight."""
        self.taken = 0
        """Number of recovered buffers that were taken."""
        self.finishing = self.finished = self.consumed = not recovers
        """Whether the operation that queues the end of recovered data has begun; whether it is over; whether the task
        took the end."""
        self.consumed_again = False
        """Whether it was signalled that the task took the end a second time, or took one that could not come."""
        self.end_left = False
        """Whether an end of recovered data that was handed over may be left, which takes a turn of its own."""
        self.seq: int | None = None
        """The sequence number that the next recovered buffer must carry; None: any."""
        self.marks: dict[int, Mark] = {}
        """The recovery barriers, by checkpoint."""

    def in_recovery(self) -> bool:
        """Returns whether the end of recovered data was not taken yet."""
        return not self.consumed

    def there(self) -> int:
        """Returns the number of recovered buffers that certainly wait."""
        waiting = self.waiting
        return len(waiting) - (not waiting[-1].sure) if waiting else 0

    def end_waits(self) -> bool:
        """Returns whether the end of recovered data is certainly next, behind all recovered buffers."""
        return self.finished and not self.consumed and not self.waiting

    def is_hiding(self) -> bool:
        """Returns whether recovered data, or its end, was not taken, so that live elements without priority wait."""
        return bool(self.waiting) or not self.consumed

    def behind_recovered(self, taken: int) -> Next:
        """Returns the type of what is next once so many more recovered buffers are taken, until the end of recovered
        data."""
        if len(self.waiting) > taken:
            return _DATA
        return _EVENT if self.finishing and not self.consumed else _NONE

    def left(self) -> tuple[int, ...]:
        """Returns the recovered records that were not taken."""
        return records([sent.element for sent in self.waiting])

    def lacks_mark(self, checkpoint: int) -> bool:
        """Returns whether the channel is in recovery and has no recovery barrier of the checkpoint."""
        return not self.consumed and checkpoint not in self.marks

    def begin_push(self, ids: tuple[int, ...]) -> None:
        """Notes that the push of a recovered buffer begins."""
        self.waiting.append(Sent(Buffer(ids)))
        self.pushed += 1

    def being_pushed(self) -> Buffer:
        """Returns the buffer whose push has just begun."""
        element = self.waiting[-1].element
        assert type(element) is Buffer
        return element

    def end_push(self) -> None:
        """Notes that the push is over: the buffer is in the channel."""
        if self.waiting:
            self.waiting[-1].sure = True

    def drop_push(self) -> None:
        """Notes that the push failed: its buffer is not in the channel."""
        if self.waiting and not self.waiting[-1].sure:
            del self.waiting[-1]

    def take_recovered(self, seq: int) -> None:
        """Notes that the next recovered buffer was taken and carried this sequence number."""
        del self.waiting[0]
        self.taken += 1
        self.seq = seq + 1

    def consume_end(self) -> None:
        """Notes that the task took the end of recovered data."""
        self.consumed_again = self.consumed
        self.consumed = True

    def begin_mark(self, checkpoint: int) -> None:
        """Notes that the insertion of a recovery barrier begins; it will stand behind all buffers that certainly
        wait."""
        self.marks[checkpoint] = Mark(self.taken + self.there(), 0)

    def end_mark(self, checkpoint: int) -> None:
        """Notes that the recovery barrier is inserted, if the channel was in recovery; later buffers stand behind
        it."""
        if checkpoint in self.marks:
            self.marks[checkpoint].most = self.pushed

    def before(self, place: int) -> tuple[int, ...]:
        """Returns the records of the first `place` recovered buffers that were not taken."""
        return records([sent.element for sent in self.waiting[: max(0, place - self.taken)]])


class Lane(Recovered):
    """The content of a physical channel: recovered buffers, and the live elements that its producer sends."""

    __slots__ = ("arrived", "blocked", "held_back", "input", "live", "over", "passes", "urgent")

    def __init__(self, handed_over: tuple[int, ...] = (), recovers: bool = True, passes: bool = True) -> None:
        super().__init__(handed_over, recovers)
        self.passes = passes
        """Whether a priority event passes an element that has blocked the channel."""
        self.live: list[Sent] = []
        """Live elements without priority."""
        self.urgent: list[Sent] = []
        """Priority events, which stand in front of everything else."""
        self.arrived = 0
        """Number of live elements that were sent."""
        self.over = False
        """Whether the producer sends no more elements: the end of partition was sent."""
        self.blocked = False
        """Whether the consumer took an element that blocks the channel and has not resumed it."""
        self.held_back = False
        """Whether the producer of a remote channel sends only priority events, because its last element blocks it and
        the consumer has not resumed it."""
        self.input = InputState()

    def buffers(self) -> int:
        """Returns the number of live data buffers that wait."""
        return sum([type(sent.element) is Buffer for sent in self.live])

    def priority_waits(self) -> bool:
        """Returns whether a priority event can certainly be taken."""
        urgent = self.urgent
        return bool(urgent) and urgent[0].sure and (self.passes or not self.blocked)

    def next(self, hidden: bool) -> Sent | None:
        """Returns the element that a take certainly finds next; None: perhaps it finds none. `hidden`: whether live
        elements without priority must wait, although no recovered buffer is in front of them."""
        urgent = self.urgent
        if urgent and urgent[0].sure and (self.passes or not self.blocked):
            return urgent[0]
        return self.next_ordinary(hidden)

    def next_ordinary(self, hidden: bool) -> Sent | None:
        """Returns what `next` returns if there is no priority event."""
        line = self.waiting or ([] if hidden or self.blocked else self.live)
        return line[0] if line and line[0].sure else None

    def following(self, recovered: int = 0, live: int = 0, shut: bool = False) -> Next:
        """Returns the type of the next element without priority, once so many more recovered buffers and live elements
        are taken. `shut`: whether no live element can be taken."""
        if not self.consumed or len(self.waiting) > recovered:
            return self.behind_recovered(recovered)
        if shut or len(self.live) <= live:
            return _NONE
        return _DATA if type(self.live[live].element) is Buffer else _EVENT

    def head(self) -> Sent | None:
        """Returns the next element without priority; None: there is none."""
        if self.waiting:
            return self.waiting[0]
        return self.live[0] if self.live else None

    def send(self, element: Element, silent: bool = False, stashed: bool = False) -> Sent:
        """Notes that the producer begins to send an element, and returns its entry."""
        sent = Sent(element, self.arrived, silent, stashed)
        self.arrived += 1
        self.over = self.over or type(element) is EndOfPartition
        (self.urgent if element.data_type.has_priority else self.live).append(sent)
        return sent

    def take_next(self, has_priority: bool, seq: int = 0) -> Sent | None:
        """Notes that the consumer took the first priority event, or else the first element without priority, and
        returns its entry; None: there is none. `seq`: the sequence number that it carried."""
        line = self.urgent if has_priority else self.waiting or self.live
        if not line:
            return None
        sent = line[0]
        if line is self.waiting:
            self.take_recovered(seq)
        else:
            del line[0]
        return sent

    def is_untouched(self) -> bool:
        """Returns whether no element without priority was taken."""
        return not self.taken and self.arrived == len(self.live) + len(self.urgent)

    def end_send(self) -> None:
        """Notes that the send is over: everything that was sent is in the channel."""
        if self.live:
            self.live[-1].sure = True
        for sent in self.urgent:
            sent.sure = True

    def to_front(self, checkpoint: int) -> bool:
        """Notes that an announced barrier was converted to a priority event; returns whether it was queued."""
        for index, sent in enumerate(self.live):
            if type(sent.element) is Barrier and sent.element.checkpoint == checkpoint:
                del self.live[index]
                moved = Sent(Barrier(checkpoint, Alignment.UNALIGNED), sent.number)
                moved.sure = True
                self.urgent.append(moved)
                return True
        return False

    def refuses(self, checkpoint: int) -> Refusal:
        """Returns the reasons to refuse the start of the checkpoint now."""
        missing = self.lacks_mark(checkpoint)
        if self.input.subsumes(checkpoint):
            return SUBSUMED_OR_DECLINED if missing else SUBSUMED
        return DECLINED if missing else UNOPPOSED

    def in_front(self, checkpoint: int) -> tuple[int, ...]:
        """Returns the live records in front of the barrier of a checkpoint that were not taken.

        If the barrier has not come, these are all live records.
        """
        limit = self.input.barrier_at.get(checkpoint, self.arrived)
        return records([sent.element for sent in self.live if sent.number < limit])

    def notice(self, element: Element, number: int = 0) -> None:
        """Updates the input state when an element arrives or, in a local channel, is taken."""
        if type(element) is Buffer:
            self.input.came(element.ids)
        elif type(element) is Barrier:
            self.input.barrier(element.checkpoint, number)
