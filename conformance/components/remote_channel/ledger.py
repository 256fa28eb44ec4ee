"""The ledger of one remote channel: what was sent, what the task took, and how much credit the producer has.

Three threads act: the network thread delivers, the recovery thread pushes, the task thread does everything else. The
ledger notes an element as sent when the operation that sends it begins, and as taken when the take is over. An element
is `sure` once the operation that sent it is over.
"""

from __future__ import annotations

from conformance.components.remote_channel.credit import Accounts, Credit
from conformance.driver import Seen
from conformance.parts.lane import Lane, Sent
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
    Next,
    PriorityAvailable,
    Signal,
    StateConsumed,
)

FLOWING = ("live", "starting")
OPEN = ("new", *FLOWING)
"""Phases of a channel that is not released and has not lost its connection."""
_PRIORITY, _DATA, _EVENT, _NONE = Next.PRIORITY, Next.DATA, Next.EVENT, Next.NONE
NOTHING = -1
"""Stands for an element that comes without a backlog."""


class Ledger(Accounts):
    """The steps keep the ledger up to date; the rules, and the functions that enable steps, read it."""

    __slots__ = (
        "announced", "arriving", "checkpointing", "disturbed", "doubtful", "end_left", "first_number", "forgotten",
        "input", "last_barrier", "moving", "newest", "notice", "over", "polling", "records", "said",
        "trespassing", "tried", "twice", "urged",
    )  # fmt: skip

    def __init__(self, recovery: str, handed_over: int, exclusive: int, floating: int, first: int = 0) -> None:
        super().__init__(recovery, handed_over, (exclusive, floating))
        self.first_number = first
        """The sequence number of the first live element. The ledger itself counts positions from 0."""
        self.records = handed_over
        """The next record id. Restores do not reset it."""
        self.restore(tuple(range(handed_over)))

    def restore(self, handed_over: tuple[int, ...] = ()) -> None:
        """Begins with a fresh channel. Only the first channel of a run is handed over recovered buffers.

        The phase is `broken` after the producer sent an element that it must not send: the connection is lost, and the
        task fails (Flink keeps the error and throws it at the next take). The phase is `starting` while the recovery
        barrier of a checkpoint is inserted and the checkpoint has not started.
        """
        self.begin_life("new")
        self.lane = Lane(handed_over, self.recovery == "pushed")
        self.input = self.lane.input
        """The input state that the channel must have written."""
        self.credit = Credit(*self.buffers)
        self.end_left = self.recovery == "in-memory"
        """Whether an end of recovered data that was handed over may be left, which takes a turn of its own."""
        self.notice = Notice(awake=self.end_left)  # at the conversion the gate asks for the buffers in use
        self.urged = False
        """Whether the gate knows of a priority event: it was told of one, or the last take said that one follows."""
        self.twice = False
        """Whether the channel said more than once that recovery is over, or in a channel that never was in recovery."""
        self.over = False
        """Whether the end of partition was sent."""
        self.arriving: Sent | None = None
        """The live element whose arrival is in flight; None: none is."""
        self.said = NOTHING
        """The backlog that comes with this element, or `NOTHING`."""
        self.polling = self.moving = self.trespassing = self.disturbed = False
        """Whether a take is in flight; whether the conversion of a barrier to a priority event is; whether live data is
        arriving during recovery; whether the producer sent an element that it must not send, which counts as its first
        message, too."""
        self.newest = self.tried = self.last_barrier = 0
        """The newest checkpoint that a step has named; the newest that the task tried to start; that of the last
        barrier."""
        self.checkpointing = self.doubtful = False
        """Whether the start or stop of a checkpoint is in flight; whether a concurrent arrival decides if the start
        succeeds."""
        self.forgotten = False
        """Whether the channel has perhaps forgotten its last barrier, so that the conversion of it may fail."""
        self.announced: dict[int, int] = {}
        """By sequence number, the checkpoints whose announcement was taken and whose barrier was not."""

    # ---- sequence numbers ------------------------------------------------------------------------------------------
    def number(self, position: int) -> int:
        """Returns the sequence number of the live element at this position, an integer of 32 bits."""
        return (position + self.first_number + 2**31) % 2**32 - 2**31

    def position(self, number: int) -> int:
        """Returns the position of the live element with this sequence number."""
        return (number - self.first_number) % 2**32

    # ---- queries ---------------------------------------------------------------------------------------------------
    def takeable(self) -> Sent | None:
        """Returns the element that a take certainly finds; None: there is none."""
        lane = self.lane
        line = lane.urgent or lane.waiting or (lane.live if lane.consumed else [])
        return line[0] if line and line[0].sure else None

    def stashed(self) -> Element | None:
        """Returns the next element without priority if it arrived during recovery, otherwise None."""
        lane = self.lane
        return lane.live[0].element if lane.live and not lane.waiting and lane.live[0].stashed else None

    def must_answer(self) -> bool:
        """Returns whether an element could certainly be taken when the take began."""
        return self.alone and self.phase in FLOWING and self.takeable() is not None and not self.end_may_follow()

    def something_waits(self) -> bool:
        """Returns whether an element or the end of recovered data can certainly be taken."""
        lane = self.lane
        at_the_end = lane.finished and not lane.consumed and not lane.waiting
        return (at_the_end or self.takeable() is not None) and self.phase in FLOWING

    def following(self) -> Next:
        """Returns the type of what the next take finds, provided that no other operation is in flight."""
        lane = self.lane
        if lane.urgent:
            return _PRIORITY
        if lane.waiting:
            return _DATA
        if not lane.consumed:
            return _EVENT if lane.finished else _NONE
        if not lane.live:
            return _NONE
        return _DATA if type(lane.live[0].element) is Buffer else _EVENT

    def end_may_follow(self) -> bool:
        """Returns whether the next take may find an end of recovered data that was handed over."""
        return self.end_left and not self.lane.waiting and not self.lane.urgent

    def first(self) -> str:
        """Describes what the next take must find."""
        sent = self.takeable()
        return "the end of recovered data" if sent is None else name(sent.element)

    def urgent_waits(self) -> bool:
        """Returns whether a priority event waits."""
        return bool(self.lane.urgent) and self.phase in FLOWING

    def first_urgent(self) -> str:
        """Describes the first priority event that waits."""
        return name(self.lane.urgent[0].element)

    def in_recovery(self) -> bool:
        """Returns whether the end of recovered data was not taken yet."""
        return not self.lane.consumed

    def upstream_is_there(self) -> bool | None:
        """Returns whether the producer has sent an element; None: it sent a forbidden one, or the release has begun."""
        if self.lane.arrived:
            return True
        return None if self.disturbed or self.releasing else False

    def came_too_late(self) -> bool | None:
        """Returns True if the channel was released before the push began, otherwise None."""
        return self.released or None

    def refuses(self, checkpoint: int) -> Refusal | None:
        """Returns the reasons to refuse the start now; None: a concurrent arrival decides."""
        if self.doubtful:
            return None
        unmarked = not self.lane.consumed and checkpoint not in self.lane.marks
        if self.input.subsumes(checkpoint):
            return SUBSUMED_OR_DECLINED if unmarked else SUBSUMED
        return DECLINED if unmarked else UNOPPOSED

    # ---- updates: the connection -----------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the signals to the gate and to the producer."""
        self.notice.hear(signals)
        announced = False
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.urged = True
            elif type(signal) is StateConsumed:
                self.twice = self.lane.consumed
                self.lane.consumed = True
                self.credit.borrow()
            elif type(signal) is CreditAnnounced:
                self.credit.granted += signal.credit
                announced = True
        if announced and not (self.lane.consumed or self.polling):
            self.credit.early = True

    def request(self) -> None:
        """Notes that the subpartition was requested: the producer has its initial credit."""
        self.end()
        self.phase = "live"
        if self.recovery != "pushed":
            self.credit.open()

    def begin_breach(self) -> None:
        """Notes that an element that the producer must not send begins to arrive."""
        self.begin()
        self.disturbed = True

    def begin_trespass(self) -> None:
        """Notes that live data begins to arrive during recovery."""
        self.begin_breach()
        self.trespassing = True

    def end_trespass(self) -> None:
        """Notes that the channel has dealt with live data during recovery."""
        self.end()
        self.trespassing = False

    def lose_the_connection(self, *operands: object) -> None:
        """Notes that the connection is lost, or that the task failed: nothing can be taken any more."""
        self.end()
        if not self.released:
            self.phase = "broken"
        self.notice.awake = False

    # ---- updates: data ---------------------------------------------------------------------------------------------
    def begin_push(self) -> None:
        """Notes that the push of the next recovered record begins."""
        self.begin()
        self.lane.begin_push((self.records,))
        self.credit.take_one()
        self.records += 1

    def end_push(self) -> None:
        """Notes that the push is over: the buffer is in the channel or was recycled."""
        self.end()
        self.lane.end_push()

    def begin_finish(self) -> None:
        """Notes that the push of the end of recovered data begins."""
        self.begin()
        self.lane.finishing = True

    def end_finish(self) -> None:
        """Notes that the push of the end of recovered data is over."""
        self.end()
        self.lane.finished = True

    def begin_data(self, backlog: int) -> None:
        """Notes that a live data buffer begins to arrive; it uses up one credit."""
        self.begin_arrival(Buffer((self.records,)), backlog)
        self.records += 1
        self.credit.spend()

    def begin_arrival(self, element: Element, backlog: int = NOTHING) -> None:
        """Notes that a live element begins to arrive. An element that blocks its producer comes with the backlog 0."""
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
                number = self.number(sent.number)
                lane.urgent.append(Sent(Announcement(element.checkpoint, number), sent.number))
        lane.notice(element, sent.number)
        lane.blocked = (
            lane.blocked or kind.blocks_upstream
        )  # a remote producer is blocked as soon as it has sent the element

    def begin_last(self, element: Element) -> None:
        """Notes that the last live element begins to arrive."""
        self.begin_arrival(element)
        self.over = True

    def end_arrival(self, *operands: object) -> None:
        """Notes that the arrival is over: the element is in the channel, and the channel knows the backlog."""
        self.end()
        self.lane.end_send()
        self.arriving = None
        if self.said != NOTHING:
            self.credit.hear_backlog(self.said)

    # ---- updates: the task -----------------------------------------------------------------------------------------
    def begin_take(self) -> None:
        """Notes that a take begins."""
        self.begin_alone()
        self.notice.begin_take()
        self.urged = False
        self.polling = True

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that a take is over, and which element it answered."""
        self.end()
        self.polling = False
        taken, lane = seen.value, self.lane
        self.notice.took(taken is not None and taken.next != "none")
        if taken is None:
            self.end_left = False
            return
        self.urged = self.urged or taken.next == "priority"
        element = taken.element
        if element.data_type.has_priority:
            del lane.urgent[0]
        elif lane.waiting:
            lane.take_recovered(taken.seq)
            self.credit.recovered += 1
        else:
            del lane.live[0]
            self.end_left = False
        if type(element) is Buffer:
            self.credit.held += 1
        elif type(element) is Announcement:
            self.announced[taken.seq] = element.checkpoint
        elif type(element) is Barrier:
            self.announced = {seq: one for seq, one in self.announced.items() if one != element.checkpoint}

    def begin_recycle(self, count: int) -> None:
        """Notes that the task begins to recycle data buffers."""
        self.begin()
        self.credit.recycle(count, self.recovery == "pushed")

    def end_recycle(self, count: int) -> None:
        """Notes that these buffers are recycled."""
        self.end()
        self.credit.returning = 0

    def resume(self) -> None:
        """Notes that the consumer resumed the producer."""
        self.end()
        self.lane.blocked = False
        self.credit.lose()

    # ---- updates: checkpoints --------------------------------------------------------------------------------------
    def begin_mark(self, checkpoint: int) -> None:
        """Notes that the insertion of a recovery barrier begins, if the channel is in recovery."""
        self.begin()
        if not self.lane.consumed:
            self.lane.begin_mark(checkpoint)
            self.phase = "starting"

    def end_mark(self, checkpoint: int) -> None:
        """Notes that the recovery barrier is inserted."""
        self.end()
        self.newest = max(self.newest, checkpoint)
        self.lane.end_mark(checkpoint)

    def begin_start(self, checkpoint: int) -> None:
        """Notes that the start of a checkpoint begins."""
        self.begin()
        self.checkpointing = True
        self.tried = max(self.tried, checkpoint)
        self.doubtful = self.arriving is not None
        self.forgotten = self.forgotten or checkpoint > self.last_barrier
        if self.doubtful:
            self.input.doubt_pending()

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the checkpoint started, or that its start was refused."""
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
        """Notes that the stop of a checkpoint begins; data that arrives meanwhile may still be written."""
        self.begin()
        self.checkpointing = True
        self.forgotten = self.forgotten or checkpoint == self.last_barrier
        if self.arriving is not None:
            self.input.doubt_pending()

    def stop(self, checkpoint: int) -> None:
        """Notes that the checkpoint was stopped."""
        self.end()
        self.checkpointing = False
        self.input.stopped(checkpoint)

    def begin_move(self, seq: int) -> None:
        """Notes that the conversion of an announced barrier to a priority event begins."""
        self.begin()
        self.moving = True

    def move(self, seq: int) -> None:
        """Notes that the conversion is over: the barrier stands in front."""
        self.end()
        self.moving = False
        self.lane.to_front(self.announced.pop(seq))

    # ---- updates: release and failure ------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Notes that the release begins. An element that is arriving may come too late for the input state."""
        self.begin()
        super().begin_release()
        self.lane.marks.clear()
        if self.phase == "starting":
            self.phase = "live"
        if self.arriving is not None:
            self.input.doubt()

    def release(self) -> None:
        """Notes that the release is over. The task still holds the buffers that it took."""
        self.end()
        super().release()
        self.notice.awake = False

    def fail(self) -> None:
        """Notes that the channel was released at an arbitrary moment; operations in flight are abandoned."""
        super().fail()
        if self.arriving is not None or self.checkpointing:
            self.input.doubt()
        self.credit.held += self.credit.returning + self.polling
        self.credit.returning = 0
        self.arriving = None
        self.notice.awake = self.polling = False
