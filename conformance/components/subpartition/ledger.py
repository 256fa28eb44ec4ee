"""The ledger of one subpartition: what the producer added, what the consumer polled, and what must come next.

Records are numbered in the order in which the producer writes them, across failures: after a restore the producer
writes the records behind the restored checkpoint again, under the same numbers. The consumer must therefore get the
records 0, 1, 2, … for ever, and one integer, `delivered`, says which of them it has. Everything else is a short queue
of elements that were not polled. The ledger never looks at an implementation; it learns from operations and their
outcomes only.
"""

from __future__ import annotations

from typing import Any

from conformance.driver import PortLedger, Seen
from conformance.models.consumer import Consumer
from conformance.models.words import Description, name
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    PRODUCER,
    Alignment,
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
    Next,
    OutputState,
    Places,
    PriorityAvailable,
    RecoveryCompletion,
    RecoveryMetadata,
    Signal,
    StateStatus,
)

NONE, DATA, EVENT, PRIORITY = Next.NONE, Next.DATA, Next.EVENT, Next.PRIORITY
ALIGNED, TIMEOUTABLE, UNALIGNED = Alignment.ALIGNED, Alignment.TIMEOUTABLE, Alignment.UNALIGNED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11, and most steps are polls."""
ABSENT = OutputState(StateStatus.ABSENT)
PENDING = OutputState(StateStatus.PENDING)
FAILED = OutputState(StateStatus.FAILED)
WRITTEN_EMPTY = OutputState(StateStatus.WRITTEN)
DESERTED = "deserted"
"""The phase between the failure of the producer and the poll that fails with its error."""


class Queued:
    """One queued element. A data buffer has no `element`: it contains the records up to id `end` (exclusive)."""

    __slots__ = ("element", "end", "fresh", "open", "ready")

    def __init__(self, element: Element | None, end: int = 0) -> None:
        self.element = element
        self.end = end
        self.open = False
        """Whether the producer is still writing the buffer."""
        self.ready = True
        """Whether it was finished when it was added. If not, and it is the last element, the consumer need not be
        notified of it without a flush."""
        self.fresh = False
        """Whether it was added unfinished behind another element, and no poll has looked at it: a flush, also one that
        the implementation makes by itself, may count although there is nothing to read in it."""


_NOT_TAKEN = FaultStruck(CHANNEL_STATE_WRITER, FaultKind.THROWS)


class Checkpoints:
    """The checkpoints of one subpartition, and the output state that it must have written for them."""

    __slots__ = ("aborted", "barriers", "newest", "polled", "replaced", "states", "timeoutable", "unwritten")

    def __init__(self, newest: int) -> None:
        """`newest`: the newest checkpoint of the subpartitions before this one."""
        self.newest = newest
        self.barriers: list[int] = []
        self.timeoutable: list[int] = []
        """The checkpoints whose barrier was added, and those of them whose barrier was timeoutable."""
        self.polled: dict[int, int] = {}
        """By checkpoint, the value of `delivered` when its barrier was polled: the consumer's side of the cut."""
        self.aborted: list[int] = []
        self.replaced: list[int] = []
        """Checkpoints whose channel state future must fail because a newer timeoutable barrier was added."""
        self.states: dict[int, OutputState] = {}
        """By checkpoint, the output state that must have been written by now; not in the dict if there must be none."""
        self.unwritten: list[int] = []
        """Checkpoints whose output state, or channel state future, the channel state writer did not take."""

    @property
    def open_future(self) -> int:
        """The checkpoint whose channel state future is open; 0: none. At most one is open, because a newer one fails
        it."""
        newest = self.timeoutable[-1] if self.timeoutable else 0
        return newest if self.states.get(newest) is PENDING else 0

    def state(self, checkpoint: int) -> OutputState:
        """Returns the output state that must have been written by now."""
        return self.states.get(checkpoint, ABSENT)

    def restorable(self) -> list[tuple[int]]:
        """Returns the checkpoints whose barrier was polled and whose output state is complete, as operands of a
        step."""
        return [
            (checkpoint,)
            for checkpoint in self.polled
            if checkpoint not in self.aborted and self.state(checkpoint) not in (PENDING, FAILED)
        ]

    def barrier(self, checkpoint: int) -> None:
        """Notes that the producer has added a barrier, or tried to."""
        self.newest = checkpoint
        self.barriers.append(checkpoint)

    def timeoutable_barrier(self, checkpoint: int) -> None:
        """Notes that the producer has added a timeoutable barrier: its future is open, and an older one fails."""
        self.barrier(checkpoint)
        if older := self.open_future:
            self.states[older] = FAILED
            self.replaced.append(older)
        self.timeoutable.append(checkpoint)
        self.states[checkpoint] = PENDING


class Ledger(PortLedger):
    """What the rules and the steps read, and how the steps change it.

    Phases: `recovering`, `live`, `writing` (the last buffer is unfinished), `finished` (by the producer),
    `deserted`, `broken`, `failed`."""

    __slots__ = (
        "announced", "blocked", "buffers", "checkpoints", "consumer", "delivered", "events", "flushed",
        "hands_out_empty", "live", "next_record", "passes_blocked", "restored", "resumed", "rises", "seq", "times_out",
        "to_recover", "urgent", "view",
    )  # fmt: skip

    def __init__(
        self, exclusive_buffers: int, recovered: int | None, passes_blocked: bool, can_fail: Places, times_out: bool
    ) -> None:
        """`times_out`: whether the alignment timeout fires, so that a timeoutable barrier becomes unaligned."""
        super().__init__(can_fail)
        self.times_out = times_out
        self.hands_out_empty = exclusive_buffers == 0
        self.passes_blocked = passes_blocked
        self.delivered = self.events = 0
        self.checkpoints = Checkpoints(0)
        self.next_record = recovered or 0
        self.begin_subpartition("live" if recovered is None else "recovering")

    def begin_subpartition(self, phase: str) -> None:
        """Begins with a fresh subpartition, which will recover the records from `delivered` to before `next_record`."""
        self.begin_life(phase)
        self.restored = self.next_record
        """Records below this id were recovered, or delivered before the restore."""
        self.to_recover: list[Element] = []
        for record in range(self.delivered, self.next_record):
            self.to_recover += (RecoveryMetadata(0, 0), Buffer((record,)))
        self.live: list[Queued] = []
        """The elements without priority."""
        self.urgent: list[Barrier] = []
        """Unaligned barriers, which stand in front of everything else."""
        self.rises = False
        """Whether the operation in progress puts a barrier in front of everything else."""
        self.buffers = 0
        """Number of data buffers in `live`."""
        self.seq = 0
        self.view = self.blocked = False
        self.flushed = False
        """Whether a flush asks to deliver all records, also those in an unfinished buffer."""
        self.consumer = Consumer()
        self.resumed = False
        """Whether the consumer resumed the subpartition and has neither asked nor polled since."""
        self.announced: Next = NONE
        """Whether the consumer was notified of data or of a priority event since its last poll."""
        self.checkpoints = Checkpoints(self.checkpoints.newest)

    # ---- queries -----------------------------------------------------------------------------------------------------
    def in_front(self, checkpoint: int) -> list[Queued]:
        """Returns the elements in front of a timeoutable barrier that is queued without priority."""
        for place, queued in enumerate(self.live):
            if type(queued.element) is Barrier and queued.element.checkpoint == checkpoint:
                return self.live[:place]
        return []

    def head(self) -> Queued | None:
        """Returns the first element without priority that a poll does not skip; None: there is none. It skips a data
        buffer that is finished and has been read."""
        for queued in self.live:
            if queued.element is not None or queued.end > self.delivered or queued.open or self.hands_out_empty:
                return queued
        return None

    def owed(self, head: Queued) -> Element:
        """Returns what a poll of this element returns now."""
        return Buffer(tuple(range(self.delivered, head.end))) if head.element is None else head.element

    def readable(self) -> bool:
        """Returns whether a poll finds an element if the subpartition is not blocked."""
        if self.urgent:
            return True
        head = self.head()
        return head is not None and (head.element is not None or head.end > self.delivered or not head.open)

    def due(self) -> bool:
        """Returns whether an element can be polled of which the consumer must have been notified by now."""
        if self.urgent:
            return self.passes_blocked or not self.blocked
        if self.blocked or not self.live:
            return False
        last, head = self.live[-1], self.head()
        if head is None:
            return False
        return head is not last or last.ready or (self.flushed and (not last.open or last.end > self.delivered))

    def can_be_polled(self) -> bool:
        """Returns whether a poll would return something now."""
        if self.blocked:
            return self.passes_blocked and bool(self.urgent)
        return self.readable()

    def only_waits_for_records(self) -> bool:
        """Returns whether nothing is queued but an unfinished buffer without anything to read, and no flush can count
        for it."""
        if len(self.live) != 1 or self.urgent:
            return False
        alone = self.live[0]
        return alone.open and alone.end <= self.delivered and not alone.fresh

    def first(self) -> str:
        """Describes what the next poll must find."""
        if self.urgent:
            return name(self.urgent[0])
        head = self.head()
        return "nothing" if head is None else name(self.owed(head))

    def must_find(self) -> Description | None:
        """Returns what describes the element that a poll finds; None: the subpartition is blocked, or there is none."""
        return self.first if not self.blocked and self.readable() else None

    def next_number(self, has_priority: bool) -> int:
        """Returns the sequence number that the next element must carry."""
        return self.seq

    def holds(self) -> tuple[tuple[str, int], ...]:
        """Returns one segment for each queued buffer, one listener for the view, and one future that may be open.

        What a producer that has failed leaves behind may be given back at any moment.
        """
        if self.phase == DESERTED:
            return ()
        futures = int(self.checkpoints.open_future > 0)
        return ("segments", self.buffers), ("listeners", int(self.view)), ("futures", futures)

    def read_again(self) -> list[int]:
        """Returns the checkpoints whose output state is to be read after the release as well."""
        return self.checkpoints.barriers if self.faults.can_fail else []

    # ---- the producer ------------------------------------------------------------------------------------------------
    def next_data(self, records: int, finished: bool = True) -> Buffer:
        """Returns a buffer with the next records."""
        return Buffer(tuple(range(self.next_record, self.next_record + records)), finished)

    def add_data(self, records: int) -> None:
        """Notes that the producer added a finished buffer with the next records."""
        self.next_record += records
        self.live.append(Queued(None, self.next_record))
        self.buffers += 1

    def open(self, records: int) -> None:
        """Notes that the producer added an unfinished buffer with the next records."""
        self.add_data(records)
        last = self.live[-1]
        last.open, last.ready = True, False
        last.fresh = len(self.live) > 1 or bool(self.urgent)
        self.phase = "writing"

    def append(self) -> None:
        """Notes that the producer wrote a record into its unfinished buffer."""
        self.next_record += 1
        self.live[-1].end = self.next_record

    def finish_buffer(self) -> None:
        """Notes that the producer finished its buffer, without a notification of the consumer."""
        self.live[-1].open = False
        self.phase = "live"

    def flush(self) -> None:
        """Notes that the producer flushed, which has an effect only if something can be read."""
        live = self.live
        lone = live[0] if len(live) == 1 else None
        if self.urgent or len(live) > 1 or (lone and (lone.element is not None or lone.end > self.delivered)):
            self.flushed = True

    def add_event(self) -> None:
        """Notes that the producer added an event behind everything else."""
        self.live.append(Queued(Event(self.events)))
        self.events += 1

    def add_aligned(self, checkpoint: int) -> None:
        """Notes that the producer added an aligned barrier behind everything else."""
        self.checkpoints.barrier(checkpoint)
        self.live.append(Queued(Barrier(checkpoint, ALIGNED)))

    def add_timeoutable(self, checkpoint: int) -> None:
        """Notes that the producer added a timeoutable barrier: its channel state future is open, and an older one
        fails."""
        self.checkpoints.timeoutable_barrier(checkpoint)
        self.live.append(Queued(Barrier(checkpoint, TIMEOUTABLE)))

    def begin_urgent(self, checkpoint: int) -> None:
        """Notes that an unaligned barrier is being added, or that the alignment timeout of a queued one is firing."""
        self.rises = checkpoint > self.checkpoints.newest or checkpoint == self.checkpoints.open_future

    def add_unaligned(self, checkpoint: int) -> None:
        """Notes that the producer added an unaligned barrier, which overtook all records that were not delivered."""
        self.checkpoints.barrier(checkpoint)
        self.rises = False
        self.urgent.append(Barrier(checkpoint, UNALIGNED))
        if self.next_record > self.delivered:
            self._write(checkpoint, self.next_record)

    def finish(self) -> None:
        """Notes that the producer added the end of partition behind everything else."""
        self.live.append(Queued(EndOfPartition()))
        self.phase = "finished"

    def refuse(self, checkpoint: int) -> None:
        """Notes that a barrier came after the end, so that it was rejected and leaves no output state."""
        self.checkpoints.barrier(checkpoint)

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def time_out(self, checkpoint: int) -> None:
        """Notes that the alignment timeout fired. A barrier that was queued became unaligned and overtook the data in
        front of it."""
        if not self.rises:
            return
        self.rises = False
        front = self.in_front(checkpoint)
        del self.live[len(front)]
        self.urgent.append(Barrier(checkpoint, UNALIGNED))
        self._write(checkpoint, max([self.delivered, *[one.end for one in front]]))

    def abort(self, checkpoint: int) -> None:
        """Notes that the checkpoint was aborted."""
        checkpoints = self.checkpoints
        if checkpoint not in checkpoints.aborted:
            checkpoints.aborted.append(checkpoint)
        if checkpoint == checkpoints.open_future:
            checkpoints.states[checkpoint] = FAILED

    def add_aligned_untold(self, seen: Seen[bool], checkpoint: int) -> None:
        """Notes that an aligned barrier was added, and the notification of the consumer failed."""
        self.add_aligned(checkpoint)
        self.break_down(seen)

    def timeoutable_struck(self, seen: Seen[bool], checkpoint: int) -> None:
        """Notes that adding a timeoutable barrier failed: the writer did not take its future, or nobody was
        notified."""
        if not self._was_not_taken(seen, checkpoint):
            self.add_timeoutable(checkpoint)
        self.break_down(seen)

    def unaligned_struck(self, seen: Seen[bool], checkpoint: int) -> None:
        """Notes that adding an unaligned barrier failed: the writer did not take the data, or nobody was notified."""
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
        self.checkpoints.barrier(checkpoint)
        self.checkpoints.unwritten.append(checkpoint)
        return True

    def _write(self, checkpoint: int, end: int) -> None:
        """Notes that the records from `delivered` to `end` (exclusive) must be written as output state."""
        self.checkpoints.states[checkpoint] = OutputState(StateStatus.WRITTEN, tuple(range(self.delivered, end)))

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def attach(self) -> None:
        """Notes that a view was attached. The consumer will ask whether an element is available."""
        self.view = self.consumer.probe = True

    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications of the consumer."""
        self.consumer.awake = True
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.announced = PRIORITY
            elif type(signal) is DataAvailable and self.announced is NONE:
                self.announced = DATA

    def ask(self, seen: Seen[Availability], has_credit: bool) -> None:
        """Notes that the consumer asked whether an element is available."""
        if has_credit:
            self.consumer.probe = self.resumed = False
            self.consumer.awake |= seen.value.available

    def poll(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that the consumer polled. The rules have already judged what the poll returned."""
        taken = seen.value
        self.announced = NONE
        self.resumed = False
        self.consumer.awake = taken is not None and taken.next is not NONE
        if taken is not None:
            self.seq += 1
            if self.urgent:
                self.checkpoints.polled[self.urgent.pop(0).checkpoint] = self.delivered
                self.flushed = self.flushed and bool(self.urgent or self.live)
                return
        elif self.blocked or self.urgent:
            return
        live, head = self.live, self.head()
        while live and live[0] is not head:
            del live[0]
            self.buffers -= 1
        if head is not None:
            head.fresh = False
        if taken is None or head is None:
            self.flushed = False
            return
        if head.open or len(live) == 1:
            self.flushed = False
        if not head.open:
            del live[0]
        if head.element is None:
            self.delivered = max(self.delivered, head.end)
            self.buffers -= not head.open
        else:
            self._took(head.element)

    def _took(self, element: Element) -> None:
        self.blocked |= element.data_type.blocks_upstream
        if type(element) is Barrier:
            checkpoints = self.checkpoints
            if element.checkpoint == checkpoints.open_future:
                checkpoints.states[element.checkpoint] = WRITTEN_EMPTY
            checkpoints.polled[element.checkpoint] = self.delivered

    def resume(self) -> None:
        """Notes that the consumer resumed the subpartition. It will ask whether an element is available."""
        self.blocked = False
        self.consumer.probe = self.resumed = True

    # ---- recovery and failure ----------------------------------------------------------------------------------------
    def recover(self) -> None:
        """Notes that the next element of the recovered output state was added."""
        element = self.to_recover.pop(0)
        if type(element) is Buffer:
            self.live.append(Queued(None, element.ids[-1] + 1))
            self.buffers += 1
        else:
            self.live.append(Queued(element))

    def finish_recovery(self, block: bool) -> None:
        """Notes that all recovered output state was added; `block`: the end of output state follows it."""
        self.phase = "live"
        if block:
            self.live.append(Queued(RecoveryCompletion()))

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
        if future := self.checkpoints.open_future:
            self.checkpoints.states[future] = FAILED
        self._forget_queue()

    def _forget_queue(self) -> None:
        self.consumer.awake = self.consumer.probe = self.rises = False
        self.buffers = 0
        self.live = []
        self.urgent = []

    def restore(self, checkpoint: int) -> None:
        """Begins with a fresh subpartition that recovers `checkpoint`; the consumer goes back to its side of the
        cut."""
        self.delivered = self.checkpoints.polled[checkpoint]
        self.next_record = self.delivered + len(self.checkpoints.state(checkpoint).ids)
        self.begin_subpartition("recovering")
