"""Why checkpoints fail."""

from __future__ import annotations

from conformance.ports.word import Word


class CheckpointReason(Word):
    """Why a checkpoint failed (Flink: `CheckpointFailureReason`)."""

    DECLINED = "declined"
    """A task declined it."""
    DECLINED_TASK_NOT_READY = "declined-task-not-ready"
    """A task declined it, because the task is not ready for a checkpoint yet."""
    DECLINED_SUBSUMED = "declined-subsumed"
    """A task declined it, because the barrier of a newer checkpoint was received."""
    DECLINED_ON_CANCELLATION_BARRIER = "declined-on-cancellation-barrier"
    """A task received the cancel marker of the checkpoint."""
    DECLINED_INPUT_END_OF_STREAM = "declined-input-end-of-stream"
    """A task declined it, because one of its inputs has ended."""
    EXPIRED = "expired"
    """It did not complete in time."""
    SUBSUMED = "subsumed"
    """A newer checkpoint took its place."""
    SHARED_STREAM = "shared-stream"
    """Another subtask failed that writes to the same channel state file."""
    TASK_CLOSING = "task-closing"
    """A task declined it, because the task is closing."""
    IO_EXCEPTION = "io-exception"
    """Something could not be read or written."""
    ASYNC_EXCEPTION = "async-exception"
    """The asynchronous part of a task failed."""
    FINALIZE_FAILURE = "finalize-failure"
    """The checkpoint coordinator could not finalize it."""

    @property
    def counts(self) -> bool:
        """Returns whether the checkpoint coordinator counts it among the failed checkpoints that a job tolerates.

        Source: Flink's `CheckpointFailureManager.checkFailureCounter`, read in 2.3.0.
        """
        return self in _COUNTED


_COUNTED = (
    CheckpointReason.DECLINED,
    CheckpointReason.EXPIRED,
    CheckpointReason.IO_EXCEPTION,
    CheckpointReason.ASYNC_EXCEPTION,
    CheckpointReason.FINALIZE_FAILURE,
)
