"""What is on its way between the job master and a task. Specification: pipeline.md."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from conformance.ports import CheckpointReason, TaskState

from .checkpoints import Part


class Call(Enum):
    """What a message is about."""

    EVENT = "an event of an operator coordinator"
    TRIGGER = "a checkpoint is triggered"
    COMPLETE = "a checkpoint is complete"
    ABORT = "a checkpoint was aborted"
    REPORT = "a report to an operator coordinator"
    REPLY = "an event has arrived"
    ACKNOWLEDGE = "a task has stored its part of a checkpoint"
    DECLINE = "a task declines a checkpoint"
    STATE = "a task has another state"


class Message(NamedTuple):
    """Only the fields that it needs are set."""

    call: Call
    checkpoint: int = 0
    part: Part | None = None
    reason: CheckpointReason | None = None
    state: TaskState | None = None
    cause: str = ""
    is_kept: bool = False
    """Whether it is sent until it arrives."""
