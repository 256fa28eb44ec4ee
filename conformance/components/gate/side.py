"""One channel of a gate as seen from both ends: what is on its way, and what a checkpoint must find in it."""

from __future__ import annotations

from conformance.parts.lane import Lane, Sent
from conformance.ports import CheckpointReason, Recovery, RecoveryCompletion
from conformance.ports.elements import Announcement, Barrier, Buffer, Element, EndOfData, EndOfPartition


class Side(Lane):
    """One channel. What it says it can hand out is so if nothing is in flight."""

    __slots__ = (
        "completion_sent", "completion_taken", "data_ended", "end_sent", "ended", "held_back", "last_barrier", "local",
        "next_id", "passes", "recovery", "resumed", "tracked", "waited",
    )  # fmt: skip

    def __init__(self, local: bool, passes_blocked: bool, recovery: Recovery, next_id: int) -> None:
        super().__init__(recovers=recovery is not Recovery.NONE)
        self.local = local
        self.passes = passes_blocked or not local
        """A priority event gets past an element that blocks the producer."""
        self.recovery = recovery
        self.next_id = next_id
        """The next record id, or label of an event."""
        self.held_back = False
        """The producer of a remote channel sends nothing without priority: what it sent last blocks it."""
        self.completion_sent = recovery is Recovery.NONE
        """The producer has recovered its output, and may send what is live."""
        self.completion_taken = self.tracked = False
        """The consumer took the end of recovered output; it was noted."""
        self.resumed = False
        """Whether the producer was told to go on, since its completion was taken."""
        self.data_ended = self.end_sent = self.ended = False
        """The end of data was sent; the end of the partition was sent; that was taken."""
        self.last_barrier = 0
        self.waited = 0
        """Polls that served others while this channel was ready."""

    def fresh(self) -> Side:
        """The same channel of a fresh gate."""
        return Side(self.local, self.passes, self.recovery, self.next_id)

    # ---- questions ---------------------------------------------------------------------------------------------------
    def shut(self) -> bool:
        """Whether not even a priority event gets out, so that nobody is told of one."""
        return self.blocked and not self.passes

    def urgent_ready(self) -> bool:
        """Whether a priority event can be taken."""
        return bool(self.urgent) and self.urgent[0].sure and not self.shut() and not self.ended

    def rounds(self) -> int:
        """Rounds in which it is given something. The end of recovered data, which a poll does not show, takes a turn of
        its own where it moved into the physical channel with the data (2.3.0)."""
        return 1 + (self.recovery is Recovery.IN_MEMORY and self.finishing)

    def counted(self) -> tuple[int, int]:
        """How many buffers wait, and how many may be counted: events too, the end of recovered data among them."""
        buffers = sum([type(sent.element) is Buffer for sent in (*self.waiting, *self.live)])
        end = self.recovery is not Recovery.NONE and self.finishing
        return buffers, buffers + len(self.urgent) + len(self.live) + end

    def refuses(self, checkpoint: int) -> tuple[CheckpointReason, ...]:
        """Why this channel, once it is physical, must refuse a checkpoint."""
        reasons: tuple[CheckpointReason, ...] = ()
        if self.recovery is Recovery.PUSHED and not self.consumed and checkpoint not in self.marks:
            reasons += (CheckpointReason.DECLINED,)
        if self.input.subsumes(checkpoint):
            reasons += (CheckpointReason.SUBSUMED,)
        return reasons

    # ---- what is learned ---------------------------------------------------------------------------------------------
    def begin_arrival(self, element: Element) -> None:
        """A live element is on its way."""
        kind = type(element)
        sent = self.send(element, self.shut())
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

    def end_arrival(self) -> None:
        """It is there. If the channel was shut meanwhile, nobody was told of it."""
        if self.urgent and self.shut():
            for sent in self.urgent:
                sent.silent |= not sent.sure
        self.end_send()

    def take(self, element: Element) -> None:
        """The consumer took this element."""
        if self.waiting and not element.data_type.has_priority:
            del self.waiting[0]
            self.taken += 1
            return
        del (self.urgent if element.data_type.has_priority else self.live)[0]
        if self.local:
            self.notice(element)
        self.blocked |= element.data_type.blocks_upstream
        if type(element) is RecoveryCompletion:
            self.completion_taken = True
            self.resumed = False
        self.ended |= type(element) is EndOfPartition

    def resume(self) -> None:
        """The producer was let go on."""
        self.blocked = self.held_back = False

    def start(self, checkpoint: int) -> None:
        """A checkpoint started with what waits in front of its barrier."""
        recovered = self.left()
        if self.recovery is Recovery.PUSHED:
            mark = self.marks.pop(checkpoint, None)
            sure = self.consumed if mark is None else mark.least == mark.most
            recovered = self.before(mark.least) if mark is not None and sure else ()
            if not sure:  # nobody can say which recovered records belong to it
                self.input.doubt(checkpoint)
        self.input.started(checkpoint, recovered if self.local else recovered + self.in_front(checkpoint))
