"""What the subtasks of a job compute. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from conformance.ports import (
    KEYS,
    Buffer,
    Element,
    Event,
    JobSettings,
    JobVertex,
    OperatorState,
    Prepared,
    Run,
    Runs,
    SplitState,
    Transaction,
    VertexKind,
    key_of,
    record,
    runs_of,
    split_of,
)

from ..network.channel_info import ChannelInfo
from ..task.operators import Operators

NOTHING = OperatorState()


class JobOperator(Operators):
    """Passes records on. What it emits waits in `emitted` until the task has sent it."""

    channels = 0
    """How many channels the task has."""

    def __init__(self, prefers_first: bool = False) -> None:
        """J3. `prefers_first`: it reads other inputs only while the first has nothing (Flink: `InputSelectable`)."""
        self.prefers_first = prefers_first
        self.emitted: list[tuple[int, ...] | Event] = []
        """Emitted: records that are to be sent, by buffer, and watermarks."""
        self.watermark = 0
        self.watermarks: dict[ChannelInfo, int] = {}
        """Watermarks: by channel, the last one."""
        self.snapshots: dict[int, OperatorState] = {}
        """Snapshots: by checkpoint in which the task takes part, the state."""

    def process(self, info: ChannelInfo, element: Element) -> None:
        """J3. The task has taken an element (Flink: `processElement`)."""
        if type(element) is Buffer:
            self.take(info, element.ids)
        elif type(element) is Event:
            self.watermarks[info] = element.label
            if len(self.watermarks) == self.channels:
                self.advance(min(self.watermarks.values()))

    def advance(self, watermark: int) -> None:
        """J18. The watermark grows, and is passed on (Flink: `StatusWatermarkValve`)."""
        if watermark > self.watermark:
            self.watermark = watermark
            self.emitted.append(Event(watermark))

    def take(self, info: ChannelInfo, records: tuple[int, ...]) -> None:
        """J3. Records of a buffer."""
        self.emitted.append(records)

    def open(self) -> None:
        """J14. The operator is opened, with what it was restored with (Flink: `StreamOperator.open`)."""

    def state(self) -> OperatorState:
        """J6. A copy of the state (Flink: `snapshotState`)."""
        return NOTHING

    def state_now(self) -> OperatorState:
        """J6. A copy of the state, with the watermark if there is one."""
        return replace(self.state(), watermark=self.watermark) if self.watermarks else self.state()

    def snapshot(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T8. Of this checkpoint is the state now."""
        self.snapshots[checkpoint] = self.state_now()


class RecordSets:
    """Records that were taken: by key and split, or by split, in the order of their coming."""

    def __init__(self, step: int, restored: Iterable[Run]) -> None:
        """J3. `step`: between two records that follow each other."""
        self.step = step
        self.runs: dict[tuple[int, int], list[list[int]]] = {}
        """By key (0 if the step is 1) and split, the first and last record of each run."""
        for run in restored:
            for one in run:
                self.add(one)

    def add(self, one: int) -> None:
        """J3. A record comes."""
        runs = self.runs.setdefault((key_of(one) if self.step == KEYS else 0, split_of(one)), [])
        if runs and runs[-1][1] + self.step == one:
            runs[-1][1] = one
        else:
            runs.append([one, one])

    def taken(self) -> Runs:
        """J3. A copy."""
        step = self.step
        return tuple(
            Run(first, last, step if last > first else 1)
            for _, runs in sorted(self.runs.items())
            for first, last in runs
        )


class Count(JobOperator):
    """Counts records by key (Flink: keyed state)."""

    def __init__(self, restored: Sequence[OperatorState]) -> None:
        super().__init__()
        self.counted = RecordSets(KEYS, (run for one in restored for run in one.records))

    def take(self, info: ChannelInfo, records: tuple[int, ...]) -> None:
        """J3. They are counted, and passed on."""
        for one in records:
            self.counted.add(one)
        self.emitted.append(records)

    def state(self) -> OperatorState:
        """J3. What was counted."""
        return OperatorState(records=self.counted.taken())


class BroadcastJoin(JobOperator):
    """Keeps the records of its second input (Flink: `BroadcastProcessFunction`, broadcast state)."""

    def __init__(self, restored: Sequence[OperatorState]) -> None:
        super().__init__()
        self.kept = RecordSets(1, (run for one in restored for run in one.records))

    def take(self, info: ChannelInfo, records: tuple[int, ...]) -> None:
        """J3. Those of the second input are kept, the others passed on."""
        if info.gate == 0:
            self.emitted.append(records)
        else:
            for one in records:
                self.kept.add(one)

    def state(self) -> OperatorState:
        """J3. What was kept."""
        return OperatorState(records=self.kept.taken())


class Sink(JobOperator):
    """Commits in two phases (Flink: `CommitterOperator`)."""

    def __init__(
        self, subtask: int, restored: Sequence[OperatorState], commit: Callable[[Transaction, Runs], None]
    ) -> None:
        """J4. `commit`: gives a transaction its effect. Raises: PortError IO."""
        super().__init__()
        self.subtask = subtask
        self.commit = commit
        self.written: list[int] = []
        """Written: the records since the last snapshot."""
        self.prepared = {one.transaction: one.records for state in restored for one in state.prepared}
        """Prepared: by transaction that is not committed, its records."""

    def take(self, info: ChannelInfo, records: tuple[int, ...]) -> None:
        """J4. They are written."""
        self.written.extend(records)

    def open(self) -> None:
        """J14. All that the restored checkpoint had prepared is committed. Raises: PortError IO."""
        self.commit_all(tuple(self.prepared))

    def snapshot(self, checkpoint: int) -> None:
        """J4. What was written since the last snapshot is prepared (Flink: `prepareCommit`)."""
        if self.written:
            self.prepared[Transaction(self.subtask, checkpoint)] = runs_of(self.written)
            self.written = []
        super().snapshot(checkpoint)

    def state(self) -> OperatorState:
        """J4. What is prepared."""
        by_checkpoint = sorted(self.prepared.items(), key=lambda one: (one[0].checkpoint, one[0].subtask))
        return OperatorState(prepared=tuple(Prepared(name, records) for name, records in by_checkpoint))

    def complete(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T11. Everything that was prepared up to this checkpoint is committed. What was
        prepared for one that was aborted is committed with the next. Raises: PortError IO."""
        self.commit_all([one for one in self.prepared if one.checkpoint <= checkpoint])

    def commit_all(self, transactions: Iterable[Transaction]) -> None:
        """J9. In the order of the checkpoints. Raises: PortError IO."""
        for one in sorted(transactions, key=lambda one: (one.checkpoint, one.subtask)):
            self.commit(one, self.prepared[one])
            del self.prepared[one]


class Source(JobOperator):
    """The reader of a source (Flink: `SourceReader`)."""

    def __init__(
        self, restored: Sequence[OperatorState], supplied: Sequence[int], settings: JobSettings, awaited: Iterable[int]
    ) -> None:
        """J1. `supplied`: by split, how many records exist outside the job. `awaited`: the splits that it will be
        assigned."""
        super().__init__()
        self.every = settings.watermarks
        self.awaited = set(awaited)
        self.since = 0
        """Since: how many records were emitted behind the last watermark."""
        self.supplied = supplied
        self.most = settings.records_in_buffer
        self.splits = [[one.split, one.offset] for state in restored for one in state.splits]
        """Splits: each with how many of its records were emitted."""
        self.no_more = False
        """No more: whether no further split will be assigned, and none gets further records."""

    def add(self, split: int) -> None:
        """J1. A split is assigned (Flink: `SourceReader.addSplits`)."""
        self.splits.append([split, 0])
        self.awaited.discard(split)

    def emit_next(self) -> bool:
        """J1. Emit the next records of a split; the splits have their turns (Flink: `SourceReader.pollNext`)."""
        for number, (split, offset) in enumerate(self.splits):
            end = min(self.supplied[split], offset + self.most)
            if end > offset:
                self.emitted.append(tuple(record(split, position) for position in range(offset, end)))
                self.splits.append([split, end])
                del self.splits[number]
                self.since += end - offset
                if self.every and self.since >= self.every and not self.awaited:
                    self.since = 0
                    self.advance(min(position for _, position in self.splits))
                return True
        return False

    def has_next(self) -> bool:
        """J1. Whether there are records that were not emitted (Flink: `SourceReader.isAvailable`)."""
        return any(offset < self.supplied[split] for split, offset in self.splits)

    def has_ended(self) -> bool:
        """J16. Whether nothing can follow (Flink: `InputStatus.END_OF_INPUT`)."""
        return self.no_more and all(offset == self.supplied[split] for split, offset in self.splits)

    def state(self) -> OperatorState:
        """J1. The splits and their offsets."""
        return OperatorState(splits=tuple(SplitState(split, offset) for split, offset in sorted(self.splits)))


def operator(
    vertex: JobVertex,
    subtask: int,
    restored: Sequence[OperatorState],
    supplied: Sequence[int],
    settings: JobSettings,
    awaited: Iterable[int],
    commit: Callable[[Transaction, Runs], None],
) -> JobOperator:
    """J3. Returns the operator of a subtask, with what it was restored with."""
    if vertex.kind is VertexKind.SOURCE:
        return Source(restored, supplied, settings, awaited)
    if vertex.kind is VertexKind.COUNT:
        return Count(restored)
    if vertex.kind is VertexKind.BROADCAST_JOIN:
        return BroadcastJoin(restored)
    if vertex.kind is VertexKind.SINK:
        return Sink(subtask, restored, commit)
    return JobOperator(prefers_first=vertex.kind is VertexKind.SELECTIVE)
