"""The subtask checkpoint coordinator takes the part of one task in a checkpoint, and reports it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from conformance.ports.checkpoint_reason import CheckpointReason
from conformance.ports.elements import Alignment, Barrier
from conformance.ports.faults import CHANNEL_STATE_WRITER, CHECKPOINT_START, OPERATOR_SNAPSHOT, FaultKind, Places
from conformance.ports.outcomes import ErrorKind, PortError
from conformance.ports.port import Answer, Port
from conformance.ports.subtask_signals import StatePart


class SubtaskCheckpointConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What the job is configured for."""

    timeout: Annotated[int, Meta(ge=0)]
    """Milliseconds after which a timeoutable barrier that is still queued in an output becomes unaligned, counted from
    its timestamp."""


class SubtaskCheckpointPort(Port):
    """The part of one task in its checkpoints (Flink: `SubtaskCheckpointCoordinatorImpl`, `AsyncCheckpointRunnable`).
    Specification: subtask-checkpoint.md.

    Checkpoint ids are >= 1. Operations never pause, and time passes only in `advance`. What is called in other parts of
    the task is a signal `SubtaskCalled`; what is sent to the checkpoint coordinator is `CheckpointAcknowledged` or
    `CheckpointDeclined`.

    `start_inputs` fails with an error of kind `checkpoint` and the reason `declined-task-not-ready` if the inputs
    refuse; the caller declines the checkpoint then, and the task goes on. If the writer, the inputs or the
    operators fail in another way, the operation fails with an error of kind `io`; the task fails then, and nothing is
    called any more but observers and `release`.
    """

    can_fail: ClassVar[Places] = {
        CHECKPOINT_START: (FaultKind.REFUSES, FaultKind.THROWS),
        CHANNEL_STATE_WRITER: (FaultKind.THROWS,),
        OPERATOR_SNAPSHOT: (FaultKind.THROWS,),
    }

    # ---- the task's thread -------------------------------------------------------------------------------------------
    @abstractmethod
    def start_inputs(self, checkpoint: int, alignment: Alignment) -> Answer[None]:
        """The task is about to take its part: its channel state begins, if it has any (Flink: `initInputsCheckpoint`).

        Raises: PortError CHECKPOINT with the reason of the inputs if they refuse.
        """

    @abstractmethod
    def inputs_done(self, checkpoint: int) -> Answer[None]:
        """All that the inputs write for an unaligned checkpoint was handed to the channel state writer."""

    @abstractmethod
    def inputs_failed(self, checkpoint: int) -> Answer[None]:
        """The inputs will not write the rest of what belongs to an unaligned checkpoint, also if it was given up.
        Called in place of `inputs_done`."""

    @abstractmethod
    def trigger(self, barrier: Barrier, timestamp: int) -> Answer[None]:
        """The task takes its part of a checkpoint (Flink: `checkpointState`). Called after `start_inputs`, also if the
        checkpoint was aborted or the task was cancelled meanwhile.

        `timestamp`: when the checkpoint was triggered, in milliseconds of the clock that `advance` moves. It may be
        later than now, since the clock of another machine has told it.
        """

    @abstractmethod
    def decline(self, checkpoint: int, reason: CheckpointReason) -> Answer[None]:
        """The barrier handler gives a checkpoint up (Flink: `abortCheckpointOnBarrier`): one that the inputs refused,
        one that has not begun, or one whose barriers are still to come."""

    @abstractmethod
    def complete(self, checkpoint: int) -> Answer[None]:
        """The checkpoint coordinator says that a checkpoint is complete (Flink: `notifyCheckpointComplete`)."""

    @abstractmethod
    def abort(self, checkpoint: int) -> Answer[None]:
        """The checkpoint coordinator says that a checkpoint was aborted, maybe before the task has heard of it
        (Flink: `notifyCheckpointAborted`)."""

    @abstractmethod
    def advance(self, milliseconds: int) -> Answer[None]:
        """Time passes. Timers that are due now act in this operation."""

    def aligned(self, checkpoint: int, milliseconds: int) -> Answer[None]:
        """The last barrier of a checkpoint was taken, so long after the first (Flink: `setAlignmentDurationNanos`).
        Called at most once: before `trigger`, or, if the checkpoint is unaligned, at any time before `inputs_done`.
        Only an implementation with the capability `says-how-taken` is asked for this.
        """
        raise PortError(ErrorKind.STATE, "this port does not say how a checkpoint was taken")

    # ---- other threads -----------------------------------------------------------------------------------------------
    def state_written(self, checkpoint: int, part: StatePart, records: int) -> Answer[None]:
        """So many more records in flight are stored in a part of the state of a checkpoint that is not final (Flink:
        `getInputChannelState`, `getResultSubpartitionState`). Called for inputs and outputs, any number of times. Only
        an implementation with the capability `says-how-taken` is asked for this.
        """
        raise PortError(ErrorKind.STATE, "this port does not say how a checkpoint was taken")

    @abstractmethod
    def finish_part(self, checkpoint: int, part: StatePart) -> Answer[None]:
        """A part of the state of a checkpoint is final, from now on."""

    @abstractmethod
    def fail_part(self, checkpoint: int, part: StatePart, reason: CheckpointReason | None) -> Answer[None]:
        """A part of the state of a checkpoint failed: with a reason (Flink: `CheckpointException`), or otherwise."""

    @abstractmethod
    def run_async(self, checkpoint: int) -> Answer[None]:
        """The thread of the asynchronous part of a checkpoint goes on as far as it can (Flink:
        `AsyncCheckpointRunnable.run`). It need not wait for this."""

    @abstractmethod
    def cancel(self) -> Answer[None]:
        """The task is not running any more, and asynchronous parts are cancelled. The task's thread may still be about
        to take its part of a checkpoint. A second call changes nothing."""
