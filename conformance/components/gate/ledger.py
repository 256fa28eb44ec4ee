"""The ledger of one gate: how the steps change what is known of it.

Three threads act: the recovery thread pushes, the network thread delivers, the task thread does everything else. So
only one conversion, poll or start of a checkpoint is in flight at a time, and the phase does not change while it runs,
unless the canceler, a fourth thread, begins to release the gate.
"""

from __future__ import annotations

from typing import Any

from conformance.components.gate.side import Side
from conformance.components.gate.state import NOTHING, GateState
from conformance.driver import BROKEN, Seen
from conformance.parts.kept import keep
from conformance.parts.kept_errors import task_fails
from conformance.parts.notice import notifies
from conformance.ports import CHANNEL_RELEASE, CHANNEL_STATE_WRITER, BufferOrEvent, FaultStruck, Recovery
from conformance.ports.elements import Announcement, Barrier, Element
from conformance.ports.outcomes import (
    ConsumptionResumed,
    CreditAnnounced,
    PriorityAvailable,
    Signal,
    StateConsumed,
)


class Ledger(GateState):
    """How the steps change the state of the gate."""

    __slots__ = ()

    def hear(self, signals: list[Signal]) -> None:
        """Notes the signals to the consumer and to producers."""
        self.notice.hear(signals)
        for signal in signals:
            if type(signal) is StateConsumed:
                side = self.sides[signal.channel]
                if side.told_end or side.waiting or not side.finishing:
                    self.mistold = signal.channel + 1
                side.consumed = side.told_end = True
            elif type(signal) is ConsumptionResumed:
                self.sides[signal.channel].resumed = True
            elif type(signal) is PriorityAvailable:
                self.urged = True
            elif type(signal) is CreditAnnounced and (credit := self.sides[signal.channel].credit) is not None:
                credit.granted += signal.credit
            elif type(signal) is FaultStruck and signal.place == CHANNEL_RELEASE:
                self.unreleased, self.released, self.phase = True, False, BROKEN
            elif type(signal) is FaultStruck and not self.is_broken():
                self._break(keeps=self.sending is not None or signal.place != CHANNEL_STATE_WRITER)

    # ---- recovered data ----------------------------------------------------------------------------------------------
    def begin_push(self, channel: int) -> None:
        """Notes that the push of the next recovered record begins."""
        self.begin()
        self.pushing = True
        side = self.sides[channel]
        side.begin_push((side.next_id,))
        side.next_id += 1

    def begin_finish(self, channel: int) -> None:
        """Notes that the push of the end of recovered data begins."""
        self.begin()
        self.pushing = self.sides[channel].finishing = True

    def end_push(self, channel: int) -> None:
        """Notes that the push is over: the buffer, or the end, is in the channel or was recycled."""
        self.end()
        self.pushing = False
        side = self.sides[channel]
        side.end_push()
        side.finished = side.finishing

    def begin_conversion(self) -> None:
        """Notes that the conversion of the recovered channels begins."""
        self.begin()
        self.converting = True
        self.overlapped = self.pushing

    def convert(self, seen: Seen[None]) -> None:
        """Notes that the conversion is over: the channels are physical, or the conversion was refused."""
        self.converting = False
        if seen.error is None and self.conversion_loses():
            keep(self, "convert")
        elif seen.error is None:
            self.converted = True
            self.phase = "converted"
        self.overlapped = False
        self._forget_turns()

    def request(self, seen: Seen[None]) -> None:
        """Notes that partitions were requested."""
        self.phase = "live"
        self.stirred = True
        for side in self.sides:
            if side.credit is not None:
                side.credit.request(self.recovery is not Recovery.PUSHED)

    # ---- live data ---------------------------------------------------------------------------------------------------
    def begin_arrival(self, channel: int, element: Element, backlog: int = -1) -> None:
        """Notes that the arrival of a live element begins, and how much the producer says that waits behind it."""
        self.begin()
        side = self.sending = self.sides[channel]
        self.arriving = element
        if self.releasing:
            side.input.doubt()
        if self.stopping:
            side.input.doubt_pending()
        if self.starting:
            self._overlap(side)
        self.backlog = backlog
        side.begin_arrival(element, backlog)
        if type(element) is Barrier:
            self.newest = max(self.newest, element.checkpoint)

    def end_arrival(self, channel: int, *operand: int) -> None:
        """Notes that the arrival is over: the element is in the channel."""
        self.end()
        self.sides[channel].end_arrival(self.arriving)
        self.sending, self.arriving, self.backlog = None, NOTHING, -1

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def begin_poll(self) -> None:
        """Notes that a poll begins."""
        self.begin_alone()
        self.notice.awake = self.urged = False

    def poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll is over, and which element it answered."""
        alone, self.alone = self.alone, False
        taken = seen.value
        if not alone:
            self.stirred = True
        if taken is None:
            self.woken = self.woken + 1 if alone and notifies(seen.signals) else 0
            if alone:
                self.stirred = False
            self._forget_turns()
            return
        self.woken = 0
        self.notice.awake |= taken.more or taken.more_priority
        self.urged |= taken.more_priority
        side, element = self.sides[taken.channel], taken.element
        if not element.data_type.has_priority:
            for other in self.sides:
                waited = alone and other is not side and self.ready(other, end=False)
                other.waited = other.waited + 1 if waited else 0
        side.waited = 0
        side.take(element)
        if type(element) is Announcement:
            self.announced[taken.channel, element.seq] = element.checkpoint
        elif type(element) is Barrier:
            gone = taken.channel, element.checkpoint
            self.announced = {one: of for one, of in self.announced.items() if (one[0], of) != gone}

    def _forget_turns(self) -> None:
        """Starts the count of polls that each channel waits for its turn anew."""
        for side in self.sides:
            side.waited = 0

    def resume(self, channel: int) -> None:
        """Notes that the consumer resumed the producer of a channel."""
        self.end()
        self.sides[channel].resume()

    def track(self, seen: Seen[None], channel: int) -> None:
        """Notes that the gate was told of the end of output state of a channel; the last one resumes all producers."""
        if seen.error is None:
            self.sides[channel].tracked = True
            if self.all_tracked():
                for side in self.sides:
                    side.resume()

    def begin_move(self, channel: int, seq: int) -> None:
        """Notes that the conversion of an announced barrier to a priority event begins."""
        self.begin()
        self.moving = self.sides[channel]

    def move(self, seen: Seen[None], channel: int, seq: int) -> None:
        """Notes that this conversion is over. If it succeeded, the barrier does not block its producer any more."""
        self.moving = None
        checkpoint = self.announced.pop((channel, seq))
        if seen.error is None and self.sides[channel].to_front(checkpoint):
            self.sides[channel].held_back = False

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def begin_mark(self, checkpoint: int) -> None:
        """Notes that the insertion of recovery barriers begins, into every channel in recovery."""
        self.begin()
        self.marked = checkpoint
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
        self.starting = checkpoint
        if self.sending is not None:
            self._overlap(self.sending)

    def _overlap(self, side: Side) -> None:
        """Notes that an element arrives in this channel while a checkpoint starts."""
        side.input.doubt_pending()
        if type(self.arriving) is Barrier:
            self.doubtful = True
            if self.arriving.checkpoint != self.starting:
                side.input.doubt()

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the start is over: either in every channel, or up to the first channel that refused it."""
        self.newest = max(self.newest, checkpoint)
        self.starting = self.marked = 0
        if not self.converted:
            return
        self.phase = "live"
        self.started.append(checkpoint)
        self.checkpoint = checkpoint
        refusing = None
        if seen.error is not None:
            refusing = next((side for side in self.sides if side.refuses(checkpoint)), None)
            if refusing is None or self.doubtful:
                for side in self.sides:
                    side.input.doubt()  # an arriving barrier made some channel refuse, and the ledger cannot know which
        self.doubtful = False
        for side in self.sides:
            if side is refusing:
                break
            side.start(checkpoint)

    def begin_stop(self, checkpoint: int) -> None:
        """Notes that the stop of a checkpoint begins: one channel after another stops it."""
        self.begin()
        self.stopping = True
        if self.sending is not None:
            self.sending.input.doubt_pending()

    def stop(self, checkpoint: int) -> None:
        """Notes that a checkpoint was stopped."""
        self.end()
        self.stopping = False
        self.newest = max(self.newest, checkpoint)
        self.stopped.append(checkpoint)
        if self.checkpoint == checkpoint:
            self.checkpoint = 0
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
            side.input.doubt()

    def _task_failed(self, seen: Seen[Any]) -> None:
        """Notes that an operation of the task failed, which has the error. Only an arrival may write meanwhile."""
        task_fails(self, keeps=False)
        self.faults.struck(seen.signals)
        self.end()
        if self.sending is not None:
            self.sending.input.doubt()

    def begin_last_polls(self) -> None:
        """Notes that a poll begins while the gate keeps an error."""
        self.begin_alone()
        self.notice.awake = False

    def last_poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that this poll is over, and whether it answered the error."""
        if seen.error is None:
            self.poll(seen)
            return
        self.alone = False
        self.phase = BROKEN

    def poll_failed(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll failed with the channel state writer."""
        self._task_failed(seen)
        self.alone = self.notice.awake = False

    def setup_failed(self, seen: Seen[None]) -> None:
        """Notes that a channel could not be converted, or its subpartition could not be requested."""
        self.owed_refusal = not self.converted and self.conversion_loses() is not False
        self._break(keeps=seen.error is None)
        self.faults.struck(seen.signals)
        self.end()
        self.converting = self.overlapped = False

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
        if self.starting and place == CHANNEL_STATE_WRITER:
            for side in self.sides:
                side.input.doubt(self.starting)

    def start_failed(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the start of a checkpoint failed with the channel state writer: nothing is written for it."""
        self._task_failed(seen)
        self.unstarted = checkpoint
        self.started.append(checkpoint)
        self.starting = self.marked = 0

    # ---- release and failure -----------------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Notes that the release begins. An element that is arriving may come too late for the input state. It finishes
        what a release before has left, if that is over."""
        self.begin()
        self.unreleased = self.unreleased and self.releases > 0
        super().begin_release()
        if self.sending is not None:
            self.sending.input.doubt()

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled, whatever it does. What an operation that is in flight writes is not
        known."""
        self.cancelled_in_conversion = self.converting
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
            if self.starting or side is self.sending:
                side.input.doubt()
