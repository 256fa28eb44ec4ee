"""The ledger of one recovered channel: what was pushed, what was taken, and whether the channel is released.

Two threads act: the recovery thread pushes, the task thread takes and converts. The ledger knows exactly what the task
thread has done; a push in flight may have taken effect or not. If the buffer pool has no buffer for a push, a third
thread offers one, and until then the phase is `waiting`.
"""

from __future__ import annotations

from conformance.driver import BROKEN, PortLedger, Seen
from conformance.models.checkpoints import Checkpoints
from conformance.models.consumer import Consumer, Due
from conformance.models.faults import struck_by
from conformance.models.lane import Recovered
from conformance.models.records import in_words
from conformance.models.recovery import Push, ends
from conformance.models.starts import Refusal
from conformance.models.words import Description
from conformance.ports import (
    BUFFER_POOL,
    BufferAndBacklog,
    ChannelConfig,
    CheckpointReason,
    FaultKind,
    FaultStruck,
    Next,
    Places,
    Recovery,
    Signal,
)

_NONE = Next.NONE
_NOT_PHYSICAL = Refusal((CheckpointReason.DECLINED_TASK_NOT_READY,))
EXPOSED = "exposed"
"""The phase of an open channel if what it calls can fail. Without faults, the phase of an open channel is `open`."""
WAITING = "waiting"
"""The phase of an open channel into which a push waits for a buffer."""
REFUSED = FaultStruck(BUFFER_POOL, FaultKind.REFUSES)
"""The signal that the buffer pool has no buffer for a push."""
DESTROYED = FaultStruck(BUFFER_POOL, FaultKind.ENDS)
"""The signal that a push has found the buffer pool destroyed."""


class PoolPush(Push):
    """A push that may have to wait for a buffer of the pool."""

    __slots__ = ("asked_late", "late", "memory_elsewhere", "offered")

    def __init__(self) -> None:
        super().__init__()
        self.offered = False
        """Whether the buffer pool has begun to offer a buffer to the push that waits."""
        self.memory_elsewhere = False
        """Whether a push that the buffer pool has refused took its memory from somewhere else."""
        self.late = self.asked_late = False
        """Whether a push after the end of recovered data is in flight, which began before a release or a conversion;
        whether such a push has asked the buffer pool, and was refused, before one began."""


class Conversion:
    """The conversion of the channel to a physical one."""

    __slots__ = ("done", "in_flight", "was_finished")

    def __init__(self) -> None:
        self.done = self.in_flight = False
        self.was_finished = False
        """Whether the end of recovered data was queued when the last conversion or release began."""


class Ledger(PortLedger):
    """The steps keep the ledger up to date; the rules, and the functions that enable steps, read it."""

    __slots__ = (
        "checkpoints", "config", "consumer", "conversion", "due", "late_stop", "next_record", "push", "recovered",
    )  # fmt: skip

    def __init__(self, config: ChannelConfig, can_fail: Places) -> None:
        super().__init__(can_fail)
        self.config = config
        self.next_record = 0
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh channel."""
        self.begin_life(EXPOSED if self.faults.can_fail else "open")
        self.recovered = Recovered()
        self.consumer = Consumer()
        self.due = Due()
        self.conversion = Conversion()
        self.push = PoolPush()
        self.checkpoints = Checkpoints()
        self.late_stop = False
        """Whether the last checkpoint that was stopped is older than one that was stopped before."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def readable(self) -> int:
        """Returns how many buffers are certainly queued, plus 1 if the end of recovered data is."""
        if self.released:
            return 0
        recovered = self.recovered
        there = recovered.there() if recovered.waiting else 0
        return there + (recovered.finished and not recovered.consumed)

    something_waits = readable

    def must_find(self) -> Description | None:
        """Returns what describes the first of what could certainly be taken when the take began; None: there was
        nothing."""
        return self.first if self.due.count and not self.released else None

    def first(self) -> str:
        """Describes what the next take must find."""
        left = self.recovered.left()
        return in_words(left) if left else "the end of recovered data"

    def end_must_come(self) -> bool:
        """Returns whether the end of recovered data was next when the take began."""
        return self.must_find() is not None and not self.recovered.waiting

    def follows(self, taken: BufferAndBacklog) -> tuple[Next, ...]:
        """Returns the next types that a take may return. What is behind the element that it delivers must be named if
        it was certainly queued when the take began; otherwise it may be named."""
        behind = self.recovered.behind_recovered(1)
        return (behind,) if self.due.count > 1 or behind is _NONE else (behind, _NONE)

    def next_number(self, has_priority: bool) -> int | None:
        """Returns the sequence number that the next buffer must carry; None: any."""
        return self.recovered.seq

    def came_too_late(self) -> bool | None:
        """Returns True if the channel was released or converted before the push began, otherwise None."""
        return True if self.push.too_late else None

    def what_ended_it(self) -> str:
        """Describes whether the channel was released or converted."""
        return "converted" if self.conversion.done else "released"

    def counted(self) -> tuple[int, int]:
        """Returns the number of queued buffers, and that number with the end of recovered data, which 2.3.0 counts."""
        return 0 if self.released else self.recovered.there(), self.readable()

    def pool_is_destroyed(self) -> bool:
        """Returns whether the buffer pool was destroyed while a push waits for a buffer, so that the wait must end."""
        # until the push is over, the refusal that it met still counts as armed
        return self.phase == WAITING and self.faults.armed.count(BUFFER_POOL) > 1

    def refuses(self, checkpoint: int) -> Refusal:
        """Returns the reason to refuse every checkpoint: this channel is not physical."""
        return _NOT_PHYSICAL

    def holds(self) -> tuple[tuple[str, int], ...]:
        """Returns one segment for each queued buffer; nothing if the memory of some comes from somewhere else."""
        if self.push.memory_elsewhere:
            return ()
        return (("segments", 0 if self.released else self.recovered.there()),)

    def most_futures(self) -> int:
        """Returns one future for the end of recovered data while it was not read, and one while it was not taken."""
        recovered = self.recovered
        return (not recovered.finishing) + (not recovered.consumed)

    def must_not_convert(self) -> str:
        """Returns why a conversion would certainly lose state; empty: it perhaps would not."""
        recovered = self.recovered
        if self.config.recovery is Recovery.RECOVER_FIRST:
            return "" if recovered.consumed else "not all recovered data is consumed"
        if self.config.recovery is Recovery.IN_MEMORY:
            return "" if recovered.finishing else "not all state is read"
        return (
            "a recovered buffer is queued" if self.due.count > (recovered.finished and not recovered.consumed) else ""
        )

    def may_convert(self) -> bool | None:
        """Returns whether a conversion certainly loses no state; None: unsure, an operation in flight decides."""
        recovered = self.recovered
        if self.config.recovery is Recovery.RECOVER_FIRST:
            return recovered.consumed
        if self.config.recovery is Recovery.IN_MEMORY:
            if self.conversion.was_finished or recovered.consumed:
                return True
            return None if recovered.finishing else False
        if recovered.waiting:
            return False if self.due.count else None
        return recovered.consumed or not recovered.finishing

    # ---- updates -----------------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications of the consumer, and that a push begins to wait for a buffer."""
        self.consumer.hear(signals)
        if self.phase == EXPOSED and self.push.in_flight and REFUSED in signals:
            self.phase = WAITING
        elif self.push.late and not self.releasing and REFUSED in signals:
            self.push.asked_late = True

    def begin_afterwards(self) -> None:
        """Notes that an operation of the recovery thread begins, which is possible after release, too."""
        self.afterlife += self.released
        self.push.too_late = self.released
        self.consumer.empty_takes = 0

    def begin_push(self, count: int) -> None:
        """Notes that a push begins; the task may take its buffer at once."""
        self.begin_afterwards()
        self.push.in_flight = True
        if not self.released:
            first = self.next_record
            self.next_record += count
            self.recovered.begin_push(tuple(range(first, first + count)))

    def end_push(self, count: int) -> None:
        """Notes that the push is over."""
        self.push.in_flight = False
        self.recovered.end_push()

    def push_was_struck(self, seen: Seen[None], count: int) -> None:
        """Notes the end of a push for which the buffer pool had no buffer: it waited for one, or it failed."""
        self.faults.struck(seen.signals)
        if self.phase == WAITING:
            self.phase = EXPOSED
        if seen.error is None:
            self.push.memory_elsewhere |= not (self.push.offered or self.released)
            self.end_push(count)
        else:
            self.push.in_flight = False
            if not self.released:
                self.recovered.drop_push()
                self.phase = BROKEN
        self.push.offered = False

    def begin_offer(self) -> None:
        """Notes that the buffer pool begins to offer a buffer."""
        self.push.offered = True

    def begin_finish(self) -> None:
        """Notes that the push of the end of recovered data begins."""
        self.begin_afterwards()
        self.recovered.finishing = True

    def end_finish(self) -> None:
        """Notes that the push of the end of recovered data is over."""
        self.recovered.finished = True

    def begin_take(self) -> None:
        """Notes that a take begins."""
        self.afterlife += self.released
        self.consumer.begin_counted_take()
        self.due.count = self.readable()

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that a take is over. The rules have already judged what it returned."""
        if seen.value is None:
            took_end = ends(seen.signals) > 0
            self.recovered.consumed |= took_end
            self.consumer.empty_takes = 0 if took_end or seen.error is not None else self.consumer.empty_takes + 1
        else:
            self.consumer.empty_takes = 0
            self.recovered.take_recovered(seen.value.seq)
            self.consumer.took(seen.value.next != "none")

    def hear_of(self, checkpoint: int) -> None:
        """Notes that a step names a checkpoint."""
        self.checkpoints.name(checkpoint)

    def stop(self, checkpoint: int) -> None:
        """Notes that a checkpoint was stopped."""
        self.late_stop = checkpoint < self.checkpoints.stopped
        self.checkpoints.stop(checkpoint)

    def begin_release(self) -> None:
        """Notes that a release or a conversion begins."""
        super().begin_release()
        self.due.count = self.readable()
        self.conversion.was_finished = self.recovered.finished

    def begin_conversion(self) -> None:
        """Notes that a conversion begins, which ends like a release."""
        self.begin_release()
        self.conversion.in_flight = True

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled, whatever it does; nobody looks at a conversion that is in flight then."""
        if self.conversion.in_flight:
            self.conversion.in_flight = False
            self.take_back_release()
        super().begin_cancel()

    def convert(self, seen: Seen[tuple[int, ...]]) -> None:
        """Notes that the conversion is over: the channel is released, or the conversion was refused and changed
        nothing."""
        self.conversion.in_flight = False
        if seen.error is None:
            self.conversion.done = True
            self.release()
        else:
            self.take_back_release()

    def conversion_was_struck(self, seen: Seen[tuple[int, ...]]) -> None:
        """Notes that there were no exclusive buffers: the conversion can be tried again, or the task fails."""
        self.faults.struck(seen.signals)
        self.conversion.in_flight = False
        self.take_back_release()
        if not self.released and struck_by(seen).kind is not FaultKind.REFUSES:
            self.phase = BROKEN

    def release(self) -> None:
        """Notes that the channel was released."""
        super().release()
        self.consumer.awake = False
        self.consumer.empty_takes = 0

    def fail(self) -> None:
        """Notes that the channel was released at an arbitrary moment; a push in flight is abandoned."""
        super().fail()
        self.consumer.awake = self.push.in_flight = self.push.offered = self.conversion.in_flight = False
