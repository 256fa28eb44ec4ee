"""The checkpoints of a job, as the ledger knows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from conformance.components.pipeline.contents import BEGINNING, Contents, Lineage
from conformance.ports import CheckpointKind, CheckpointReason, JobCheckpoint

SAVEPOINT = CheckpointKind.SAVEPOINT
PENDING: Literal["pending"] = "pending"
COMPLETED: Literal["completed"] = "completed"
FAILED: Literal["failed"] = "failed"


class Checkpoint:
    """One checkpoint that was triggered."""

    __slots__ = (
        "all_ready", "at", "clock", "contents", "disturbances", "during_recovery", "ended", "hindered", "kind",
        "losses", "number", "origin", "passes", "reason", "seen_whole", "state", "stops", "supplied",
    )  # fmt: skip

    def __init__(self, number: int, kind: CheckpointKind, origin: int) -> None:
        self.number = number
        self.kind = kind
        self.origin = origin
        """The checkpoint from which the job had been restored."""
        self.state: Literal["pending", "completed", "failed"] = PENDING
        self.reason: CheckpointReason | None = None
        self.at = self.clock = 0
        """When it was triggered: the time that had passed, and how often threads had acted."""
        self.losses = self.disturbances = 0
        """How many messages were lost, and how often something was made to fail, up to then or up to its end."""
        self.all_ready = self.passes = self.during_recovery = False
        """Whether all tasks were ready; whether all barriers pass operators that stand still; whether a task was still
        restoring."""
        self.hindered = False
        """Whether it may wait until it expires: an unaligned one was triggered later, whose barriers may overtake those
        of this one, or a message of one in front of it was lost."""
        self.stops = self.ended = False
        """Whether the job is to be stopped with it; whether a source knew that no records come."""
        self.seen_whole = True
        """Whether the scenario itself has let every thread act since it was triggered."""
        self.supplied = -1
        """How many records there were if all were counted when it was triggered; -1: they were not."""
        self.contents: Contents | None = None

    @property
    def is_savepoint(self) -> bool:
        """Returns whether it is the user's."""
        return self.kind is SAVEPOINT

    @property
    def is_completed(self) -> bool:
        """Returns whether it has completed."""
        return self.state is COMPLETED


class Checkpoints:
    """All checkpoints of a job and of those before it."""

    __slots__ = ("completed", "known", "newest", "pending", "point", "restored", "saved")

    def __init__(self) -> None:
        self.known: dict[int, Checkpoint] = {}
        """Those of this job."""
        self.pending: dict[int, Checkpoint] = {}
        self.completed: list[int] = []
        """Those that are no savepoints, in the order of their completion."""
        self.newest = self.point = self.restored = 0
        """The largest id; the one that a failover restores; the one with which the job began."""
        self.saved: dict[int, tuple[JobCheckpoint, Lineage]] = {}
        """What can be restored, also in a later job. Ids behind that of the restored checkpoint are given again."""

    def begin(self, restored: int) -> None:
        """Begins with a fresh job."""
        self.known.clear()
        self.pending.clear()
        self.completed.clear()
        self.newest = self.point = self.restored = restored
        self.saved = {number: one for number, one in self.saved.items() if number <= restored}

    def trigger(self, one: Checkpoint) -> None:
        """Notes a checkpoint that was triggered."""
        self.newest = max(self.newest, one.number)
        self.known[one.number] = self.pending[one.number] = one

    def complete(self, one: Checkpoint) -> None:
        """Notes that a checkpoint is complete."""
        self.pending.pop(one.number, None)
        one.state = COMPLETED
        if not one.is_savepoint:
            self.completed.append(one.number)
            self.point = max(self.point, one.number)

    def fail(self, one: Checkpoint, reason: CheckpointReason) -> None:
        """Notes that a checkpoint has failed."""
        self.pending.pop(one.number, None)
        one.state, one.reason = FAILED, reason

    def unread(self) -> Iterator[int]:
        """Yields the completed checkpoints whose contents were not asked for."""
        return (one.number for one in self.known.values() if one.is_completed and one.contents is None)

    def lineage(self, number: int) -> Lineage | None:
        """Returns what a checkpoint hands down to those that follow it; None: it was not read."""
        if number == 0:
            return BEGINNING
        return self.saved[number][1] if number in self.saved else None
