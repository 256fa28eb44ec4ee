"""What the two sides of an operator coordinator say to each other besides the user's events and reports."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from conformance.ports import Message


class CloseGate(Struct, frozen=True):
    """To a subtask: hold your reports back until you have taken the snapshot of this checkpoint."""

    checkpoint: int


class OpenGate(Struct, frozen=True):
    """To a subtask: this checkpoint was aborted."""

    checkpoint: int


class GateClosed(Struct, frozen=True):
    """From a subtask: whatever I sent before my snapshot of this checkpoint, and do not hold back, is on its way."""

    checkpoint: int


class Acknowledged(Struct, frozen=True):
    """From a subtask: I have taken my snapshot (Flink: `AcknowledgeCheckpointEvent`)."""

    checkpoint: int


Downward: TypeAlias = Message | CloseGate | OpenGate
Upward: TypeAlias = Message | GateClosed | Acknowledged
