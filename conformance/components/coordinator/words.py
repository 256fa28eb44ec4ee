"""Phrases for the messages of a coordinator's rules."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.ports import CoordinatorReset, Message, Signal, SubtaskFailed, SubtaskReady, SubtaskReset


def event(message: Message) -> str:
    """Describes an event."""
    return f"event {message.number} to {attempt(message.subtask, message.attempt)}"


def report(message: Message) -> str:
    """Describes a report."""
    return f"report {message.number} of {attempt(message.subtask, message.attempt)}"


def stored_reports(stored: Sequence[Sequence[Message]]) -> str:
    """Describes the reports that a checkpoint stores, by subtask."""
    return "; ".join(f"subtask {one}: {_reports(one, messages)}" for one, messages in enumerate(stored)) or "no report"


def _reports(subtask: int, messages: Sequence[Message]) -> str:
    of = [f"attempt {one.attempt}" if one.subtask == subtask else attempt(one.subtask, one.attempt) for one in messages]
    return ", ".join(f"report {one.number} of {whom}" for one, whom in zip(messages, of, strict=True)) or "no report"


def attempt(subtask: int, number: int) -> str:
    """Names an attempt of a subtask."""
    return f"subtask {subtask} (attempt {number})"


def point(checkpoint: int) -> str:
    """Names what is restored."""
    return "the beginning" if checkpoint < 0 else f"checkpoint {checkpoint}"


def told(signals: Sequence[Signal]) -> str:
    """Describes the attempts and resets of which the coordinator was notified."""
    return ", ".join(map(_told, signals)) or "nothing"


def _told(signal: Signal) -> str:
    if isinstance(signal, SubtaskReset):
        return f"subtask {signal.subtask} is reset to {point(signal.checkpoint)}"
    if isinstance(signal, CoordinatorReset):
        return f"all is reset to {point(signal.checkpoint)}"
    if isinstance(signal, SubtaskFailed):
        return f"{attempt(signal.subtask, signal.attempt)} has failed"
    if isinstance(signal, SubtaskReady):
        return f"{attempt(signal.subtask, signal.attempt)} is ready"
    return "something else"
