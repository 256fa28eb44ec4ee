"""The ledger of one remote channel: what was sent, what the task took, and how much credit the producer has.

Three threads act: the network thread delivers, the recovery thread pushes, the task thread does everything else. The
ledger notes an element as sent when the operation that sends it begins, and as taken when the take is over.
"""

from __future__ import annotations

from typing import Any

from conformance.components.remote_channel.state import NOTHING, ChannelState
from conformance.driver import Seen
from conformance.parts.faults import struck_by
from conformance.parts.kept import keep
from conformance.parts.lane import Sent
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CONNECTION,
    PRODUCER,
    Announcement,
    Barrier,
    Buffer,
    BufferAndBacklog,
    CreditAnnounced,
    Element,
    FaultKind,
    FaultStruck,
    PriorityAvailable,
    Signal,
    StateConsumed,
)


class Ledger(ChannelState):
    """How the steps change the state of the channel."""

    __slots__ = ()

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
        """Notes that the task has failed, if the request has answered an error that had come before."""
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
            keep(self, operation)

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
        if not self.credit.returning:  # otherwise, it perhaps gets memory of its own before a buffer comes back
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
        self.crossed = self.checkpointing
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

    def arrival_struck(self, seen: Seen[None], *operands: object) -> None:
        """Notes that an arrival failed with the channel state writer, or that the credit for the backlog could not be
        sent."""
        self.end_arrival()
        if struck_by(seen).place == CHANNEL_STATE_WRITER:
            self.astray += 1
            pending = self.input.pending
            if self.crossed:
                self.input.doubt()
            elif pending is not None:
                del pending.live[-1]
        self._fail_or_keep(seen)

    # ---- updates: faults -------------------------------------------------------------------------------------------
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
        """Notes that an operation has failed. A take that is in flight may hand out a buffer that the task keeps."""
        super().break_down(seen)
        self.may_hold += self.polling
        self.polling = self.notice.awake = False

    # ---- updates: the task -----------------------------------------------------------------------------------------
    def begin_take(self) -> None:
        """Notes that a take begins."""
        self.begin_alone()
        self.notice.begin_take()
        self.urged = False
        self.polling = True
        self.must_learn = self.error_came

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes what a take answered."""
        self.polling = False
        taken, lane = seen.value, self.lane
        if seen.error is not None:
            self.break_down(seen)
            return
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

    def take_struck(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that the take of the end of recovered data could not send the credit that it wanted to announce. The
        buffers for it are set aside, whether or not the end was told."""
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
        """Notes that the task has failed, if an operation has answered an error that had come before."""
        if seen.error is not None:
            self.break_down(seen)

    def resume(self) -> None:
        """Notes that the consumer resumed the producer."""
        self.end()
        self.lane.blocked = False
        self.credit.lose()

    def resume_struck(self, seen: Seen[None]) -> None:
        """Notes that the resumption could not be sent."""
        if seen.error is None:
            self.resume()
        else:
            self.end()
        self._fail_or_keep(seen)

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
        arriving = self.arriving
        self.doubtful = arriving is not None and type(arriving.element) is Barrier  # data is written in either order
        self.forgotten = self.forgotten or checkpoint > self.last_barrier
        if arriving is not None:
            self.crossed = True
            self.input.doubt_pending()

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the checkpoint started, or that its start was refused."""
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

    def start_struck(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the start failed with the channel state writer: nothing is written for the checkpoint, unless it
        is of data that arrives at the same time."""
        self.end()
        self.checkpointing = False
        self.lane.marks.pop(checkpoint, None)
        self.input.failed.append(checkpoint)
        if self.doubtful:
            self.input.doubt()
        elif self.arriving is not None:
            self.input.doubt(checkpoint)
        self.break_down(seen)

    def begin_stop(self, checkpoint: int) -> None:
        """Notes that the stop of a checkpoint begins; data that arrives meanwhile may still be written."""
        self.begin()
        self.checkpointing = True
        self.forgotten = self.forgotten or checkpoint == self.last_barrier
        if self.arriving is not None:
            self.crossed = True
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

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled, whatever it does. A take that is in flight hands out a buffer that the task
        keeps."""
        super().begin_cancel()
        if self.checkpointing:
            self.input.doubt()
        self.may_hold += self.polling
        self.polling = self.notice.awake = False

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
