"""What the driver knows about one recovered channel: what was pushed, what was taken, where its life is.

Two threads act: recovery pushes, the task takes and converts. What only the task does is known exactly.
"""

from __future__ import annotations

from conformance.driver import Seen
from conformance.parts.lane import Recovered
from conformance.parts.lifetime import Lifetime
from conformance.parts.notice import Notice
from conformance.parts.recovery import ends
from conformance.parts.starts import Refusal
from conformance.ports import BufferAndBacklog, CheckpointReason, Signal

_NOT_PHYSICAL = Refusal((CheckpointReason.DECLINED_TASK_NOT_READY,))


class Ledger(Lifetime):
    """Kept up to date by the steps; read by enabledness and by rules."""

    __slots__ = (
        "busy", "checkpoints", "converted", "had", "late_stop", "next_record", "notice", "recovered", "recovery",
        "stopped", "was_finished", "was_over",
    )  # fmt: skip

    def __init__(self, recovery: str) -> None:
        super().__init__()
        self.recovery = recovery
        self.next_record = 0
        self.restore()

    def restore(self) -> None:
        """A fresh channel."""
        self.begin_life("open")
        self.recovered = Recovered()
        self.notice = Notice()
        self.converted = False
        self.busy = False
        """A push is in flight."""
        self.was_over = False
        """The channel was released before the operation of the recovery thread began."""
        self.had = 0
        """What was there for certain when the operation of the task began: buffers, and their end as one more."""
        self.was_finished = False
        """All state was read when a conversion began."""
        self.checkpoints = 0
        """The newest checkpoint that the channel has heard of."""
        self.stopped = 0
        self.late_stop = False
        """An older checkpoint was stopped after the newest one."""

    # ---- questions -------------------------------------------------------------------------------------------------
    def readable(self) -> int:
        """What a take must find for certain: buffers, and the end of recovered data."""
        if self.released:
            return 0
        recovered = self.recovered
        there = recovered.there() if recovered.waiting else 0
        return there + (recovered.finished and not recovered.consumed)

    something_waits = readable

    def must_answer(self) -> bool:
        """Whether something could be handed out for certain as the take began."""
        return self.had > 0 and not self.released

    def first(self) -> str:
        """What comes next, in words."""
        left = self.recovered.left()
        return f"records {left}" if left else "the end of recovered data"

    def end_must_come(self) -> bool:
        """As the take began: the end of recovered data was the next that could be taken."""
        return self.must_answer() and not self.recovered.waiting

    def next_number(self, has_priority: bool) -> int | None:
        """The number that the next element must carry; None: any."""
        return self.recovered.seq

    def came_too_late(self) -> bool | None:
        """Whether the channel was released or converted when the push began; None: it was not."""
        return True if self.was_over else None

    def counted(self) -> tuple[int, int] | None:
        """How many buffers wait; the end of recovered data may count as one, as in 2.3.0."""
        return 0 if self.released else self.recovered.there(), self.readable()

    def refuses(self, checkpoint: int) -> Refusal:
        """What speaks against starting a checkpoint: this channel is not physical."""
        return _NOT_PHYSICAL

    def holds(self) -> tuple[tuple[str, int], ...]:
        """One segment for each buffer that waits."""
        return (("segments", 0 if self.released else self.recovered.there()),)

    def must_not_convert(self) -> str:
        """Why a conversion would lose something, whatever is in flight; empty: it would not."""
        recovered = self.recovered
        if self.recovery == "recover-first":
            return "" if recovered.consumed else "not all recovered data is consumed"
        if self.recovery == "in-memory":
            return "" if recovered.finishing else "not all state is read"
        return "a buffer is stored" if self.had > (recovered.finished and not recovered.consumed) else ""

    def may_convert(self) -> bool:
        """Whether a conversion loses nothing for certain."""
        recovered = self.recovered
        if self.busy:
            return False
        if self.recovery == "recover-first":
            return recovered.consumed
        if self.recovery == "in-memory":
            return self.was_finished
        return not recovered.waiting and (recovered.consumed or not recovered.finishing)

    # ---- what is learned -------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """The consumer was told something."""
        self.notice.hear(signals)

    def begin_afterwards(self) -> None:
        """An operation of the recovery thread begins, perhaps after release."""
        self.afterlife += self.released
        self.was_over = self.released

    def begin_push(self, count: int) -> None:
        """A push begins: another thread may take what it brings at once."""
        self.begin_afterwards()
        self.busy = True
        if not self.released:
            first = self.next_record
            self.next_record += count
            self.recovered.begin_push(tuple(range(first, first + count)))

    def end_push(self, count: int) -> None:
        """It is over."""
        self.busy = False
        self.recovered.end_push()

    def begin_finish(self) -> None:
        """The end of recovered data is about to be queued."""
        self.begin_afterwards()
        self.recovered.finishing = True

    def end_finish(self) -> None:
        """It is queued, unless the channel was released."""
        self.recovered.finished = True

    def begin_take(self) -> None:
        """The consumer follows what it was told."""
        self.afterlife += self.released
        self.notice.begin_take()
        self.had = self.readable()

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """The consumer took; if it got something, the rules have compared it with what was owed."""
        if seen.value is None:
            self.recovered.consumed |= ends(seen.signals) > 0
        else:
            self.recovered.take_recovered(seen.value.seq)
            self.notice.took(seen.value.next != "none")

    def hear_of(self, checkpoint: int) -> None:
        """Somebody named a checkpoint."""
        self.checkpoints = max(self.checkpoints, checkpoint)

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over, or was never heard of."""
        self.late_stop = checkpoint < self.stopped
        self.stopped = max(self.stopped, checkpoint)

    def begin_release(self) -> None:
        """The task gives the channel up, or converts it."""
        super().begin_release()
        self.had = self.readable()
        self.was_finished = self.recovered.finished

    def convert(self, seen: Seen[tuple[int, ...]]) -> None:
        """The channel became a physical one, or conversion was refused and nothing has changed."""
        if seen.error is None:
            self.converted = True
            self.release()
        else:
            self.releasing = False

    def release(self) -> None:
        """The channel is over."""
        super().release()
        self.notice.awake = False

    def fail(self) -> None:
        """Everything was released, at whatever moment."""
        super().fail()
        self.notice.awake = self.busy = False
