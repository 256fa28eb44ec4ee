"""Which records belong to which checkpoint, by the rule of the persister, and what a read-back may say.

Specification: persister.md (Flink: `ChannelStatePersister`). A checkpoint is followed from its start to its barrier, to
its stop, or to a newer one. Checkpoint ids are >= 1.
"""

from __future__ import annotations

from typing import Protocol

from conformance.driver import Broken, FailureClass, Judgement, Seen, shared

ALL = 0
"""Stands for every checkpoint."""


class State:
    """The input state of one checkpoint: what was known when it started, then what came before its barrier."""

    __slots__ = ("complete", "least", "live", "most", "since_late_stop", "since_old_barrier", "traced")

    def __init__(self, least: tuple[int, ...], most: tuple[int, ...], traced: bool) -> None:
        self.traced = traced
        """Somebody asks what of it was known at its start, and what came after a late stop or an old barrier. Otherwise
        all of it stands in `live`, so that an exploration takes alike what is alike."""
        self.least = least
        """The records known at its start that belong to it for certain."""
        self.most = most
        """Those and the ones that came while its place was marked, which may belong to it."""
        self.live: list[int] = []
        self.since_late_stop: int | None = None
        """From which live record on an older checkpoint had been stopped late; None: none was."""
        self.since_old_barrier: int | None = None
        """From which live record on an older barrier had come; None: none had."""
        self.complete = False
        """Its barrier came."""


class InputState:
    """What must have been written of one channel, checkpoint by checkpoint."""

    __slots__ = ("barrier_at", "failed", "last", "pending", "received", "states", "unsure")

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
        self.barrier_at: dict[int, int] = {}
        """By checkpoint, the place of its barrier among the elements that arrived."""
        self.unsure: dict[int, None] = {}
        """Checkpoints of which it cannot be said what must have been written: something else was in flight."""

    # ---- questions -------------------------------------------------------------------------------------------------
    def awaited(self) -> int:
        """The checkpoint that waits for its barrier; 0: none."""
        return 0 if self.pending is None else self.last

    def subsumes(self, checkpoint: int) -> bool:
        """Whether the barrier of a newer checkpoint is here."""
        return self.received and self.last > checkpoint

    def obsolete(self, checkpoint: int) -> bool:
        """Whether a barrier comes too late to count."""
        return checkpoint < self.last or (checkpoint == self.last and self.pending is None and not self.received)

    def expected(self, checkpoint: int) -> tuple[int, ...]:
        """All that must have been written, where nothing is uncertain."""
        state = self.states.get(checkpoint)
        return () if state is None else (*state.least, *state.live)

    def is_sure(self, checkpoint: int) -> bool:
        """Whether it can be said what must have been written."""
        return checkpoint not in self.unsure and ALL not in self.unsure

    def restorable(self) -> tuple[tuple[int], ...]:
        """The checkpoints whose input state is complete."""
        return tuple((checkpoint,) for checkpoint, state in self.states.items() if state.complete)

    # ---- what is learned -------------------------------------------------------------------------------------------
    def started(self, checkpoint: int, least: tuple[int, ...], most: tuple[int, ...] | None = None) -> None:
        """A checkpoint started with what was known; with `most`, what of it belongs to it for certain, and perhaps."""
        if most is None:
            state = State((), (), False)
            state.live.extend(least)
        else:
            state = State(least, most, True)
        self.states[checkpoint] = state
        if checkpoint > self.last:
            self.last = checkpoint
            self.pending = state
            self.received = False
        else:
            state.complete = True

    def came(self, ids: tuple[int, ...]) -> None:
        """Live data arrived or, in a local channel, was taken."""
        if self.pending is not None:
            self.pending.live.extend(ids)

    def barrier(self, checkpoint: int, place: int = 0) -> None:
        """A barrier came. One that is obsolete changes nothing."""
        pending = self.pending
        if self.obsolete(checkpoint):
            if pending is not None and pending.traced and pending.since_old_barrier is None:
                pending.since_old_barrier = len(pending.live)
            return
        if pending is not None and checkpoint == self.last:
            pending.complete = True
        self.last = checkpoint
        self.pending = None
        self.received = True
        self.barrier_at[checkpoint] = place

    def stopped(self, checkpoint: int) -> None:
        """A checkpoint is over; a late stop of an older one changes nothing."""
        if checkpoint < self.last:
            pending = self.pending
            if pending is not None and pending.traced and pending.since_late_stop is None:
                pending.since_late_stop = len(pending.live)
            return
        self.last = checkpoint
        self.pending = None
        self.received = False

    def doubt(self, checkpoint: int = ALL) -> None:
        """It cannot be said any more what must have been written for a checkpoint."""
        self.unsure[checkpoint] = None

    def doubt_pending(self) -> None:
        """It cannot be said any more what must have been written for the one that waits for its barrier."""
        if self.pending is not None:
            self.unsure[self.last] = None

    def forget_pending(self) -> None:
        """The checkpoint that waits for its barrier can neither be judged nor restored any more."""
        if self.pending is not None:
            self.states = {checkpoint: one for checkpoint, one in self.states.items() if one is not self.pending}
            self.pending = None


def written_class(expected: tuple[int, ...], got: tuple[int, ...]) -> FailureClass:
    """In which way the records written differ from those expected."""
    if len(set(got)) < len(got) or not set(got) <= set(expected):
        return FailureClass.DUPLICATED
    return FailureClass.LOST if len(got) < len(expected) else FailureClass.REORDERED


def judge_written(input: InputState, checkpoint: int, got: tuple[int, ...], where: str = "") -> Judgement:
    """What was written for a checkpoint must be what was in front of its barrier, once and in order."""
    if not input.is_sure(checkpoint):
        return False
    expected = input.expected(checkpoint)
    if tuple(got) == expected:
        return bool(expected)
    owed = f"records {expected}{where} are in front of barrier {checkpoint}"
    return Broken(written_class(expected, tuple(got)), owed, f"records {tuple(got)} were written")


class OneChannel(Protocol):
    """A ledger of one channel whose input state can be read back."""

    @property
    def input(self) -> InputState:
        """What must have been written."""


@shared("I-34", ("FLINK-17315",))
def data_in_front_of_a_barrier_is_written_once(ledger: OneChannel, seen: Seen[tuple[int, ...], int]) -> Judgement:
    """The input state of a checkpoint is exactly the data in front of its barrier that had not been taken when it
    started: once and in order, whatever arrives meanwhile."""
    return judge_written(ledger.input, seen.operands[0], seen.value)
