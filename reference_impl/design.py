"""What differs between the generations of the design, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Design:
    """The choices of one generation (recovery.md, section 0)."""

    priority_passes_blocked: bool
    """Priority events are announced and handed out although the subpartition is blocked (FLINK-39018)."""


RECOVER_FIRST = Design(priority_passes_blocked=False)
IN_MEMORY = Design(priority_passes_blocked=True)
PUSHED = Design(priority_passes_blocked=True)
