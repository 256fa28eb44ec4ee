"""What was exchanged with a program."""

from __future__ import annotations

from msgspec import Struct


class Transcript(Struct, frozen=True):
    """The lines that were sent to one process of a program, from its start to its end, and what it wrote."""

    calls: bytes
    """What the process read from its stdin."""
    answers: bytes
    """What it wrote to its stdout, as far as somebody has read it."""
