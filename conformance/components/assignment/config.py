"""The jobs of scenarios, and the facts of a job that its edges imply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Meta, Struct

from conformance.ports import AssignmentConfig, Capability, Edge, EdgeKind, Vertex
from conformance.ports.key_groups import MOST

_TWO = (Vertex("source", 2, 128), Vertex("sink", 2, 128))
_KEYED = (Edge(0, 1, EdgeKind.HASH),)


class AssignmentScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """As in the configuration of the port. `parallelisms`: those with which a vertex may be restored.

    Raises: ValueError if an edge does not lead from a vertex to a later one, or a forward edge joins vertices of
    different parallelism, or a vertex has more subtasks than its maximum parallelism.
    """

    vertices: tuple[Vertex, ...] = _TWO
    edges: tuple[Edge, ...] = _KEYED
    output_on_downstream: bool = True
    parallelisms: tuple[Annotated[int, Meta(ge=1, le=MOST)], ...] = (1, 2, 3, 7)
    interleaving: Literal["whole"] = "whole"

    def __post_init__(self) -> None:
        for number, one in enumerate(self.vertices):
            if one.parallelism > one.max_parallelism:
                raise ValueError(
                    f"vertex {number} has {one.parallelism} subtasks: its max_parallelism must not be below that,"
                    f" found {one.max_parallelism}"
                )
        for number, edge in enumerate(self.edges):
            if not 0 <= edge.producer < edge.consumer < len(self.vertices):
                raise ValueError(
                    f"edge {number} must lead from a vertex to a later one, all of them below {len(self.vertices)};"
                    f" found {edge.producer} to {edge.consumer}"
                )
            both = self.vertices[edge.producer].parallelism, self.vertices[edge.consumer].parallelism
            if edge.kind is EdgeKind.FORWARD and both[0] != both[1]:
                raise ValueError(
                    f"edge {number} is a forward edge: its vertices must have the same parallelism,"
                    f" found {both[0]} and {both[1]}"
                )

    def needs(self) -> frozenset[Capability]:
        """Returns what an implementation must claim before a scenario can have this job."""
        found = {
            Capability.OUTPUT_RECOVERED_DOWNSTREAM
            if self.output_on_downstream
            else Capability.OUTPUT_RECOVERED_UPSTREAM
        }
        if any(edge.kind is EdgeKind.CUSTOM for edge in self.edges):
            found.add(Capability.RESCALES_FORCED_EDGES)
        return frozenset(found)

    def of_port(self) -> AssignmentConfig:
        """Returns the configuration of the port."""
        return AssignmentConfig(self.vertices, self.edges, self.output_on_downstream)


@dataclass(frozen=True, slots=True, order=True)
class Wire:
    """An edge with its place at both ends."""

    number: int
    producer: int
    partition: int
    consumer: int
    gate: int
    kind: EdgeKind

    @property
    def is_unsupported(self) -> bool:
        """Returns whether state of the edge cannot be rescaled."""
        return self.kind in (EdgeKind.BROADCAST, EdgeKind.FORWARD, EdgeKind.RESCALE)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """What the edges of a job imply, which no restore changes. There is one for each job, see `graph_of`."""

    names: tuple[str, ...]
    wires: tuple[Wire, ...]
    gates: tuple[tuple[int, ...], ...]
    """By vertex, the edges to its gates."""
    partitions: tuple[tuple[int, ...], ...]
    """By vertex, the edges from its partitions."""
    leaders: tuple[int, ...]
    """By vertex, the first of those with which it shares its parallelism, because forward edges join them."""
    can_be_chained: tuple[int, ...]
    """The edges that can be chained."""
    chainable: frozenset[int]
    """The vertices that can be chained to others."""


@lru_cache(maxsize=128)
def graph_of(vertices: tuple[Vertex, ...], edges: tuple[Edge, ...]) -> Graph:
    """Returns what the edges of a job imply."""
    gates: list[list[int]] = [[] for _ in vertices]
    partitions: list[list[int]] = [[] for _ in vertices]
    wires = []
    for number, edge in enumerate(edges):
        partition, gate = len(partitions[edge.producer]), len(gates[edge.consumer])
        wires.append(Wire(number, edge.producer, partition, edge.consumer, gate, edge.kind))
        partitions[edge.producer].append(number)
        gates[edge.consumer].append(number)
    alone = [
        wire
        for wire in wires
        if wire.kind is EdgeKind.FORWARD and len(gates[wire.consumer]) == len(partitions[wire.producer]) == 1
    ]
    return Graph(
        names=tuple([one.name for one in vertices]),
        wires=tuple(wires),
        gates=tuple(map(tuple, gates)),
        partitions=tuple(map(tuple, partitions)),
        leaders=_leaders(len(vertices), wires),
        can_be_chained=tuple([wire.number for wire in alone]),
        chainable=frozenset([vertex for wire in alone for vertex in (wire.producer, wire.consumer)]),
    )


def _leaders(count: int, wires: Sequence[Wire]) -> tuple[int, ...]:
    leaders = list(range(count))
    for wire in wires:
        if wire.kind is EdgeKind.FORWARD:
            first, other = sorted((leaders[wire.producer], leaders[wire.consumer]))
            leaders = [first if one == other else one for one in leaders]
    return tuple(leaders)
