"""Jobs of an engine that keeps its checkpoints itself, as released Flink does: what it shows of one is where it is, or
where its splits are, too. What is outside the job outlives it: what was supplied, and what sinks have committed.

Each `bug` makes it wrong in one way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from conformance.bridges.jsonl.unstepped import Unstepped, UnsteppedJob
from conformance.ports import (
    Capability,
    Committed,
    JobCheckpoint,
    JobConfig,
    OperatorState,
    PipelinePort,
    Runs,
    Transaction,
    find_implementation,
    records_of,
    runs_of,
)
from conformance.ports.implementation import Factory

BUGS: Mapping[str, str] = {
    "loses what was supplied before": "a-job-finishes-when-all-is-committed",
    "restores the newest": "only-a-completed-checkpoint-is-committed",
    "commits again what is restored": "nothing-is-committed-twice-or-made-up",
    "forgets nothing that is newer": "each-record-is-committed-once",
}
"""By bug, a property that notices it."""


def splits_only(whole: JobCheckpoint) -> JobCheckpoint:
    """Returns a checkpoint without all that is not about splits."""
    states = tuple(
        tuple(OperatorState(one.splits) for one in some) if any(one.splits for one in some) else ()
        for some in whole.states
    )
    return replace(nothing_but_where(whole), unassigned=whole.unassigned, states=states)


def nothing_but_where(whole: JobCheckpoint) -> JobCheckpoint:
    """Returns a checkpoint of which nothing is shown but where the engine keeps it."""
    return JobCheckpoint(whole.checkpoint, whole.kind, whole.parallelism, location="kept by the engine")


@dataclass
class Outside:
    """What outlives the jobs that continue each other."""

    supplied: Counter[int] = field(default_factory=Counter)
    """By split, how many records there are."""
    committed: dict[tuple[int, Transaction], Runs] = field(default_factory=dict)
    kept: dict[int, JobCheckpoint] = field(default_factory=dict)
    """The completed checkpoints that were asked for. Ids behind that of a restored one are given again."""

    def go_back_to(self, checkpoint: int) -> None:
        """Forgets what is newer."""
        self.committed = {one: runs for one, runs in self.committed.items() if one[1].checkpoint <= checkpoint}
        self.kept = {number: one for number, one in self.kept.items() if number <= checkpoint}


class KeepingJob(UnsteppedJob):
    """A job of such an engine, which shows where splits are."""

    def __init__(self, inner: PipelinePort, config: JobConfig, outside: Outside, bug: str) -> None:
        super().__init__(inner, config)
        self._outside, self._bug = outside, bug
        self._committed: dict[int, list[Runs]] = {}
        """By sink, what was committed in this job."""
        for split, count in outside.supplied.items() if bug != "loses what was supplied before" else ():
            inner.supply(split, count - _offset(config.restored, split))

    def _hear(self) -> None:
        """What was committed already under its name has no second effect."""
        signals, known = self._inner.signals, self._outside.committed
        for one in [*signals]:
            if type(one) is not Committed:
                continue
            if (one.sink, one.transaction) in known and self._bug != "commits again what is restored":
                signals.remove(one)
                continue
            known[one.sink, one.transaction] = one.records
            self._committed.setdefault(one.sink, []).append(one.records)
        super()._hear()

    async def supply(self, split: int, count: int) -> None:
        self._outside.supplied[split] += count
        await super().supply(split, count)

    async def snapshot(self, checkpoint: int) -> JobCheckpoint | None:
        whole = await super().snapshot(checkpoint)
        if whole is None:
            return None
        self._outside.kept[checkpoint] = whole
        return self.shown(whole)

    def shown(self, whole: JobCheckpoint) -> JobCheckpoint:
        """Returns what it shows of a checkpoint."""
        return splits_only(whole)

    async def output(self, sink: int) -> Runs:
        return runs_of(sorted(one for runs in self._committed.get(sink, ()) for one in records_of(runs)))


class ShowsNothing(KeepingJob):
    """A job that shows of a checkpoint only where it is kept."""

    def shown(self, whole: JobCheckpoint) -> JobCheckpoint:
        return nothing_but_where(whole)


def _offset(restored: JobCheckpoint | None, split: int) -> int:
    """Returns how many records of a split are in front of the cut."""
    states = () if restored is None else restored.states
    return max(
        (one.offset for some in states for state in some for one in state.splits if one.split == split), default=0
    )


class Keeping(Unstepped):
    """The jobs of an implementation as those of such an engine."""

    def __init__(self, name: str = "reference", kind: type[KeepingJob] = KeepingJob, bug: str = "") -> None:
        super().__init__(find_implementation(name))
        self._kind, self._bug = kind, bug
        self._outside = Outside()
        self.restored: Counter[str] = Counter()
        """How many jobs began: anew, with the checkpoint that was completed last, with an older one."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Those of the implementation, but the one to read checkpoints."""
        return super().capabilities - {Capability.CHECKPOINT_READBACK}

    def _job(self, make: Factory, config: JobConfig) -> KeepingJob:
        shown = config.restored
        if shown is None:
            self.restored["anew"] += 1
            self._outside = Outside()
        else:
            kept = self._outside.kept
            self.restored["newest" if shown.checkpoint == max(kept) else "older"] += 1
            config = replace(
                config, restored=kept[max(kept) if self._bug == "restores the newest" else shown.checkpoint]
            )
            if self._bug != "forgets nothing that is newer":
                self._outside.go_back_to(shown.checkpoint)
        inner = make(config)
        assert isinstance(inner, PipelinePort)
        return self._kind(inner, config, self._outside, self._bug)
