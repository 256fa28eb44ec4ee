"""Phrases for the messages of a coordinator's rules."""

from __future__ import annotations

from conformance.ports import Message


def event(message: Message) -> str:
    """Describes an event."""
    return f"event {message.number} to {attempt(message.subtask, message.attempt)}"


def report(message: Message) -> str:
    """Describes a report."""
    return f"report {message.number} of {attempt(message.subtask, message.attempt)}"


def attempt(subtask: int, number: int) -> str:
    """Names an attempt of a subtask."""
    return f"subtask {subtask} (attempt {number})"
