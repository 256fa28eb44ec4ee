"""What the driver knows about one local channel and its subpartition: what went in, what came out, what is owed now.

Three threads act: a producer adds, recovery pushes, the task does everything else. What is added or pushed counts as
sent from the moment the operation begins, since the task may take it at once, and as there when the operation is over.
What only the task does is known exactly: what it took, which checkpoints it started, and so what must be written.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import Barrier, Data, DataAvailable, Element, PriorityAvailable, StateConsumed, Taken
from conformance.properties.local_channel.written import Written


class Mark:
    """A recovery barrier. It stands behind the first `least` recovered buffers, and behind no more than `most`."""

    __slots__ = ("checkpoint", "least", "most")

    def __init__(self, checkpoint: int, least: int, most: int) -> None:
        self.checkpoint = checkpoint
        self.least = least
        self.most = most


class Urgent:
    """An unaligned barrier in front of everything."""

    __slots__ = ("attached", "checkpoint")

    def __init__(self, checkpoint: int, attached: bool) -> None:
        self.checkpoint = checkpoint
        self.attached = attached
        """The consumer was there when it came, and was told."""


class LocalChannelLedger:
    """Kept up to date by the steps of the alphabet; read by enabledness and by properties."""

    __slots__ = (
        "adding",
        "afterlife",
        "announced",
        "awake",
        "barrier_added",
        "barrier_taken",
        "blocked",
        "buffers",
        "busy",
        "closing",
        "consumed",
        "ended",
        "failed",
        "finished",
        "finishing",
        "generation",
        "inspected",
        "live",
        "live_seq",
        "marked",
        "marks",
        "missed",
        "must",
        "must_priority",
        "newest",
        "next_record",
        "passes_blocked",
        "pushed",
        "pushed_at",
        "pushing",
        "recovery",
        "recovery_seq",
        "released",
        "releasing",
        "requested",
        "requesting",
        "retained_to",
        "stale",
        "started",
        "stopped",
        "taken",
        "there",
        "to_recover",
        "told",
        "urgent",
        "was_over",
        "was_unrequested",
        "written",
    )

    def __init__(self, recovery: str, handed_over: int, passes_blocked: bool) -> None:
        self.recovery = recovery
        self.passes_blocked = passes_blocked
        self.closing = 0
        self.generation = 0
        """How often a checkpoint was restored."""
        self.next_record = handed_over
        self.newest = 0
        """The newest checkpoint that anybody has heard of."""
        self._begin(tuple(range(handed_over)), None)

    def _begin(self, handed_over: tuple[int, ...], to_recover: list[int] | None) -> None:
        """A fresh channel, which was handed over something, or to which something definite is pushed."""
        self.live: list[Element] = []
        """What the producer added and nobody has taken, unaligned barriers apart."""
        self.urgent: list[Urgent] = []
        self.buffers = 0
        """Data among `live`."""
        self.adding = 0
        """The producer is adding an element: 1, an unaligned barrier: 2."""
        self.ended = False
        self.pushed: list[tuple[int, ...]] = [(record,) for record in handed_over]
        """Recovered buffers, from the moment their push began."""
        self.there = len(handed_over)
        """How many of them must be in the channel, or have been."""
        self.taken = 0
        self.to_recover = to_recover
        """The records that are still to be pushed; None: whatever the driver likes."""
        self.pushing = self.finishing = self.finished = self.consumed = False
        self.pushed_at: dict[int, int] = {record: place for place, record in enumerate(handed_over)}
        self.retained_to = 0
        """Recovered buffers of which copies were written, from the first on."""
        self.requesting = self.requested = False
        self.blocked = self.releasing = self.released = self.failed = False
        self.afterlife = 0
        """How many operations began since the release."""
        self.busy = False
        """An operation of the task is in flight that may have something written."""
        self.awake = bool(handed_over)
        """The consumer has a reason to take. What was handed over was counted at conversion."""
        self.must = self.must_priority = False
        """As the take began: something can be taken for certain; it must be a priority event."""
        self.announced = self.told = -1
        """The number of the priority event announced last; the same as the take began."""
        self.stale = False
        """The consumer was told of a priority event that it had taken before."""
        self.live_seq = 0
        self.recovery_seq: int | None = None
        self.was_over = self.was_unrequested = False
        """As the operation of the recovery thread began: the channel was released; nobody had asked for the
        subpartition."""
        self.marks: list[Mark] = []
        self.marked = 0
        """The checkpoint that was marked and has not started yet; 0: none."""
        self.missed = False
        """A checkpoint was declined because its mark was missing."""
        self.barrier_added = self.barrier_taken = 0
        self.started = self.stopped = self.newest
        self.written = Written()
        self.inspected = 0

    # ---- questions -------------------------------------------------------------------------------------------------
    @property
    def phase(self) -> str:
        """Which steps can be meant at all."""
        if self.failed:
            return "failed"
        if self.released:
            return "released"
        return "ended" if self.ended else "open"

    def in_recovery(self) -> bool:
        """The end of recovered data was not taken yet."""
        return self.recovery == "pushed" and not self.consumed

    def hidden(self) -> bool:
        """Live data must wait behind what was recovered."""
        if self.recovery == "in-memory":
            return self.taken < len(self.pushed)
        return self.recovery == "pushed" and not self.consumed

    def priority_passes(self) -> bool:
        """Whether a priority event can be taken now, if there is one."""
        return self.requested and (self.passes_blocked or not self.blocked)

    def readable(self) -> bool:
        """Whether a take finds something for certain."""
        if self.urgent and self.priority_passes() and len(self.urgent) > (self.adding == 2):
            return True
        if self.hidden():
            return self.there > self.taken or (self.finished and not self.consumed)
        return self.requested and not self.blocked and len(self.live) > (self.adding == 1)

    def must_come_first(self) -> bool:
        """Whether the next element must be a priority event."""
        if not self.urgent or not self.priority_passes() or len(self.urgent) <= (self.adding == 2):
            return False
        return self.urgent[0].attached or self.recovery != "in-memory" or not self.hidden()

    def mark_of(self, checkpoint: int) -> Mark | None:
        """The recovery barrier of a checkpoint."""
        return next((mark for mark in self.marks if mark.checkpoint == checkpoint), None)

    def subsumed(self, checkpoint: int) -> bool:
        """A newer barrier came before the checkpoint started."""
        return self.written.received and self.written.last > checkpoint

    def waiting(self) -> int:
        """The recovered buffers that wait."""
        return 0 if self.released else self.there - self.taken

    # ---- what is learned -------------------------------------------------------------------------------------------
    def begin_afterwards(self) -> None:
        """An operation begins that makes sense after release, too."""
        self.afterlife += self.released

    def hear(self, signals: list[Any]) -> None:
        """The consumer was told something."""
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.awake = True
                if signal.seq < self.live_seq:
                    self.stale = True
                else:
                    self.announced = signal.seq
            elif type(signal) is DataAvailable:
                self.awake = True

    def begin_data(self) -> None:
        """The producer begins to add a buffer with one further record."""
        self.live.append(Data((self.next_record,)))
        self.next_record += 1
        self.buffers += 1
        self.adding = 1

    def begin_event(self, element: Element) -> None:
        """The producer begins to add an element that stands behind everything."""
        self.live.append(element)
        self.adding = 1

    def begin_barrier(self, barrier: Barrier) -> None:
        """The producer begins to add a barrier."""
        self.barrier_added = barrier.checkpoint
        self.newest = max(self.newest, barrier.checkpoint)
        if barrier.alignment == "unaligned":
            self.urgent.append(Urgent(barrier.checkpoint, self.requested))
            self.adding = 2
        else:
            self.begin_event(barrier)

    def end_add(self) -> None:
        """What was added is there."""
        self.adding = 0

    def begin_push(self) -> None:
        """A push begins; it may have to wait."""
        self.begin_afterwards()
        self.was_over = self.released
        self.was_unrequested = not self.requested
        self.pushing = True
        if self.was_over:
            return
        if self.to_recover is None:
            record = self.next_record
            self.next_record += 1
        else:
            record = self.to_recover.pop(0)
        self.pushed_at[record] = len(self.pushed)
        self.pushed.append((record,))

    def end_push(self) -> None:
        """It is over."""
        self.pushing = False
        if not self.was_over:
            self.there = len(self.pushed)

    def begin_finish(self) -> None:
        """The end of recovered data is about to be queued."""
        self.was_over = self.released
        self.was_unrequested = not self.requested
        self.pushing = self.finishing = True

    def end_finish(self) -> None:
        """It is there, unless the channel was released."""
        self.pushing = False
        self.finished = True

    def begin_take(self) -> None:
        """The consumer follows what it was told; what it is told from now on is another reason."""
        self.begin_afterwards()
        self.awake = False
        self.busy = True
        self.told = self.announced
        self.must = not self.released and self.readable()
        self.must_priority = not self.released and self.must_come_first()

    def end_take(self, taken: Taken | None, signals: list[Any]) -> None:
        """The consumer took; if it got something, the properties have compared it with what was owed."""
        self.busy = self.stale = False
        if taken is None:
            if any(type(signal) is StateConsumed for signal in signals):
                self.consumed = True
                self.marks = []
            return
        self.awake |= taken.next != "none"
        element = taken.element
        if element.data_type.has_priority:
            self.live_seq += 1
            if self.announced <= taken.seq:
                self.announced = -1
            self._barrier_taken(self.urgent.pop(0).checkpoint)
        elif self.hidden():
            self.taken += 1
            self.recovery_seq = taken.seq + 1
        else:
            self._live_taken(self.live.pop(0))

    def _live_taken(self, element: Element) -> None:
        self.live_seq += 1
        if type(element) is Data:
            self.buffers -= 1
            self.written.take(element.ids)
            return
        if element.data_type.blocks_upstream:
            self.blocked = True
        if type(element) is Barrier:
            self._barrier_taken(element.checkpoint)

    def _barrier_taken(self, checkpoint: int) -> None:
        self.barrier_taken = max(self.barrier_taken, checkpoint)
        self.written.barrier(checkpoint)

    def begin_mark(self, checkpoint: int) -> None:
        """A recovery barrier is about to be inserted, behind what is there for certain."""
        self.newest = max(self.newest, checkpoint)
        self.marked = checkpoint
        if self.in_recovery():
            self.marks.append(Mark(checkpoint, self.there, 0))

    def end_mark(self) -> None:
        """It is there, in front of what is pushed from now on."""
        if self.marks and self.marks[-1].checkpoint == self.marked:
            self.marks[-1].most = len(self.pushed)

    def begin_start(self, checkpoint: int) -> None:
        """A checkpoint starts."""
        self.busy = True
        self.newest = max(self.newest, checkpoint)
        self.started = checkpoint

    def start(self, checkpoint: int, failed: bool) -> None:
        """It has started, or failed to."""
        self.busy = False
        mark = self.mark_of(checkpoint)
        if checkpoint >= self.marked:
            self.marked = 0
        if failed:
            self.missed |= self.in_recovery() and mark is None
            self.written.failed.append(checkpoint)
            return
        least: tuple[int, ...] = ()
        most: tuple[int, ...] = ()
        if self.recovery == "in-memory":
            self.retained_to = len(self.pushed)
            least = most = _records(self.pushed[self.taken :])
        elif mark is not None:
            self.retained_to = max(self.retained_to, mark.least)
            least = _records(self.pushed[self.taken : mark.least])
            most = _records(self.pushed[self.taken : mark.most])
            self.marks = [one for one in self.marks if one.checkpoint > checkpoint]
        self.written.start(checkpoint, least, most)

    def begin_stop(self, checkpoint: int) -> None:
        """A checkpoint is about to be over."""
        self.busy = True
        self.newest = max(self.newest, checkpoint)

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over."""
        self.busy = False
        self.stopped = max(self.stopped, checkpoint)
        if checkpoint >= self.marked:
            self.marked = 0
        self.written.stop(checkpoint)

    def begin_release(self) -> None:
        """The task gives the channel up."""
        self.begin_afterwards()
        self.releasing = True

    def release(self) -> None:
        """The channel is over."""
        self.released = True
        self.awake = False
        self.marked = 0

    def fail(self) -> None:
        """Everything was released, at whatever moment; what was in progress never came to an end."""
        if self.busy:
            self.written.forget_pending()
        self.failed = self.released = True
        self.awake = self.pushing = self.busy = False
        self.adding = 0

    def restore(self, ids: tuple[int, ...]) -> None:
        """A fresh channel takes over with the input state of a checkpoint, as it was written."""
        self.generation += 1
        if self.recovery == "in-memory":
            self._begin(ids, None)
        else:
            self._begin((), list(ids) if self.recovery == "pushed" else None)


def _records(buffers: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(record for ids in buffers for record in ids)
