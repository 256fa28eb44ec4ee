"""What the driver knows about one subpartition: what went in, what came out, what is owed now.

Records are numbered in the order in which the producer writes them, across failures: after a restore the producer
writes the records behind the restored checkpoint again, under the same numbers. Delivery must therefore be 0, 1, 2, …
for ever, and one integer, `delivered`, is the whole memory of what the consumer has. Everything else is a short queue
of what is still in flight. The ledger never looks at an implementation; it learns from operations and their outcomes
only.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Barrier,
    Data,
    DataAvailable,
    Element,
    Next,
    OutputState,
    PriorityAvailable,
    RecoveryMetadata,
    StateStatus,
    Taken,
)


class Queued:
    """One element in flight. Data has no `element`: it reaches up to record id `end` (exclusive)."""

    __slots__ = ("element", "end", "open", "ready", "recovered")

    def __init__(self, element: Element | None, end: int = 0, open: bool = False, recovered: bool = False) -> None:
        self.element = element
        self.end = end
        self.open = open
        self.recovered = recovered
        self.ready = not open
        """It was complete when it was added, so the consumer was told of it, or will be when its turn comes."""


class SubpartitionLedger:
    """Kept up to date by the steps of the alphabet; read by enabledness and by properties."""

    __slots__ = (
        "aborted",
        "announced",
        "awake",
        "barriers",
        "blocked",
        "buffers",
        "closing",
        "delivered",
        "events",
        "failed",
        "finished",
        "flushed",
        "hands_out_empty",
        "inspected",
        "last_checkpoint",
        "ordinary",
        "passes_blocked",
        "polled_barriers",
        "probe",
        "promise",
        "recovering",
        "replaced",
        "resumed",
        "sent",
        "seq",
        "states",
        "timeoutable",
        "to_recover",
        "urgent",
        "view",
    )

    def __init__(self, exclusive_buffers: int, recovered: int | None, passes_blocked: bool) -> None:
        self.hands_out_empty = exclusive_buffers == 0
        self.passes_blocked = passes_blocked
        self.sent = 0 if recovered is None else recovered
        self.delivered = 0
        self.last_checkpoint = 0
        self.events = 0
        self.closing = 0
        self._begin(range(self.sent), recovering=recovered is not None)

    def _begin(self, recovered: Any, recovering: bool) -> None:
        """A fresh subpartition, which is to be given the `recovered` record ids first."""
        self.to_recover: list[Element] = []
        for record in recovered:
            self.to_recover += (RecoveryMetadata(0, 0), Data((record,)))
        self.recovering = recovering
        self.ordinary: list[Queued] = []
        self.urgent: list[int] = []
        """Checkpoints whose unaligned barriers are in front of everything."""
        self.buffers = 0
        """Data buffers among `ordinary`."""
        self.seq = 0
        self.view = self.blocked = self.finished = self.failed = False
        self.flushed = False
        """What was written is to be handed out, also in an unfinished buffer."""
        self.awake = False
        """The consumer has a reason to poll."""
        self.probe = False
        """The consumer is about to ask whether something is available."""
        self.resumed = False
        """The consumer resumed the subpartition, and has neither asked nor polled since."""
        self.announced: Next = Next.NONE
        """What the consumer was told since it last polled."""
        self.barriers: list[int] = []
        self.timeoutable: list[int] = []
        self.polled_barriers: dict[int, int] = {}
        """Checkpoint to what had been delivered when its barrier was polled: the consumer's side of the cut."""
        self.aborted: list[int] = []
        self.replaced: list[int] = []
        """Checkpoints whose promise was broken by a newer timeoutable barrier."""
        self.promise = 0
        """The checkpoint for which the writer waits; 0: none."""
        self.states: dict[int, OutputState] = {}
        """What the writer must have by now, per checkpoint; absent if it must have nothing."""
        self.inspected = 0

    # ---- questions -------------------------------------------------------------------------------------------------
    @property
    def phase(self) -> str:
        """Which steps can be meant at all."""
        if self.failed:
            return "failed"
        if self.recovering:
            return "recovering"
        if self.finished:
            return "finished"
        ordinary = self.ordinary
        return "writing" if ordinary and ordinary[-1].open else "live"

    @property
    def open(self) -> bool:
        """The producer is in the middle of a buffer."""
        return bool(self.ordinary) and self.ordinary[-1].open

    def is_empty(self, queued: Queued) -> bool:
        """A finished data buffer in which nothing is left to read, and which is skipped for that reason."""
        return queued.element is None and queued.end <= self.delivered and not queued.open and not self.hands_out_empty

    def head(self) -> Queued | None:
        """The ordinary element that a poll reaches, empty buffers skipped."""
        for queued in self.ordinary:
            if not self.is_empty(queued):
                return queued
        return None

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
        last = self.ordinary[-1]
        head = self.head()
        if head is None:
            return False
        return head is not last or last.ready

    def restorable(self) -> tuple[tuple[int], ...]:
        """Checkpoints of this run whose barrier came through and whose state is safe with the writer."""
        return tuple(
            (checkpoint,)
            for checkpoint in self.polled_barriers
            if checkpoint not in self.aborted
            and checkpoint != self.promise
            and self.states.get(checkpoint, _ABSENT).status is not StateStatus.FAILED
        )

    # ---- what is learned -------------------------------------------------------------------------------------------
    def hear(self, signals: list[Any]) -> None:
        """The consumer was told something."""
        self.awake = True
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.announced = Next.PRIORITY
            elif type(signal) is DataAvailable and self.announced is Next.NONE:
                self.announced = Next.DATA

    def add_data(self, count: int, open: bool = False) -> None:
        """The producer wrote `count` further records into a buffer of their own."""
        self.sent += count
        self.ordinary.append(Queued(None, self.sent, open))
        self.buffers += 1

    def recover(self) -> None:
        """The next element of the recovered output state was put in."""
        element = self.to_recover.pop(0)
        if type(element) is Data:
            self.ordinary.append(Queued(None, element.ids[-1] + 1, recovered=True))
            self.buffers += 1
        else:
            self.ordinary.append(Queued(element))

    def append(self, count: int) -> None:
        """The producer wrote into its unfinished buffer."""
        self.sent += count
        self.ordinary[-1].end = self.sent

    def finish_buffer(self) -> None:
        """The producer finished its buffer; nobody was told."""
        self.ordinary[-1].open = False

    def flush(self) -> None:
        """The producer wants everything read. Nothing to read, no flush."""
        ordinary = self.ordinary
        if (
            len(ordinary) + len(self.urgent) > 1
            or self.urgent
            or (ordinary and (ordinary[0].element is not None or ordinary[0].end > self.delivered))
        ):
            self.flushed = True

    def add_event(self, element: Element) -> None:
        """An element without priority stands behind everything."""
        self.ordinary.append(Queued(element))

    def add_barrier(self, barrier: Barrier) -> None:
        """An ordinary barrier was added.

        A timeoutable one promises the writer its data, and breaks an older promise.
        """
        self._note_checkpoint(barrier.checkpoint)
        self.add_event(barrier)
        if barrier.alignment == "timeoutable":
            self.timeoutable.append(barrier.checkpoint)
            if self.promise:
                self.states[self.promise] = _FAILED
                self.replaced.append(self.promise)
            self.promise = barrier.checkpoint
            self.states[barrier.checkpoint] = _PENDING

    def add_unaligned(self, checkpoint: int) -> None:
        """An unaligned barrier overtook everything that is not delivered yet."""
        self._note_checkpoint(checkpoint)
        self.urgent.append(checkpoint)
        if self.sent > self.delivered:
            self.states[checkpoint] = OutputState(StateStatus.WRITTEN, tuple(range(self.delivered, self.sent)))

    def convert(self, checkpoint: int) -> None:
        """The barrier of `checkpoint` became unaligned on the way, and overtook what stood before it."""
        before = self.delivered
        for index, queued in enumerate(self.ordinary):
            if queued.element is None:
                before = max(before, queued.end)
            elif isinstance(queued.element, Barrier) and queued.element.checkpoint == checkpoint:
                del self.ordinary[index]
                break
        self.urgent.append(checkpoint)
        self.promise = 0
        self.states[checkpoint] = OutputState(StateStatus.WRITTEN, tuple(range(self.delivered, before)))

    def break_promise(self, checkpoint: int) -> None:
        """The checkpoint was aborted."""
        if checkpoint in self.barriers and checkpoint not in self.aborted:
            self.aborted.append(checkpoint)
        if self.promise == checkpoint:
            self.states[checkpoint] = _FAILED
            self.promise = 0

    def poll(self, taken: Taken | None) -> None:
        """The consumer polled; if it got something, the properties have compared it with what was owed."""
        self.announced = Next.NONE
        self.resumed = False
        self.awake = taken is not None and taken.next is not Next.NONE
        if taken is not None:
            self.seq += 1
            if self.urgent:
                self.polled_barriers[self.urgent.pop(0)] = self.delivered
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
        if head.element is None:
            self.delivered = max(self.delivered, head.end)
            if not head.open:
                del ordinary[0]
                self.buffers -= 1
            return
        del ordinary[0]
        element = head.element
        if element.data_type.blocks_upstream:
            self.blocked = True
        if type(element) is Barrier:
            self.polled_barriers[element.checkpoint] = self.delivered
            if self.promise == element.checkpoint:
                self.promise = 0
                self.states[element.checkpoint] = OutputState(StateStatus.WRITTEN)

    def fail(self) -> None:
        """Everything was released, at whatever moment."""
        if self.promise:
            self.states[self.promise] = _FAILED
            self.promise = 0
        self.failed = True
        self.awake = self.probe = False
        self.buffers = 0
        self.ordinary = []
        self.urgent = []

    def restore(self, checkpoint: int) -> None:
        """A fresh subpartition takes over from `checkpoint`; the consumer is back at its side of the cut."""
        owed = self.states.get(checkpoint, _ABSENT).ids
        self.delivered = self.polled_barriers[checkpoint]
        self.sent = self.delivered + len(owed)
        self._begin(owed, recovering=True)

    def _note_checkpoint(self, checkpoint: int) -> None:
        self.last_checkpoint = checkpoint
        self.barriers.append(checkpoint)


_ABSENT = OutputState(StateStatus.ABSENT)
_PENDING = OutputState(StateStatus.PENDING)
_FAILED = OutputState(StateStatus.FAILED)
