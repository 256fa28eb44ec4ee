"""What the driver knows about one remote channel: what was sent, what the task took, which credit the producer has.

What is *sent* is known when an operation begins, what was *taken* when it is over; an element is `sure` once the
operation that sent it is over.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Alignment,
    Announcement,
    Barrier,
    CheckpointReason,
    CreditAnnounced,
    Data,
    DataAvailable,
    Element,
    PriorityAvailable,
    StateConsumed,
    Taken,
)
from conformance.properties.persisting import Persisting


class Sent:
    """One element on its way to the task."""

    __slots__ = ("element", "seq", "stashed", "sure")

    def __init__(self, element: Element, seq: int, stashed: bool = False) -> None:
        self.element = element
        self.seq = seq
        self.stashed = stashed
        """It came while the channel was in recovery, and without priority."""
        self.sure = False


class RemoteChannelLedger(Persisting):
    """Kept up to date by the steps of the alphabet; read by enabledness and by properties."""

    __slots__ = (
        "alone",
        "announced",
        "asked",
        "awake",
        "blocked",
        "broken",
        "closing",
        "consumed",
        "credit",
        "disturbed",
        "doubtful",
        "exclusive",
        "failed",
        "finished",
        "finishing",
        "floating",
        "flying",
        "forgotten",
        "handed_over",
        "held",
        "in_line",
        "inspected",
        "last_barrier",
        "marked",
        "moving",
        "newest",
        "over",
        "polling",
        "pushed",
        "queue",
        "ready_upstream",
        "records",
        "recovered",
        "recovery",
        "released",
        "releasing",
        "requested",
        "required",
        "returning",
        "sending",
        "seq",
        "started_ids",
        "starting",
        "told",
        "trespassing",
        "tried",
        "unsure",
        "urgent",
    )

    def __init__(self, recovery: str, handed_over: int, exclusive: int, floating: int) -> None:
        self.recovery = recovery
        self.handed_over = handed_over
        self.exclusive = exclusive
        self.floating = floating
        self.records = handed_over
        """Record ids are numbered through, across restores."""
        self.closing = 0
        self.restore(range(handed_over))

    def restore(self, handed_over: Any = ()) -> None:
        """A fresh channel. What a recovered channel left behind comes with the first one only."""
        super().__init__()
        self.recovered = [Sent(Data((record,)), 0) for record in handed_over]
        for sent in self.recovered:
            sent.sure = True
        self.queue: list[Sent] = []
        self.urgent: list[Sent] = []
        self.requested = self.released = self.releasing = self.failed = self.over = False
        self.broken = False
        """The producer sent what it must not: the connection is lost, and so is the task (Flink keeps the error, and
        whoever takes next gets it)."""
        self.finishing = self.finished = self.ready_upstream = False
        self.consumed = self.recovery != "pushed"
        """Live data may be taken: the end of recovered data was."""
        self.blocked = False
        """The producer sends nothing without priority until it is resumed."""
        self.pushed = self.seq = self.held = self.returning = self.credit = 0
        """Recovered buffers pushed; live elements sent; data buffers in the hands of the task, and on their way back;
        credit of the producer."""
        self.required = 0
        self.asked = self.in_line = False
        """Buffers that the last backlog asks for; it was said just now; there were too few, so that the channel stands
        in line for floating buffers that come back."""
        self.flying = 0
        self.sending = self.polling = self.moving = self.trespassing = self.alone = False
        """A live element arrives; the task takes; a barrier is moved to the front; data comes that must not."""
        self.told = self.disturbed = False
        self.awake = self.recovery == "in-memory"
        """The gate was told during a take; the producer sent what it must not, which is a message too; the gate was
        told at all, or will look: at conversion it asks what waits."""
        self.starting = self.newest = self.last_barrier = self.tried = 0
        """Which checkpoint is being started or stopped; the newest known, by a barrier, and tried to start."""
        self.doubtful = False
        self.forgotten = False
        """The last barrier of the channel is not known any more, or may not be: it cannot overtake."""
        self.started_ids: list[int] = []
        self.announced: list[tuple[int, int]] = []
        """Sequence number and checkpoint of announcements that were taken, their barriers not yet."""
        self.marked: dict[int, tuple[int, int]] = {}
        """By checkpoint, how many recovered buffers stand before its mark, at least and at most."""
        self.unsure: dict[int, None] = {}
        """Checkpoints of which it cannot be said what must have been written."""
        self.inspected = 0

    @property
    def phase(self) -> str:
        """Which steps can be meant at all."""
        if self.failed:
            return "failed"
        if self.released:
            return "released"
        if self.broken:
            return "broken"
        if not self.requested:
            return "new"
        return "starting" if self.marked else "live"

    def hear(self, signals: list[Any]) -> None:
        """The gate, or the producer, was told something."""
        for signal in signals:
            kind = type(signal)
            if kind is DataAvailable or kind is PriorityAvailable:
                self.awake = True
                self.told = self.polling
            elif kind is StateConsumed:
                self.consumed = True
            elif kind is CreditAnnounced:
                self.credit += signal.credit

    # ---- operations in flight ----------------------------------------------------------------------------------------
    def begin(self) -> None:
        """An operation begins."""
        if self.asked or self.in_line:
            self.look_at_the_line()
        self.flying += 1
        self.alone = False

    def look_at_the_line(self) -> None:
        """Note whether the channel waits for buffers, as far as that can be said while nothing is in flight."""
        self.in_line = self.waits_for_buffers() and self.credit < self.required
        self.asked = self.asked and self.flying > 0

    def waits_for_buffers(self) -> bool:
        """Whether it asked for buffers and did not get enough."""
        return self.in_line or (self.asked and self.flying == 0 and self.credit < self.required)

    def spare(self) -> int:
        """Floating buffers that nobody has."""
        used = self.held + sum(type(sent.element) is Data for sent in self.queue)
        return self.exclusive + self.floating - used - self.credit

    def end(self) -> None:
        """An operation is over."""
        self.flying -= 1

    def request(self) -> None:
        """The producer knows of the channel, and of its initial credit."""
        self.end()
        self.requested = True
        if self.recovery != "pushed":
            self.credit += self.exclusive

    def lose_the_connection(self) -> None:
        """After what the producer must not send, nothing can be taken any more."""
        self.end()
        self.broken = True
        self.awake = False

    def begin_recycle(self, count: int) -> None:
        """The task gives data buffers back."""
        self.begin()
        self.held -= count
        self.returning = count

    def end_recycle(self) -> None:
        """They are back."""
        self.end()
        self.returning = 0

    def resume(self) -> None:
        """The producer may go on. Without initial credit it begins with none: it tells its backlog first."""
        self.end()
        self.blocked = False
        if not self.exclusive:
            self.credit = self.required = 0
            self.asked = self.in_line = False

    # ---- recovered data ----------------------------------------------------------------------------------------------
    def begin_push(self) -> None:
        """A recovered buffer is on its way."""
        self.begin()
        self.recovered.append(Sent(Data((self.records,)), 0))
        self.records += 1
        self.pushed += 1

    def end_push(self) -> None:
        """It is there, or was recycled."""
        self.end()
        for sent in self.recovered:
            sent.sure = True

    def begin_finish(self) -> None:
        """The end of recovered data is on its way."""
        self.begin()
        self.finishing = True

    def end_finish(self) -> None:
        """It is there."""
        self.end()
        self.finished = True

    # ---- live data ---------------------------------------------------------------------------------------------------
    def begin_arrival(self, element: Element) -> None:
        """A live element is on its way."""
        self.begin()
        self.sending = True
        if self.starting and self.pending:
            self.unsure[self.pending] = None
        if self.releasing:
            self.unsure[0] = None
        sent = Sent(element, self.seq, not self.consumed and not element.data_type.has_priority)
        self.seq += 1
        (self.urgent if element.data_type.has_priority else self.queue).append(sent)
        if type(element) is Data:
            self.credit -= 1
            self.required -= 1  # the backlog is shorter by what was sent
            self.asked = False  # whoever looks now cannot say any more what was missing
        elif type(element) is Barrier:
            self.doubtful = self.doubtful or self.starting > 0
            self.forgotten = self.starting > 0
            self.last_barrier = element.checkpoint
            self.newest = max(self.newest, element.checkpoint)
            if element.data_type.needs_announcement:
                self.urgent.append(Sent(Announcement(element.checkpoint, sent.seq), sent.seq))
        self.noticed(element, sent.seq)
        self.blocked = self.blocked or element.data_type.blocks_upstream
        self.over = self.over or element.data_type.label == "end-of-partition"

    def end_arrival(self, backlog: int) -> None:
        """It is there."""
        self.end()
        if backlog >= 0:
            self.required = backlog + self.exclusive
            self.asked, self.in_line = self.consumed, False  # during recovery no credit shows what it got
        self.sending = False
        self.ready_upstream = True
        for sent in (*self.urgent, *self.queue):
            sent.sure = True

    # ---- the task ----------------------------------------------------------------------------------------------------
    def begin_take(self) -> None:
        """The task takes."""
        self.alone = self.flying == 0
        self.polling = True
        self.flying += 1

    def end_take(self, taken: Taken | None) -> None:
        """It got something, or nothing."""
        self.end()
        self.awake = self.told or (taken is not None and taken.next != "none")
        self.told = self.polling = self.alone = False
        if taken is None:
            return
        element = taken.element
        if type(element) is Data:
            self.held += 1
        if element.data_type.has_priority:
            self.urgent.pop(0)
            if type(element) is Announcement:
                self.announced.append((taken.seq, element.checkpoint))
                return
        elif self.recovered:
            self.recovered.pop(0)
        else:
            self.queue.pop(0)
        if type(element) is Barrier:
            self.announced = [one for one in self.announced if one[1] != element.checkpoint]

    def ready(self) -> bool:
        """Whether the task can take something, the end of recovered data included."""
        if self.released or self.broken or not self.requested:
            return False
        if (self.urgent and self.urgent[0].sure) or (self.recovered and self.recovered[0].sure):
            return True
        if not self.consumed:
            return self.finished and not self.recovered
        return bool(self.queue) and self.queue[0].sure

    def head(self) -> Sent | None:
        """The next element without priority."""
        if self.recovered:
            return self.recovered[0]
        return self.queue[0] if self.queue else None

    def to_front(self, checkpoint: int) -> None:
        """An announced barrier became a priority event."""
        for index, sent in enumerate(self.queue):
            if type(sent.element) is Barrier and sent.element.checkpoint == checkpoint:
                del self.queue[index]
                moved = Sent(Barrier(checkpoint, Alignment.UNALIGNED), sent.seq)
                moved.sure = True
                self.urgent.append(moved)
                return

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def begin_mark(self, checkpoint: int) -> None:
        """The recovered data is being marked."""
        self.begin()
        if not self.consumed:
            self.marked[checkpoint] = sum(sent.sure for sent in self.recovered), 0

    def end_mark(self, checkpoint: int) -> None:
        """It is marked, if the channel is in recovery."""
        self.end()
        self.newest = max(self.newest, checkpoint)
        if checkpoint in self.marked:
            self.marked[checkpoint] = self.marked[checkpoint][0], len(self.recovered)

    def begin_start(self, checkpoint: int) -> None:
        """A checkpoint is being started."""
        self.begin()
        self.starting = checkpoint
        self.tried = max(self.tried, checkpoint)
        self.doubtful = self.sending
        self.forgotten = self.forgotten or checkpoint > self.last_barrier
        if self.sending and self.pending:
            self.unsure[self.pending] = None

    def refusals(self, checkpoint: int) -> tuple[CheckpointReason, ...]:
        """The reasons for which the checkpoint must be refused."""
        reasons: tuple[CheckpointReason, ...] = ()
        if self.subsumes(checkpoint):
            reasons += (CheckpointReason.SUBSUMED,)
        if not self.consumed and checkpoint not in self.marked:
            reasons += (CheckpointReason.DECLINED,)
        return reasons

    def start(self, checkpoint: int, accepted: bool) -> None:
        """The checkpoint started, or was refused."""
        self.end()
        self.starting = 0
        self.newest = max(self.newest, checkpoint)
        mark = self.marked.pop(checkpoint, None)
        if self.doubtful:
            self.unsure[0] = None
        if not accepted:
            return
        self.started_ids.append(checkpoint)
        waiting = [record for sent in self.recovered for record in sent.element.ids]  # type: ignore[union-attr]
        if not self.consumed and mark is not None:
            if mark[0] != mark[1]:
                self.unsure[checkpoint] = None
            waiting = waiting[: mark[0]]
        limit = self.barrier_at.get(checkpoint, self.seq)
        live = [record for sent in self.queue if type(sent.element) is Data and sent.seq < limit
                for record in sent.element.ids]  # fmt: skip
        self.started(checkpoint, waiting + live)

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over."""
        self.end()
        self.starting = 0
        self.newest = max(self.newest, checkpoint)
        self.stopped(checkpoint)

    def begin_stop(self, checkpoint: int) -> None:
        """A checkpoint is being stopped; what arrives meanwhile may still be written."""
        self.begin()
        self.starting = checkpoint
        self.forgotten = self.forgotten or checkpoint == self.last_barrier
        if self.sending and self.pending:
            self.unsure[self.pending] = None

    # ---- the end -----------------------------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Everything is being given back; what is on its way may come too late."""
        self.begin()
        self.releasing = True
        self.marked.clear()
        if self.sending:
            self.unsure[0] = None

    def release(self) -> None:
        """Everything was given back, except what the task holds."""
        self.end()
        self.released = True
        self.awake = False

    def fail(self) -> None:
        """Everything was given back, whatever was in flight."""
        if self.sending or self.starting:
            self.unsure[0] = None
        self.held += self.returning + self.polling
        self.failed = self.released = True
        self.flying = self.returning = 0
        self.awake = self.sending = self.polling = False
