"""Notifications of an operator coordinator and its surroundings, and what is on its way between them."""

from __future__ import annotations

from msgspec import Struct


class Message(Struct, frozen=True):
    """An event or a report of the user: the `number`-th between the coordinator and this subtask, from 0.

    `attempt`: the one to which an event is sent, or that first sent a report. A report that is replayed keeps it.
    """

    subtask: int
    attempt: int
    number: int


class TurnQueued(Struct, frozen=True, tag="turn-queued"):
    """An action was queued for the main thread of the job master."""


class EventTransmitted(Struct, frozen=True, tag="event-transmitted"):
    """An event is on its way to an attempt; without a message it is one of the implementation."""

    subtask: int
    attempt: int
    message: Message | None = None


class ReportTransmitted(Struct, frozen=True, tag="report-transmitted"):
    """A report is on its way from an attempt; without a message it is one of the implementation."""

    subtask: int
    attempt: int
    message: Message | None = None


class TicketEnded(Struct, frozen=True, tag="ticket-ended"):
    """The future of an event is completed: the attempt has got it; or exceptionally: it may not have got it."""

    message: Message
    delivered: bool


class CheckpointRequested(Struct, frozen=True, tag="checkpoint-requested"):
    """The coordinator is asked for its state (Flink: `OperatorCoordinator.checkpointCoordinator`)."""

    checkpoint: int


class CoordinatorCheckpointed(Struct, frozen=True, tag="coordinator-checkpointed"):
    """The checkpoint coordinator gets the result of a checkpoint of the operator coordinator, or learns that it
    failed."""

    checkpoint: int
    succeeded: bool


class CheckpointCompleteNotified(Struct, frozen=True, tag="checkpoint-complete-notified"):
    """The coordinator is notified that a checkpoint is complete (Flink: `notifyCheckpointComplete`)."""

    checkpoint: int


class CheckpointAbortNotified(Struct, frozen=True, tag="checkpoint-abort-notified"):
    """The coordinator is notified that a checkpoint was aborted (Flink: `notifyCheckpointAborted`)."""

    checkpoint: int


class SubtaskReady(Struct, frozen=True, tag="subtask-ready"):
    """The coordinator may send events to an attempt (Flink: `executionAttemptReady`)."""

    subtask: int
    attempt: int


class SubtaskFailed(Struct, frozen=True, tag="subtask-failed"):
    """The coordinator is notified that an attempt failed (Flink: `executionAttemptFailed`)."""

    subtask: int
    attempt: int


class SubtaskReset(Struct, frozen=True, tag="subtask-reset"):
    """The coordinator must forget what it did with a subtask since this checkpoint, -1: since the beginning."""

    subtask: int
    checkpoint: int


class CoordinatorReset(Struct, frozen=True, tag="coordinator-reset"):
    """The coordinator must take its state from this checkpoint, -1: begin again (Flink: `resetToCheckpoint`)."""

    checkpoint: int


class ReportReceived(Struct, frozen=True, tag="report-received"):
    """The coordinator is given a report that this attempt has transmitted (Flink: `handleEventFromOperator`)."""

    subtask: int
    attempt: int
    message: Message


class TaskFailoverTriggered(Struct, frozen=True, tag="task-failover-triggered"):
    """The job master must let an attempt fail (Flink: `SubtaskAccess.triggerTaskFailover`)."""

    subtask: int
    attempt: int


class GlobalFailoverTriggered(Struct, frozen=True, tag="global-failover-triggered"):
    """The job master must restart the whole job (Flink: `GlobalFailureHandler.handleGlobalFailure`)."""
