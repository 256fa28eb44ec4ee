"""What the ledger of a chain knows of a checkpoint: where its barriers stand, what became of it, how it reads back."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.ports import CheckpointStatus


@dataclass(slots=True)
class Cut:
    """The positions of the barriers of a checkpoint."""

    alignment: str
    sent: list[int | None]
    """By channel, the number of records sent before the barrier, or before the end of partition; None: not known."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A checkpoint that was acknowledged."""

    design: str
    """The recovery design of the chain that took the checkpoint."""
    during_recovery: bool
    """Whether recovered records were not counted yet when it started."""
    depth: int
    """Number of restores in a row that led to the chain that took it."""


COMPLETED = (CheckpointStatus.COMPLETED,)
DECLINED = (CheckpointStatus.DECLINED,)
PENDING = (CheckpointStatus.PENDING,)
ABSENT = (CheckpointStatus.ABSENT,)
OBSOLETE = (*ABSENT, *DECLINED)
"""The statuses of a checkpoint that never became the current one, because a newer one came first."""
UNFINISHED = (*OBSOLETE, *PENDING)
"""The statuses of a checkpoint that was not over when the task failed."""
NOTHING = Completed("", during_recovery=False, depth=-1)
"""Stands for the start of a chain without a checkpoint."""
