"""What differs between the recovery designs, as data. Specification: README.md."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.ports import Recovery

from .coordinator.protocol import V0, V1, V2, Protocol


@dataclass(frozen=True, slots=True)
class Design:
    """What an implementation of one generation can do."""

    priority_passes_blocked: bool
    """Priority events pass a blocked subpartition (FLINK-39018; subpartition.md S6, S17)."""
    recoveries: frozenset[Recovery]
    """The recovery designs that it has. A newer generation still has the older ones, behind options."""
    protocol: Protocol
    """The protocol between an operator coordinator and its subtasks."""


RECOVER_FIRST = Design(False, frozenset({Recovery.NONE, Recovery.RECOVER_FIRST}), V1)
IN_MEMORY = Design(True, RECOVER_FIRST.recoveries | {Recovery.IN_MEMORY}, V1)
PUSHED = Design(True, IN_MEMORY.recoveries | {Recovery.PUSHED}, V2)
VALVE = Design(False, RECOVER_FIRST.recoveries, V0)
"""Flink before 1.16, as far as the operator coordinator is concerned."""
