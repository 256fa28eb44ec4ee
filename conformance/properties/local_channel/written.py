"""What must have been written as input state of each checkpoint, as far as the driver can know."""

from __future__ import annotations


class State:
    """The input state of one checkpoint: recovered data first, then what was taken before its barrier."""

    __slots__ = ("complete", "least", "live", "most", "since_late_stop", "since_old_barrier")

    def __init__(self, least: tuple[int, ...], most: tuple[int, ...]) -> None:
        self.least = least
        """The recovered records that belong to it for certain."""
        self.most = most
        """Those and the ones that were pushed while its recovery barrier was inserted, which may belong to it."""
        self.live: list[int] = []
        self.since_late_stop: int | None = None
        """From which live record on an older checkpoint had been stopped late; None: none was."""
        self.since_old_barrier: int | None = None
        """From which live record on an older barrier had come."""
        self.complete = False
        """Its barrier came."""


class Written:
    """Follows a checkpoint from its start to its barrier, its stop, or a newer one."""

    __slots__ = ("failed", "last", "pending", "received", "states")

    def __init__(self) -> None:
        self.states: dict[int, State] = {}
        self.failed: list[int] = []
        """Checkpoints that were refused: nothing may be written for them."""
        self.last = 0
        """The newest checkpoint that was started, was stopped, or whose barrier came."""
        self.pending: State | None = None
        """Of the checkpoint that waits for its barrier."""
        self.received = False
        """The barrier of the last checkpoint is here and the checkpoint not over."""

    def start(self, checkpoint: int, least: tuple[int, ...], most: tuple[int, ...]) -> None:
        """A checkpoint starts, with the recovered records that are known."""
        state = self.states[checkpoint] = State(least, most)
        if checkpoint > self.last:
            self.last = checkpoint
            self.pending = state
            self.received = False
        else:
            state.complete = True

    def take(self, ids: tuple[int, ...]) -> None:
        """A live buffer was taken."""
        if self.pending is not None:
            self.pending.live.extend(ids)

    def barrier(self, checkpoint: int) -> None:
        """A barrier was taken. One that is older than the pending checkpoint changes nothing."""
        if checkpoint < self.last or (checkpoint == self.last and self.pending is None and not self.received):
            if self.pending is not None and self.pending.since_old_barrier is None:
                self.pending.since_old_barrier = len(self.pending.live)
            return
        if self.pending is not None and checkpoint == self.last:
            self.pending.complete = True
        self.last = checkpoint
        self.pending = None
        self.received = True

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over; a late stop of an older one changes nothing."""
        if checkpoint < self.last:
            if self.pending is not None and self.pending.since_late_stop is None:
                self.pending.since_late_stop = len(self.pending.live)
            return
        self.last = checkpoint
        self.pending = None
        self.received = False

    def forget_pending(self) -> None:
        """What the pending checkpoint has is not known any more."""
        if self.pending is not None:
            self.states = {checkpoint: one for checkpoint, one in self.states.items() if one is not self.pending}
            self.pending = None

    def restorable(self) -> tuple[tuple[int], ...]:
        """The checkpoints whose input state is complete."""
        return tuple((checkpoint,) for checkpoint, state in self.states.items() if state.complete)
