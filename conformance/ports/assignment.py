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
    """By gate, what is mapped; empty if nothing is. None: nothing is to be recovered through this gate."""
    partitions: tuple[RescaleMapping | None, ...] = ()
    """By partition, likewise."""


class AssignmentPort(Port):
    """State assignment on the job master (Flink: `StateAssignmentOperation`). Specification: assignment.md.

    A restore is a list of steps: the handles of a checkpoint are held, vertices are rescaled, then `assign` returns who
    gets what. After that the next checkpoint of the job is collected; after an error, of the job as it was before.
    There is one thread.
    """

    @abstractmethod
    def hold_input(self, vertex: int, subtask: int, gate: int, channel: int) -> Answer[None]:
        """The checkpoint has state of this input channel.

        Raises: PortError ARGUMENT if the job as it was has no such channel; STATE if the handle is held already.
        """

    @abstractmethod
    def hold_output(self, vertex: int, subtask: int, partition: int, subpartition: int) -> Answer[None]:
        """The checkpoint has state of this subpartition. Raises: PortError as `hold_input`."""

    @abstractmethod
    def rescale(self, vertex: int, parallelism: int, max_parallelism: int | None = None) -> Answer[None]:
        """The vertex is restored with this parallelism. The last call before `assign` counts; a vertex that is not
        rescaled keeps its parallelism.

        `max_parallelism`: what the job that is restored is configured with; None: nothing, so that it is taken from
        the state. Raises: PortError ARGUMENT if a parallelism is no number of subtasks.
        """

    @abstractmethod
    def chain(self, edge: int) -> Answer[None]:
        """In the job that is restored, the consumer of this edge is chained to its producer: there is no channel any
        more. Asked for a forward edge only. An edge that is chained stays so."""

    @abstractmethod
    def assign(self) -> Answer[tuple[Assigned, ...]]:
        """Return what the new subtasks get, by vertex and subtask: at least those of all vertices that are assigned
        something. Other subtasks may be there, with nothing.

        Raises: PortError STATE if an edge with state cannot be rescaled, or is chained now; CONFIG if a vertex has more
        subtasks than its state allows, or another maximum parallelism than its state was stored with.
        """
