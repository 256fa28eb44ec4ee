"""Describes the signals of an operator coordinator in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.ports import (
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorReset,
    EventTransmitted,
    GlobalFailoverTriggered,
    Message,
    ReportReceived,
    ReportTransmitted,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TicketEnded,
    TurnQueued,
)


def _attempt(signal: Any) -> str:
    return f"subtask {signal.subtask} (attempt {signal.attempt})"


def _named(noun: str, message: Message | None) -> str:
    return "a message of the engine" if message is None else f"{noun} {message.number}"


def _point(checkpoint: int) -> str:
    return "the beginning" if checkpoint < 0 else f"checkpoint {checkpoint}"


COORDINATOR_SIGNALS: Mapping[type, Callable[[Any], str]] = {
    TurnQueued: lambda one: "a turn queued",
    EventTransmitted: lambda one: f"{_named('event', one.message)} on its way to {_attempt(one)}",
    ReportTransmitted: lambda one: f"{_named('report', one.message)} on its way from {_attempt(one)}",
    TicketEnded: lambda one: (
        f"ticket of event {one.message.number} to {_attempt(one.message)} {'ended' if one.delivered else 'failed'}"
    ),
    CheckpointRequested: lambda one: f"coordinator asked for checkpoint {one.checkpoint}",
    CoordinatorCheckpointed: lambda one: (
        f"coordinator's result for checkpoint {one.checkpoint}: {'a success' if one.succeeded else 'a failure'}"
    ),
    CheckpointCompleteNotified: lambda one: f"coordinator told that checkpoint {one.checkpoint} is complete",
    CheckpointAbortNotified: lambda one: f"coordinator told that checkpoint {one.checkpoint} was aborted",
    SubtaskReady: lambda one: f"coordinator told that {_attempt(one)} is ready",
    SubtaskFailed: lambda one: f"coordinator told that {_attempt(one)} failed",
    SubtaskReset: lambda one: f"coordinator told that subtask {one.subtask} is reset to {_point(one.checkpoint)}",
    CoordinatorReset: lambda one: f"coordinator reset to {_point(one.checkpoint)}",
    ReportReceived: lambda one: f"coordinator given report {one.message.number} of subtask {one.message.subtask}",
    TaskFailoverTriggered: lambda one: f"{_attempt(one)} must fail",
    GlobalFailoverTriggered: lambda one: "the job must be restarted",
}
"""By type of signal."""
