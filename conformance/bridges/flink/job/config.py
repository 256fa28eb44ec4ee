"""What a job does, as data."""

from __future__ import annotations

import random
from enum import Enum

import msgspec


class Where(Enum):
    """Where a planned failure happens."""

    READER = "reader"
    """A reader throws between two records."""
    ENUMERATOR = "enumerator"
    """The enumerator throws while it sends: the whole job restarts, the enumerator too."""
    BETWEEN_CUTS = "between-cuts"
    """A reader throws during a checkpoint that the enumerator has taken part in and the reader has not yet."""
    SNAPSHOT = "snapshot"
    """A reader throws as it takes its snapshot."""


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One planned failure."""

    where: Where
    subtask: int = 0
    """Of the reader. Failures of the enumerator have none."""
    after: int = 10
    """So many checkpoints complete between the failure before this one, or the start, and this one."""


class JobConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of the job. Times are in milliseconds. The seed decides to whom bursts go; timing stays the machine's.

    Raises: ValueError if the values do not fit together.
    """

    parallelism: int = 2
    unaligned: bool = False
    unaligned_after_ms: int = 0
    """Unaligned checkpoints begin aligned, and become unaligned after this time. 0: they are unaligned at once."""
    interval_ms: int = 10
    """Between the starts of two checkpoints. Flink takes nothing shorter than 10."""
    timeout_ms: int = 3000
    """Of a checkpoint. Also: nothing may stand still for longer."""
    tolerable: int = 1_000_000
    """So many checkpoints may fail in a row before Flink restarts the job. Flink's default is 0."""
    concurrent: int = 1
    """So many checkpoints at once."""
    savepoint_ms: int = 0
    """Between the end of a savepoint and the trigger of the next, whatever checkpoints are under way. 0: none."""
    on_request: bool = False
    """Readers request each split. Otherwise, the enumerator sends splits in bursts of its own."""
    burst: int = 4
    """So many splits for each reader that a burst goes to."""
    period_ms: int = 5
    """Between two bursts."""
    in_snapshot: int = 0
    """So many splits to each reader in the snapshot method of the enumerator, before its state is copied."""
    after_snapshot: int = 0
    """So many splits to each reader as the first action of the enumerator after its snapshot."""
    busy_ms: int = 0
    """The mailbox of a reader is busy for so long with each split."""
    notice_ms: int = 0
    """Between two events that the enumerator sends to each registered reader. 0: none."""
    alignment_ms: int = 0
    """Between two messages of Flink's watermark alignment, which it sends to readers on its own. 0: none."""
    shuffled: bool = True
    """All tasks are one region and restart together. Otherwise, each reader and what follows it restart alone."""
    finish_early: tuple[int, ...] = ()
    """The subtasks whose readers get no more splits at some time, while others go on."""
    finish_after: int = 0
    """So many checkpoints complete before."""
    faults: tuple[Fault, ...] = ()
    seed: int = 0
    checkpoints: int = 500
    """The run draws to its end after so many completed checkpoints and savepoints,"""
    seconds: int = 30
    """or after so many seconds."""

    def __post_init__(self) -> None:
        for wrong, told in (
            (self.interval_ms < 10, "Flink takes no checkpoint interval below 10 ms"),
            (self.on_request and self.busy_ms == 0, "readers that request each split must be busy for a while"),
            (len(set(self.finish_early)) >= self.parallelism, "one reader at least must go on"),
            (
                bool(self.finish_early and self.faults) and not self.shuffled,
                "a region that has finished is not restored, so its results would be missing: shuffle them",
            ),
            (
                any(fault.subtask in self.finish_early for fault in self.faults if fault.where is not Where.ENUMERATOR),
                "a reader that finishes early cannot be the one that fails",
            ),
        ):
            if wrong:
                raise ValueError(f"{told}: {self}")

    def to_json(self) -> str:
        """What the program takes as its argument."""
        return msgspec.json.encode(self).decode()


def planned(
    seed: int, wheres: tuple[Where, ...], readers: tuple[int, ...], count: int = 8, apart: tuple[int, int] = (5, 40)
) -> tuple[Fault, ...]:
    """So many failures of these kinds, in turn, at times and readers that follow from the seed.

    Args:
        apart: so many checkpoints at least and at most complete between two of them.
    """
    draw = random.Random(f"faults {seed}")
    return tuple(
        Fault(wheres[number % len(wheres)], draw.choice(readers), draw.randint(*apart)) for number in range(count)
    )
