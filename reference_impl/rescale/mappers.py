"""Mappers: from which old subtasks a new one recovers. Specification: assignment.md."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from conformance.ports import EdgeKind, ErrorKind, PortError
from conformance.ports.key_groups import MOST, owner

from .key_group_ranges import key_groups_of


class Mapper(Enum):
    """How the old subtasks of one end of an edge are shared out to the new ones (Flink: `SubtaskStateMapper`)."""

    ARBITRARY = "arbitrary"
    ROUND_ROBIN = "round robin"
    FIRST = "first"
    FULL = "full"
    RANGE = "range"
    UNSUPPORTED = "unsupported"

    def old_subtasks(self, subtask: int, old: int, new: int, max_parallelism: int) -> range:
        """A12. The old subtasks from which a new one recovers, of so many old ones and so many new ones.

        Flink: `getOldSubtasks`.
        """
        match self:
            case Mapper.ARBITRARY | Mapper.ROUND_ROBIN:
                return range(subtask, old, new)
            case Mapper.FIRST:
                return range(old) if subtask == 0 else range(0)
            case Mapper.FULL:
                return range(old)
            case Mapper.RANGE:
                return owners_before(subtask, old, new, max_parallelism)
            case Mapper.UNSUPPORTED:
                raise PortError(ErrorKind.STATE, "channel state of such an edge cannot be rescaled")

    def is_ambiguous(self) -> bool:
        """A14. Whether what several subtasks recover is filtered (Flink: `isAmbiguous`)."""
        return self in (Mapper.RANGE, Mapper.FULL)


def owners_before(subtask: int, old: int, new: int, max_parallelism: int) -> range:
    """A12. The old owners of the key groups that a new subtask owns.

    Flink asks for all key groups that a job can have at most, whatever the job has: its run may be longer. It is not
    enough if the maximum parallelism is no power of two and both parallelisms are large, so both runs are joined.
    """
    most, own = key_groups_of(subtask, new, MOST), key_groups_of(subtask, new, max_parallelism)
    first = min(owner(most[0], MOST, old), owner(own[0], max_parallelism, old))
    last = max(owner(most[-1], MOST, old), owner(own[-1], max_parallelism, old))
    return range(first, last + 1)


UPSTREAM = {
    EdgeKind.HASH: Mapper.ARBITRARY,
    EdgeKind.REBALANCE: Mapper.ARBITRARY,
    EdgeKind.SHUFFLE: Mapper.ARBITRARY,
    EdgeKind.GLOBAL: Mapper.ARBITRARY,
    EdgeKind.CUSTOM: Mapper.ARBITRARY,
    EdgeKind.BROADCAST: Mapper.UNSUPPORTED,
    EdgeKind.FORWARD: Mapper.UNSUPPORTED,
    EdgeKind.RESCALE: Mapper.UNSUPPORTED,
}
"""A13. The mapper of the producers of an edge (Flink: `StreamPartitioner.getUpstreamSubtaskStateMapper`)."""
DOWNSTREAM = {
    EdgeKind.HASH: Mapper.RANGE,
    EdgeKind.REBALANCE: Mapper.ROUND_ROBIN,
    EdgeKind.SHUFFLE: Mapper.ROUND_ROBIN,
    EdgeKind.GLOBAL: Mapper.FIRST,
    EdgeKind.CUSTOM: Mapper.FULL,
    EdgeKind.BROADCAST: Mapper.UNSUPPORTED,
    EdgeKind.FORWARD: Mapper.UNSUPPORTED,
    EdgeKind.RESCALE: Mapper.UNSUPPORTED,
}
"""A13. The mapper of the consumers (Flink: `StreamPartitioner.getDownstreamSubtaskStateMapper`)."""


class SubtaskMapping:
    """What one end of an edge recovers, by subtask (Flink: `RescaleMappings` with its ambiguous subtasks)."""

    __slots__ = ("ambiguous", "moves", "old_by_new", "old_parallelism")

    def __init__(self, old_by_new: Sequence[range], old_parallelism: int, ambiguous: bool, moves: bool) -> None:
        self.old_by_new = tuple([tuple(olds) for olds in old_by_new])
        """For each new subtask, the old ones from which it recovers."""
        self.old_parallelism = old_parallelism
        self.ambiguous = self.shared() if ambiguous else frozenset()
        """Those old subtasks from which several recover, if what they recover is filtered."""
        self.moves = moves
        """Whether the subtasks are mapped at all."""

    def shared(self) -> frozenset[int]:
        """A14. The old subtasks from which at least two new ones recover (Flink: `getAmbiguousTargets`)."""
        recovered = [0] * self.old_parallelism
        for olds in self.old_by_new:
            for old in olds:
                recovered[old] += 1
        return frozenset([old for old, times in enumerate(recovered) if times > 1])


@lru_cache(maxsize=128)
def mapped(mapper: Mapper, old: int, new: int, max_parallelism: int) -> SubtaskMapping:
    """A12, A14. Map one end of an edge (Flink: `SubtaskStateMapper.getNewToOldSubtasksMapping`)."""
    olds = [mapper.old_subtasks(subtask, old, new, max_parallelism) for subtask in range(new)]
    return SubtaskMapping(olds, old, mapper.is_ambiguous(), moves=True)


@lru_cache(maxsize=256)
def unmapped(parallelism: int) -> SubtaskMapping:
    """A4, A5. Each subtask recovers what the subtask with its number had (Flink: `RescaleMappings.identity`)."""
    return SubtaskMapping([range(at, at + 1) for at in range(parallelism)], parallelism, ambiguous=False, moves=False)
