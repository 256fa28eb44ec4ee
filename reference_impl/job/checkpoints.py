"""The checkpoint coordinator of a job. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from conformance.ports import (
    Alignment,
    CheckpointKind,
    CheckpointReason,
    InFlight,
    JobCheckpoint,
    OperatorState,
    PartTaken,
    Side,
    runs_of,
)

from .graph import Graph
from .states import Stored

ALIGNMENTS = {
    CheckpointKind.ALIGNED: Alignment.ALIGNED,
    CheckpointKind.TIMEOUTABLE: Alignment.TIMEOUTABLE,
    CheckpointKind.UNALIGNED: Alignment.UNALIGNED,
    CheckpointKind.SAVEPOINT: Alignment.ALIGNED,
}


class Part(NamedTuple):
    """What a task has stored for a checkpoint."""

    state: OperatorState
    inputs: Stored
    outputs: Stored
    taken: PartTaken


class Pending:
    """A checkpoint that was triggered and is not over."""

    def __init__(self, number: int, kind: CheckpointKind, timestamp: int, stops: bool, sources: Iterable[int]) -> None:
        self.number = number
        self.kind = kind
        self.timestamp = timestamp
        self.stops = stops
        """Whether the job stops with it."""
        self.coordinators = set(sources)
        """Coordinators: the sources whose operator coordinators have not taken their parts."""
        self.awaited: set[int] | None = None
        """Awaited: the tasks that have not acknowledged it; None: its barriers have not left."""
        self.parts: dict[int, Part] = {}
        """Parts: by task, what it has stored."""
        self.unassigned: dict[int, tuple[int, ...]] = {}
        """Unassigned: by source, the splits that no reader has."""

    @property
    def is_savepoint(self) -> bool:
        """J7. Whether it is the user's."""
        return self.kind is CheckpointKind.SAVEPOINT

    def contents(self, graph: Graph, finished: dict[int, OperatorState]) -> JobCheckpoint:
        """J7. Returns what is stored. `finished`: by task that has finished, its last state."""
        states = iter(
            self.parts[task].state if task in self.parts else finished[task] for task in range(len(graph.tasks))
        )
        by_vertex = tuple(tuple(next(states) for _ in range(one.parallelism)) for one in graph.vertices)
        taken = iter(self.parts[task].taken if task in self.parts else PartTaken() for task in range(len(graph.tasks)))
        said = tuple(tuple(next(taken) for _ in range(one.parallelism)) for one in graph.vertices)
        flying: list[InFlight] = []
        for task, part in self.parts.items():
            vertex, subtask = graph.tasks[task]
            for info, records in part.inputs.items():
                edge = graph.into[vertex][info.gate]
                producer = graph.producers[edge, subtask][info.channel]
                flying.append(InFlight(edge, producer, subtask, Side.INPUT, runs_of(records)))
            for info, records in part.outputs.items():
                edge = graph.out_of[vertex][info.gate]
                consumer = graph.consumers[edge, subtask][info.channel]
                flying.append(InFlight(edge, subtask, consumer, Side.OUTPUT, runs_of(records)))
        flying.sort(key=lambda one: (one.edge, one.producer, one.consumer, one.side is Side.OUTPUT))
        return JobCheckpoint(
            checkpoint=self.number,
            kind=self.kind,
            parallelism=tuple(one.parallelism for one in graph.vertices),
            unassigned=tuple(split for source in sorted(self.unassigned) for split in self.unassigned[source]),
            states=by_vertex,
            in_flight=tuple(one for one in flying if one.records),
            taken=said,
        )


class Failures:
    """Counts checkpoints that have failed in a row (Flink: `CheckpointFailureManager`)."""

    def __init__(self, tolerable: int) -> None:
        self.tolerable = tolerable
        self.count = 0

    def add(self, reason: CheckpointReason) -> bool:
        """J8. A checkpoint has failed. Returns whether these are too many; then counting begins anew."""
        if not reason.counts:
            return False
        self.count += 1
        if self.count <= self.tolerable:
            return False
        self.count = 0
        return True

    def completed(self) -> None:
        """J7. A checkpoint is complete."""
        self.count = 0
