"""What comes back from an operation: a value, or an error of a closed set of kinds, plus signals.

An implementation returns a value or raises `PortError`, and emits signals; the driver makes the `Outcome`. Texts are
for people and are never compared; kinds and values are.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct


class ErrorKind(StrEnum):
    """Every way an operation can fail, with the exception that says so in Flink."""

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
    """Fails one checkpoint and nothing else; comes with a `CheckpointReason`."""
    PROTOCOL = "protocol"
    """The other side sent what it must never send."""
    RELEASED = "released"
    """The resource was released while, or before, it was used."""
    CRASHED = "crashed"
    """The implementation did not answer in the terms of the port: it raised anything else, or died."""
    HUNG = "hung"
    """The implementation did not answer within its time limit."""


class CheckpointReason(StrEnum):
    """Why a checkpoint failed (Flink: `CheckpointFailureReason`)."""

    DECLINED = "declined"
    """A task refused it."""
    DECLINED_TASK_NOT_READY = "declined-task-not-ready"
    """A task refused it, as it is not ready for a checkpoint yet."""
    DECLINED_SUBSUMED = "declined-subsumed"
    """A task refused it, as a barrier of a newer checkpoint was received."""
    DECLINED_ON_CANCELLATION_BARRIER = "declined-on-cancellation-barrier"
    """A task was told by one of its inputs that it is cancelled."""
    DECLINED_INPUT_END_OF_STREAM = "declined-input-end-of-stream"
    """A task refused it, as one of its inputs has ended."""
    EXPIRED = "expired"
    """It did not complete in time."""
    SUBSUMED = "subsumed"
    """A newer checkpoint took its place."""
    SHARED_STREAM = "shared-stream"
    """A subtask that shares the channel state file failed."""
    TASK_CLOSING = "task-closing"
    """A task refused it, as it is closing."""
    IO_EXCEPTION = "io-exception"
    """Something could not be read or written."""
    ASYNC_EXCEPTION = "async-exception"
    """The asynchronous part of a task failed."""
    FINALIZE_FAILURE = "finalize-failure"
    """It could not be finalized."""


class PortError(Exception):
    """Raised by an implementation where the interface asks for an error.

    `reason` is for people. `checkpoint_reason` goes with `ErrorKind.CHECKPOINT` only.
    """

    def __init__(self, kind: ErrorKind, reason: str = "", checkpoint_reason: CheckpointReason | None = None) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind
        self.reason = reason
        self.checkpoint_reason = checkpoint_reason


class DataAvailable(Struct, frozen=True, tag="data-available"):
    """The consumer is told that something can be polled (Flink: `notifyDataAvailable`)."""


class PriorityAvailable(Struct, frozen=True, tag="priority-available"):
    """The consumer is told that a priority element can be polled; it will carry the sequence number `seq`."""

    seq: int


class CreditAnnounced(Struct, frozen=True, tag="credit-announced"):
    """The producer of a remote channel is given `credit` more buffers to send (Flink: `notifyCreditAvailable`)."""

    credit: int
    channel: int = 0


class ConsumptionResumed(Struct, frozen=True, tag="consumption-resumed"):
    """The producer of a channel is told to go on (Flink: `resumeConsumption`)."""

    channel: int = 0


class StateConsumed(Struct, frozen=True, tag="state-consumed"):
    """The end of the recovered data of a channel was taken (Flink: `getStateConsumedFuture`)."""

    channel: int = 0


class CheckpointAcknowledged(Struct, frozen=True, tag="checkpoint-acknowledged"):
    """The task has completed its part of a checkpoint (Flink: `acknowledgeCheckpoint`)."""

    checkpoint: int


class CheckpointDeclined(Struct, frozen=True, tag="checkpoint-declined"):
    """The task will not complete its part of a checkpoint, and says why (Flink: `declineCheckpoint`)."""

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
)


class Error(Struct, frozen=True, omit_defaults=True):
    """An error as it is recorded. Two errors are the same if kind and checkpoint reason are."""

    kind: ErrorKind
    reason: str = ""
    checkpoint_reason: CheckpointReason | None = None


class Outcome(Struct, frozen=True, omit_defaults=True):
    """What one operation led to. Signals stand in the order in which they were emitted."""

    value: Any = None
    signals: tuple[Signal, ...] = ()
    error: Error | None = None
    paused_at: str | None = None
    """The operation is not over: its thread paused there."""
