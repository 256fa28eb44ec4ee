"""The ledger of one remote channel: what was sent, what the task took, and how much credit the producer has.

Three threads act: the network thread delivers, the recovery thread pushes, the task thread does everything else. The
ledger notes an element as sent when the operation that sends it begins, and as taken when the take is over. An element
is `sure` once the operation that sent it is over: from then on the task must find it.
"""

from __future__ import annotations

from typing import Any

from conformance.components.remote_channel.credit import Credit
from conformance.driver import BROKEN, PortLedger, Seen, Unsure
from conformance.models.consumer import Consumer
from conformance.models.faults import struck_by
from conformance.models.kept import keep
from conformance.models.lane import Lane, Sent
from conformance.models.starts import BARRIER_MEANWHILE, Refusal
from conformance.models.words import name
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CONNECTION,
    PRODUCER,
    Announcement,
    Barrier,
    Buffer,
    BufferAndBacklog,
    CheckpointReason,
    CreditAnnounced,
    Element,
    FaultKind,
    FaultStruck,
    Next,
    Places,
    Signal,
    StateConsumed,
)

FLOWING = ("live", "starting")
OPEN = ("new", *FLOWING)
"""Phases of a channel that is not released and has not lost its connection."""
_PRIORITY, _DATA, _EVENT, _NONE = Next.PRIORITY, Next.DATA, Next.EVENT, Next.NONE
NOTHING = -1
"""Stands for an element that comes without a backlog."""


class Ledger(PortLedger):
    """What the rules and the steps read, and how the steps change it."""

    __slots__ = (
        "announced", "arriving", "astray", "backlog", "buffers", "checkpointing", "consumer", "credit", "crossed",
        "disturbed", "end_left", "error_came", "error_comes", "errors", "first_number", "forgotten", "handed_over",
        "in_hand", "input", "lane", "last_barrier", "moving", "newest", "next_record", "over", "polling",
        "producer_failed", "recovery", "start_is_unsure", "started", "times_out", "trespassing", "twice",
        "without_barrier",
    )  # fmt: skip

    def __init__(
        self, recovery: str, handed_over: int, exclusive: int, floating: int, first: int, can_fail: Places,
        without_barrier: CheckpointReason, times_out: bool,
    ) -> None:  # fmt: skip
        """`without_barrier`: why a checkpoint is declined whose recovery barrier is missing. `times_out`: whether an
        announced barrier may become unaligned."""
        super().__init__(can_fail)
        self.recovery = recovery
        self.handed_over = handed_over
        self.buffers = (exclusive, floating)
        """Number of exclusive buffers of the channel, and number of floating buffers of the pool."""
        self.times_out = times_out
        self.without_barrier = without_barrier
        self.first_number = first
        """The sequence number of the first live element. The ledger itself counts positions from 0."""
        self.next_record = handed_over
        """The next record id. Restores do not reset it."""
        self.restore(tuple(range(handed_over)))

    def restore(self, handed_over: tuple[int, ...] = ()) -> None:
        """Begins with a fresh channel. Only the first channel of a run is handed over recovered buffers.

        The phase is `broken` after the producer sent an element that it must not send, and after an operation has
        failed with what it calls: the connection is lost, and the task fails; before that it is `kept` if the channel
        keeps the error for the next take. The phase is `starting` while the recovery barrier of a checkpoint is
        inserted and the checkpoint has not started.
        """
        self.begin_life("new")
        self.lane = Lane(handed_over, self.recovery == "pushed")
        self.input = self.lane.input
        """The input state that the channel must have written."""
        self.credit = Credit(*self.buffers)
        self.end_left = self.recovery == "in-memory"
        """Whether an end of recovered data that was handed over may be left, which takes a turn of its own."""
        self.consumer = Consumer(awake=self.end_left)  # at the conversion the gate asks for the buffers in use
        self.twice = False
        """Whether the channel said more than once that recovery is over, or in a channel that never was in recovery."""
        self.over = False
        """Whether the producer sends no more elements: the end of partition was sent, or the producer has failed."""
        self.producer_failed = False
        """Whether the producer has failed, so that its error arrives instead of elements."""
        self.errors = 0
        """Number of times that its error has arrived."""
        self.error_comes = self.error_came = False
        """Whether the arrival of an error, with which the next take fails, has begun, so that what is recycled from
        then on need not be announced; whether it is over."""
        self.astray = 0
        """Number of buffers that an operation that has failed may have recycled, or not: that of an arrival, or the
        exclusive ones of a request."""
        self.in_hand = 0
        """Number of buffers that the task may hold without knowing it: a take was in flight when it was cancelled."""
        self.arriving: Sent | None = None
        """The live element whose arrival is in flight; None: none is."""
        self.backlog = NOTHING
        """The backlog that comes with this element, or `NOTHING`."""
        self.crossed = False
        """Whether the start or stop of a checkpoint has overlapped this arrival."""
        self.polling = self.moving = self.trespassing = self.disturbed = False
        """Whether a take is in flight; whether the conversion of a barrier to a priority event is; whether live data is
        arriving during recovery; whether the producer sent an element that it must not send, which counts as its first
        message, too."""
        self.newest = self.started = self.last_barrier = 0
        """The newest checkpoint that a step has named; the newest that the task tried to start; that of the last
        barrier."""
        self.checkpointing = self.start_is_unsure = False
        """Whether the start or stop of a checkpoint is in flight; whether a barrier that arrives meanwhile decides
        if the start succeeds."""
        self.forgotten = False
        """Whether the channel has perhaps forgotten its last barrier, so that the conversion of it may fail."""
        self.announced: dict[int, int] = {}
        """By sequence number, the checkpoints whose announcement was taken and whose barrier was not."""

    # ---- buffers and credit ------------------------------------------------------------------------------------------
    def covered(self) -> int:
        """Returns the number of buffers of the channel and the pool that are neither announced as credit nor in use for
        live data."""
        credit = self.credit
        return sum(self.buffers) - credit.granted - self.lane.buffers() - (credit.held - credit.recovered)

    def own_recovered(self) -> int:
        """Returns the highest number of buffers of the channel that recovered data is in. What was handed over keeps
        its memory."""
        return self.credit.recovered + len(self.lane.waiting) if self.recovery == "pushed" else 0

    def spare(self) -> int:
        """Returns the lowest number of buffers that are neither in use nor announced as credit."""
        return self.covered() - self.own_recovered()

    def in_use(self) -> int:
        """Returns the number of data buffers that wait in the channel or are with the task."""
        return len(self.lane.waiting) + self.lane.buffers() + self.credit.held

    def set_aside(self) -> tuple[int, int]:
        """Returns the lowest and the highest number of buffers that may be set aside for live data, provided that no
        operation is in flight. What an operation that has failed has set aside was not announced."""
        credit = self.credit
        if self.error_comes or self.phase == BROKEN:
            least, most = self._announced()
            return 0 if credit.may_return else least, max(most, credit.most)
        return self._announced()

    def _announced(self) -> tuple[int, int]:
        credit = self.credit
        if self.phase == "new":
            return 0, credit.exclusive
        if self.lane.held_back and not credit.exclusive:  # the producer loses its credit when it is resumed
            return 0, credit.floating
        if self.lane.consumed:
            return credit.granted, credit.granted
        return max(0, credit.exclusive - self.own_recovered()), credit.most

    def counted(self) -> tuple[int, int]:
        """Returns the number of queued buffers, and what 2.3.0 returns: it also counts events, the end of recovered
        data and the backlog of the producer."""
        lane, credit = self.lane, self.credit
        least = len(lane.waiting) + self.lane.buffers()
        elements = len(lane.waiting) + len(lane.live) + len(lane.urgent) + (lane.finishing and not lane.consumed)
        return least, elements + bool(self.handed_over) + credit.backlog()

    # ---- sequence numbers --------------------------------------------------------------------------------------------
    def number(self, position: int) -> int:
        """Returns the sequence number of the live element at this position, an integer of 32 bits."""
        return (position + self.first_number + 2**31) % 2**32 - 2**31

    def position(self, number: int) -> int:
        """Returns the position of the live element with this sequence number."""
        return (number - self.first_number) % 2**32

    # ---- queries -----------------------------------------------------------------------------------------------------
    def keeps(self) -> int:
        """Returns the number of buffers that the task may hold and that stay in use after release."""
        return self.credit.held + self.in_hand

    def takeable(self) -> Sent | None:
        """Returns the element that a take certainly finds; None: there is none."""
        return self.lane.next(hidden=not self.lane.consumed)

    def stashed(self) -> Element | None:
        """Returns the next element without priority if it arrived during recovery, otherwise None."""
        lane = self.lane
        return lane.live[0].element if lane.live and not lane.waiting and lane.live[0].stashed else None

    def must_answer(self) -> bool:
        """Returns whether an element could certainly be taken when the take began."""
        if not self.alone or self.phase not in FLOWING or self.error_comes:
            return False
        return self.takeable() is not None and not self.end_may_follow()

    def something_waits(self) -> bool:
        """Returns whether an element, the end of recovered data or an error can certainly be taken."""
        lane = self.lane
        at_the_end = lane.finished and not lane.consumed and not lane.waiting
        return (at_the_end or self.takeable() is not None or self.error_came) and self.phase in FLOWING

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
        if self.error_came:
            return "an error"
        sent = self.takeable()
        return "the end of recovered data" if sent is None else name(sent.element)

    def urgent_waits(self) -> bool:
        """Returns whether a priority event waits."""
        return bool(self.lane.urgent) and self.phase in FLOWING

    def first_urgent(self) -> str:
        """Describes the first priority event that waits."""
        return name(self.lane.urgent[0].element)

    def upstream_is_there(self) -> bool | None:
        """Returns whether the producer has sent an element; None: it sent a forbidden one or has failed, or the release
        has begun."""
        if self.lane.arrived:
            return True
        return None if self.disturbed or self.releasing else False

    def came_too_late(self) -> bool | None:
        """Returns True if the channel was released before the push began, otherwise None."""
        return self.released or None

    def refuses(self, checkpoint: int) -> Refusal | Unsure:
        """Returns the reasons to refuse the start now."""
        return BARRIER_MEANWHILE if self.start_is_unsure else self.lane.refuses(checkpoint)

    # ---- updates: the connection -------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the signals to the gate and to the producer."""
        self.consumer.hear(signals)
        announced = False
        for signal in signals:
            if type(signal) is StateConsumed:
                self.twice = self.lane.consumed
                self.lane.consumed = True
                self.credit.borrow()
            elif type(signal) is CreditAnnounced:
                self.credit.granted += signal.credit
                announced = True
            elif type(signal) is FaultStruck and signal.place == CONNECTION:
                self.error_comes = True
        if announced and not (self.lane.consumed or self.polling):
            self.credit.early = True

    def request(self) -> None:
        """Notes that the subpartition was requested: the producer has its initial credit."""
        self.end()
        if self.phase != "new":  # the task was cancelled meanwhile
            return
        self.phase = "live"
        if self.recovery != "pushed":
            self.credit.open()

    def requested(self, seen: Seen[None]) -> None:
        """Notes that the task has failed, if the request has failed with an error that had come before."""
        if seen.error is not None:
            self._cannot_request(seen)

    def _cannot_request(self, seen: Seen[None]) -> None:
        self.astray = self.credit.exclusive
        self.break_down(seen)

    def request_struck(self, seen: Seen[None]) -> None:
        """Notes that the subpartition was not there yet, so that the task asks again, or cannot be had at all."""
        self.end()
        if struck_by(seen).kind is FaultKind.REFUSES:
            self.faults.struck(seen.signals)
        else:
            self._cannot_request(seen)

    def begin_breach(self) -> None:
        """Notes that an element that the producer must not send begins to arrive."""
        self.begin()
        self.disturbed = True

    def begin_backlog_breach(self) -> None:
        """Notes that an element that blocks the producer begins to arrive with a backlog."""
        self.begin_breach()
        self.credit.refuse_a_block()

    def begin_trespass(self) -> None:
        """Notes that live data begins to arrive during recovery."""
        self.begin_breach()
        self.trespassing = True

    def end_trespass(self) -> None:
        """Notes that the channel has dealt with live data during recovery."""
        self.end()
        self.trespassing = False

    def refuse(self, operation: str, seen: Seen[None]) -> None:
        """Notes that a forbidden element was refused, at once or by an error that is kept for the next take."""
        self.lose_the_connection()
        if seen.error is None and not self.releasing:
            keep(self, self.consumer, operation)

    def lose_the_connection(self, *operands: object) -> None:
        """Notes that the connection is lost, or that the task failed: nothing can be taken any more."""
        self.end()
        if not self.released:
            self.phase = "broken"
        self.consumer.awake = False

    # ---- updates: data -----------------------------------------------------------------------------------------------
    def begin_push(self) -> None:
        """Notes that the push of the next recovered record begins."""
        self.begin()
        self.lane.begin_push((self.next_record,))
        if not self.credit.returning:  # otherwise, it perhaps gets memory of its own before a buffer comes back
            self.credit.take_one()
        self.next_record += 1

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
        self.begin_arrival(Buffer((self.next_record,)), backlog)
        self.next_record += 1
        self.credit.spend()

    def begin_arrival(self, element: Element, backlog: int = NOTHING) -> None:
        """Notes that a live element begins to arrive. An element that blocks its producer comes with the backlog 0."""
        self.begin()
        lane, kind = self.lane, element.data_type
        if self.checkpointing:
            lane.input.leave_pending_unsure()
        if self.releasing:
            lane.input.leave_unsure()
        sent = self.arriving = lane.send(element, stashed=not lane.consumed and not kind.has_priority)
        self.backlog = 0 if kind.blocks_upstream else backlog
        self.crossed = self.checkpointing
        if type(element) is Barrier:
            self.start_is_unsure = self.start_is_unsure or self.checkpointing
            self.forgotten = self.checkpointing
            self.last_barrier = element.checkpoint
            self.newest = max(self.newest, element.checkpoint)
            if kind.needs_announcement:
                number = self.number(sent.number)
                lane.urgent.append(Sent(Announcement(element.checkpoint, number), sent.number))
        lane.notice(element, sent.number)
        lane.held_back = (
            lane.held_back or kind.blocks_upstream
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
        if self.backlog != NOTHING:
            self.credit.hear_backlog(self.backlog)

    def arrival_struck(self, seen: Seen[None], *operands: object) -> None:
        """Notes that an arrival failed with the channel state writer, or that the credit for the backlog could not be
        sent."""
        self.end_arrival()
        if struck_by(seen).place == CHANNEL_STATE_WRITER:
            self.astray += 1
            pending = self.input.pending
            if self.crossed:
                self.input.leave_unsure()
            elif pending is not None:
                del pending.live[-1]
        self._fail_or_keep(seen)

    # ---- updates: faults ---------------------------------------------------------------------------------------------
    def fault_armed(self, place: str) -> None:
        """Notes that a fault is armed. A producer that fails sends no more elements."""
        if place == PRODUCER:
            self.producer_failed = self.over = True

    def begin_error(self) -> None:
        """Notes that the error of the producer begins to arrive."""
        self.begin_breach()
        self.errors += 1
        self.error_comes = self.error_comes or not self.releasing

    def end_error(self, seen: Seen[None]) -> None:
        """Notes that the error has arrived."""
        self.faults.struck(seen.signals)
        self.error_came = self.error_comes

    def error_struck(self, seen: Seen[None]) -> None:
        """Notes that the error has arrived, and that the channel has said so."""
        self.end()
        self.end_error(seen)

    def may_keep(self, place: str) -> bool:
        """Returns whether the port may keep the error of a call at this place for the next take."""
        return place == CONNECTION

    def _fail_or_keep(self, seen: Seen[Any]) -> None:
        """Notes that an operation failed, or that the channel keeps its error for the next take."""
        if seen.error is None and self.may_keep(struck_by(seen).place):
            self.faults.struck(seen.signals)
            self.error_comes = self.error_came = True
        else:
            self.break_down(seen)

    def break_down(self, seen: Seen[Any], *operands: object) -> None:
        """Notes that an operation has failed. A take that is in flight may deliver a buffer that the task keeps."""
        super().break_down(seen)
        self.in_hand += self.polling
        self.polling = self.consumer.awake = False

    # ---- updates: the task -------------------------------------------------------------------------------------------
    def begin_take(self) -> None:
        """Notes that a take begins."""
        self.begin_alone()
        self.consumer.begin_take()
        self.polling = True
        self.consumer.due_error = self.error_came

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes what a take returned."""
        self.polling = False
        taken, lane = seen.value, self.lane
        if seen.error is not None:
            self.break_down(seen)
            return
        self.consumer.took(taken is not None and taken.next != "none")
        if taken is None:
            self.end_left = False
            return
        self.consumer.expects_priority |= taken.next == "priority"
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

    def take_struck(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that the take of the end of recovered data could not send the credit that it wanted to announce. The
        buffers for it are set aside, whether or not the consumer was notified of the end."""
        self.end()
        self.credit.borrow()
        self.polling = False
        if seen.error is None:
            self.take(seen)
        self._fail_or_keep(seen)

    def begin_recycle(self, count: int) -> None:
        """Notes that the task begins to recycle data buffers."""
        self.begin()
        self.credit.recycle(count, self.recovery == "pushed")

    def end_recycle(self, count: int) -> None:
        """Notes that these buffers are recycled."""
        self.end()
        self.credit.returning = 0

    def recycle_struck(self, seen: Seen[None], count: int) -> None:
        """Notes that credit for recycled buffers could not be sent: the task learns it now, or at the next take."""
        self.end_recycle(count)
        self._fail_or_keep(seen)

    def attempt(self, seen: Seen[None], *operands: object) -> None:
        """Notes that the task has failed, if an operation has failed with an error that had come before."""
        if seen.error is not None:
            self.break_down(seen)

    def resume(self) -> None:
        """Notes that the consumer resumed the producer."""
        self.end()
        self.lane.held_back = False
        self.credit.lose()

    def resume_struck(self, seen: Seen[None]) -> None:
        """Notes that the resumption could not be sent."""
        if seen.error is None:
            self.resume()
        else:
            self.end()
        self._fail_or_keep(seen)

    # ---- updates: checkpoints ----------------------------------------------------------------------------------------
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
        self.started = max(self.started, checkpoint)
        arriving = self.arriving
        self.start_is_unsure = (
            arriving is not None and type(arriving.element) is Barrier
        )  # data is written in either order
        self.forgotten = self.forgotten or checkpoint > self.last_barrier
        if arriving is not None:
            self.crossed = True
            self.input.leave_pending_unsure()

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the checkpoint started, or that its start was refused."""
        lane = self.lane
        self.checkpointing = False
        self.newest = max(self.newest, checkpoint)
        mark = lane.marks.pop(checkpoint, None)
        if self.phase == "starting":
            self.phase = "live"
        if self.start_is_unsure:
            lane.input.leave_unsure()
        if seen.error is not None:
            return
        recovered = lane.left()
        if mark is not None and not lane.consumed:
            recovered = lane.before(mark.least)
            if mark.least != mark.most:
                lane.input.leave_unsure(checkpoint)
        lane.input.started(checkpoint, recovered + lane.in_front(checkpoint))

    def start_struck(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the start failed with the channel state writer: nothing is written for the checkpoint, unless it
        is of data that arrives at the same time."""
        self.end()
        self.checkpointing = False
        self.lane.marks.pop(checkpoint, None)
        self.input.failed.append(checkpoint)
        if self.start_is_unsure:
            self.input.leave_unsure()
        elif self.arriving is not None:
            self.input.leave_unsure(checkpoint)
        self.break_down(seen)

    def begin_stop(self, checkpoint: int) -> None:
        """Notes that the stop of a checkpoint begins; data that arrives meanwhile may still be written."""
        self.begin()
        self.checkpointing = True
        self.forgotten = self.forgotten or checkpoint == self.last_barrier
        if self.arriving is not None:
            self.crossed = True
            self.input.leave_pending_unsure()

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

    # ---- updates: release and failure --------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Notes that the release begins. An element that is arriving may come too late for the input state."""
        self.begin()
        super().begin_release()
        self.lane.marks.clear()
        if self.phase == "starting":
            self.phase = "live"
        if self.arriving is not None:
            self.input.leave_unsure()

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled, whatever it does. A take that is in flight delivers a buffer that the task
        keeps."""
        super().begin_cancel()
        if self.checkpointing:
            self.input.leave_unsure()
        self.in_hand += self.polling
        self.polling = self.consumer.awake = False

    def release(self) -> None:
        """Notes that the release is over. The task still holds the buffers that it took."""
        self.end()
        super().release()
        self.consumer.awake = False

    def fail(self) -> None:
        """Notes that the channel was released at an arbitrary moment; operations in flight are abandoned."""
        super().fail()
        if self.arriving is not None or self.checkpointing:
            self.input.leave_unsure()
        self.credit.held += self.credit.returning + self.polling
        self.credit.returning = 0
        self.arriving = None
        self.consumer.awake = self.polling = False
