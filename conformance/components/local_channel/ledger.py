"""What the driver knows about one local channel and its subpartition: what went in, what came out, what is owed now.

Three threads act: the producer adds, recovery pushes, the task takes, starts checkpoints and releases. What only the
task does is known exactly. What is on its way may be seen already, or not yet.
"""

from __future__ import annotations

from conformance.driver import Seen
from conformance.parts.input_state import State
from conformance.parts.lane import Lane, Recovered
from conformance.parts.lifetime import Lifetime
from conformance.parts.notice import Notice
from conformance.parts.recovery import ends
from conformance.parts.starts import Refusal
from conformance.parts.words import name
from conformance.ports import (
    Barrier,
    Buffer,
    BufferAndBacklog,
    CheckpointReason,
    Element,
    EndOfPartition,
    Recovery,
    Signal,
)

_FREE = Refusal(())
_SUBSUMED = Refusal((CheckpointReason.SUBSUMED,))
_DECLINED = Refusal((CheckpointReason.DECLINED,))
_BOTH = Refusal((CheckpointReason.SUBSUMED, CheckpointReason.DECLINED))


class Ledger(Lifetime):
    """Kept up to date by the steps; read by enabledness and by rules."""

    __slots__ = (
        "adding", "barrier_added", "busy", "copied_to", "hidden", "in_memory", "lane", "marked", "missed", "must",
        "must_priority", "newest", "next_live", "next_record", "notice", "passes_blocked", "pushes", "pushing",
        "recovered_ids", "requested", "requesting", "restored", "started", "stopped", "to_recover", "was_over",
        "was_unrequested",
    )  # fmt: skip

    def __init__(self, recovery: Recovery, handed_over: int, passes_blocked: bool) -> None:
        super().__init__()
        self.in_memory = recovery is Recovery.IN_MEMORY
        self.pushes = recovery is Recovery.PUSHED
        self.passes_blocked = passes_blocked
        """A priority event passes a blocked subpartition."""
        self.restored = False
        """This is not the first channel of the run."""
        self.next_record = handed_over
        self.newest = 0
        """The newest checkpoint that anybody has heard of."""
        self._begin(tuple(range(handed_over)), None)

    def _begin(self, handed_over: tuple[int, ...], to_recover: list[int] | None) -> None:
        """A fresh channel, which was handed over something, or to which something definite is pushed."""
        self.begin_life("open")
        self.lane = Lane(handed_over, self.pushes)
        self.hidden = self.pushes or bool(handed_over)
        """Live data must wait behind what was recovered."""
        self.notice = Notice(bool(handed_over))  # what was handed over was counted at conversion
        self.next_live = 0
        """The number of the next live element that is taken."""
        self.adding = False
        """The producer is adding an element."""
        self.to_recover = to_recover
        """The records that are still to be pushed; None: whatever the driver likes."""
        self.pushing = False
        """An operation of the recovery thread is in flight."""
        self.was_over = self.was_unrequested = False
        """As it began: the channel was released; nobody had asked for the subpartition."""
        self.recovered_ids: dict[int, None] = dict.fromkeys(handed_over)
        """All recovered records, in order, those that were taken as well."""
        self.copied_to = 0
        """Recovered buffers of which copies were written, from the first on."""
        self.requesting = self.requested = False
        """The subpartition is being asked for; it was."""
        self.busy = False
        """An operation of the task is in flight that may have something written."""
        self.must = self.must_priority = False
        """As the take began: something could be taken for certain; it had to be a priority event."""
        self.marked = 0
        """The checkpoint that was marked and has not started yet; 0: none."""
        self.missed = False
        """A checkpoint was declined because its mark was missing."""
        self.barrier_added = 0
        """The checkpoint of the last barrier."""
        self.started = self.stopped = self.newest

    # ---- questions -------------------------------------------------------------------------------------------------
    @property
    def recovered(self) -> Recovered:
        """What was recovered."""
        return self.lane

    def in_recovery(self) -> bool:
        """The end of recovered data was not taken yet."""
        return not self.lane.consumed

    def priority_passes(self) -> bool:
        """Whether a priority event can be taken now, if there is one."""
        return self.requested and (self.passes_blocked or not self.lane.blocked)

    def something_waits(self) -> bool:
        """Whether a take finds something for certain."""
        if self.released:
            return False
        lane = self.lane
        if lane.urgent and lane.urgent[0].sure and self.priority_passes():
            return True
        if self.hidden:
            return lane.waiting[0].sure if lane.waiting else lane.finished
        return self.requested and not lane.blocked and bool(lane.live) and lane.live[0].sure

    def must_come_first(self) -> bool:
        """Whether the next element must be a priority event."""
        urgent = self.lane.urgent
        if not urgent or self.released or not urgent[0].sure or not self.priority_passes():
            return False
        return not urgent[0].silent or not self.hidden

    def must_answer(self) -> bool:
        """Whether something could be handed out for certain as the take began."""
        return self.must

    def first(self) -> str:
        """What comes next, in words."""
        lane = self.lane
        if self.must_come_first():
            return name(lane.urgent[0].element)
        if self.hidden:
            return f"records {lane.left()}" if lane.waiting else "the end of recovered data"
        return name(lane.live[0].element) if lane.live else "an unaligned barrier"

    def end_must_come(self) -> bool:
        """As the take began: the end of recovered data was the next that could be taken."""
        return self.must and not self.must_priority and not self.lane.consumed and not self.lane.waiting

    def next_number(self, has_priority: bool) -> int | None:
        """The number that the next element must carry; None: any."""
        return self.lane.seq if self.hidden and not has_priority else self.next_live

    def came_too_late(self) -> bool | None:
        """Whether the channel had been released when the push began; None: nobody has released it."""
        return self.was_over if self.releasing else None

    def upstream_is_there(self) -> bool | None:
        """Whether the subpartition was asked for during the push; None: it had been before, or the channel is
        released."""
        return self.requesting if self.was_unrequested and not self.releasing else None

    def buffers(self) -> int:
        """How many live buffers wait upstream."""
        return len([sent for sent in self.lane.live if type(sent.element) is Buffer])

    def counted(self) -> tuple[int, int]:
        """How many buffers wait; the end of recovered data, recovery barriers and events upstream may be counted too,
        as in 2.3.0."""
        lane = self.lane
        least = lane.there()
        most = least + (self.in_memory or not lane.consumed) + len(lane.marks)
        if self.requested:
            least += self.buffers()
            most += len(lane.live) + len(lane.urgent)
        return least, most

    def holds(self) -> tuple[tuple[str, int], ...]:
        """One segment for each buffer that waits, and the view."""
        return ("segments", self.lane.there() + self.buffers()), ("listeners", int(self.requested))

    def mark_is_missing(self, checkpoint: int) -> bool:
        """Nothing says where the checkpoint starts in the recovered data."""
        lane = self.lane
        return not lane.consumed and checkpoint not in lane.marks

    def refuses(self, checkpoint: int) -> Refusal:
        """What speaks against starting the checkpoint now."""
        missing = self.mark_is_missing(checkpoint)
        if self.lane.input.subsumes(checkpoint):
            return _BOTH if missing else _SUBSUMED
        return _DECLINED if missing else _FREE

    def state(self, checkpoint: int) -> State | None:
        """What must have been written, unless the task is in the middle of something that changes it."""
        return None if self.busy else self.lane.input.states.get(checkpoint)

    # ---- the producer ----------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """The consumer was told something."""
        self.notice.hear_numbers(signals, self.next_live)

    def begin_add(self, element: Element) -> None:
        """The producer begins to add an element that stands behind everything."""
        self.lane.send(element)
        self.adding = True

    def begin_data(self) -> None:
        """The producer begins to add a buffer with one further record."""
        self.lane.send(Buffer((self.next_record,)))
        self.next_record += 1
        self.adding = True

    def begin_barrier(self, barrier: Barrier) -> None:
        """The producer begins to add a barrier. If it comes before the request, nobody is told that it has priority,
        and recovered data that was handed over may come first."""
        self.lane.send(barrier, self.in_memory and not self.requested)
        self.barrier_added = barrier.checkpoint
        self.newest = max(self.newest, barrier.checkpoint)
        self.adding = True

    def begin_end(self) -> None:
        """The producer begins to add its last element."""
        self.begin_add(EndOfPartition())
        self.phase = "ended"

    def end_add(self, *operands: object) -> None:
        """What was added is there."""
        self.adding = False
        self.lane.end_send()

    # ---- the recovery thread ---------------------------------------------------------------------------------------
    def begin_push(self) -> None:
        """A push begins; it may have to wait."""
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
        """It is over."""
        self.pushing = False
        self.lane.end_push()

    def begin_finish(self) -> None:
        """The end of recovered data is about to be queued."""
        self._begin_recovering()
        self.lane.finishing = True

    def end_finish(self) -> None:
        """It is there, unless the channel was released."""
        self.pushing = False
        self.lane.finished = True

    def _begin_recovering(self) -> None:
        self.was_over = self.released
        self.was_unrequested = not self.requested
        self.pushing = True

    # ---- the task --------------------------------------------------------------------------------------------------
    def begin_request(self) -> None:
        """The subpartition is being asked for."""
        self.requesting = True

    def request(self) -> None:
        """It was."""
        self.requested = True

    def begin_take(self) -> None:
        """The consumer follows what it was told; what it is told from now on is another reason."""
        self.afterlife += self.released
        self.notice.begin_take()
        self.busy = True
        self.must = self.something_waits()
        self.must_priority = self.must and self.must_come_first()

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """The consumer took; if it got something, the rules have compared it with what was owed."""
        lane, taken = self.lane, seen.value
        self.busy = False
        if taken is None:
            self.notice.took(False)
            if ends(seen.signals):
                lane.consumed = True
                lane.marks = {}
                self.hidden = bool(lane.waiting)
            return
        has_priority = taken.element.data_type.has_priority
        self.notice.took(taken.next != "none", taken.seq if has_priority else -1)
        if self.hidden and not has_priority:
            lane.take_recovered(taken.seq)
            self.hidden = not lane.consumed or bool(lane.waiting)
            return
        self.next_live += 1
        element = (lane.urgent if has_priority else lane.live).pop(0).element
        lane.notice(element)
        if element.data_type.blocks_upstream:
            lane.blocked = True

    def resume(self) -> None:
        """The producer may go on."""
        self.lane.blocked = False

    def begin_mark(self, checkpoint: int) -> None:
        """A recovery barrier is about to be inserted, behind what is there for certain."""
        self.newest = max(self.newest, checkpoint)
        self.marked = checkpoint
        if self.in_recovery():
            self.lane.begin_mark(checkpoint)

    def end_mark(self, checkpoint: int) -> None:
        """It is there, in front of what is pushed from now on."""
        self.lane.end_mark(checkpoint)

    def begin_start(self, checkpoint: int) -> None:
        """A checkpoint starts."""
        self.busy = True
        self.newest = max(self.newest, checkpoint)
        self.started = checkpoint

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """It has started, or was refused."""
        self._checkpoint_moved(checkpoint)
        lane = self.lane
        mark = lane.marks.get(checkpoint)
        if seen.error is not None:
            self.missed |= self.mark_is_missing(checkpoint)
            lane.input.failed.append(checkpoint)
            return
        least: tuple[int, ...] = ()
        most: tuple[int, ...] = ()
        if self.in_memory:
            self.copied_to = lane.pushed
            least = most = lane.left()
        elif mark is not None:
            self.copied_to = max(self.copied_to, mark.least)
            least, most = lane.before(mark.least), lane.before(mark.most)
            lane.marks = {one: mark for one, mark in lane.marks.items() if one > checkpoint}
        lane.input.started(checkpoint, least, most)

    def begin_stop(self, checkpoint: int) -> None:
        """A checkpoint is about to be over."""
        self.busy = True
        self.newest = max(self.newest, checkpoint)

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over."""
        self._checkpoint_moved(checkpoint)
        self.stopped = max(self.stopped, checkpoint)
        self.lane.input.stopped(checkpoint)

    def _checkpoint_moved(self, checkpoint: int) -> None:
        self.busy = False
        if checkpoint >= self.marked:
            self.marked = 0

    def release(self) -> None:
        """The channel is over."""
        super().release()
        self.notice.awake = False
        self.marked = 0

    def fail(self) -> None:
        """Everything was released, at whatever moment; what was in progress never came to an end."""
        if self.busy:
            self.lane.input.forget_pending()
        super().fail()
        self.notice.awake = self.pushing = self.busy = self.adding = False

    def restore(self, seen: Seen[tuple[int, ...]], checkpoint: int) -> None:
        """A fresh channel takes over with the input state of a checkpoint, as it was written."""
        self.restored = True
        ids = tuple(seen.value)
        self._begin(ids if self.in_memory else (), list(ids) if self.pushes else None)
