"""What the driver knows about one remote channel: what was sent, what the task took, which credit the producer has.

Three threads act: the network delivers, recovery pushes, the task does everything else. What is *sent* is known when
an operation begins, what was *taken* when it is over; an element is `sure` once the operation that sent it is over.
"""

from __future__ import annotations

from conformance.components.remote_channel.credit import Credit
from conformance.driver import Seen
from conformance.parts.lane import Lane, Sent
from conformance.parts.lifetime import Lifetime
from conformance.parts.notice import Notice
from conformance.parts.starts import DECLINED, SUBSUMED, SUBSUMED_OR_DECLINED, UNOPPOSED, Refusal
from conformance.parts.words import name
from conformance.ports import (
    Announcement,
    Barrier,
    Buffer,
    BufferAndBacklog,
    CreditAnnounced,
    Element,
    Signal,
    StateConsumed,
)

FLOWING = ("live", "starting")
OPEN = ("new", *FLOWING)
"""Phases of a channel that was not released, and whose connection was not lost."""
NOTHING = -1
"""No backlog is said."""


class Ledger(Lifetime):
    """Kept up to date by the steps; read by enabledness and by rules."""

    __slots__ = (
        "announced", "arriving", "buffers", "checkpointing", "credit", "disturbed", "doubtful", "forgotten",
        "handed_over", "input", "lane", "last_barrier", "moving", "newest", "notice", "over", "polling", "records",
        "recovery", "said", "trespassing", "tried",
    )  # fmt: skip

    def __init__(self, recovery: str, handed_over: int, exclusive: int, floating: int) -> None:
        super().__init__()
        self.recovery = recovery
        self.handed_over = handed_over
        self.buffers = exclusive, floating
        """How many there are: the channel's own, and those of the pool."""
        self.records = handed_over
        """Record ids are numbered through, across restores."""
        self.restore(tuple(range(handed_over)))

    def restore(self, handed_over: tuple[int, ...] = ()) -> None:
        """A fresh channel. What a recovered channel left behind comes with the first one only.

        After what the producer must not send, the channel is `broken`: the connection is lost, and so is the task
        (Flink keeps the error, and whoever takes next gets it). It is `starting` while a checkpoint is marked in the
        recovered data that has not started yet.
        """
        self.begin_life("new")
        self.lane = Lane(handed_over, self.recovery == "pushed")
        self.input = self.lane.input
        """What must have been written."""
        self.credit = Credit(self.buffers[0])
        self.notice = Notice(awake=self.recovery == "in-memory")  # at conversion the gate asks what waits
        self.over = False
        """The end of the partition was sent."""
        self.arriving: Sent | None = None
        """The live element whose arrival is in flight..."""
        self.said = NOTHING
        """... and the backlog that the producer says with it."""
        self.polling = self.moving = self.trespassing = self.disturbed = False
        """The task takes; a barrier is moved to the front; live data comes during recovery; the producer sent what it
        must not, which is a message too."""
        self.newest = self.tried = self.last_barrier = 0
        """The newest checkpoint that is known; the newest that the task tried to start; that of the last barrier."""
        self.checkpointing = self.doubtful = False
        """A checkpoint is being started or stopped; a race decides whether it may start."""
        self.forgotten = False
        """The last barrier of the channel is not known any more, or may not be: it cannot overtake."""
        self.announced: dict[int, int] = {}
        """By sequence number, the checkpoint of announcements that were taken, their barriers not yet."""

    # ---- questions -------------------------------------------------------------------------------------------------
    def takeable(self) -> Sent | None:
        """The element that a take finds for certain."""
        lane = self.lane
        line = lane.urgent or lane.waiting or (lane.live if lane.consumed else [])
        return line[0] if line and line[0].sure else None

    def stashed(self) -> Element | None:
        """The next element without priority, if it came during recovery."""
        lane = self.lane
        return lane.live[0].element if lane.live and not lane.waiting and lane.live[0].stashed else None

    def must_answer(self) -> bool:
        """Whether an element could be handed out for certain as the take began."""
        return self.alone and self.phase in FLOWING and self.takeable() is not None

    def something_waits(self) -> bool:
        """Whether something can be taken for certain, the end of recovered data included."""
        lane = self.lane
        at_the_end = lane.finished and not lane.consumed and not lane.waiting
        return (at_the_end or self.takeable() is not None) and self.phase in FLOWING

    def first(self) -> str:
        """What comes next, in words."""
        sent = self.takeable()
        return "the end of recovered data" if sent is None else name(sent.element)

    def queued(self) -> int:
        """How many live data buffers wait."""
        return sum([type(sent.element) is Buffer for sent in self.lane.live])

    def spare(self) -> int:
        """Floating buffers that nobody has."""
        return sum(self.buffers) - self.credit.held - self.credit.granted - self.queued()

    def counted(self) -> tuple[int, int]:
        """How many buffers wait. 2.3.0 counts events too, the end of recovered data among them, and what the producer
        said waits with it."""
        lane, credit = self.lane, self.credit
        least = len(lane.waiting) + self.queued()
        elements = len(lane.waiting) + len(lane.live) + len(lane.urgent)
        return least, elements + bool(self.handed_over) + max(0, credit.required - credit.exclusive)

    def keeps(self) -> int:
        """After release: the buffers in the hands of the task."""
        return self.credit.held

    def in_recovery(self) -> bool:
        """Whether the end of recovered data was not taken yet."""
        return not self.lane.consumed

    def upstream_is_there(self) -> bool | None:
        """Whether the producer sends something; None: what it sends is illegal, or the channel is being released."""
        if self.lane.arrived:
            return True
        return None if self.disturbed or self.releasing else False

    def came_too_late(self) -> bool | None:
        """Whether the channel had been released when a push began; None: it was not."""
        return self.released or None

    def refuses(self, checkpoint: int) -> Refusal | None:
        """What speaks against starting it now; None: a race decides."""
        if self.doubtful:
            return None
        unmarked = not self.lane.consumed and checkpoint not in self.lane.marks
        if self.input.subsumes(checkpoint):
            return SUBSUMED_OR_DECLINED if unmarked else SUBSUMED
        return DECLINED if unmarked else UNOPPOSED

    # ---- what is learned: the connection ---------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """The gate, or the producer, was told something."""
        self.notice.hear(signals)
        for signal in signals:
            if type(signal) is StateConsumed:
                self.lane.consumed = True
            elif type(signal) is CreditAnnounced:
                self.credit.granted += signal.credit

    def begin(self, *operands: object) -> None:
        """An operation begins."""
        credit = self.credit
        if credit.asked or credit.in_line:
            credit.look_at_the_line(not self.flying)
        self.flying += 1
        self.alone = False

    def request(self) -> None:
        """The producer knows of the channel, and of its initial credit."""
        self.end()
        self.phase = "live"
        if self.recovery != "pushed":
            self.credit.granted += self.credit.exclusive

    def begin_breach(self) -> None:
        """The producer sends what it must not."""
        self.begin()
        self.disturbed = True

    def begin_trespass(self) -> None:
        """It sends live data during recovery."""
        self.begin_breach()
        self.trespassing = True

    def end_trespass(self) -> None:
        """That was refused."""
        self.end()
        self.trespassing = False

    def lose_the_connection(self) -> None:
        """Nothing can be taken any more."""
        self.end()
        if not self.released:
            self.phase = "broken"
        self.notice.awake = False

    # ---- what is learned: data -------------------------------------------------------------------------------------
    def begin_push(self) -> None:
        """A recovered buffer is on its way."""
        self.begin()
        self.lane.begin_push((self.records,))
        self.records += 1

    def end_push(self) -> None:
        """It is there, or was recycled."""
        self.end()
        self.lane.end_push()

    def begin_finish(self) -> None:
        """The end of recovered data is on its way."""
        self.begin()
        self.lane.finishing = True

    def end_finish(self) -> None:
        """It is there."""
        self.end()
        self.lane.finished = True

    def begin_data(self, backlog: int) -> None:
        """Live data is on its way."""
        self.begin_arrival(Buffer((self.records,)), backlog)
        self.records += 1
        self.credit.spend()

    def begin_arrival(self, element: Element, backlog: int = NOTHING) -> None:
        """A live element is on its way. A producer that it blocks says that it has no backlog."""
        self.begin()
        lane, kind = self.lane, element.data_type
        if self.checkpointing:
            lane.input.doubt_pending()
        if self.releasing:
            lane.input.doubt()
        sent = self.arriving = lane.send(element, stashed=not lane.consumed and not kind.has_priority)
        self.said = 0 if kind.blocks_upstream else backlog
        if type(element) is Barrier:
            self.doubtful = self.doubtful or self.checkpointing
            self.forgotten = self.checkpointing
            self.last_barrier = element.checkpoint
            self.newest = max(self.newest, element.checkpoint)
            if kind.needs_announcement:
                lane.urgent.append(Sent(Announcement(element.checkpoint, sent.number), sent.number))
        lane.notice(element, sent.number)
        lane.blocked = lane.blocked or kind.blocks_upstream  # what blocks a producer over the network does so once sent

    def begin_last(self, element: Element) -> None:
        """A live element is on its way, and nothing comes after it."""
        self.begin_arrival(element)
        self.over = True

    def end_arrival(self, *operands: object) -> None:
        """It is there."""
        self.end()
        self.lane.end_send()
        self.arriving = None
        if self.said != NOTHING:
            self.credit.hear_backlog(self.said, self.lane.consumed)

    # ---- what is learned: the task ---------------------------------------------------------------------------------
    def begin_take(self) -> None:
        """The task takes."""
        self.begin_alone()
        self.notice.begin_take()
        self.polling = True

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """It got something, or nothing."""
        self.end()
        self.polling = False
        taken, lane = seen.value, self.lane
        self.notice.took(taken is not None and taken.next != "none")
        if taken is None:
            return
        element = taken.element
        if element.data_type.has_priority:
            del lane.urgent[0]
        elif lane.waiting:
            lane.take_recovered(taken.seq)
        else:
            del lane.live[0]
        if type(element) is Buffer:
            self.credit.held += 1
        elif type(element) is Announcement:
            self.announced[taken.seq] = element.checkpoint
        elif type(element) is Barrier:
            self.announced = {seq: one for seq, one in self.announced.items() if one != element.checkpoint}

    def begin_recycle(self, count: int) -> None:
        """The task gives data buffers back."""
        self.begin()
        self.credit.held -= count
        self.credit.returning = count

    def end_recycle(self, count: int) -> None:
        """They are back."""
        self.end()
        self.credit.returning = 0

    def resume(self) -> None:
        """The producer may go on."""
        self.end()
        self.lane.blocked = False
        self.credit.resume()

    # ---- what is learned: checkpoints ------------------------------------------------------------------------------
    def begin_mark(self, checkpoint: int) -> None:
        """The recovered data is being marked, if the channel is in recovery."""
        self.begin()
        if not self.lane.consumed:
            self.lane.begin_mark(checkpoint)
            self.phase = "starting"

    def end_mark(self, checkpoint: int) -> None:
        """It is marked."""
        self.end()
        self.newest = max(self.newest, checkpoint)
        self.lane.end_mark(checkpoint)

    def begin_start(self, checkpoint: int) -> None:
        """A checkpoint is being started."""
        self.begin()
        self.checkpointing = True
        self.tried = max(self.tried, checkpoint)
        self.doubtful = self.arriving is not None
        self.forgotten = self.forgotten or checkpoint > self.last_barrier
        if self.doubtful:
            self.input.doubt_pending()

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """The checkpoint started, or was refused."""
        self.end()
        lane = self.lane
        self.checkpointing = False
        self.newest = max(self.newest, checkpoint)
        mark = lane.marks.pop(checkpoint, None)
        if self.phase == "starting":
            self.phase = "live"
        if self.doubtful:
            lane.input.doubt()
        if seen.error is not None:
            return
        recovered = lane.left()
        if mark is not None and not lane.consumed:
            recovered = lane.before(mark.least)
            if mark.least != mark.most:
                lane.input.doubt(checkpoint)
        lane.input.started(checkpoint, recovered + lane.in_front(checkpoint))

    def begin_stop(self, checkpoint: int) -> None:
        """A checkpoint is being stopped; what arrives meanwhile may still be written."""
        self.begin()
        self.checkpointing = True
        self.forgotten = self.forgotten or checkpoint == self.last_barrier
        if self.arriving is not None:
            self.input.doubt_pending()

    def stop(self, checkpoint: int) -> None:
        """It is over."""
        self.end()
        self.checkpointing = False
        self.input.stopped(checkpoint)

    def begin_move(self, seq: int) -> None:
        """An announced barrier is about to overtake."""
        self.begin()
        self.moving = True

    def move(self, seq: int) -> None:
        """It stands in front."""
        self.end()
        self.moving = False
        self.lane.to_front(self.announced.pop(seq))

    # ---- what is learned: the end ----------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Everything is being given back; what is on its way may come too late."""
        self.begin()
        super().begin_release()
        self.lane.marks.clear()
        if self.phase == "starting":
            self.phase = "live"
        if self.arriving is not None:
            self.input.doubt()

    def release(self) -> None:
        """Everything was given back, except what the task holds."""
        self.end()
        super().release()
        self.notice.awake = False

    def fail(self) -> None:
        """Everything was given back, whatever was in flight."""
        super().fail()
        if self.arriving is not None or self.checkpointing:
            self.input.doubt()
        self.credit.held += self.credit.returning + self.polling
        self.credit.returning = 0
        self.arriving = None
        self.notice.awake = self.polling = False
