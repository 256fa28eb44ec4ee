"""What the ledger of a chain knows of a checkpoint: where its barriers stand, what became of it, how it reads back."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.ports import ChainCheckpoint, CheckpointStatus, PartTaken


@dataclass(slots=True)
class Cut:
    """The positions of the barriers of a checkpoint."""

    began: str
    """How its producers are asked for it."""
    alignment: str
    """How its barriers cross the edge."""
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


NOTHING = Completed("", during_recovery=False, depth=-1)
"""Stands for the start of a chain without a checkpoint."""


class Checkpoints:
    """The checkpoints of one chain."""

    __slots__ = ("began_in_recovery", "known", "unwritten")

    def __init__(self) -> None:
        self.known: list[int] = []
        """The checkpoints of this chain, in the order of their first step."""
        self.unwritten: list[int] = []
        """The checkpoints that cannot complete any more, because some of their state could not be written."""
        self.began_in_recovery = False
        """Whether recovered records were not counted yet when the current checkpoint started."""


class History:
    """What is known across failures: where barriers stood, which checkpoints completed, how chains were restored."""

    __slots__ = (
        "broke", "completed", "cuts", "design", "fell_back", "generation", "origin", "reading", "said", "saved",
    )  # fmt: skip

    def __init__(self) -> None:
        self.cuts: dict[int, Cut] = {}
        """The cuts by checkpoint. Checkpoints are numbered 1, 2, 3, … across restores, in the order of their first
        step."""
        self.completed = {0: NOTHING}
        self.saved: dict[int, ChainCheckpoint] = {}
        """Completed checkpoints that were restored, as they were read back."""
        self.said: dict[int, PartTaken] = {}
        """By completed checkpoint, what its acknowledgement has said of how it was taken."""
        self.reading = 0
        """The checkpoint that the current step reads back; 0: none."""
        self.design = ""
        """The recovery design with which it is restored; empty: it is only read."""
        self.generation = 0
        """Number of chains before this one."""
        self.origin = 0
        """The checkpoint of this run from which the chain was restored; 0: none."""
        self.broke = self.fell_back = False
        """Whether something failed that this chain has called, so that its task failed; whether that was so of the
        chain before this one."""

    def begin_chain(self, origin: int) -> None:
        """Begins with a fresh chain, which was restored from checkpoint `origin` or started without one."""
        self.origin = origin
        self.fell_back, self.broke = self.broke, False


COMPLETED = (CheckpointStatus.COMPLETED,)
DECLINED = (CheckpointStatus.DECLINED,)
PENDING = (CheckpointStatus.PENDING,)
ABSENT = (CheckpointStatus.ABSENT,)
OBSOLETE = (*ABSENT, *DECLINED)
"""The statuses of a checkpoint that never became the current one, because a newer one came first."""
UNFINISHED = (*OBSOLETE, *PENDING)
"""The statuses of a checkpoint that was not over when the task failed."""
