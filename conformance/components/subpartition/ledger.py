"""What the driver knows about one subpartition: what went in, what came out, what is owed now.

Records are numbered in the order in which the producer writes them, across failures: after a restore the producer
writes the records behind the restored checkpoint again, under the same numbers. Delivery must therefore be 0, 1, 2, …
for ever, and one integer, `delivered`, is the whole memory of what the consumer has. Everything else is a short queue
of what is still in flight. The ledger never looks at an implementation; it learns from operations and their outcomes
only.
"""

from __future__ import annotations

from conformance.driver import Seen
from conformance.parts.lifetime import Lifetime
from conformance.parts.words import name
from conformance.ports import (
    Alignment,
    Availability,
    Barrier,
    Buffer,
    BufferAndBacklog,
    DataAvailable,
    Element,
    EndOfPartition,
    Event,
    Next,
    OutputState,
    PriorityAvailable,
    RecoveryCompletion,
    RecoveryMetadata,
    Signal,
    StateStatus,
)

NONE, DATA, EVENT, PRIORITY = Next.NONE, Next.DATA, Next.EVENT, Next.PRIORITY
ALIGNED, TIMEOUTABLE, UNALIGNED = Alignment.ALIGNED, Alignment.TIMEOUTABLE, Alignment.UNALIGNED
"""At hand, since looking up a member of an enumeration is slow in Python 3.11, and most of what happens is polls."""
ABSENT = OutputState(StateStatus.ABSENT)
PENDING = OutputState(StateStatus.PENDING)
FAILED = OutputState(StateStatus.FAILED)
WRITTEN_EMPTY = OutputState(StateStatus.WRITTEN)


class Queued:
    """One element in flight. Data has no `element`: it reaches up to record id `end` (exclusive)."""

    __slots__ = ("element", "end", "open", "ready")

    def __init__(self, element: Element | None, end: int = 0) -> None:
        self.element = element
        self.end = end
        self.open = False
        """The producer is still writing it."""
        self.ready = True
        """It was complete when it was added, so the consumer was told of it, or will be when its turn comes."""


class Ledger(Lifetime):
    """Phases: `recovering`, `live`, `writing` in the middle of a buffer, `finished` by its producer, `failed`."""

    __slots__ = (
        "aborted", "announced", "awake", "barriers", "blocked", "buffers", "delivered", "events", "flushed",
        "hands_out_empty", "last_checkpoint", "ordinary", "passes_blocked", "polled", "probe", "replaced", "restored",
        "resumed", "rises", "sent", "seq", "states", "timeoutable", "to_recover", "urgent", "view",
    )  # fmt: skip

    def __init__(self, exclusive_buffers: int, recovered: int | None, passes_blocked: bool) -> None:
        super().__init__()
        self.hands_out_empty = exclusive_buffers == 0
        self.passes_blocked = passes_blocked
        self.delivered = self.last_checkpoint = self.events = 0
        self.sent = recovered or 0
        self._begin("live" if recovered is None else "recovering")

    def _begin(self, phase: str) -> None:
        """A fresh subpartition, which is to be given the records from `delivered` to `sent` first."""
        self.begin_life(phase)
        self.restored = self.sent
        """The records below it were recovered, or delivered before."""
        self.to_recover: list[Element] = []
        for record in range(self.delivered, self.sent):
            self.to_recover += (RecoveryMetadata(0, 0), Buffer((record,)))
        self.ordinary: list[Queued] = []
        self.urgent: list[Barrier] = []
        """Unaligned barriers, which are in front of everything."""
        self.rises = False
        """The operation in progress puts a barrier in front of everything."""
        self.buffers = 0
        """Data buffers among `ordinary`."""
        self.seq = 0
        self.view = self.blocked = False
        self.flushed = False
        """What was written is to be handed out, also in an unfinished buffer."""
        self.awake = False
        """The consumer has a reason to poll."""
        self.probe = False
        """The consumer is about to ask whether something is available."""
        self.resumed = False
        """The consumer resumed the subpartition, and has neither asked nor polled since."""
        self.announced: Next = NONE
        """What the consumer was told since it last polled."""
        self.barriers: list[int] = []
        self.timeoutable: list[int] = []
        self.polled: dict[int, int] = {}
        """Checkpoint to what had been delivered when its barrier was polled: the consumer's side of the cut."""
        self.aborted: list[int] = []
        self.replaced: list[int] = []
        """Checkpoints whose channel state future failed because of a newer timeoutable barrier."""
        self.states: dict[int, OutputState] = {}
        """What the writer must have by now, per checkpoint; absent if it must have nothing."""

    # ---- questions -------------------------------------------------------------------------------------------------
    @property
    def open_future(self) -> int:
        """The checkpoint whose channel state future is open; 0: none. A newer one always fails the older."""
        newest = self.timeoutable[-1] if self.timeoutable else 0
        return newest if self.states.get(newest) is PENDING else 0

    def state(self, checkpoint: int) -> OutputState:
        """What the writer must have by now."""
        return self.states.get(checkpoint, ABSENT)

    def in_front(self, checkpoint: int) -> list[Queued]:
        """What stands in front of a timeoutable barrier that waits in its place."""
        for place, queued in enumerate(self.ordinary):
            if type(queued.element) is Barrier and queued.element.checkpoint == checkpoint:
                return self.ordinary[:place]
        return []

    def is_empty(self, queued: Queued) -> bool:
        """A finished data buffer in which nothing is left to read, and which is skipped for that reason."""
        return queued.element is None and queued.end <= self.delivered and not queued.open and not self.hands_out_empty

    def head(self) -> Queued | None:
        """The ordinary element that a poll reaches, empty buffers skipped."""
        for queued in self.ordinary:
            if not self.is_empty(queued):
                return queued
        return None

    def owed(self, head: Queued) -> Element:
        """What a poll hands out of it now."""
        return Buffer(tuple(range(self.delivered, head.end))) if head.element is None else head.element

    def readable(self) -> bool:
        """Whether an unblocked poll finds something, announced or not."""
        if self.urgent:
            return True
        head = self.head()
        return head is not None and (head.element is not None or head.end > self.delivered or not head.open)

    def due(self) -> bool:
        """Whether the consumer must have been told by now that something can be polled."""
        if self.urgent:
            return self.passes_blocked or not self.blocked
        if self.blocked or not self.ordinary:
            return False
        last, head = self.ordinary[-1], self.head()
        return head is not None and (head is not last or last.ready)

    def first(self) -> str:
        """What comes next, in words."""
        if self.urgent:
            return name(self.urgent[0])
        head = self.head()
        return "nothing" if head is None else name(self.owed(head))

    def must_answer(self) -> bool:
        """Whether a poll finds something, and nothing blocks it."""
        return not self.blocked and self.readable()

    def next_number(self, has_priority: bool) -> int:
        """The number that the next element must carry."""
        return self.seq

    def holds(self) -> tuple[tuple[str, int], ...]:
        """The segments of its elements, its view, and the open channel state future."""
        return ("segments", self.buffers), ("listeners", int(self.view)), ("futures", int(self.open_future > 0))

    def restorable(self) -> list[tuple[int]]:
        """Checkpoints of this run whose barrier came through and whose state is safe with the writer."""
        return [
            (checkpoint,)
            for checkpoint in self.polled
            if checkpoint not in self.aborted and self.state(checkpoint) not in (PENDING, FAILED)
        ]

    # ---- what the producer does ------------------------------------------------------------------------------------
    def next_data(self, records: int, finished: bool = True) -> Buffer:
        """The next records."""
        return Buffer(tuple(range(self.sent, self.sent + records)), finished)

    def add_data(self, records: int) -> None:
        """The producer wrote further records into a buffer of their own."""
        self.sent += records
        self.ordinary.append(Queued(None, self.sent))
        self.buffers += 1

    def open(self, records: int) -> None:
        """The same, and the producer is not through with that buffer."""
        self.add_data(records)
        last = self.ordinary[-1]
        last.open, last.ready = True, False
        self.phase = "writing"

    def append(self) -> None:
        """The producer wrote a record into its unfinished buffer."""
        self.sent += 1
        self.ordinary[-1].end = self.sent

    def finish_buffer(self) -> None:
        """The producer finished its buffer; nobody was told."""
        self.ordinary[-1].open = False
        self.phase = "live"

    def flush(self) -> None:
        """The producer wants everything read. Nothing to read, no flush."""
        ordinary = self.ordinary
        lone = ordinary[0] if len(ordinary) == 1 else None
        if self.urgent or len(ordinary) > 1 or (lone and (lone.element is not None or lone.end > self.delivered)):
            self.flushed = True

    def add_event(self) -> None:
        """An event stands behind everything."""
        self.ordinary.append(Queued(Event(self.events)))
        self.events += 1

    def add_aligned(self, checkpoint: int) -> None:
        """An aligned barrier stands behind everything."""
        self._note(checkpoint)
        self.ordinary.append(Queued(Barrier(checkpoint, ALIGNED)))

    def add_timeoutable(self, checkpoint: int) -> None:
        """A timeoutable barrier opens a channel state future, and fails an older one."""
        self._note(checkpoint)
        self.ordinary.append(Queued(Barrier(checkpoint, TIMEOUTABLE)))
        if older := self.open_future:
            self.states[older] = FAILED
            self.replaced.append(older)
        self.timeoutable.append(checkpoint)
        self.states[checkpoint] = PENDING

    def begin_urgent(self, checkpoint: int) -> None:
        """A new barrier is added in front of everything, or one that waits goes there if it still can."""
        self.rises = checkpoint > self.last_checkpoint or checkpoint == self.open_future

    def add_unaligned(self, checkpoint: int) -> None:
        """An unaligned barrier overtook everything that is not delivered yet."""
        self._note(checkpoint)
        self.rises = False
        self.urgent.append(Barrier(checkpoint, UNALIGNED))
        if self.sent > self.delivered:
            self._write(checkpoint, self.sent)

    def finish(self) -> None:
        """The end of the partition stands behind everything."""
        self.ordinary.append(Queued(EndOfPartition()))
        self.phase = "finished"

    # ---- what becomes of checkpoints -------------------------------------------------------------------------------
    def time_out(self, checkpoint: int) -> None:
        """The barrier, if it still waits in its place, became unaligned and overtook what stood before it."""
        if not self.rises:
            return
        self.rises = False
        front = self.in_front(checkpoint)
        del self.ordinary[len(front)]
        self.urgent.append(Barrier(checkpoint, UNALIGNED))
        self._write(checkpoint, max([self.delivered, *[one.end for one in front]]))

    def abort(self, checkpoint: int) -> None:
        """The checkpoint was aborted."""
        if checkpoint not in self.aborted:
            self.aborted.append(checkpoint)
        if checkpoint == self.open_future:
            self.states[checkpoint] = FAILED

    def _note(self, checkpoint: int) -> None:
        self.last_checkpoint = checkpoint
        self.barriers.append(checkpoint)

    def _write(self, checkpoint: int, end: int) -> None:
        """The writer gets what is not delivered yet, up to record `end`."""
        self.states[checkpoint] = OutputState(StateStatus.WRITTEN, tuple(range(self.delivered, end)))

    # ---- what the consumer does and is told ------------------------------------------------------------------------
    def attach(self) -> None:
        """The consumer came. It asks what is there."""
        self.view = self.probe = True

    def hear(self, signals: list[Signal]) -> None:
        """The consumer was told something."""
        self.awake = True
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.announced = PRIORITY
            elif type(signal) is DataAvailable and self.announced is NONE:
                self.announced = DATA

    def ask(self, seen: Seen[Availability], has_credit: bool) -> None:
        """The consumer asked whether something is available."""
        if has_credit:
            self.probe = self.resumed = False
            self.awake |= seen.value.available

    def poll(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """The consumer polled; if it got something, the rules have compared it with what was owed."""
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
        """The consumer let a blocked subpartition go on. It asks what is there."""
        self.blocked = False
        self.probe = self.resumed = True

    # ---- recovery and failure --------------------------------------------------------------------------------------
    def recover(self) -> None:
        """The next element of the recovered output state was put in."""
        element = self.to_recover.pop(0)
        if type(element) is Buffer:
            self.ordinary.append(Queued(None, element.ids[-1] + 1))
            self.buffers += 1
        else:
            self.ordinary.append(Queued(element))

    def finish_recovery(self, block: bool) -> None:
        """All recovered output state is in."""
        self.phase = "live"
        if block:
            self.ordinary.append(Queued(RecoveryCompletion()))

    def fail(self) -> None:
        """Everything was released, at whatever moment."""
        super().fail()
        if future := self.open_future:
            self.states[future] = FAILED
        self.awake = self.probe = False
        self.buffers = 0
        self.ordinary = []
        self.urgent = []

    def restore(self, checkpoint: int) -> None:
        """A fresh subpartition takes over from `checkpoint`; the consumer is back at its side of the cut."""
        self.delivered = self.polled[checkpoint]
        self.sent = self.delivered + len(self.state(checkpoint).ids)
        self._begin("recovering")
