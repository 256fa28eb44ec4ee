"""The jobs of scenarios, and the facts of a job that its edges imply."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

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


class Wire(NamedTuple):
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


class Graph:
    """What the edges of a job imply, which no restore changes."""

    __slots__ = ("can_be_chained", "chainable", "gates", "leaders", "names", "partitions", "wires")

    def __init__(self, vertices: Sequence[Vertex], edges: Sequence[Edge]) -> None:
        self.names = tuple([one.name for one in vertices])
        gates: list[list[int]] = [[] for _ in vertices]
        partitions: list[list[int]] = [[] for _ in vertices]
        wires = []
        for number, edge in enumerate(edges):
            wires.append(
                Wire(
                    number, edge.producer, len(partitions[edge.producer]), edge.consumer, len(gates[edge.consumer]),
                    edge.kind,
                )
            )  # fmt: skip
            partitions[edge.producer].append(number)
            gates[edge.consumer].append(number)
        self.wires = tuple(wires)
        self.gates = tuple(map(tuple, gates))
        """By vertex, the edges to its gates."""
        self.partitions = tuple(map(tuple, partitions))
        """By vertex, the edges from its partitions."""
        self.leaders = _leaders(len(vertices), wires)
        """By vertex, the first of those with which it shares its parallelism, because forward edges join them."""
        self.can_be_chained = tuple(
            [
                wire.number
                for wire in wires
                if wire.kind is EdgeKind.FORWARD and len(gates[wire.consumer]) == len(partitions[wire.producer]) == 1
            ]
        )
        ends = [(wires[edge].producer, wires[edge].consumer) for edge in self.can_be_chained]
        self.chainable = frozenset([vertex for both in ends for vertex in both])
        """The vertices that can be chained to others."""


def _leaders(count: int, wires: Sequence[Wire]) -> tuple[int, ...]:
    leaders = list(range(count))
    for wire in wires:
        if wire.kind is EdgeKind.FORWARD:
            first, other = sorted((leaders[wire.producer], leaders[wire.consumer]))
            leaders = [first if one == other else one for one in leaders]
    return tuple(leaders)


@lru_cache(maxsize=128)
def graph_of(vertices: tuple[Vertex, ...], edges: tuple[Edge, ...]) -> Graph:
    """Returns what the edges of a job imply."""
    return Graph(vertices, edges)
