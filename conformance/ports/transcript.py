"""What was exchanged with a program."""

from __future__ import annotations

from msgspec import Struct

MOST_TRANSCRIPT = 16 << 20
"""How many bytes a transcript has at most: a bug report is attached to a ticket, and the driver holds all of it."""


class Transcript(Struct, frozen=True):
    """The lines that were sent to one process of a program, from its start to its end, and what it wrote."""

    calls: bytes
    """What the process read from its stdin."""
    answers: bytes
    """What it wrote to its stdout, as far as somebody has read it."""


class OversizedTranscript(Struct, frozen=True):
    """Stands for a transcript with more than `MOST_TRANSCRIPT` bytes, of which nothing is kept."""

    calls: int
    """How many bytes the process read from its stdin."""
    answers: int
    """How many bytes of its stdout somebody has read."""
