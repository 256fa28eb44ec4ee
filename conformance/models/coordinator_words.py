"""Describes the signals of an operator coordinator in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance import ports


def _attempt(signal: Any) -> str:
    return f"subtask {signal.subtask} (attempt {signal.attempt})"


def _point(checkpoint: int) -> str:
    return "the beginning" if checkpoint < 0 else f"checkpoint {checkpoint}"


def _message(article: str, noun: str, signal: Any) -> str:
    """Describe the message of a signal. Its own subtask and attempt are named only if they differ from the signal's:
    a report that is replayed keeps the attempt that first sent it."""
    message: ports.Message | None = signal.message
    if message is None:
        return f"{article} {noun} of the implementation"
    if (message.subtask, message.attempt) == (signal.subtask, signal.attempt):
        return f"{noun} {message.number}"
    return f"{noun} {message.number} of {_attempt(message)}"


COORDINATOR_SIGNALS: Mapping[type, Callable[[Any], str]] = {
    ports.TurnQueued: lambda one: "an action is queued for the job master's main thread",
    ports.EventTransmitted: lambda one: f"{_message('an', 'event', one)} is on its way to {_attempt(one)}",
    ports.ReportTransmitted: lambda one: f"{_message('a', 'report', one)} is on its way from {_attempt(one)}",
    ports.TicketEnded: lambda one: (
        f"the future of event {one.message.number} to {_attempt(one.message)} "
        f"{'is completed' if one.delivered else 'fails'}"
    ),
    ports.CheckpointRequested: lambda one: f"the coordinator is asked for checkpoint {one.checkpoint}",
    ports.CoordinatorCheckpointed: lambda one: (
        f"the coordinator's checkpoint {one.checkpoint} {'succeeds' if one.succeeded else 'fails'}"
    ),
    ports.CheckpointCompleteNotified: lambda one: (
        f"the coordinator is notified that checkpoint {one.checkpoint} is complete"
    ),
    ports.CheckpointAbortNotified: lambda one: (
        f"the coordinator is notified that checkpoint {one.checkpoint} was aborted"
    ),
    ports.SubtaskReady: lambda one: f"the coordinator is notified that {_attempt(one)} is ready",
    ports.SubtaskFailed: lambda one: f"the coordinator is notified that {_attempt(one)} failed",
    ports.SubtaskReset: lambda one: (
        f"the coordinator is notified that subtask {one.subtask} is reset to {_point(one.checkpoint)}"
    ),
    ports.CoordinatorReset: lambda one: f"the coordinator is reset to {_point(one.checkpoint)}",
    ports.ReportReceived: lambda one: f"the coordinator receives {_message('a', 'report', one)} from {_attempt(one)}",
    ports.TaskFailoverTriggered: lambda one: f"the failover of {_attempt(one)} is triggered",
    ports.GlobalFailoverTriggered: lambda one: "the failover of the whole job is triggered",
}
"""By type of signal."""
