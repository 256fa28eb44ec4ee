"""The ledger of one subpartition: how the steps change its state.

The ledger never looks at an implementation; it learns from operations and their outcomes only.
"""

from __future__ import annotations

from typing import Any

from conformance.components.subpartition.state import (
    ALIGNED,
    DATA,
    DESERTED,
    FAILED,
    NONE,
    PENDING,
    PRIORITY,
    TIMEOUTABLE,
    UNALIGNED,
    WRITTEN_EMPTY,
    Queued,
    SubpartitionState,
)
from conformance.driver import Seen
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    PRODUCER,
    Availability,
    Barrier,
    Buffer,
    BufferAndBacklog,
    DataAvailable,
    Element,
    EndOfPartition,
    Event,
    FaultKind,
    FaultStruck,
    OutputState,
    PriorityAvailable,
    RecoveryCompletion,
    Signal,
    StateStatus,
)

_NOT_TAKEN = FaultStruck(CHANNEL_STATE_WRITER, FaultKind.THROWS)


class Ledger(SubpartitionState):
    """How the steps change the state of the subpartition."""

    __slots__ = ()

    # ---- the producer ----------------------------------------------------------------------------------------------
    def next_data(self, records: int, finished: bool = True) -> Buffer:
        """Returns a buffer with the next records."""
        return Buffer(tuple(range(self.sent, self.sent + records)), finished)

    def add_data(self, records: int) -> None:
        """Notes that the producer added a finished buffer with the next records."""
        self.sent += records
        self.ordinary.append(Queued(None, self.sent))
        self.buffers += 1

    def open(self, records: int) -> None:
        """Notes that the producer added an unfinished buffer with the next records."""
        self.add_data(records)
        last = self.ordinary[-1]
        last.open, last.ready = True, False
        last.fresh = len(self.ordinary) > 1 or bool(self.urgent)
        self.phase = "writing"

    def append(self) -> None:
        """Notes that the producer wrote a record into its unfinished buffer."""
        self.sent += 1
        self.ordinary[-1].end = self.sent

    def finish_buffer(self) -> None:
        """Notes that the producer finished its buffer, without a notification of the consumer."""
        self.ordinary[-1].open = False
        self.phase = "live"

    def flush(self) -> None:
        """Notes that the producer flushed, which has an effect only if something can be read."""
        ordinary = self.ordinary
        lone = ordinary[0] if len(ordinary) == 1 else None
        if self.urgent or len(ordinary) > 1 or (lone and (lone.element is not None or lone.end > self.delivered)):
            self.flushed = True

    def add_event(self) -> None:
        """Notes that the producer added an event behind everything else."""
        self.ordinary.append(Queued(Event(self.events)))
        self.events += 1

    def add_aligned(self, checkpoint: int) -> None:
        """Notes that the producer added an aligned barrier behind everything else."""
        self._note(checkpoint)
        self.ordinary.append(Queued(Barrier(checkpoint, ALIGNED)))

    def add_timeoutable(self, checkpoint: int) -> None:
        """Notes that the producer added a timeoutable barrier: its channel state future is open, and an older one
        fails."""
        self._note(checkpoint)
        self.ordinary.append(Queued(Barrier(checkpoint, TIMEOUTABLE)))
        if older := self.open_future:
            self.states[older] = FAILED
            self.replaced.append(older)
        self.timeoutable.append(checkpoint)
        self.states[checkpoint] = PENDING

    def begin_urgent(self, checkpoint: int) -> None:
        """Notes that an unaligned barrier is being added, or that the alignment timeout of a queued one is firing."""
        self.rises = checkpoint > self.last_checkpoint or checkpoint == self.open_future

    def add_unaligned(self, checkpoint: int) -> None:
        """Notes that the producer added an unaligned barrier, which overtook all records that were not delivered."""
        self._note(checkpoint)
        self.rises = False
        self.urgent.append(Barrier(checkpoint, UNALIGNED))
        if self.sent > self.delivered:
            self._write(checkpoint, self.sent)

    def finish(self) -> None:
        """Notes that the producer added the end of partition behind everything else."""
        self.ordinary.append(Queued(EndOfPartition()))
        self.phase = "finished"

    def refuse(self, checkpoint: int, timeoutable: bool) -> None:
        """Notes that a barrier came after the end, so that it was rejected and leaves no output state."""
        self._note(checkpoint)

    # ---- checkpoints -----------------------------------------------------------------------------------------------
    def time_out(self, checkpoint: int) -> None:
        """Notes that the alignment timeout fired. A barrier that was queued became unaligned and overtook the data in
        front of it."""
        if not self.rises:
            return
        self.rises = False
        front = self.in_front(checkpoint)
        del self.ordinary[len(front)]
        self.urgent.append(Barrier(checkpoint, UNALIGNED))
        self._write(checkpoint, max([self.delivered, *[one.end for one in front]]))

    def abort(self, checkpoint: int) -> None:
        """Notes that the checkpoint was aborted."""
        if checkpoint not in self.aborted:
            self.aborted.append(checkpoint)
        if checkpoint == self.open_future:
            self.states[checkpoint] = FAILED

    def add_aligned_untold(self, seen: Seen[bool], checkpoint: int) -> None:
        """Notes that an aligned barrier was added, and the notification of the consumer failed."""
        self.add_aligned(checkpoint)
        self.break_down(seen)

    def timeoutable_struck(self, seen: Seen[bool], checkpoint: int) -> None:
        """Notes that adding a timeoutable barrier failed: the writer did not take its future, or nobody was told."""
        if not self._was_not_taken(seen, checkpoint):
            self.add_timeoutable(checkpoint)
        self.break_down(seen)

    def unaligned_struck(self, seen: Seen[bool], checkpoint: int) -> None:
        """Notes that adding an unaligned barrier failed: the writer did not take the data, or nobody was told."""
        if not self._was_not_taken(seen, checkpoint):
            self.add_unaligned(checkpoint)
        self.break_down(seen)

    def time_out_untold(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that an alignment timeout has made its barrier unaligned, and the notification of the consumer
        failed."""
        self.time_out(checkpoint)
        self.break_down(seen)

    def attach_untold(self, seen: Seen[None]) -> None:
        """Notes that a view was attached, and the notification of what waits failed."""
        self.attach()
        self.break_down(seen)

    def _was_not_taken(self, seen: Seen[bool], checkpoint: int) -> bool:
        """Notes it if the channel state writer did not take what a barrier hands to it."""
        if _NOT_TAKEN not in seen.signals:
            return False
        self._note(checkpoint)
        self.unwritten.append(checkpoint)
        return True

    def _note(self, checkpoint: int) -> None:
        self.last_checkpoint = checkpoint
        self.barriers.append(checkpoint)

    def _write(self, checkpoint: int, end: int) -> None:
        """Notes that the records from `delivered` to `end` (exclusive) must be written as output state."""
        self.states[checkpoint] = OutputState(StateStatus.WRITTEN, tuple(range(self.delivered, end)))

    # ---- the consumer ----------------------------------------------------------------------------------------------
    def attach(self) -> None:
        """Notes that a view was attached. The consumer will ask whether an element is available."""
        self.view = self.probe = True

    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications of the consumer."""
        self.awake = True
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.announced = PRIORITY
            elif type(signal) is DataAvailable and self.announced is NONE:
                self.announced = DATA

    def ask(self, seen: Seen[Availability], has_credit: bool) -> None:
        """Notes that the consumer asked whether an element is available."""
        if has_credit:
            self.probe = self.resumed = False
            self.awake |= seen.value.available

    def poll(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that the consumer polled. The rules have already judged what the poll answered."""
        taken = seen.value
        self.announced = NONE
        self.resumed = False
        self.awake = taken is not None and taken.next is not NONE
        if taken is not None:
            self.seq += 1
            if self.urgent:
                self.polled[self.urgent.pop(0).checkpoint] = self.delivered
                self.flushed = self.flushed and bool(self.urgent or self.ordinary)
                return
        elif self.blocked or self.urgent:
            return
        ordinary = self.ordinary
        while ordinary and self.is_empty(ordinary[0]):
            del ordinary[0]
            self.buffers -= 1
        if ordinary:
            ordinary[0].fresh = False
        if taken is None:
            self.flushed = False
            return
        head = ordinary[0]
        if head.open or len(ordinary) == 1:
            self.flushed = False
        if not head.open:
            del ordinary[0]
        if head.element is None:
            self.delivered = max(self.delivered, head.end)
            self.buffers -= not head.open
        else:
            self._took(head.element)

    def _took(self, element: Element) -> None:
        self.blocked |= element.data_type.blocks_upstream
        if type(element) is Barrier:
            if element.checkpoint == self.open_future:
                self.states[element.checkpoint] = WRITTEN_EMPTY
            self.polled[element.checkpoint] = self.delivered

    def resume(self) -> None:
        """Notes that the consumer resumed the subpartition. It will ask whether an element is available."""
        self.blocked = False
        self.probe = self.resumed = True

    # ---- recovery and failure --------------------------------------------------------------------------------------
    def recover(self) -> None:
        """Notes that the next element of the recovered output state was added."""
        element = self.to_recover.pop(0)
        if type(element) is Buffer:
            self.ordinary.append(Queued(None, element.ids[-1] + 1))
            self.buffers += 1
        else:
            self.ordinary.append(Queued(element))

    def finish_recovery(self, block: bool) -> None:
        """Notes that all recovered output state was added; `block`: the end of output state follows it."""
        self.phase = "live"
        if block:
            self.ordinary.append(Queued(RecoveryCompletion()))

    def desert(self, place: str) -> None:
        """Notes that the producer has failed, if the fault that was armed is this one."""
        if place == PRODUCER:
            self.phase = DESERTED

    def break_down(self, seen: Seen[Any], *operands: Any) -> None:
        """Notes that an operation failed with what it has called. Nobody polls any more."""
        super().break_down(seen)
        self._forget_queue()

    def fail(self) -> None:
        """Notes that the subpartition was released."""
        super().fail()
        if future := self.open_future:
            self.states[future] = FAILED
        self._forget_queue()

    def _forget_queue(self) -> None:
        self.awake = self.probe = self.rises = False
        self.buffers = 0
        self.ordinary = []
        self.urgent = []

    def restore(self, checkpoint: int) -> None:
        """Begins with a fresh subpartition that recovers `checkpoint`; the consumer goes back to its side of the
        cut."""
        self.delivered = self.polled[checkpoint]
        self.sent = self.delivered + len(self.state(checkpoint).ids)
        self.begin_subpartition("recovering")
