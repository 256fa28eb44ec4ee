"""The ledger of one local channel and its subpartition: what was sent, what the task took, and what must come next.

Three threads act: the producer adds, the recovery thread pushes, the task thread takes, starts checkpoints and
releases. The ledger knows exactly what the task thread has done; the task may find an element whose operation is still
in flight, or not.
"""

from __future__ import annotations

from typing import Any

from conformance.components.local_channel.state import ChannelState
from conformance.driver import Seen
from conformance.parts.faults import struck_by
from conformance.parts.recovery import ends
from conformance.ports import (
    Barrier,
    Buffer,
    BufferAndBacklog,
    Element,
    EndOfPartition,
    FaultKind,
    Next,
    Signal,
)

_PRIORITY = Next.PRIORITY


class Ledger(ChannelState):
    """How the steps change the state of the channel."""

    __slots__ = ()

    # ---- the producer ----------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications of the consumer."""
        self.notice.hear_numbers(signals, self.next_live)
        self.urged |= self.notice.announced >= self.next_live

    def begin_add(self, element: Element) -> None:
        """Notes that the producer begins to add an element without priority."""
        self.lane.send(element)
        self._adds()

    def _adds(self) -> None:
        self.adding = True
        self.alone = False
        self.vain = 0

    def begin_data(self) -> None:
        """Notes that the producer begins to add a buffer with the next record."""
        self.lane.send(Buffer((self.next_record,)))
        self.next_record += 1
        self._adds()

    def begin_barrier(self, barrier: Barrier) -> None:
        """Notes that the producer begins to add a barrier. Before the request there is no view to notify, so that
        recovered data that was handed over may come before the barrier."""
        self.lane.send(barrier, self.in_memory and not self.requested)
        self.barrier_added = barrier.checkpoint
        self.newest = max(self.newest, barrier.checkpoint)
        self._adds()

    def begin_end(self) -> None:
        """Notes that the producer begins to add the end of partition."""
        self.begin_add(EndOfPartition())
        self.phase = "ended"

    def end_add(self, *operands: object) -> None:
        """Notes that the add is over: the element is in the subpartition."""
        self.adding = False
        self.lane.end_send()

    # ---- the recovery thread ---------------------------------------------------------------------------------------
    def begin_push(self) -> None:
        """Notes that a push begins; it may wait for the request of the subpartition."""
        self.begin_afterwards()
        self._begin_recovering()
        if self.was_over:
            return
        if self.to_recover is None:
            record = self.next_record
            self.next_record += 1
        else:
            record = self.to_recover.pop(0)
        self.recovered_ids[record] = None
        self.lane.begin_push((record,))

    def end_push(self) -> None:
        """Notes that the push is over."""
        self.pushing = False
        self.lane.end_push()

    def begin_finish(self) -> None:
        """Notes that the push of the end of recovered data begins."""
        self._begin_recovering()
        self.lane.finishing = True

    def end_finish(self) -> None:
        """Notes that the push of the end of recovered data is over."""
        self.pushing = False
        self.lane.finished = True

    def _begin_recovering(self) -> None:
        self.was_over = self.released
        self.was_unrequested = not self.requested
        self.pushing = True
        self.alone = False
        self.vain = 0

    # ---- the task --------------------------------------------------------------------------------------------------
    def begin_request(self) -> None:
        """Notes that the request of the subpartition begins."""
        self.afterlife += self.released
        self.requesting = True
        self.vain = 0

    def request_struck(self, seen: Seen[None]) -> None:
        """Notes that the subpartition was not there yet, or cannot be had at all."""
        if struck_by(seen).kind is FaultKind.REFUSES:
            self.faults.struck(seen.signals)
            self.requesting = False
        else:
            self.break_down(seen)

    def request(self) -> None:
        """Notes that the request of the subpartition is over. Priority events that were sent before may be silent."""
        if not self.requested and not self.released:
            self.requested = True
            self.heard_from = self.lane.arrived if self.lane.urgent else 0

    def begin_take(self) -> None:
        """Notes that a take begins, and what it must find."""
        self.afterlife += self.released
        if not self.notice.awake:
            self.vain = -1  # a take without a reason does not count
        self.must = self.something_waits()
        self.must_priority = self.must and self.must_come_first()
        self.must_learn = self.error_waits()
        self.notice.begin_take()
        self.urged = False
        self.busy = True
        self.alone = not (self.adding or self.pushing)

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that a take is over. The rules have already judged what it answered."""
        lane, taken = self.lane, seen.value
        self.busy = self.alone = False
        if taken is None:
            self.notice.took(False)
            self.end_left = False
            self.vain += 1
            if ends(seen.signals):
                self.vain = 0
                lane.consumed = True
                lane.marks = {}
                self.hidden = bool(lane.waiting)
            return
        self.vain = 0
        has_priority = taken.element.data_type.has_priority
        self.urged |= taken.next is _PRIORITY
        self.notice.took(taken.next != "none", taken.seq if has_priority else -1)
        if self.hidden and not has_priority:
            lane.take_recovered(taken.seq)
            self.hidden = not lane.consumed or bool(lane.waiting)
            return
        self.next_live += 1
        self.end_left &= has_priority
        element = (lane.urgent if has_priority else lane.live).pop(0).element
        lane.notice(element)
        if element.data_type.blocks_upstream:
            lane.blocked = True

    def break_down(self, seen: Seen[Any], *checkpoint: int) -> None:
        """Notes that a take, or the start of a checkpoint, failed with the channel state writer."""
        super().break_down(seen)
        self.busy = self.alone = self.notice.awake = self.urged = False
        self.lane.input.failed += checkpoint

    def resume(self) -> None:
        """Notes that the consumer resumed the channel."""
        self.lane.blocked = False
        self.vain = 0

    def begin_mark(self, checkpoint: int) -> None:
        """Notes that the insertion of a recovery barrier begins, if the channel is in recovery."""
        self.vain = 0
        self.newest = max(self.newest, checkpoint)
        self.marked = checkpoint
        if self.in_recovery():
            self.lane.begin_mark(checkpoint)

    def end_mark(self, checkpoint: int) -> None:
        """Notes that the insertion is over; buffers that are pushed later stand behind the recovery barrier."""
        self.lane.end_mark(checkpoint)

    def begin_start(self, checkpoint: int) -> None:
        """Notes that the start of a checkpoint begins."""
        self.busy = True
        self.vain = 0
        self.newest = max(self.newest, checkpoint)
        self.started = checkpoint

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the checkpoint started, or that its start was refused."""
        self._checkpoint_moved(checkpoint)
        lane = self.lane
        mark = lane.marks.get(checkpoint)
        if seen.error is not None:
            self.missed |= self.mark_is_missing(checkpoint)
            lane.input.failed.append(checkpoint)
            return
        least = most = tuple[int, ...]()
        if self.in_memory:
            self.copied_to = lane.pushed
            least = most = lane.left()
        elif mark is not None:
            self.copied_to = max(self.copied_to, mark.least)
            least, most = lane.before(mark.least), lane.before(mark.most)
            lane.marks = {one: mark for one, mark in lane.marks.items() if one > checkpoint}
        lane.input.started(checkpoint, least, most)

    def begin_stop(self, checkpoint: int) -> None:
        """Notes that the stop of a checkpoint begins."""
        self.busy = True
        self.vain = 0
        self.newest = max(self.newest, checkpoint)

    def stop(self, checkpoint: int) -> None:
        """Notes that a checkpoint was stopped."""
        self._checkpoint_moved(checkpoint)
        self.stopped = max(self.stopped, checkpoint)
        self.lane.input.stopped(checkpoint)

    def _checkpoint_moved(self, checkpoint: int) -> None:
        self.busy = False
        if checkpoint >= self.marked:
            self.marked = 0

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled, whatever it does."""
        if self.busy:
            self.lane.input.forget_pending()
        super().begin_cancel()
        self.busy = self.alone = False

    def release(self) -> None:
        """Notes that a release of the channel is over."""
        super().release()
        self.notice.awake = self.urged = self.end_left = False
        self.marked = self.vain = 0

    def fail(self) -> None:
        """Notes that the channel was released at an arbitrary moment; operations in flight are abandoned."""
        if self.busy:
            self.lane.input.forget_pending()
        super().fail()
        self.notice.awake = self.pushing = self.busy = self.adding = self.alone = self.urged = False

    def restore(self, seen: Seen[tuple[int, ...]], checkpoint: int) -> None:
        """Begins with a fresh channel that recovers the input state of a checkpoint as it was written."""
        self.restored = True
        ids = tuple(seen.value)
        self.begin_channel(ids if self.in_memory else (), list(ids) if self.pushes else None)
