"""What a scenario asks about: a job, what its checkpoint holds, and how it is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from conformance.components.assignment.config import Graph, Wire
from conformance.ports import EdgeKind, ErrorKind
from conformance.ports.key_groups import MOST, owner

Channel = tuple[int, int, int, int]
"""A channel or a subpartition: vertex, subtask, gate or partition, and its number there."""
Held = dict[int, dict[int, list[int]]]
"""By edge and old subtask, the channels or subpartitions of which there is state."""


class Plan:
    """A restore that is collected, or about which it was asked."""

    __slots__ = (
        "chained", "chaining", "free_inputs", "free_outputs", "graph", "held", "inputs", "limits", "max_parallelism",
        "outputs", "parallelism", "wanted", "with_state",
    )  # fmt: skip

    def __init__(
        self, graph: Graph, parallelism: tuple[int, ...], max_parallelism: tuple[int, ...], chained: frozenset[int],
        output_on_downstream: bool,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.parallelism = parallelism
        """By vertex, that of the job as it was."""
        self.max_parallelism = max_parallelism
        self.chained = chained
        """The edges that were chained already."""
        self.wanted = list(parallelism)
        """By vertex, the parallelism with which it is restored."""
        self.limits: dict[int, int] = {}
        """By vertex, the maximum parallelism that is configured."""
        self.chaining: frozenset[int] = frozenset()
        """The edges that are chained from now on."""
        self.inputs: Held = {}
        self.outputs: Held = {}
        self.with_state: list[Wire] = []
        """The edges of which there is state, at either end."""
        self.held = 0
        """How much state the checkpoint holds."""
        free_inputs, free_outputs = _channels(graph, parallelism, chained, output_on_downstream)
        self.free_inputs = list(free_inputs)
        """The channels of which the checkpoint does not hold state."""
        self.free_outputs = list(free_outputs)

    # ---- how it is collected -----------------------------------------------------------------------------------------
    def hold_input(self, vertex: int, subtask: int, gate: int, channel: int) -> None:
        """Notes that the checkpoint holds state of a channel."""
        self.free_inputs.remove((vertex, subtask, gate, channel))
        self._hold(self.inputs, self.graph.gates[vertex][gate], subtask, channel)

    def hold_output(self, vertex: int, subtask: int, partition: int, subpartition: int) -> None:
        """Notes that the checkpoint holds state of a subpartition."""
        self.free_outputs.remove((vertex, subtask, partition, subpartition))
        self._hold(self.outputs, self.graph.partitions[vertex][partition], subtask, subpartition)

    def _hold(self, held: Held, edge: int, subtask: int, number: int) -> None:
        if edge not in self.inputs and edge not in self.outputs:
            self.with_state = sorted([*self.with_state, self.graph.wires[edge]])
        held.setdefault(edge, {}).setdefault(subtask, []).append(number)
        self.held += 1

    def restored(self, output_on_downstream: bool) -> Plan:
        """Returns the next restore, of the job as this one has left it."""
        return Plan(
            self.graph, tuple(self.wanted), self.max_parallelism, self.chained | self.chaining, output_on_downstream
        )

    def begun_again(self, output_on_downstream: bool) -> Plan:
        """Returns the next restore, of the job as it was before this one."""
        return Plan(self.graph, self.parallelism, self.max_parallelism, self.chained, output_on_downstream)

    # ---- queries -----------------------------------------------------------------------------------------------------
    def most(self, vertex: int) -> int:
        """Returns the parallelism that a vertex may have at most, because of what is configured."""
        if not self.limits:
            return MOST
        return min([limit for one, limit in self.limits.items() if self.graph.leaders[one] == vertex], default=MOST)

    def stragglers(self) -> Sequence[tuple[int, int]]:
        """Returns the vertices that must still be rescaled as those are to which forward edges join them."""
        wanted, leaders = self.wanted, self.graph.leaders
        return [(one, wanted[leader]) for one, leader in enumerate(leaders) if wanted[one] != wanted[leader]]

    def is_rescaled(self, vertex: int) -> bool:
        """Returns whether the parallelism of a vertex changes."""
        return self.wanted[vertex] != self.parallelism[vertex]

    def has_state(self, wire: Wire) -> bool:
        """Returns whether there is state of an edge, at either end."""
        return wire.number in self.inputs or wire.number in self.outputs

    def vertices_with_state(self) -> list[int]:
        """Returns the vertices at whose edges there is state."""
        found = self.with_state
        return sorted({wire.producer for wire in found} | {wire.consumer for wire in found})

    def misfits(self) -> list[int]:
        """Returns the vertices without state that would have more subtasks than key groups, or another number of key
        groups than before: nobody knows it then, since no state says what it was."""
        found = [vertex for vertex, _ in self.refused_vertices()]
        with_state = self.vertices_with_state() if found else ()
        return [vertex for vertex in found if vertex not in with_state]

    def is_near(self, vertex: int) -> bool:
        """Returns whether a vertex, or a neighbour of it, is rescaled."""
        return self.is_rescaled(vertex) or any(
            self.is_rescaled(wire.producer if wire.consumer == vertex else wire.consumer)
            for wire in self.graph.wires
            if vertex in (wire.producer, wire.consumer)
        )

    def owners(self, vertex: int) -> tuple[tuple[int, ...], ...]:
        """Returns, by old subtask of a vertex, the new owners of its key groups."""
        return new_owners(self.max_parallelism[vertex], self.parallelism[vertex], self.wanted[vertex])

    # ---- what must be refused ----------------------------------------------------------------------------------------
    def cannot_be_rescaled(self) -> list[Wire]:
        """Returns the edges of which there is state that cannot be rescaled, and would have to be."""
        return [
            wire
            for wire in self.with_state
            if wire.is_unsupported and (self.is_rescaled(wire.producer) or self.is_rescaled(wire.consumer))
        ]

    def lost_edges(self) -> list[Wire]:
        """Returns the edges of which there is state and that are chained now."""
        return [wire for wire in self.with_state if wire.number in self.chaining]

    def refused_vertices(self) -> Iterator[tuple[int, str]]:
        """Returns the vertices whose maximum parallelism does not fit, each with what is wrong."""
        for vertex, most in enumerate(self.max_parallelism):
            if self.wanted[vertex] > most:
                yield vertex, f"has {self.wanted[vertex]} subtasks now, but its state has {most} key groups"
            elif (limit := self.limits.get(vertex, most)) != most:
                yield vertex, f"is configured with maximum parallelism {limit}, but its state has {most} key groups"

    def must_fail_with(self) -> set[ErrorKind]:
        """Returns the kinds of errors of which one must come; empty if there is nothing to refuse."""
        kinds = set()
        if self.cannot_be_rescaled() or self.lost_edges():
            kinds.add(ErrorKind.STATE)
        if any(True for _ in self.refused_vertices()):
            kinds.add(ErrorKind.CONFIG)
        return kinds

    def may_fail_with(self) -> set[ErrorKind]:
        """Returns the kinds of errors that may come: those of which one must come, and that of an edge which nobody has
        to map although a vertex beside it is rescaled."""
        kinds = self.must_fail_with()
        if any(
            wire.is_unsupported and (self.is_near(wire.producer) or self.is_near(wire.consumer))
            for wire in self.with_state
        ):
            kinds.add(ErrorKind.STATE)
        return kinds


@lru_cache(maxsize=256)
def new_owners(max_parallelism: int, old: int, new: int) -> tuple[tuple[int, ...], ...]:
    """Returns, by old subtask, the new owners of its key groups."""
    found: list[list[int]] = [[] for _ in range(old)]
    for group in range(max_parallelism):
        before, now = owner(group, max_parallelism, old), owner(group, max_parallelism, new)
        if found[before][-1:] != [now]:
            found[before].append(now)
    return tuple(map(tuple, found))


@lru_cache(maxsize=256)
def _channels(
    graph: Graph, parallelism: tuple[int, ...], chained: frozenset[int], output_on_downstream: bool
) -> tuple[tuple[Channel, ...], tuple[Channel, ...]]:
    """Returns all channels and all subpartitions of which a checkpoint may hold state."""
    inputs: list[Channel] = []
    outputs: list[Channel] = []
    for wire in graph.wires:
        if wire.number in chained:
            continue
        producers, consumers = parallelism[wire.producer], parallelism[wire.consumer]
        if wire.kind is EdgeKind.GLOBAL:
            consumers = 1
        channels, subpartitions = (1, 1) if wire.kind.is_pointwise else (producers, consumers)
        inputs += [
            (wire.consumer, subtask, wire.gate, channel) for subtask in range(consumers) for channel in range(channels)
        ]
        if not (wire.kind.is_pointwise and output_on_downstream):
            outputs += [
                (wire.producer, subtask, wire.partition, subpartition)
                for subtask in range(producers)
                for subpartition in range(subpartitions)
            ]
    return tuple(inputs), tuple(outputs)


def can_be_filtered(kind: EdgeKind) -> bool:
    """Returns whether records of such an edge can be filtered, because its partitioner says again where it sent a
    record."""
    return kind in (EdgeKind.HASH, EdgeKind.CUSTOM, EdgeKind.GLOBAL)
