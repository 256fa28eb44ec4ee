"""The barrier handler decides what the barriers in the input channels of a task lead to."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from conformance.ports.elements import Barrier
from conformance.ports.faults import CHECKPOINT_START, FaultKind, Places
from conformance.ports.port import Answer, Port


class BarrierHandlerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The channels whose barriers one handler sees, and what the job is configured for."""

    channels: Annotated[int, Meta(ge=1)]
    """How many channels the task reads, numbered from 0."""
    timeout: Annotated[int, Meta(ge=0)]
    """Milliseconds after which the alignment of a timeoutable checkpoint is overdue, counted from its timestamp."""
    alternating: bool = True
    """Whether checkpoints may be timeoutable or unaligned (Flink: `execution.checkpointing.unaligned.enabled`). If not,
    every barrier is aligned."""
    counts_ends: bool = True
    """Whether a channel that has ended counts as one whose barrier was received (Flink:
    `execution.checkpointing.checkpoints-after-tasks-finish`). If not, its end aborts the pending checkpoint."""


class AlignmentTimes(Struct, frozen=True):
    """How long an alignment took, in milliseconds. Flink reports it as metrics; None: it is not measured."""

    duration: int | None = None
    """From the start of the alignment in progress to now, or from the start of the last one to its end; 0: none."""
    start_delay: int | None = None
    """From the timestamp of the checkpoint to the start of that alignment; 0: none, or it started earlier."""


class BarrierHandlerPort(Port):
    """The barrier handler of one task (Flink: `SingleCheckpointBarrierHandler`). Specification: barrier-handler.md.

    Checkpoint ids and the sequence numbers of barriers are >= 1 and >= 0. The handler belongs to the task's thread,
    so operations never pause, and time passes only in `advance`.

    It asks the inputs, the task and the checkpoint coordinator by signals: `ConsumptionResumed`,
    `BarrierPrioritized`, `InputsCheckpointStarted`, `InputsCheckpointStopped`, `CheckpointTriggered`,
    `CheckpointDeclined`. No operation refuses what is obsolete, was cancelled, or comes for an older checkpoint.

    If the start of a checkpoint in the inputs is refused, only that checkpoint is declined. If it fails in another
    way, so does the operation, with an error of kind `io`; the task fails then, and nothing is called any more but
    observers and `release`.
    """

    can_fail: ClassVar[Places] = {CHECKPOINT_START: (FaultKind.REFUSES, FaultKind.THROWS)}

    @abstractmethod
    def barrier(self, channel: int, barrier: Barrier, timestamp: int) -> Answer[None]:
        """The task has taken a barrier from a channel.

        `timestamp`: when its checkpoint was triggered, in milliseconds of the clock that `advance` moves. It may be
        later than now, since the clock of another machine has told it. After an aligned or timeoutable barrier, the
        channel delivers nothing but priority events until it is resumed.
        """

    @abstractmethod
    def rpc_barrier(self, channel: int, barrier: Barrier, timestamp: int) -> Answer[None]:
        """The checkpoint was triggered by a call to the task; the channel is a source, which nothing blocks."""

    @abstractmethod
    def announcement(self, channel: int, checkpoint: int, seq: int, timestamp: int) -> Answer[None]:
        """The task has taken the announcement of a timeoutable barrier, which is queued with this sequence number.

        The barrier has blocked its channel, and comes as it was announced, also if it is made to overtake.
        """

    @abstractmethod
    def cancel_marker(self, channel: int, checkpoint: int) -> Answer[None]:
        """The task has taken a marker that says that a checkpoint was aborted upstream."""

    @abstractmethod
    def end_of_partition(self, channel: int) -> Answer[None]:
        """The task has taken the end of partition of a channel. Nothing more comes from it."""

    @abstractmethod
    def advance(self, milliseconds: int) -> Answer[None]:
        """Time passes. Timers that are due now act in this operation."""

    @abstractmethod
    def pending(self) -> Answer[int | None]:
        """Return the checkpoint of which something was received and that is not over; nothing if there is none."""

    def alignment_times(self) -> Answer[AlignmentTimes]:
        """Return how long the alignment in progress, or the last one, has taken (Flink: `getAlignmentDurationNanos`,
        `getCheckpointStartDelayNanos`). An engine that does not measure it leaves this method as it is."""
        return AlignmentTimes()
