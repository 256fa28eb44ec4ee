"""What differs between the generations of the recovery design, as data. Specification: README.md."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.ports import Recovery


@dataclass(frozen=True, slots=True)
class Design:
    """The choices of one generation."""

    priority_passes_blocked: bool
    """Priority events are announced and handed out although the subpartition is blocked (FLINK-39018)."""
    recoveries: frozenset[Recovery]
    """Where recovered input data can live. A newer generation still has the older ways, behind options."""


RECOVER_FIRST = Design(False, frozenset({Recovery.NONE, Recovery.RECOVER_FIRST}))
IN_MEMORY = Design(True, RECOVER_FIRST.recoveries | {Recovery.IN_MEMORY})
PUSHED = Design(True, IN_MEMORY.recoveries | {Recovery.PUSHED})
