"""What comes back from an operation: a value, or an error of a closed set of kinds, plus signals.

An implementation returns a value or raises `PortError`, and emits signals; the driver makes the `Outcome`. The suite
compares values and kinds of errors. Texts are for people, and the suite never compares them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from conformance.ports.checkpoint_reason import CheckpointReason
from conformance.ports.coordinator_signals import (
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorReset,
    EventTransmitted,
    GlobalFailoverTriggered,
    ReportReceived,
    ReportTransmitted,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TicketEnded,
    TurnQueued,
)
from conformance.ports.elements import Element
from conformance.ports.faults import FaultStruck
from conformance.ports.pipeline_signals import (
    CheckpointBegun,
    CheckpointCompleted,
    CheckpointFailed,
    Committed,
    FailureStruck,
    JobOver,
    JobRestarted,
    JobTaskChanged,
    TaskReady,
    ThreadWoken,
)
from conformance.ports.restore_signals import GateConverted, OperatorsOpened, OutputStateRestored, TaskStateChanged
from conformance.ports.subtask_signals import PartTaken, SubtaskCalled
from conformance.ports.word import Word


class ErrorKind(Word):
    """Every way in which an operation can fail, with the exception that Flink throws for it."""

    STATE = "state"
    """The operation is not allowed now (Java: `IllegalStateException`)."""
    ARGUMENT = "argument"
    """The operand is not acceptable (Java: `IllegalArgumentException`)."""
    REORDERING = "reordering"
    """A sequence number was not the expected one (Flink: `BufferReorderingException`)."""
    IO = "io"
    """Something could not be read or written (Java: `IOException`)."""
    CONFIG = "config"
    """The configuration is not acceptable."""
    CHECKPOINT = "checkpoint"
    """One checkpoint fails and nothing else does; the error has a `CheckpointReason`."""
    PROTOCOL = "protocol"
    """The other side sent what it must never send."""
    RELEASED = "released"
    """The resource was released while, or before, it was used."""
    CRASHED = "crashed"
    """The implementation died, raised an unexpected exception, or returned a value that the port does not allow."""
    HUNG = "hung"
    """The implementation did not return within its time limit."""


class PortError(Exception):
    """An implementation raises it where the port asks for an error.

    `reason` is a text for people. Only errors of `ErrorKind.CHECKPOINT` have a `checkpoint_reason`.
    """

    def __init__(self, kind: ErrorKind, reason: str = "", checkpoint_reason: CheckpointReason | None = None) -> None:
        self.kind = kind
        self.reason = reason
        self.checkpoint_reason = checkpoint_reason

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


class DataAvailable(Struct, frozen=True, tag="data-available"):
    """Notifies the consumer that something can be polled (Flink: `notifyDataAvailable`)."""


class PriorityAvailable(Struct, frozen=True, tag="priority-available"):
    """Notifies the consumer that a priority event can be polled, and of its sequence number (-1 from a gate)."""

    seq: int


class CreditAnnounced(Struct, frozen=True, tag="credit-announced"):
    """Permits the producer of a remote channel to send `credit` more data buffers (Flink: `notifyCreditAvailable`)."""

    credit: int
    channel: int = 0


class ConsumptionResumed(Struct, frozen=True, tag="consumption-resumed"):
    """Resumes the producer of a remote channel for its consumer (Flink: `resumeConsumption`)."""

    channel: int = 0


class StateConsumed(Struct, frozen=True, tag="state-consumed"):
    """The consumer has taken the end of the recovered data of a channel (Flink: `getStateConsumedFuture`)."""

    channel: int = 0


class CheckpointAcknowledged(Struct, frozen=True, tag="checkpoint-acknowledged", omit_defaults=True):
    """The task has completed its part of a checkpoint (Flink: `acknowledgeCheckpoint`)."""

    checkpoint: int
    taken: PartTaken | None = None
    """How; None: the engine does not say."""


class CheckpointDeclined(Struct, frozen=True, tag="checkpoint-declined"):
    """The task declines a checkpoint, for the given reason (Flink: `declineCheckpoint`)."""

    checkpoint: int
    reason: CheckpointReason


class CheckpointTriggered(Struct, frozen=True, tag="checkpoint-triggered"):
    """Asks the task to take its part of a checkpoint (Flink: `triggerCheckpointOnBarrier`).

    `unaligned`: whether in-flight data belongs to it.
    """

    checkpoint: int
    unaligned: bool


class InputsCheckpointStarted(Struct, frozen=True, tag="inputs-checkpoint-started"):
    """Asks every input of the task to write its in-flight data for an unaligned checkpoint (Flink:
    `CheckpointableInput.checkpointStarted`)."""

    checkpoint: int


class InputsCheckpointStopped(Struct, frozen=True, tag="inputs-checkpoint-stopped"):
    """Asks every input of the task to stop an unaligned checkpoint that is over (Flink:
    `CheckpointableInput.checkpointStopped`)."""

    checkpoint: int


class BarrierPrioritized(Struct, frozen=True, tag="barrier-prioritized"):
    """Asks a channel to turn an announced barrier into a priority event (Flink: `convertToPriorityEvent`)."""

    channel: int
    seq: int


class ElementTaken(Struct, frozen=True, tag="element-taken"):
    """The task has taken an element from its gate. A record that it contains is processed now."""

    channel: int
    element: Element


class BufferRecycled(Struct, frozen=True, tag="buffer-recycled"):
    """The writer has recycled the buffer that holds this record (Flink: `Buffer.recycleBuffer`)."""

    record: int


class SnapshotClosed(Struct, frozen=True, tag="snapshot-closed"):
    """The writer has closed the snapshot of spill files that was handed in with this number (FLINK-38544)."""

    snapshot: int


class ChannelStateCompleted(Struct, frozen=True, tag="channel-state-completed"):
    """The result of a subtask is there: its channel state of the checkpoint is stored (Flink:
    `ChannelStateWriteResult`)."""

    subtask: int
    checkpoint: int


class ChannelStateFailed(Struct, frozen=True, tag="channel-state-failed"):
    """The result of a subtask has failed: there is no channel state of the checkpoint (Flink:
    `ChannelStateWriteResult.fail`)."""

    subtask: int
    checkpoint: int
    reason: CheckpointReason


Signal: TypeAlias = (
    DataAvailable
    | PriorityAvailable
    | CreditAnnounced
    | ConsumptionResumed
    | StateConsumed
    | CheckpointAcknowledged
    | CheckpointDeclined
    | CheckpointTriggered
    | InputsCheckpointStarted
    | InputsCheckpointStopped
    | BarrierPrioritized
    | ElementTaken
    | BufferRecycled
    | SnapshotClosed
    | ChannelStateCompleted
    | ChannelStateFailed
    | SubtaskCalled
    | TaskStateChanged
    | OutputStateRestored
    | OperatorsOpened
    | GateConverted
    | TurnQueued
    | EventTransmitted
    | ReportTransmitted
    | TicketEnded
    | CheckpointRequested
    | CoordinatorCheckpointed
    | CheckpointCompleteNotified
    | CheckpointAbortNotified
    | SubtaskReady
    | SubtaskFailed
    | SubtaskReset
    | CoordinatorReset
    | ReportReceived
    | TaskFailoverTriggered
    | GlobalFailoverTriggered
    | CheckpointBegun
    | CheckpointCompleted
    | CheckpointFailed
    | Committed
    | JobRestarted
    | JobTaskChanged
    | TaskReady
    | FailureStruck
    | JobOver
    | ThreadWoken
    | FaultStruck
)


class Error(Struct, frozen=True, omit_defaults=True):
    """An error as it is recorded. Two errors count as equal if their kinds and checkpoint reasons are equal."""

    kind: ErrorKind
    reason: str = ""
    checkpoint_reason: CheckpointReason | None = None


class Outcome(Struct, frozen=True, omit_defaults=True):
    """The result of one operation: a value or an error, and the signals in the order in which they were emitted."""

    value: Any = None
    signals: tuple[Signal, ...] = ()
    error: Error | None = None
    paused_at: str | None = None
    """The place where the thread of the operation paused, if the operation is not over."""
