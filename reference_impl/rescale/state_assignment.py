"""Who gets which channel state. Specification: assignment.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from conformance.ports import Assigned, ErrorKind, InputHandle, OutputHandle, PortError, RescaleMapping

from .job import Connection, Job, Restore
from .mappers import DOWNSTREAM, UPSTREAM, Mapper, SubtaskMapping, mapped, unmapped

H = TypeVar("H", InputHandle, OutputHandle)
Mappings = tuple[RescaleMapping | None, ...]


class StateAssignment:
    """One restore of a job (Flink: `StateAssignmentOperation`)."""

    def __init__(self, job: Job, restore: Restore, output_on_downstream: bool) -> None:
        self.job = job
        self.restore = restore
        self.output_on_downstream = output_on_downstream
        self.upstream: dict[int, SubtaskMapping] = {}
        """By edge with state, how its producers are mapped."""
        self.downstream: dict[int, SubtaskMapping] = {}
        """By edge with state, how its consumers are mapped."""

    # ---- who takes part ----------------------------------------------------------------------------------------------
    def with_state(self) -> list[Connection]:
        """A2, A3. The edges of which state is in flight."""
        return [edge for edge in self.job.edges if self.restore.has_state(edge)]

    def taking_part(self) -> list[int]:
        """A2. The vertices that have state in channels, and their neighbours, also those without any state of their own
        (Flink: FLINK-31963). Vertices that are chained are one."""
        heads, edges, restore = self.heads(), self.job.edges, self.restore
        owners = {heads[edge.consumer] for edge in edges if edge.number in restore.inputs}
        owners |= {heads[edge.producer] for edge in edges if edge.number in restore.outputs}
        beside = {heads[edge.producer] for edge in edges if heads[edge.consumer] in owners}
        beside |= {heads[edge.consumer] for edge in edges if heads[edge.producer] in owners}
        return [vertex for vertex, head in enumerate(heads) if head in owners or head in beside]

    def heads(self) -> list[int]:
        """A2. By vertex, the first of those that are chained to it."""
        heads = list(range(len(self.job.gates)))
        chained = self.job.chained | self.restore.chained
        for edge in sorted([edge for edge in self.job.edges if edge.number in chained], key=lambda edge: edge.consumer):
            heads[edge.consumer] = heads[edge.producer]  # a producer comes before its consumers
        return heads

    def is_rescaled(self, vertex: int) -> bool:
        """A4. Whether the parallelism of a vertex changes."""
        return self.restore.parallelism[vertex] != self.job.parallelism[vertex]

    def is_mapped(self, vertex: int) -> bool:
        """A4. Whether the gates of a vertex are mapped (Flink: `StateAssignmentOperation.noNeedRescale`)."""
        if self.is_rescaled(vertex):
            return True
        gates = self.job.gates[vertex]
        full = any(DOWNSTREAM[edge.kind] is Mapper.FULL for edge in gates)
        return full and any(self.is_rescaled(edge.producer) for edge in gates)

    # ---- what is refused ---------------------------------------------------------------------------------------------
    def check_vertex(self, vertex: int) -> None:
        """A9. A vertex must not have more subtasks than its state has key groups, and not another number of key groups
        (Flink: `checkParallelismPreconditions`)."""
        of_state, wanted = self.job.max_parallelism[vertex], self.restore.parallelism[vertex]
        if wanted > of_state:
            raise PortError(ErrorKind.CONFIG, f"vertex {vertex} has {wanted} subtasks, its state allows {of_state}")
        configured = self.restore.limits.get(vertex, of_state)
        if configured != of_state:
            raise PortError(
                ErrorKind.CONFIG, f"vertex {vertex} has maximum parallelism {configured}, its state {of_state}"
            )

    def check_edge(self, edge: Connection) -> None:
        """A8, A9. Of an edge with state, the ends can be rescaled, and there are still channels."""
        if edge.number in self.restore.chained:
            raise PortError(ErrorKind.STATE, f"edge {edge.number} has state, and is chained now")
        if UPSTREAM[edge.kind] is Mapper.UNSUPPORTED and (
            self.is_rescaled(edge.producer) or self.is_rescaled(edge.consumer)
        ):
            raise PortError(ErrorKind.STATE, f"edge {edge.number} has state, and is of kind {edge.kind}")

    # ---- what is mapped ----------------------------------------------------------------------------------------------
    def map_edge(self, edge: Connection) -> None:
        """A3 to A5, A7. Map both ends of an edge with state."""
        job, wanted = self.job, self.restore.parallelism
        producer, consumer = edge.producer, edge.consumer
        self.upstream[edge.number] = (
            mapped(UPSTREAM[edge.kind], job.parallelism[producer], wanted[producer], job.max_parallelism[producer])
            if self.is_rescaled(producer)
            else unmapped(wanted[producer])
        )
        mapper = DOWNSTREAM[edge.kind]
        self.downstream[edge.number] = (
            mapped(mapper, job.parallelism[consumer], wanted[consumer], job.max_parallelism[consumer])
            if self.is_mapped(consumer) and mapper is not Mapper.UNSUPPORTED
            else unmapped(wanted[consumer])
        )

    def gate_mappings(self, vertex: int) -> list[Mappings]:
        """A7. By new subtask, what is mapped of each gate (Flink:
        `TaskStateAssignment.createInputRescalingDescriptor`)."""
        return self._mappings(vertex, self.job.gates[vertex], self.downstream, self.upstream)

    def partition_mappings(self, vertex: int) -> list[Mappings]:
        """A7. By new subtask, what is mapped of each partition (Flink: `createOutputRescalingDescriptor`)."""
        return self._mappings(vertex, self.job.partitions[vertex], self.upstream, self.downstream)

    def _mappings(
        self, vertex: int, edges: Sequence[Connection], own: Mapping[int, SubtaskMapping],
        others: Mapping[int, SubtaskMapping],
    ) -> list[Mappings]:  # fmt: skip
        known = [edge.number for edge in edges if edge.number in own]
        if not any(own[number].moves or others[number].moves for number in known):
            return [()] * self.restore.parallelism[vertex]
        by_edge = [self._mapping(edge, own.get(edge.number), others.get(edge.number)) for edge in edges]
        nothing: list[RescaleMapping | None] = [None] * self.restore.parallelism[vertex]
        return list(zip(*[nothing if found is None else found for found in by_edge], strict=True))

    def _mapping(
        self, edge: Connection, own: SubtaskMapping | None, others: SubtaskMapping | None
    ) -> list[RescaleMapping | None] | None:
        if own is None or others is None:
            return None
        channels = () if edge.kind.is_pointwise else others.old_by_new
        return [
            RescaleMapping(olds, channels, tuple([old for old in olds if old in own.ambiguous])) if olds else None
            for olds in own.old_by_new
        ]

    # ---- who gets what -----------------------------------------------------------------------------------------------
    def inputs(self, vertex: int) -> list[tuple[InputHandle, ...]]:
        """A4. By new subtask, the state of input channels that it recovers (Flink:
        `reDistributeInputChannelStates`)."""
        held = self.restore.inputs
        return self._shared_out(
            vertex,
            [
                (self.downstream[edge.number], input_handles(edge.gate, held[edge.number]))
                for edge in self.job.gates[vertex]
                if edge.number in held
            ],
        )

    def from_upstream(self, vertex: int) -> list[tuple[InputHandle, ...]]:
        """A6. By new subtask of a consumer, the state of subpartitions of its producers that it recovers."""
        held = self.restore.outputs if self.output_on_downstream else {}
        return self._shared_out(
            vertex,
            [
                (self.downstream[edge.number], input_handles(edge.gate, exchanged(held[edge.number])))
                for edge in self.job.gates[vertex]
                if edge.number in held
            ],
        )

    def outputs(self, vertex: int) -> list[tuple[OutputHandle, ...]]:
        """A5, A6. By new subtask of a producer, the state of its subpartitions that it recovers (Flink:
        `reDistributeResultSubpartitionStates`)."""
        held = {} if self.output_on_downstream else self.restore.outputs
        return self._shared_out(
            vertex,
            [
                (self.upstream[edge.number], output_handles(edge.partition, held[edge.number]))
                for edge in self.job.partitions[vertex]
                if edge.number in held
            ],
        )

    def _shared_out(
        self, vertex: int, found: Sequence[tuple[SubtaskMapping, Mapping[int, Sequence[H]]]]
    ) -> list[tuple[H, ...]]:
        if not found:
            return [()] * self.restore.parallelism[vertex]
        recovered: list[list[H]] = [[] for _ in range(self.restore.parallelism[vertex])]
        for mapping, by_old in found:
            for new, olds in enumerate(mapping.old_by_new):
                for old in olds:
                    if old in by_old:
                        recovered[new] += by_old[old]
        return list(map(tuple, recovered))

    def assigned(self, vertex: int) -> Iterator[Assigned]:
        """A2. What each new subtask of a vertex is deployed with (Flink: `assignTaskStateToExecutionJobVertices`)."""
        found = zip(
            self.inputs(vertex), self.from_upstream(vertex), self.outputs(vertex),
            self.gate_mappings(vertex), self.partition_mappings(vertex), strict=True,
        )  # fmt: skip
        for subtask, (inputs, from_upstream, outputs, gates, partitions) in enumerate(found):
            yield Assigned(vertex, subtask, inputs, from_upstream, outputs, gates, partitions)

    def assign(self) -> tuple[Assigned, ...]:
        """A2 to A10. Who gets what (Flink: `StateAssignmentOperation.assignStates`)."""
        vertices, edges = self.taking_part(), self.with_state()
        for vertex in vertices:
            self.check_vertex(vertex)
        for edge in edges:
            self.check_edge(edge)
        for edge in edges:
            self.map_edge(edge)
        return tuple([one for vertex in vertices for one in self.assigned(vertex)])


def input_handles(gate: int, held: Mapping[int, Sequence[int]]) -> dict[int, list[InputHandle]]:
    """A1, A10. By old subtask, its handles in the order of their channels, however they were held."""
    return {old: [InputHandle(old, gate, channel) for channel in sorted(channels)] for old, channels in held.items()}


def output_handles(partition: int, held: Mapping[int, Sequence[int]]) -> dict[int, list[OutputHandle]]:
    """A1, A10. By old subtask, its handles in the order of their subpartitions, however they were held."""
    return {
        old: [OutputHandle(old, partition, subpartition) for subpartition in sorted(subpartitions)]
        for old, subpartitions in held.items()
    }


def exchanged(held: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """A6. By old subtask of the consumer, the old subtasks of the producer that have state for it: what was its
    subpartition is the channel from there."""
    found: dict[int, list[int]] = {}
    for producer, consumers in held.items():
        for consumer in consumers:
            found.setdefault(consumer, []).append(producer)
    return found
