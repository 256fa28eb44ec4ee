"""The checkpoints of a job, as the ledger knows them."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.components.pipeline.contents import Contents
from conformance.ports import CheckpointKind


@dataclass(slots=True, eq=False)
class Checkpoint:
    """One checkpoint that was triggered."""

    number: int
    kind: CheckpointKind
    origin: int
    """The checkpoint from which the tasks had been restored."""
    at: int
    clock: int
    attempt: int
    """When it was triggered: the time that had passed, how often threads had acted, and how often tasks had been
    restarted."""
    failures: int
    losses: int
    """What had failed when it was triggered; how many messages were lost up to then or up to its end."""
    all_ready: bool
    passes: bool
    during_recovery: bool
    ended: bool
    """Whether all tasks were ready; whether all barriers pass operators that stand still; whether a task was still
    restoring; whether a source knew that no records come."""
    hindered: bool
    """Whether it may wait until it expires: one was triggered later, whose barriers may overtake those of this one
    unless both are aligned, or a message of one in front of it was lost."""
    covers: int
    """How many records there were if all had come out when it was triggered; -1: they had not."""
    is_completed: bool = False
    took: int = 0
    """How much time had passed since its trigger when it completed."""
    contents: Contents | None = None

    @property
    def is_savepoint(self) -> bool:
        """Returns whether it is the user's: nobody is notified of it, and no failover restores it."""
        return self.kind is CheckpointKind.SAVEPOINT


class Checkpoints:
    """All checkpoints of a job and of those before it."""

    __slots__ = ("cut", "earlier", "known", "newest", "pending", "point", "restored", "saved")

    def __init__(self) -> None:
        self.known: dict[int, Checkpoint] = {}
        """Those of this job."""
        self.pending: dict[int, Checkpoint] = {}
        self.newest = self.point = self.restored = 0
        """The largest id; the one that a failover restores; the one with which the job began."""
        self.earlier = 0
        """The largest id when the last operation began."""
        self.saved: dict[int, Contents] = {}
        """What can be restored, also in a later job. Ids behind that of the restored checkpoint are given again."""

    def begin(self, cut: Contents) -> None:
        """Begins with a fresh job, restored from this checkpoint; number 0 is the beginning."""
        self.known, self.pending, self.cut = {}, {}, cut
        self.newest = self.earlier = self.point = self.restored = cut.checkpoint.checkpoint
        self.saved = {number: one for number, one in self.saved.items() if number <= self.restored}

    def before(self, number: int) -> int:
        """Returns the newest completed checkpoint before this one that is no savepoint, or that which was restored."""
        older = (one.number for one in self.known.values() if one.is_completed and not one.is_savepoint)
        return max((one for one in older if one < number), default=self.restored)

    def completed(self, since: int = 0) -> Checkpoint | None:
        """Returns the newest completed checkpoint of this job that is no savepoint, or one with so many behind it."""
        known = [one for one in self.known.values() if one.is_completed and not one.is_savepoint]
        return known[-1 - since] if len(known) > since else None

    def unread(self) -> list[int]:
        """Returns the completed checkpoints whose contents were not asked for."""
        return [one.number for one in self.known.values() if one.is_completed and one.contents is None]

    def contents(self, number: int) -> Contents | None:
        """Returns what a checkpoint holds from which tasks were restored; None: it was not read."""
        return self.saved.get(number) if number else self.cut
