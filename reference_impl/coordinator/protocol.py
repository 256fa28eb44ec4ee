"""The three versions of the protocol, as data: which gate events have, and which gate reports have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .down import DownGate, Gates, Valve
from .up import Closing, Surroundings, Unblocked, UpGate


@dataclass(frozen=True, slots=True)
class Protocol:
    """One version of the protocol between a coordinator and its subtasks."""

    down: Callable[[], DownGate]
    up: Callable[[Surroundings], UpGate]
    blocks_events: bool
    """A gate for each subtask, so that subtasks need not be sources."""
    blocks_reports: bool


V0 = Protocol(Valve, Unblocked, False, False)
"""Flink 1.11 to 1.15."""
V1 = Protocol(Gates, Unblocked, True, False)
"""Flink 1.16 and later (FLINK-26029)."""
V2 = Protocol(Gates, Closing, True, True)
"""Proposed in FLINK-28639, and never shipped."""
