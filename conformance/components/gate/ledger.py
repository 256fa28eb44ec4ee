"""The ledger of one gate, or of a union: what was sent into each channel, what the consumer polled, and what follows.

Three threads act: the recovery thread pushes, the network thread delivers, the task thread does everything else. So
only one conversion, poll or start of a checkpoint is in flight at a time, and the phase does not change while it runs,
unless the canceler, a fourth thread, begins to release the gate.

The ledger notes an element as *sent* when the operation that sends it begins, and as *taken* when the poll that returns
it is over. An element is `sure` once the operation that sent it is over; before that, a poll may find it or not. Rules
that need to be sure are judged when no operation is in flight, or for a poll that no other operation overlapped.

Several gates are converted and requested one after the other, so that some are live while others still recover: their
phase is `joining` until the partitions of all are requested. What their union adds is in `union`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.components.gate.checkpoints import Checkpoints
from conformance.components.gate.credit import Credit
from conformance.components.gate.side import Gate, Side
from conformance.components.gate.union import Union
from conformance.driver import BROKEN, FAILING, PortLedger, Seen, Unsure
from conformance.models.consumer import Consumer, notifies
from conformance.models.kept import KEPT, keep, read, task_fails
from conformance.models.starts import BARRIER_MEANWHILE, UNOPPOSED, Refusal
from conformance.ports import (
    CHANNEL_RELEASE,
    CHANNEL_STATE_WRITER,
    NETWORK_BUFFER_POOL,
    SUBPARTITION_REQUEST,
    BufferOrEvent,
    ChannelKind,
    CheckpointReason,
    FaultStruck,
    Places,
    Recovery,
)
from conformance.ports.elements import Barrier, Buffer, Element, EndOfPartition
from conformance.ports.outcomes import (
    ConsumptionResumed,
    CreditAnnounced,
    Signal,
    StateConsumed,
)

NOTHING = EndOfPartition()
"""A placeholder for no element."""
_UNREAD = ("converted", KEPT, BROKEN, "released", "failed")
"""Phases in which the consumer does not poll, or in which a poll returns nothing."""
_NOT_PHYSICAL = Refusal((CheckpointReason.DECLINED_TASK_NOT_READY,))


class Ledger(PortLedger):
    """What the rules and the steps read, and how the steps change it."""

    __slots__ = (
        "arriving", "backlog", "beside", "cancelled_in_conversion", "cancelled_in_operation", "checkpoints", "consumer",
        "converted", "converting", "credited", "end_signalled_wrongly", "exclusive", "floating", "gates", "kinds",
        "left_open", "most_recovered", "overlapped", "passes_blocked", "pushing", "recovery", "sending", "sides",
        "times_out", "union", "unreleased",
    )  # fmt: skip

    def __init__(
        self, kinds: Sequence[Sequence[ChannelKind]], recovery: Recovery, recovered: int, passes_blocked: bool,
        buffers: tuple[int, int], credited: bool, can_fail: Places, without_barrier: CheckpointReason,
        times_out: bool,
    ) -> None:  # fmt: skip
        """`kinds`: by gate, those of its channels. `passes_blocked`: whether a priority event passes a local channel
        that is blocked. `buffers`: the exclusive buffers of a remote channel, and the floating ones of a gate.
        `credited`: whether the producers of remote channels keep to their credit. `without_barrier`: why a checkpoint
        is declined whose recovery barrier is missing. `times_out`: whether an announced barrier may become
        unaligned."""
        super().__init__(can_fail)
        self.times_out = times_out
        self.exclusive, self.floating = buffers
        self.credited = credited
        self.kinds = kinds
        self.passes_blocked = passes_blocked
        self.recovery = recovery
        self.most_recovered = recovered
        self.checkpoints = Checkpoints(without_barrier)
        self.sides: list[Side] = []
        self.restore()

    def restore(self) -> None:
        """Begins with fresh gates. The numbering of records goes on."""
        self.checkpoints.restart()
        next_ids = [side.next_id for side in self.sides]
        self.gates: list[Gate] = []
        self.sides = []
        for kinds in self.kinds:
            gate = Gate(len(self.gates), self.recovery)
            for kind in kinds:
                self._add_side(gate, kind is ChannelKind.LOCAL, next_ids)
            self.gates.append(gate)
        self.converted = self.recovery is Recovery.NONE
        """Whether all gates are converted."""
        self.consumer = Consumer()
        self.union = Union(self.gates, self.consumer) if len(self.gates) > 1 else None
        self.begin_life("joining" if self.union is not None else "converted" if self.converted else "recovering")
        self.end_signalled_wrongly = 0
        """A channel, counted from 1, whose recovered data was signalled as consumed too early or twice."""
        self.pushing = False
        """Whether the push of a recovered buffer, or of the end of recovered data, is in flight."""
        self.converting: Gate | None = None
        """The gate that is being converted; None: none is."""
        self.overlapped = False
        """Whether such a push was in flight when that conversion began."""
        self.cancelled_in_conversion = self.cancelled_in_operation = False
        """Whether a conversion, or any operation, was in flight when the task was cancelled."""
        self.left_open = False
        """Whether an operation was in flight when the task failed: the ledger does not know how it ended."""
        self.sending: Side | None = None
        """The channel into which the network is delivering an element; None: the network is idle."""
        self.beside: Side | None = None
        """The channel into which the network was delivering an element, and nothing else was in flight, when the poll
        that is in flight began; None: there is no such one, or another operation has begun since."""
        self.arriving: Element = NOTHING
        """The element that it is delivering."""
        self.backlog = -1
        """The backlog with which that element comes; -1: it comes without one."""
        self.unreleased = False
        """Whether the release of a channel has failed, and no release has begun since."""

    def _add_side(self, gate: Gate, local: bool, next_ids: Sequence[int]) -> None:
        """Adds the next channel to a gate. `next_ids`: the next ids of all channels in the life before."""
        number = len(self.sides)
        credit = Credit(self.exclusive) if self.credited and not local else None
        next_id = next_ids[number] if next_ids else number * 1_000_000
        side = Side(gate, number, local, self.passes_blocked, next_id, credit)
        side.completion_sent |= len(self.kinds) > 1  # no task awaits it there, so it need not come first
        gate.sides.append(side)
        self.sides.append(side)

    # ---- queries -----------------------------------------------------------------------------------------------------
    def ready(self, side: Side, end: bool = True) -> bool:
        """Returns whether a poll certainly finds something in a channel, provided that no operation is in flight.

        `end`: whether the end of recovered data counts, for which a poll returns no element.
        """
        return self.phase not in _UNREAD and side.ready(end)

    def something_waits(self) -> int:
        """Returns the first channel, counted from 1, in which a poll certainly finds something, provided that no
        operation is in flight; 0: there is none. While the gate keeps an error, a poll certainly finds that."""
        if self.phase == FAILING:
            return 1
        if self.phase not in _UNREAD:
            end = self.union is None  # the poll that takes it may also be one that finds nothing in another gate
            for number, side in enumerate(self.sides, 1):
                if (side.live or side.waiting or side.urgent or not side.consumed) and side.ready(end):
                    return number
        return 0

    def waits_unasked(self) -> int:
        """Returns what `something_waits` returns, unless the consumer will ask whether something can be polled."""
        return 0 if self.consumer.probe and not self.consumer.awake else self.something_waits()

    def urgent_waits(self) -> int:
        """Returns the first channel, counted from 1, in which a poll certainly finds a priority event of which the gate
        was notified, provided that no operation is in flight; 0: there is none."""
        if self.phase not in _UNREAD:
            for number, side in enumerate(self.sides, 1):
                if side.urgent and side.urgent_due():
                    return number
        return 0

    def first(self) -> str:
        """Describes what the next poll must find."""
        if self.phase == FAILING:
            return "an error, or an element that was sent before,"
        return f"an element of channel {self.something_waits() - 1}"

    def first_urgent(self) -> str:
        """Describes the priority event that the next poll must find."""
        return f"a priority event of channel {self.urgent_waits() - 1}"

    def left(self, taken: BufferOrEvent) -> bool:
        """Returns whether anything is in a channel, certainly or not, besides the element that a poll has taken."""
        for number, side in enumerate(self.sides):
            if side.holds_more_than(taken.element if number == taken.channel else None):
                return True
        return False

    def priority_left(self, taken: BufferOrEvent) -> bool:
        """Returns whether a priority event is in a channel, certainly or not, besides the one that a poll has taken."""
        count = sum([len(side.urgent) for side in self.sides])
        return count > taken.element.data_type.has_priority

    def any_slow(self) -> bool:
        """Returns whether any channel is blocked or still recovering."""
        pushed = self.recovery is Recovery.PUSHED
        return True in [side.blocked or (pushed and not side.consumed) for side in self.sides]

    def all_tracked(self) -> bool:
        """Returns whether the end of output state of every channel was noted."""
        return False not in [side.tracked for side in self.sides]

    def all_ended(self) -> bool:
        """Returns whether the consumer polled the end of partition of every channel."""
        return False not in [side.ended for side in self.sides]

    def may_have_ended(self) -> bool:
        """Returns whether all channels have ended, or all but one, whose end may have been returned by a poll that
        was in flight when the task failed."""
        return [side.ended for side in self.sides].count(False) <= self.left_open

    def refuses(self, checkpoint: int) -> Refusal | Unsure:
        """Returns the reasons to refuse the start of a checkpoint."""
        if not self.converted:
            return _NOT_PHYSICAL
        if self.checkpoints.races:
            return BARRIER_MEANWHILE
        for number, side in enumerate(self.sides):
            if reasons := side.refuses(checkpoint).reasons:
                return Refusal(reasons, f" by channel {number}")
        return UNOPPOSED

    def came_too_late(self) -> bool:
        """Returns whether the gate was released before the push began."""
        return self.released

    def is_unsure(self, checkpoint: int) -> bool:
        """Returns whether the ledger knows of no channel what must have been written for the checkpoint."""
        return False not in [side.input.is_unsure(checkpoint) for side in self.sides]

    def strikable(self) -> Sequence[tuple[str, str]]:
        """Returns the faults that can strike in this phase or a later one, as operands of a step."""
        over = []
        if True not in [not (gate.converted or side.local) for gate in self.gates for side in gate.sides]:
            over.append(NETWORK_BUFFER_POOL)
        if self.phase not in ("recovering", "converted", "joining"):
            over.append(SUBPARTITION_REQUEST)
        if self.releasing:
            over.append(CHANNEL_RELEASE)
        return [one for one in self.faults.possible() if one[0] not in over]

    def is_of_another(self, side: Side, element: Element) -> bool:
        """Returns whether an equal element waits in another channel."""
        others = [one for one in self.sides if one is not side]
        return element in [sent.element for one in others for sent in (*one.waiting, *one.live)]

    def is_gone(self) -> bool:
        """Returns whether a release has begun, or the task fails, so that the consumer need not get anything more."""
        return self.releasing or self.released or self.is_broken()

    def is_over(self) -> bool:
        """Returns whether the gate must have given back all resources: after release, or when all channels ended."""
        return self.released or self.all_ended()

    def hear(self, signals: list[Signal]) -> None:
        """Notes the signals to the consumer and to producers."""
        self.consumer.hear(signals)
        if self.union is not None:
            self.union.hear(signals, self.sides)
        for signal in signals:
            if type(signal) is StateConsumed:
                side = self.sides[signal.channel]
                if side.told_end or side.waiting or not side.finishing:
                    self.end_signalled_wrongly = signal.channel + 1
                side.consumed = side.told_end = True
            elif type(signal) is ConsumptionResumed:
                self.sides[signal.channel].resumed = True
            elif type(signal) is CreditAnnounced and (credit := self.sides[signal.channel].credit) is not None:
                credit.granted += signal.credit
            elif type(signal) is FaultStruck and signal.place == CHANNEL_RELEASE:
                self.unreleased, self.released, self.phase = True, False, BROKEN
            elif type(signal) is FaultStruck and not self.is_broken():
                self._break(keeps=self.sending is not None or signal.place != CHANNEL_STATE_WRITER)

    def only_the_task_calls(self) -> bool:
        """Returns whether what fails now was called by the task: in a union, the network calls nothing that fails."""
        return self.sending is None or self.union is not None

    def may_find_nothing(self) -> bool:
        """Returns whether the poll that is over may have found nothing although something was there."""
        return not self.alone if self.union is None else not self.union.is_empty()

    # ---- operations in flight ----------------------------------------------------------------------------------------
    def begin(self, *operands: object) -> None:
        """Notes that an operation begins."""
        if self.union is not None:
            self.union.begin(self.flying)
        self.flying += 1
        self.alone = False
        self.beside = None

    # ---- recovered data ----------------------------------------------------------------------------------------------
    def begin_push(self, channel: int) -> None:
        """Notes that the push of the next recovered record begins."""
        self.begin()
        self.pushing = True
        side = self.sides[channel]
        if self.union is not None:
            self.union.begin_coming(side)
        side.begin_push((side.next_id,))
        side.next_id += 1

    def begin_finish(self, channel: int) -> None:
        """Notes that the push of the end of recovered data begins."""
        self.begin()
        self.pushing = self.sides[channel].finishing = True
        if self.union is not None:
            self.union.begin_coming(self.sides[channel])

    def handed_in(self, channel: int) -> Buffer:
        """Returns the recovered buffer that is handed in now; after a release, one of which nothing is noted."""
        side = self.sides[channel]
        return Buffer((side.next_id,)) if self.released else side.being_pushed()

    def end_push(self, channel: int) -> None:
        """Notes that the push is over: the buffer, or the end, is in the channel or was recycled."""
        self.end()
        self.pushing = False
        side = self.sides[channel]
        side.end_push()
        side.finished = side.finishing
        if self.union is not None:
            self.union.came_into(side.gate)

    def begin_conversion(self, gate: int) -> None:
        """Notes that the conversion of the recovered channels of a gate begins."""
        self.begin()
        self.converting = self.gates[gate]
        self.overlapped = self.pushing

    def convert(self, seen: Seen[None], gate: int) -> None:
        """Notes that the conversion is over: the channels are physical, or the conversion was refused."""
        self.converting = None
        if seen.error is None and self.gates[gate].loses():
            keep(self, self.consumer, "convert")
            self.consumer.empty_takes = 0
        elif seen.error is None:
            self._now_physical(gate)
            if self.union is None:
                self.phase = "converted"
        self.overlapped = False
        self._forget_turns()

    def _now_physical(self, gate: int) -> None:
        self.gates[gate].converted = True
        self.converted = False not in [one.converted for one in self.gates]

    def request(self, seen: Seen[None], gate: int) -> None:
        """Notes that the partitions of a gate were requested."""
        self.gates[gate].requested = True
        self.consumer.raced = True  # the gate may have queued a channel that has nothing yet
        if False not in [one.requested for one in self.gates]:
            self.phase = "live"
        for side in self.gates[gate].sides:
            if side.credit is not None:
                side.credit.request(self.recovery is not Recovery.PUSHED)

    def request_early(self, seen: Seen[None], gate: int) -> None:
        """Notes that the request of partitions was refused, at once or by an error that is kept, or that it converted
        the channels."""
        if seen.error is None and self.gates[gate].loses():
            keep(self, self.consumer, "request_partitions")
        elif seen.error is None:
            self._now_physical(gate)
            self.request(seen, gate)

    def read(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll is over, while the error of a refusal is kept. It may return what came before."""
        if seen.value is not None:
            self.sides[seen.value.channel].take(seen.value.element)
        elif self.union is not None:
            self.consumer.empty_takes += 1
        read(self, seen)

    # ---- live data ---------------------------------------------------------------------------------------------------
    def begin_arrival(self, channel: int, element: Element, backlog: int = -1) -> None:
        """Notes that the arrival of a live element begins, and the backlog with which it comes."""
        self.begin()
        side = self.sending = self.sides[channel]
        self.arriving = element
        if self.releasing:
            side.input.leave_unsure()
        if self.checkpoints.stopping:
            side.input.leave_pending_unsure()
        if self.checkpoints.starting:
            self._overlap(side)
        if self.union is not None:
            self.union.begin_coming(side, element)
        self.backlog = backlog
        side.begin_arrival(element, backlog)
        if type(element) is Barrier:
            self.checkpoints.name(element.checkpoint)

    def end_arrival(self, channel: int, *operand: int) -> None:
        """Notes that the arrival is over: the element is in the channel."""
        self.end()
        side = self.sides[channel]
        side.end_arrival(self.arriving)
        self.sending, self.arriving, self.backlog = None, NOTHING, -1
        if self.union is not None:
            self.union.came_into(side.gate)

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def begin_poll(self) -> None:
        """Notes that a poll begins."""
        if self.union is not None:
            self.union.begin(self.flying)
            self.union.begin_poll()
            self.flying += 1
            return
        self.beside = self.sending if self.flying == 1 else None
        self.begin_alone()
        self.consumer.begin_take()

    def poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll is over, and which element it returned."""
        if self.union is not None:
            self._union_poll(self.union, seen)
            return
        alone, self.alone = self.alone, False
        taken = seen.value
        if not alone:
            self.consumer.raced = True
        if taken is None:
            self.consumer.empty_takes = self.consumer.empty_takes + 1 if alone and notifies(seen.signals) else 0
            if alone:
                self.consumer.raced = False
            self._forget_turns()
            return
        self.consumer.empty_takes = 0
        self.consumer.awake |= taken.more or taken.more_priority
        self.consumer.expects_priority |= taken.more_priority
        side, element = self.sides[taken.channel], taken.element
        if not element.data_type.has_priority:
            counts = (alone or self.beside is not None) and self.phase not in _UNREAD
            for other in self.sides:
                there = other.live or other.waiting or other.urgent
                waited = counts and there and other not in (side, self.beside) and other.ready(end=False)
                other.waited = other.waited + 1 if waited else 0
        side.waited = 0
        side.take(element)
        self.checkpoints.take(taken.channel, element)

    def _union_poll(self, union: Union, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll of a union is over, and which element it returned."""
        union.polling = False
        taken = seen.value
        self.consumer.awake = taken is not None and taken.more
        self.consumer.probe = not self.consumer.awake
        if taken is None:
            union.found_nothing(seen.signals)
            return
        side = self.sides[taken.channel]
        union.found(taken, side, seen.signals)
        side.waited = 0
        side.take(taken.element)

    def asked(self, seen: Seen[bool]) -> None:
        """Notes that the consumer, or anybody, has asked whether something can be polled."""
        if self.union is not None:
            self.union.asked(seen.value, self.flying)

    def _forget_turns(self) -> None:
        """Starts the count of polls that each channel waits for its turn anew."""
        for side in self.sides:
            side.waited = 0

    def resume(self, channel: int) -> None:
        """Notes that the consumer resumed the producer of a channel."""
        self.end()
        self.sides[channel].resume()

    def track(self, seen: Seen[None], channel: int) -> None:
        """Notes that the gate was notified of the end of output state of a channel; the last one resumes all
        producers."""
        if seen.error is None:
            self.sides[channel].tracked = True
            if self.all_tracked():
                for side in self.sides:
                    side.resume()

    def begin_move(self, channel: int, seq: int) -> None:
        """Notes that the conversion of an announced barrier to a priority event begins."""
        self.begin()
        self.checkpoints.moving = self.sides[channel]

    def move(self, seen: Seen[None], channel: int, seq: int) -> None:
        """Notes that this conversion is over. If it succeeded, the barrier does not block its producer any more."""
        checkpoint = self.checkpoints.moved(channel, seq)
        if seen.error is None and self.sides[channel].to_front(checkpoint):
            self.sides[channel].held_back = False

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def begin_mark(self, checkpoint: int) -> None:
        """Notes that the insertion of recovery barriers begins, into every channel in recovery."""
        self.begin()
        self.checkpoints.marked = checkpoint
        self.phase = "starting"
        for side in self.sides:
            if not side.consumed:
                side.begin_mark(checkpoint)

    def end_mark(self, checkpoint: int) -> None:
        """Notes that all recovery barriers are inserted."""
        self.end()
        for side in self.sides:
            side.end_mark(checkpoint)

    def begin_start(self, checkpoint: int) -> None:
        """Notes that the start of a checkpoint begins: one channel after another starts it."""
        self.begin()
        self.checkpoints.starting = checkpoint
        if self.sending is not None:
            self._overlap(self.sending)

    def _overlap(self, side: Side) -> None:
        """Notes that an element arrives in this channel while a checkpoint starts."""
        side.input.leave_pending_unsure()
        if type(self.arriving) is Barrier:
            self.checkpoints.races = True
            if self.arriving.checkpoint != self.checkpoints.starting:
                side.input.leave_unsure()

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the start is over: either in every channel, or up to the first channel that refused it."""
        self.checkpoints.end_start(checkpoint)
        if not self.converted:
            return
        self.phase = "live"
        refusing = None
        if seen.error is not None:
            refusing = next((side for side in self.sides if side.refuses(checkpoint).reasons), None)
            if refusing is None or self.checkpoints.races:
                for side in self.sides:
                    side.input.leave_unsure()  # an arriving barrier made some channel refuse, and none is known to
        self.checkpoints.start(checkpoint)
        for side in self.sides:
            if side is refusing:
                break
            side.start(checkpoint)

    def begin_stop(self, checkpoint: int) -> None:
        """Notes that the stop of a checkpoint begins: one channel after another stops it."""
        self.begin()
        self.checkpoints.stopping = True
        if self.sending is not None:
            self.sending.input.leave_pending_unsure()

    def stop(self, checkpoint: int) -> None:
        """Notes that a checkpoint was stopped."""
        self.end()
        self.checkpoints.stop(checkpoint)
        for side in self.sides:
            side.input.stopped(checkpoint)

    # ---- what the gate calls fails -----------------------------------------------------------------------------------
    def _break(self, keeps: bool) -> None:
        """Notes that the task fails. `keeps`: whether the gate keeps the error for a poll. What another operation that
        is in flight writes is not known."""
        if self.flying > 1:
            self._leave_open()
        task_fails(self, keeps)

    def _leave_open(self) -> None:
        """Notes that an operation is in flight while the task fails: how it ends, and what it writes, is not known."""
        self.left_open = True
        for side in self.sides:
            side.input.leave_unsure()

    def _task_failed(self, seen: Seen[Any]) -> None:
        """Notes that an operation of the task failed, which has the error. Only an arrival may write meanwhile."""
        task_fails(self, keeps=False)
        self.faults.struck(seen.signals)
        self.end()
        if self.sending is not None:
            self.sending.input.leave_unsure()

    def begin_last_polls(self) -> None:
        """Notes that a poll begins while the gate keeps an error."""
        if self.union is not None:
            self.begin_poll()
            return
        self.begin_alone()
        self.consumer.awake = False

    def last_poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that this poll is over, and whether it failed with the error."""
        if seen.error is None:
            self.poll(seen)
            return
        self.alone = False
        self.phase = BROKEN
        if self.union is not None:
            self.union.polling = False

    def poll_failed(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll failed with the channel state writer."""
        self._task_failed(seen)
        self.alone = self.consumer.awake = False

    def setup_failed(self, seen: Seen[None], gate: int) -> None:
        """Notes that a channel could not be converted, or its subpartition could not be requested."""
        self.consumer.kept.either = not self.gates[gate].converted and self.gates[gate].loses() is not False
        self._break(keeps=seen.error is None)
        self.faults.struck(seen.signals)
        self.end()
        self.converting, self.overlapped = None, False

    def arrival_failed(self, seen: Seen[None], channel: int) -> None:
        """Notes that an arriving buffer was not written, because the channel state writer failed."""
        side = self.sides[channel]
        self._break(keeps=True)
        self.faults.struck(seen.signals)
        if side.input.pending is not None and side.input.pending.live:
            side.input.pending.live.pop()
        self.end_arrival(channel)

    def fault_armed(self, place: str) -> None:
        """Notes that a fault is armed. Channels that have started a checkpoint before may have written by then."""
        starting = self.checkpoints.starting
        if starting and place == CHANNEL_STATE_WRITER:
            for side in self.sides:
                side.input.leave_unsure(starting)

    def start_failed(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the start of a checkpoint failed with the channel state writer, in the first channel that had
        something to write, or in one behind it."""
        self.checkpoints.fail_to_start(checkpoint, CHANNEL_STATE_WRITER in self.faults.later)
        self._task_failed(seen)
        for side in self.sides:
            side.start(checkpoint)

    # ---- release and failure -----------------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Notes that the release begins. An element that is arriving may come too late for the input state. It finishes
        what a release before has left, if that is over."""
        self.begin()
        self.unreleased = self.unreleased and self.releases > 0
        super().begin_release()
        if self.sending is not None:
            self.sending.input.leave_unsure()

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled, whatever it does. What an operation that is in flight writes is not
        known."""
        self.cancelled_in_conversion = self.converting is not None
        self.cancelled_in_operation = self.flying > 0
        if self.flying:
            self._leave_open()
        super().begin_cancel()

    def release(self) -> None:
        """Notes that the release is over, unless it had begun before another one failed."""
        self.end()
        if self.unreleased:
            self.releases -= 1
        else:
            super().release()

    def release_failed(self, seen: Seen[None]) -> None:
        """Notes that the release failed with that of a channel: another one has to finish it."""
        self.end()
        self.releases -= 1
        self.faults.struck(seen.signals)

    def fail(self) -> None:
        """Notes that the gate was released at an arbitrary moment; operations that were in flight are abandoned."""
        super().fail()
        self.unreleased = False
        for side in self.sides:
            if self.checkpoints.starting or side is self.sending:
                side.input.leave_unsure()
