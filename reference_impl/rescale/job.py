"""A job that is restored, and what its checkpoint holds. Specification: assignment.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.ports import AssignmentConfig, EdgeKind


@dataclass(frozen=True, slots=True, order=True)
class Connection:
    """An edge of the job, by its data set, with its place at both ends (Flink: `JobEdge`, `IntermediateDataSet`)."""

    number: int
    producer: int
    partition: int
    consumer: int
    gate: int
    kind: EdgeKind


class Job:
    """The vertices and edges of a job, which stay, and what a restore may change (Flink: `ExecutionJobVertex`)."""

    def __init__(self, config: AssignmentConfig) -> None:
        gates: list[list[Connection]] = [[] for _ in config.vertices]
        partitions: list[list[Connection]] = [[] for _ in config.vertices]
        for number, edge in enumerate(config.edges):
            at = len(partitions[edge.producer]), len(gates[edge.consumer])
            one = Connection(number, edge.producer, at[0], edge.consumer, at[1], edge.kind)
            partitions[edge.producer].append(one)
            gates[edge.consumer].append(one)
        self.gates = gates
        """By vertex, its gates, each as the edge that it belongs to."""
        self.partitions = partitions
        self.edges: Sequence[Connection] = sorted([one for found in gates for one in found])
        self.max_parallelism = [one.max_parallelism for one in config.vertices]
        """By vertex, that of its state: no restore changes it."""
        self.parallelism = [one.parallelism for one in config.vertices]
        self.chained: frozenset[int] = frozenset()
        """The edges whose consumer is chained to its producer."""

    def restored(self, restore: Restore) -> None:
        """A15. The job is as it was restored."""
        self.parallelism = restore.parallelism
        self.chained = self.chained | restore.chained


@dataclass(slots=True)
class Restore:
    """What a checkpoint holds, and how the job is changed that is restored from it."""

    parallelism: list[int]
    """By vertex, that with which it is restored."""
    limits: dict[int, int] = field(default_factory=dict)
    """By vertex, the maximum parallelism that is configured."""
    chained: frozenset[int] = frozenset()
    """The edges that are chained from now on."""
    inputs: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    """By edge and old subtask of its consumer: the old channels of which there is state."""
    outputs: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    """By edge and old subtask of its producer: the old subpartitions of which there is state."""

    def has_state(self, edge: Connection) -> bool:
        """A2. Whether state of an edge is in flight: in its gate or in its partition (Flink:
        `TaskStateAssignment.hasInFlightDataForInputGate`, `hasInFlightDataForResultPartition`)."""
        return edge.number in self.inputs or edge.number in self.outputs
