"""What the driver knows about one recovered channel: what was pushed, what was taken, where its life is.

Two threads act: recovery pushes, the task takes and converts. What is pushed counts as sent from the moment the
operation begins, since the task may take it at once, and as there when the operation is over. What only the task does
is known exactly.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import DataAvailable, PriorityAvailable, StateConsumed, Taken


class RecoveredChannelLedger:
    """Kept up to date by the steps of the alphabet; read by enabledness and by properties."""

    __slots__ = (
        "afterlife",
        "awake",
        "busy",
        "checkpoints",
        "closing",
        "consumed",
        "converted",
        "failed",
        "finished",
        "finishing",
        "had",
        "late_stop",
        "next_record",
        "pushed",
        "recovery",
        "released",
        "releasing",
        "seq",
        "stopped",
        "taken",
        "there",
        "was_finished",
        "was_over",
    )

    def __init__(self, recovery: str) -> None:
        self.recovery = recovery
        self.next_record = 0
        self.closing = 0
        self._begin()

    def _begin(self) -> None:
        self.pushed: list[tuple[int, ...]] = []
        """Buffers in the order pushed, from the moment their push began."""
        self.there = 0
        """How many of them must be in the channel, or have been: their push is over."""
        self.taken = 0
        self.finishing = self.finished = False
        """The end of recovered state is being queued; it is there."""
        self.consumed = False
        """The end was taken."""
        self.releasing = self.released = self.converted = self.failed = False
        self.afterlife = 0
        """How many operations began since the release."""
        self.busy = False
        """A push is in flight."""
        self.was_over = False
        """The channel was released before the operation of the recovery thread began."""
        self.had = 0
        """What was there for certain when the operation of the task began: buffers, and the end as one more."""
        self.was_finished = False
        """All state was read when a conversion began."""
        self.awake = False
        """The consumer has a reason to take."""
        self.seq: int | None = None
        """The number that the next element must carry; None: any."""
        self.checkpoints = 0
        """The newest checkpoint that the channel has heard of."""
        self.stopped = 0
        self.late_stop = False
        """An older checkpoint was stopped after the newest one."""

    # ---- questions -------------------------------------------------------------------------------------------------
    @property
    def phase(self) -> str:
        """Which steps can be meant at all."""
        if self.failed:
            return "failed"
        return "released" if self.released else "open"

    def waiting(self) -> int:
        """The buffers that wait in the channel for certain."""
        return 0 if self.released else self.there - self.taken

    def readable(self) -> int:
        """What a take must find for certain: buffers, and the end of recovered state."""
        if self.released or self.failed:
            return 0
        return self.there - self.taken + (self.finished and not self.consumed)

    def left(self) -> tuple[int, ...]:
        """The records that nobody has taken."""
        return tuple(record for ids in self.pushed[self.taken :] for record in ids)

    # ---- what is learned -------------------------------------------------------------------------------------------
    def begin_afterwards(self) -> None:
        """An operation begins that makes sense after release, too."""
        self.was_over = self.released
        self.afterlife += self.released

    def hear(self, signals: list[Any]) -> None:
        """The consumer was told something."""
        for signal in signals:
            kind = type(signal)
            if kind is DataAvailable or kind is PriorityAvailable:
                self.awake = True

    def begin_push(self, count: int) -> None:
        """A push begins: another thread may take what it brings at once."""
        self.begin_afterwards()
        self.busy = True
        if not self.released:
            first = self.next_record
            self.next_record += count
            self.pushed.append(tuple(range(first, first + count)))

    def end_push(self) -> None:
        """It is over."""
        self.busy = False
        if not self.was_over:
            self.there = len(self.pushed)

    def begin_finish(self) -> None:
        """The end of recovered state is about to be queued."""
        self.begin_afterwards()
        self.finishing = True

    def end_finish(self) -> None:
        """It is queued, unless the channel was released."""
        self.finished = True

    def begin_take(self) -> None:
        """The consumer follows what it was told; what it is told from now on is another reason."""
        self.afterlife += self.released
        self.awake = False
        self.had = self.readable()

    def take(self, taken: Taken | None, signals: list[Any]) -> None:
        """The consumer took; if it got something, the properties have compared it with what was owed."""
        if taken is None:
            self.consumed |= any(type(signal) is StateConsumed for signal in signals)
        else:
            self.taken += 1
            self.seq = taken.seq + 1
            self.awake |= taken.next != "none"

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over, or was never heard of."""
        self.late_stop = checkpoint < self.stopped
        self.stopped = max(self.stopped, checkpoint)

    def begin_release(self) -> None:
        """The task gives the channel up, or converts it."""
        self.afterlife += self.released
        self.had = self.readable()
        self.was_finished = self.finished
        self.releasing = True

    def refuse_conversion(self) -> None:
        """Nothing has changed."""
        self.releasing = False

    def release(self, converted: bool) -> None:
        """The channel is over."""
        self.released = True
        self.converted = converted
        self.awake = False

    def fail(self) -> None:
        """Everything was released, at whatever moment."""
        self.failed = self.released = True
        self.awake = self.busy = False

    def restore(self) -> None:
        """A fresh channel takes the place of this one."""
        self._begin()
