"""The records that belong to the input state of each checkpoint, and the judgement of what `persisted` returns.

Specification: persister.md (Flink: `ChannelStatePersister`). Data is added to a checkpoint from its start until its
barrier comes, it is stopped, or a newer checkpoint takes its place. Checkpoint ids are 1 or above.
"""

from __future__ import annotations

from conformance.driver import Broken, FailureClass, Judgement, Seen, Unsure, shared
from conformance.models.records import in_words, were

ALL = 0
"""An id in `InputState.unsure` that stands for every checkpoint."""


class State:
    """The input state of one checkpoint: the data that was queued when it started, then the data before its barrier."""

    __slots__ = ("complete", "least", "live", "most", "since_late_stop", "since_old_barrier", "traced")

    def __init__(self, least: tuple[int, ...], most: tuple[int, ...], traced: bool) -> None:
        self.traced = traced
        """Whether rules ask which records were queued at the start, and which came after a late stop or an old barrier.
        If not, all records are in `live`, so that the explorer does not distinguish equal input states."""
        self.least = least
        """The records that were queued at the start and certainly belong to the checkpoint."""
        self.most = most
        """The records in `least`, then those that were pushed while the recovery barrier was inserted. The latter may
        belong to the checkpoint or not."""
        self.live: list[int] = []
        self.since_late_stop: int | None = None
        """The index in `live` of the first record that came after an older checkpoint was stopped; None: none was."""
        self.since_old_barrier: int | None = None
        """The index in `live` of the first record that came after the barrier of an older checkpoint; None: none
        came."""
        self.complete = False
        """Whether the barrier of the checkpoint came, so that nothing more is added."""


class InputState:
    """The input state that one channel must have written, by checkpoint."""

    __slots__ = ("barrier_at", "failed", "last", "pending", "received", "states", "unsure")

    def __init__(self) -> None:
        self.states: dict[int, State] = {}
        self.failed: list[int] = []
        """Checkpoints whose start the channel refused; it must write nothing for them."""
        self.last = 0
        """The newest checkpoint that was started, was stopped, or whose barrier came."""
        self.pending: State | None = None
        """The input state of the checkpoint that waits for its barrier; None: no checkpoint waits."""
        self.received = False
        """Whether the barrier of checkpoint `last` was received and that checkpoint was not stopped since."""
        self.barrier_at: dict[int, int] = {}
        """By checkpoint, the position of its barrier among the live elements that arrived."""
        self.unsure: dict[int, None] = {}
        """Checkpoints whose input state is not judged, because an operation in flight may have changed it."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def awaited(self) -> int:
        """Returns the checkpoint that waits for its barrier; 0: none."""
        return 0 if self.pending is None else self.last

    def subsumes(self, checkpoint: int) -> bool:
        """Returns whether the barrier of a newer checkpoint was received."""
        return self.received and self.last > checkpoint

    def obsolete(self, checkpoint: int) -> bool:
        """Returns whether a barrier of this checkpoint is obsolete: the checkpoint is over, or a newer one is known."""
        return checkpoint < self.last or (checkpoint == self.last and self.pending is None and not self.received)

    def why_obsolete(self) -> str:
        """Describes what makes older barriers obsolete, and also the barrier of checkpoint `last` if that is over."""
        if self.pending is not None:
            return f"checkpoint {self.last} has started"
        if self.received:
            return f"the barrier of checkpoint {self.last} was received"
        return f"checkpoint {self.last} was stopped"

    def why_nothing(self, checkpoint: int) -> str:
        """Describes why no record may be written for a checkpoint, as the end of a message; empty: not known."""
        state = self.states.get(checkpoint)
        if checkpoint in self.failed:
            return ", because the start of the checkpoint was refused"
        if state is not None and state.complete and checkpoint not in self.barrier_at:
            return ", because the checkpoint was stopped, or a newer one was known, before it started"
        if state is not None and checkpoint in self.barrier_at:
            return ", because no record that the task had not taken was in front of its barrier"
        return ""

    def expected(self, checkpoint: int) -> tuple[int, ...]:
        """Returns the records that must have been written, unless `is_unsure` is true."""
        state = self.states.get(checkpoint)
        return () if state is None else (*state.least, *state.live)

    def is_unsure(self, checkpoint: int) -> bool:
        """Returns whether the ledger cannot know what must have been written."""
        return checkpoint in self.unsure or ALL in self.unsure

    def restorable(self) -> tuple[tuple[int], ...]:
        """Returns the checkpoints whose input state is complete, each as the operands of a step."""
        return tuple((checkpoint,) for checkpoint, state in self.states.items() if state.complete)

    # ---- updates -----------------------------------------------------------------------------------------------------
    def started(self, checkpoint: int, least: tuple[int, ...], most: tuple[int, ...] | None = None) -> None:
        """Notes that a checkpoint started while the records `least` were queued.

        With `most`, the state is `traced`: `least` certainly belongs to the checkpoint, the rest of `most` may.
        """
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
        """Notes that live data arrived or, in a local channel, was taken."""
        if self.pending is not None:
            self.pending.live.extend(ids)

    def barrier(self, checkpoint: int, place: int = 0) -> None:
        """Notes that a barrier came at this position. An obsolete barrier does not end the pending checkpoint."""
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
        """Notes that a checkpoint was stopped. A late stop of an older checkpoint does not end the pending one."""
        if checkpoint < self.last:
            pending = self.pending
            if pending is not None and pending.traced and pending.since_late_stop is None:
                pending.since_late_stop = len(pending.live)
            return
        self.last = checkpoint
        self.pending = None
        self.received = False

    def leave_unsure(self, checkpoint: int = ALL) -> None:
        """Excludes a checkpoint, by default every checkpoint, from the judgement of its input state."""
        self.unsure[checkpoint] = None

    def leave_pending_unsure(self) -> None:
        """Excludes the checkpoint that waits for its barrier from the judgement of its input state."""
        if self.pending is not None:
            self.unsure[self.last] = None

    def forget_pending(self) -> None:
        """Removes the checkpoint that waits for its barrier, so that it is neither judged nor restored any more."""
        if self.pending is not None:
            self.states = {checkpoint: one for checkpoint, one in self.states.items() if one is not self.pending}
            self.pending = None


def written_class(expected: tuple[int, ...], got: tuple[int, ...]) -> FailureClass:
    """Returns in which way the written records differ from the expected ones."""
    if len(set(got)) < len(got) or not set(got) <= set(expected):
        return FailureClass.DUPLICATED
    return FailureClass.LOST if len(got) < len(expected) else FailureClass.REORDERED


def judge_written(input: InputState, checkpoint: int, got: tuple[int, ...], where: str = "") -> Judgement:
    """Judges whether exactly the records in front of its barrier were written for a checkpoint, once and in order."""
    if input.is_unsure(checkpoint):
        return Unsure("an operation that overlapped may have changed what is written")
    expected = input.expected(checkpoint)
    if tuple(got) == expected:
        return bool(expected)
    if expected:
        owed = f"exactly {in_words(expected)}{where} must be written for checkpoint {checkpoint}"
    else:
        owed = f"no record{where} may be written for checkpoint {checkpoint}{input.why_nothing(checkpoint)}"
    return Broken(written_class(expected, tuple(got)), owed, f"{were(got)} written")


@shared("I-34", ("FLINK-17315",))
def data_in_front_of_a_barrier_is_written_once(input: InputState, seen: Seen[tuple[int, ...], int]) -> Judgement:
    """The input state of a checkpoint contains exactly the records in front of its barrier that the task had not taken
    when the checkpoint started, including those that arrive later, each once and in order."""
    return judge_written(input, seen.operands[0], seen.value)
