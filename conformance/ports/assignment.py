"""State assignment: which new subtask gets which channel state, after a change of parallelism."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

from msgspec import Meta, Struct

from conformance.ports.key_groups import MOST
from conformance.ports.port import Answer, Port
from conformance.ports.rescale import EdgeKind, InputHandle, OutputHandle, RescaleMapping


class Vertex(Struct, frozen=True, forbid_unknown_fields=True):
    """A vertex of the job as it was when its state was stored."""

    name: str
    """Names mean nothing: they say in a report which vertex is meant."""
    parallelism: Annotated[int, Meta(ge=1, le=MOST)]
    max_parallelism: Annotated[int, Meta(ge=1, le=MOST)]

    def __str__(self) -> str:
        return f"{self.name}({self.parallelism})"


class Edge(Struct, frozen=True, forbid_unknown_fields=True):
    """An edge of the job. Two edges may join the same vertices."""

    producer: int
    """The number of a vertex."""
    consumer: int
    """The number of a vertex that comes later."""
    kind: EdgeKind


class AssignmentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A job, and how it recovers the channel state of its outputs."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    output_on_downstream: bool = True
    """Whether the consumers recover it (Flink:
    `execution.checkpointing.unaligned.recover-output-on-downstream.enabled`)."""

    def __str__(self) -> str:
        ends = self.vertices
        return ", ".join(f"{one.kind} {ends[one.producer]} → {ends[one.consumer]}" for one in self.edges)


class Assigned(Struct, frozen=True):
    """What one new subtask is deployed with."""

    vertex: int
    subtask: int
    inputs: tuple[InputHandle, ...] = ()
    """The state of input channels that it recovers."""
    from_upstream: tuple[InputHandle, ...] = ()
    """The state of subpartitions of its producers that it recovers: each named as if it were of the channel into which
    that subpartition led."""
    outputs: tuple[OutputHandle, ...] = ()
    """The state of its own subpartitions that it recovers."""
    gates: tuple[RescaleMapping | None, ...] = ()
    """By gate, what is mapped. None: nothing is recovered through this gate. Empty: no gate is mapped, so that the
    subtask recovers what the old subtask with its number had, in the same channels."""
    partitions: tuple[RescaleMapping | None, ...] = ()
    """By partition, likewise."""


class AssignmentPort(Port):
    """State assignment on the job master (Flink: `StateAssignmentOperation`). Specification: assignment.md.

    A restore is a list of calls: what a checkpoint of the job holds and how the job is changed, in any order, then
    `assign`, which returns who gets what. Then the job is as it was restored; after an error, as it was before. The
    next call that is not `assign` begins the next restore, of a checkpoint that holds nothing yet. There is one thread.
    """

    @abstractmethod
    def hold_input(self, vertex: int, subtask: int, gate: int, channel: int) -> Answer[None]:
        """The checkpoint has state of this input channel. Called once for a channel, and only if the job has it: on a
        pointwise edge for channel 0, of a global edge for subtask 0."""

    @abstractmethod
    def hold_output(self, vertex: int, subtask: int, partition: int, subpartition: int) -> Answer[None]:
        """The checkpoint has state of this subpartition. Called as `hold_input`."""

    @abstractmethod
    def rescale(self, vertex: int, parallelism: int) -> Answer[None]:
        """The vertex is restored with this parallelism. The last call counts; a vertex that is not rescaled keeps its
        parallelism. When `assign` is called, vertices that a forward edge joins have the same."""

    @abstractmethod
    def limit(self, vertex: int, max_parallelism: int) -> Answer[None]:
        """The job that is restored is configured with this maximum parallelism for the vertex, not below the
        parallelism with which it is restored. The last call counts. If this is not called, nothing is configured, and
        it is taken from the state. Not called for a vertex that can be chained."""

    @abstractmethod
    def chain(self, edge: int) -> Answer[None]:
        """In the job that is restored, the consumer of this edge is chained to its producer: there is no channel any
        more. Called for a forward edge that is the only partition of its producer and the only gate of its consumer, so
        that no other gate or partition gets another number. An edge that is chained stays so, and nothing is held of it
        later."""

    @abstractmethod
    def assign(self) -> Answer[tuple[Assigned, ...]]:
        """Return what the new subtasks get: all subtasks of the vertices that take part, that is, of those that have
        state in channels of theirs, or whose producers or consumers have. Other subtasks may be there, with nothing.

        Called again at once, it is the same question.

        Raises: PortError STATE if an edge with state cannot be rescaled, or is chained now; CONFIG if a vertex has more
        subtasks than the maximum parallelism of its state, or is configured with another one.
        """
