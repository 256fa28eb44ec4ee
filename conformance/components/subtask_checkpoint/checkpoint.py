"""What a ledger knows of one checkpoint, and which call needs which other one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from conformance.ports import Alignment, CheckpointReason, StatePart, SubtaskCall

BARRIERS = (SubtaskCall.OUTPUTS_BARRIER, SubtaskCall.OUTPUTS_PRIORITY_BARRIER)
ABORTS = (SubtaskCall.WRITER_ABORT, SubtaskCall.WRITER_ABORT_AND_FORGET)
"""The calls that abort a checkpoint in the channel state writer."""
REPEATABLE = (*ABORTS, SubtaskCall.OUTPUTS_CANCEL_MARKER)
NEEDS: Mapping[SubtaskCall, SubtaskCall] = {
    SubtaskCall.WRITER_FINISH_INPUT: SubtaskCall.WRITER_START,
    SubtaskCall.WRITER_FINISH_OUTPUT: SubtaskCall.WRITER_START,
    SubtaskCall.INPUTS_PREPARE: SubtaskCall.WRITER_START,
    SubtaskCall.OUTPUTS_BARRIER: SubtaskCall.OPERATORS_PREPARE,
    SubtaskCall.OUTPUTS_PRIORITY_BARRIER: SubtaskCall.OPERATORS_PREPARE,
    SubtaskCall.OPERATORS_SNAPSHOT: SubtaskCall.OPERATORS_PREPARE,
}
"""By call, another call that must have been made before for the same checkpoint."""
WRITER_CALLS = (
    SubtaskCall.WRITER_START,
    SubtaskCall.WRITER_FINISH_INPUT,
    SubtaskCall.WRITER_FINISH_OUTPUT,
    SubtaskCall.WRITER_TAKE_RESULT,
)
"""The calls that write channel state, each of which the writer allows once for a checkpoint."""


class Stage(Enum):
    """How far a checkpoint is, as the operations of the task's thread say."""

    UNKNOWN = "unknown"
    STARTED = "started"
    """Its inputs were started, so that the task takes its part next."""
    REFUSED = "refused"
    """The inputs refused, so that it is declined next."""
    BEGUN = "begun"
    """The task took its part."""
    OVER = "over"
    """The task did not take its part, or has declined it since."""


UNKNOWN = Stage.UNKNOWN
ALIGNED, UNALIGNED = Alignment.ALIGNED, Alignment.UNALIGNED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Checkpoint:
    """One checkpoint: what was asked for, what was called, and what is final of it."""

    __slots__ = (
        "aborted", "acknowledged", "aligned_for", "alignment", "awaited", "completed", "declined", "due", "failed",
        "missing", "result", "stage", "stored", "told", "was_final",
    )  # fmt: skip

    def __init__(self) -> None:
        self.stage = UNKNOWN
        self.alignment = ALIGNED
        self.due = 0
        """When its barrier becomes unaligned, if it is timeoutable and still queued."""
        self.awaited = False
        """Whether the inputs still hand in-flight data to the writer."""
        self.told: list[SubtaskCall] = []
        """What was called for it."""
        self.result = False
        """Whether the channel state writer holds its result."""
        self.missing: Sequence[StatePart] = tuple(StatePart)
        """The parts of its state that are not final, all of them before the task takes its part."""
        self.failed: tuple[CheckpointReason, ...] = ()
        """For each part that has failed, the reason to decline it."""
        self.aborted = False
        """Whether the checkpoint coordinator has said that it was aborted."""
        self.was_final = False
        """Whether all of its state was final when the checkpoint coordinator said so."""
        self.completed = self.acknowledged = False
        self.declined: list[CheckpointReason] = []
        """With which reasons it was declined."""
        self.stored = 0
        """How many records in flight are stored of it."""
        self.aligned_for: int | None = None
        """How many milliseconds its alignment took; None: nobody has said it."""

    def has_channel_state(self) -> bool:
        """Returns whether in-flight data may belong to it."""
        return self.alignment is not ALIGNED

    def can_overtake(self) -> bool:
        """Returns whether its barrier can have overtaken data: from the beginning, or since it timed out."""
        return self.alignment is UNALIGNED or SubtaskCall.OUTPUTS_TIME_OUT in self.told

    def is_given_up(self) -> bool:
        """Returns whether it was aborted or declined."""
        return self.aborted or bool(self.declined)

    def is_stopped_in_writer(self) -> bool:
        """Returns whether the channel state writer was asked to abort it."""
        told = self.told
        return ABORTS[0] in told or ABORTS[1] in told

    def has_left(self) -> bool:
        """Returns whether its barrier was broadcast."""
        told = self.told
        return BARRIERS[0] in told or BARRIERS[1] in told

    def begin(self) -> None:
        """Notes that the task took its part."""
        self.stage = Stage.BEGUN
        self.missing = tuple(StatePart) if self.has_channel_state() else (StatePart.OPERATORS,)

    def settle(self, part: StatePart, failed: CheckpointReason | None = None) -> None:
        """Notes that a part of its state is final, or has failed with this reason."""
        self.missing = [one for one in self.missing if one is not part]
        if failed is not None:
            self.failed = (*self.failed, failed)
