"""The ledger of one remote channel: what was sent, what the task took, and how much credit the producer has.

Three threads act: the network thread delivers, the recovery thread pushes, the task thread does everything else. The
ledger notes an element as sent when the operation that sends it begins, and as taken when the take is over. An element
is `sure` once the operation that sent it is over: from then on the task must find it.
"""

from __future__ import annotations

from typing import Any

from conformance.components.remote_channel.connection import Arrival, Checkpoints, Connection
from conformance.components.remote_channel.credit import Credit
from conformance.driver import BROKEN, PortLedger, Seen, Unsure
from conformance.models.consumer import Consumer, Due
from conformance.models.faults import struck_by
from conformance.models.kept import keep
from conformance.models.lane import Lane, Sent
from conformance.models.starts import BARRIER_MEANWHILE, Refusal
from conformance.models.words import Description, name
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CONNECTION,
    PRODUCER,
    Announcement,
    Barrier,
    Buffer,
    BufferAndBacklog,
    ChannelConfig,
    CheckpointReason,
    CreditAnnounced,
    Element,
    FaultKind,
    FaultStruck,
    Next,
    Places,
    Recovery,
    Signal,
    StateConsumed,
)

FLOWING = ("live", "starting")
OPEN = ("new", *FLOWING)
"""Phases of a channel that is not released and has not lost its connection."""
_PRIORITY = Next.PRIORITY
_PUSHED = Recovery.PUSHED
NOTHING = -1
"""Stands for an element that comes without a backlog."""


class Ledger(PortLedger):
    """What the rules and the steps read, and how the steps change it."""

    __slots__ = ("arriving", "checkpoints", "config", "connection", "consumer", "credit", "due", "lane", "next_record")

    def __init__(
        self, config: ChannelConfig, can_fail: Places, without_barrier: CheckpointReason, times_out: bool
    ) -> None:
        """`without_barrier`: why a checkpoint is declined whose recovery barrier is missing. `times_out`: whether an
        announced barrier may become unaligned."""
        super().__init__(can_fail)
        self.config = config
        self.next_record = len(config.handed_over)
        """The next record id. Restores do not reset it."""
        self.checkpoints = Checkpoints(without_barrier, times_out)
        self.restore(config.handed_over)

    def restore(self, handed_over: tuple[int, ...] = ()) -> None:
        """Begins with a fresh channel. Only the first channel of a run is handed over recovered buffers.

        The phase is `broken` after the producer sent an element that it must not send, and after an operation has
        failed with what it calls: the connection is lost, and the task fails; before that it is `kept` if the channel
        keeps the error for the next take. The phase is `starting` while the recovery barrier of a checkpoint is
        inserted and the checkpoint has not started.
        """
        self.begin_life("new")
        self.lane = Lane(handed_over, self.is_pushed())
        self.lane.end_left = self.config.recovery is Recovery.IN_MEMORY
        self.credit = Credit(self.config.exclusive_buffers, self.config.floating_buffers)
        self.consumer = Consumer(self.lane.end_left)  # at the conversion the gate asks for the buffers in use
        self.due = Due()
        self.connection = Connection()
        self.arriving: Arrival | None = None
        """The arrival that is in flight; None: none is."""
        self.checkpoints = Checkpoints(self.checkpoints.without_barrier, self.checkpoints.times_out)

    # ---- buffers and credit ------------------------------------------------------------------------------------------
    def covered(self) -> int:
        """Returns the number of buffers of the channel and the pool that are neither announced as credit nor in use for
        live data."""
        credit = self.credit
        return credit.both() - credit.granted - self.lane.buffers() - (credit.held - credit.recovered)

    def own_recovered(self) -> int:
        """Returns the highest number of buffers of the channel that recovered data is in. What was handed over keeps
        its memory."""
        return self.credit.recovered + len(self.lane.waiting) if self.is_pushed() else 0

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
        if self.connection.error_comes or self.phase == BROKEN:
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
        """Returns the number of queued buffers, and what Flink 2.3.0 returns: it also counts events, the end of
        recovered data and the backlog of the producer."""
        lane, credit = self.lane, self.credit
        least = len(lane.waiting) + self.lane.buffers()
        elements = len(lane.waiting) + len(lane.live) + len(lane.urgent) + (lane.finishing and not lane.consumed)
        return least, elements + bool(self.config.handed_over) + credit.backlog()

    # ---- sequence numbers --------------------------------------------------------------------------------------------
    def number(self, position: int) -> int:
        """Returns the sequence number of the live element at this position, an integer of 32 bits."""
        return (position + self.config.first_number + 2**31) % 2**32 - 2**31

    def position(self, number: int) -> int:
        """Returns the position of the live element with this sequence number."""
        return (number - self.config.first_number) % 2**32

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_pushed(self) -> bool:
        """Returns whether recovered data is pushed into the channel."""
        return self.config.recovery is _PUSHED

    def keeps(self) -> int:
        """Returns the number of buffers that the task may hold and that stay in use after release."""
        return self.credit.held + self.credit.perhaps_held

    def takeable(self) -> Sent | None:
        """Returns the element that a take certainly finds; None: there is none."""
        return self.lane.next(hidden=not self.lane.consumed)

    def stashed(self) -> Element | None:
        """Returns the next element without priority if it arrived during recovery, otherwise None."""
        lane = self.lane
        return lane.live[0].element if lane.live and not lane.waiting and lane.live[0].stashed else None

    def must_find(self) -> Description | None:
        """Returns what describes the element that could certainly be taken when the take began; None: there was
        none."""
        if not self.alone or self.phase not in FLOWING or self.connection.error_comes:
            return None
        return self.first if self.takeable() is not None and not self.end_may_follow() else None

    def something_waits(self) -> bool:
        """Returns whether an element, the end of recovered data or an error can certainly be taken."""
        return (
            self.lane.end_waits() or self.takeable() is not None or self.connection.error_came
        ) and self.phase in FLOWING

    def following(self) -> Next:
        """Returns the type of what the next take finds, provided that no other operation is in flight."""
        return _PRIORITY if self.lane.urgent else self.lane.following()

    def end_may_follow(self) -> bool:
        """Returns whether the next take may find an end of recovered data that was handed over."""
        return self.lane.end_left and not self.lane.waiting and not self.lane.urgent

    def first(self) -> str:
        """Describes what the next take must find."""
        if self.connection.error_came:
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
        """Returns whether the producer has sent an element; None: a forbidden one is arriving or came with a wrong
        number, or the producer has failed, or the release has begun."""
        if self.lane.arrived or self.connection.was_refused:
            return True
        return None if self.connection.misused or self.releasing else False

    def still_waits(self) -> bool:
        """Returns whether an operation is in flight although an element was refused that has made the upstream ready.
        Asked when no thread can go on, it says that a push waits for another element."""
        return self.connection.was_refused and self.flying > 0 and not self.releasing

    def came_too_late(self) -> bool | None:
        """Returns True if the channel was released before the push began, otherwise None."""
        return self.released or None

    def refuses(self, checkpoint: int) -> Refusal | Unsure:
        """Returns the reasons to refuse the start now."""
        return BARRIER_MEANWHILE if self.checkpoints.start_is_unsure else self.lane.refuses(checkpoint)

    # ---- updates: the connection -------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the signals to the gate and to the producer."""
        self.consumer.hear(signals)
        announced = False
        for signal in signals:
            if type(signal) is StateConsumed:
                self.lane.consume_end()
                self.credit.borrow()
            elif type(signal) is CreditAnnounced:
                self.credit.granted += signal.credit
                announced = True
            elif type(signal) is FaultStruck and signal.place == CONNECTION:
                self.connection.error_comes = True
        if announced and not (self.lane.consumed or self.due.in_flight):
            self.credit.early = True

    def request(self) -> None:
        """Notes that the subpartition was requested: the producer has its initial credit."""
        self.end()
        if self.phase != "new":  # the task was cancelled meanwhile
            return
        self.phase = "live"
        if not self.is_pushed():
            self.credit.open()

    def requested(self, seen: Seen[None]) -> None:
        """Notes that the task has failed, if the request has failed with an error that had come before."""
        if seen.error is not None:
            self._cannot_request(seen)

    def _cannot_request(self, seen: Seen[None]) -> None:
        self.credit.unsure = self.credit.exclusive
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
        self.connection.misused = True

    def begin_backlog_breach(self) -> None:
        """Notes that an element that blocks the producer begins to arrive with a backlog."""
        self.begin_breach()
        self.credit.refuse_a_block()

    def begin_data_in_recovery(self, backlog: int) -> None:
        """Notes that live data begins to arrive during recovery."""
        self.begin_breach()
        self.connection.sends_in_recovery = True

    def end_data_in_recovery(self, backlog: int) -> None:
        """Notes that the channel has dealt with live data during recovery."""
        self.end()
        self.connection.sends_in_recovery = False
        self.connection.was_refused = True

    def refuse(self, operation: str, seen: Seen[None]) -> None:
        """Notes that a forbidden element was refused, at once or by an error that is kept for the next take."""
        self.lose_the_connection()
        self.connection.was_refused = self.connection.misused  # an element that comes out of order is no misuse
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
        if self.checkpoints.in_flight:
            lane.input.leave_pending_unsure()
        if self.releasing:
            lane.input.leave_unsure()
        sent = lane.send(element, stashed=not lane.consumed and not kind.has_priority)
        self.arriving = Arrival(sent, 0 if kind.blocks_upstream else backlog, self.checkpoints.in_flight)
        if type(element) is Barrier:
            self.checkpoints.barrier(element.checkpoint)
            if kind.needs_announcement:
                number = self.number(sent.number)
                lane.urgent.append(Sent(Announcement(element.checkpoint, number), sent.number))
        lane.notice(element, sent.number)
        lane.held_back = (
            lane.held_back or kind.blocks_upstream
        )  # a remote producer is blocked as soon as it has sent the element

    def end_arrival(self, *operands: object) -> None:
        """Notes that the arrival is over: the element is in the channel, and the channel knows the backlog."""
        self.end()
        self.lane.end_send()
        arrival, self.arriving = self.arriving, None
        if arrival is not None and arrival.backlog != NOTHING:
            self.credit.hear_backlog(arrival.backlog)

    def arrival_struck(self, seen: Seen[None], *operands: object) -> None:
        """Notes that an arrival failed with the channel state writer, or that the credit for the backlog could not be
        sent."""
        crossed = self.arriving is not None and self.arriving.crossed
        self.end_arrival()
        if struck_by(seen).place == CHANNEL_STATE_WRITER:
            self.credit.unsure += 1
            pending = self.lane.input.pending
            if crossed:
                self.lane.input.leave_unsure()
            elif pending is not None:
                del pending.live[-1]
        self._fail_or_keep(seen)

    # ---- updates: faults ---------------------------------------------------------------------------------------------
    def fault_armed(self, place: str) -> None:
        """Notes that a fault is armed. A producer that fails sends no more elements."""
        if place == PRODUCER:
            self.connection.producer_failed = self.lane.over = True

    def begin_error(self) -> None:
        """Notes that the error of the producer begins to arrive."""
        self.begin_breach()
        self.connection.errors += 1
        self.connection.error_comes = self.connection.error_comes or not self.releasing

    def end_error(self, seen: Seen[None]) -> None:
        """Notes that the error has arrived."""
        self.faults.struck(seen.signals)
        self.connection.error_came = self.connection.error_comes

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
            self.connection.error_comes = self.connection.error_came = True
        else:
            self.break_down(seen)

    def break_down(self, seen: Seen[Any], *operands: object) -> None:
        """Notes that an operation has failed. A take that is in flight may deliver a buffer that the task keeps."""
        super().break_down(seen)
        self.credit.perhaps_held += self.due.in_flight
        self.due.in_flight = self.consumer.awake = False

    # ---- updates: the task -------------------------------------------------------------------------------------------
    def begin_take(self) -> None:
        """Notes that a take begins."""
        self.begin_alone()
        self.consumer.begin_take()
        self.due.in_flight = True
        self.due.error = self.connection.error_came

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes what a take returned."""
        self.due.in_flight = False
        taken, lane = seen.value, self.lane
        if seen.error is not None:
            self.break_down(seen)
            return
        self.consumer.took(taken is not None and taken.next != "none")
        if taken is None:
            self.lane.end_left = False
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
            self.lane.end_left = False
        if type(element) is Buffer:
            self.credit.held += 1
        elif type(element) is Announcement:
            self.checkpoints.announced[taken.seq] = element.checkpoint
        elif type(element) is Barrier:
            self.checkpoints.forget_announcement(element.checkpoint)

    def take_struck(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that the take of the end of recovered data could not send the credit that it wanted to announce. The
        buffers for it are set aside, whether or not the consumer was notified of the end."""
        self.end()
        self.credit.borrow()
        self.due.in_flight = False
        if seen.error is None:
            self.take(seen)
        self._fail_or_keep(seen)

    def begin_recycle(self, count: int) -> None:
        """Notes that the task begins to recycle data buffers."""
        self.begin()
        self.credit.recycle(count, self.is_pushed())

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
        self.checkpoints.name(checkpoint)
        self.lane.end_mark(checkpoint)

    def begin_start(self, checkpoint: int) -> None:
        """Notes that the start of a checkpoint begins."""
        self.begin()
        arriving = self.arriving
        self.checkpoints.begin_start(checkpoint, arriving is not None and type(arriving.sent.element) is Barrier)
        self._cross()

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the checkpoint started, or that its start was refused."""
        lane = self.lane
        self.checkpoints.in_flight = False
        self.checkpoints.name(checkpoint)
        mark = lane.marks.pop(checkpoint, None)
        if self.phase == "starting":
            self.phase = "live"
        if self.checkpoints.start_is_unsure:
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
        self.checkpoints.in_flight = False
        self.lane.marks.pop(checkpoint, None)
        self.lane.input.failed.append(checkpoint)
        if self.checkpoints.start_is_unsure:
            self.lane.input.leave_unsure()
        elif self.arriving is not None:
            self.lane.input.leave_unsure(checkpoint)
        self.break_down(seen)

    def begin_stop(self, checkpoint: int) -> None:
        """Notes that the stop of a checkpoint begins; data that arrives meanwhile may still be written."""
        self.begin()
        self.checkpoints.begin_stop(checkpoint)
        self._cross()

    def _cross(self) -> None:
        """Notes that the start or stop of a checkpoint overlaps an arrival, if one is in flight."""
        if self.arriving is not None:
            self.arriving.crossed = True
            self.lane.input.leave_pending_unsure()

    def stop(self, checkpoint: int) -> None:
        """Notes that the checkpoint was stopped."""
        self.end()
        self.checkpoints.in_flight = False
        self.lane.input.stopped(checkpoint)

    def begin_move(self, seq: int) -> None:
        """Notes that the conversion of an announced barrier to a priority event begins."""
        self.begin()
        self.checkpoints.converting = True

    def move(self, seq: int) -> None:
        """Notes that the conversion is over: the barrier stands in front."""
        self.end()
        self.checkpoints.converting = False
        self.lane.to_front(self.checkpoints.announced.pop(seq))

    # ---- updates: release and failure --------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Notes that the release begins. An element that is arriving may come too late for the input state."""
        self.begin()
        super().begin_release()
        self.lane.marks.clear()
        if self.phase == "starting":
            self.phase = "live"
        if self.arriving is not None:
            self.lane.input.leave_unsure()

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled, whatever it does. A take that is in flight delivers a buffer that the task
        keeps."""
        super().begin_cancel()
        if self.checkpoints.in_flight:
            self.lane.input.leave_unsure()
        self.credit.perhaps_held += self.due.in_flight
        self.due.in_flight = self.consumer.awake = False

    def release(self) -> None:
        """Notes that the release is over. The task still holds the buffers that it took."""
        self.end()
        super().release()
        self.consumer.awake = False

    def fail(self) -> None:
        """Notes that the channel was released at an arbitrary moment; operations in flight are abandoned."""
        super().fail()
        if self.arriving is not None or self.checkpoints.in_flight:
            self.lane.input.leave_unsure()
        self.credit.held += self.credit.returning + self.due.in_flight
        self.credit.returning = 0
        self.arriving = None
        self.consumer.awake = self.due.in_flight = False
