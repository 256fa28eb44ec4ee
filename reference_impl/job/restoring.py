"""What tasks get of a checkpoint, also with another parallelism. Specification: pipeline.md, assignment.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.ports import (
    Assigned,
    AssignmentConfig,
    EdgeKind,
    InFlight,
    InputHandle,
    JobCheckpoint,
    OperatorState,
    OutputHandle,
    RescaleMapping,
    Side,
    Vertex,
    VertexKind,
    key_of,
    records_of,
)

from ..network.channel_info import ChannelInfo
from ..rescale.assignment import Assignment
from ..state.filter.virtual_channel import CustomPartitioner, KeyGroupPartitioner
from .graph import Graph
from .states import Stored
from .task import Restored

NEW = Restored({}, {}, is_restored=False)
Old = dict[tuple[int, int, int], tuple[int, ...]]
"""By edge and old subtasks of its producer and its consumer, records in flight."""


class Shares:
    """Who gets what of a checkpoint."""

    def __init__(self, graph: Graph, checkpoint: JobCheckpoint | None, downstream: bool) -> None:
        """J14. `downstream`: whether consumers recover output state."""
        self.graph = graph
        self.checkpoint = checkpoint
        self.inputs: dict[int, Stored] = {}
        self.outputs: dict[int, Stored] = {}
        """By task, the recovered channel state."""
        if checkpoint is not None:
            self.old = checkpoint.parallelism
            self.new = tuple(one.parallelism for one in graph.vertices)
            if self.old == self.new:
                self.keep(checkpoint.in_flight, downstream)
            else:
                self.rescale(checkpoint.in_flight, downstream)

    # ---- channel state -----------------------------------------------------------------------------------------------
    def keep(self, in_flight: Iterable[InFlight], downstream: bool) -> None:
        """J14. Every channel and every subpartition gets what it had. Input state comes before output state."""
        for side in Side:
            for one in in_flight:
                if one.side is side:
                    producer, consumer = one.producer, one.consumer
                    if side is Side.INPUT or downstream:
                        self.give_input(one.edge, producer, consumer, records_of(one.records))
                    else:
                        self.give_output(one.edge, producer, consumer, records_of(one.records))

    def rescale(self, in_flight: Iterable[InFlight], downstream: bool) -> None:
        """J14. What is assigned is filtered, where several new subtasks recover from an old one."""
        graph = self.graph
        assignment = Assignment(
            AssignmentConfig(
                tuple(
                    Vertex(one.name, old, one.max_parallelism)
                    for one, old in zip(graph.vertices, self.old, strict=True)
                ),
                graph.edges,
                downstream,
            )
        )
        inputs: Old = {}
        outputs: Old = {}
        for one in in_flight:
            edge = graph.edges[one.edge]
            records = tuple(records_of(one.records))
            if one.side is Side.INPUT:
                gate = graph.into[edge.consumer].index(one.edge)
                assignment.hold_input(edge.consumer, one.consumer, gate, one.producer)
                inputs[one.edge, one.producer, one.consumer] = records
            else:
                partition = graph.out_of[edge.producer].index(one.edge)
                assignment.hold_output(edge.producer, one.producer, partition, one.consumer)
                outputs[one.edge, one.producer, one.consumer] = records
        for vertex, parallelism in enumerate(self.new):
            assignment.rescale(vertex, parallelism)
        for assigned in assignment.assign():
            self.assign_inputs(assigned, inputs, outputs)
            for handle in assigned.outputs:
                self.assign_output(assigned, handle, outputs)

    def assign_inputs(self, assigned: Assigned, inputs: Old, outputs: Old) -> None:
        """J14. The input of a new subtask. In each virtual channel, input state comes before output state."""
        graph, subtask = self.graph, assigned.subtask
        filters: dict[InputHandle, CustomPartitioner | KeyGroupPartitioner] = {}
        for handles, state in ((assigned.inputs, inputs), (assigned.from_upstream, outputs)):
            for handle in handles:
                edge = graph.into[assigned.vertex][handle.gate]
                records = state[edge, handle.old_channel, handle.old_subtask]
                mapping = assigned.gates[handle.gate] if assigned.gates else None
                if mapping is None:  # it recovers what the old subtask with its number had
                    self.give_input(edge, handle.old_channel, subtask, records)
                    continue
                if handle.old_subtask in mapping.ambiguous:
                    if handle not in filters:
                        filters[handle] = self.partitioner(edge)
                    select = filters[handle].select
                    records = tuple([one for one in records if select(key_of(one)) == subtask])
                self.give_input(edge, channel_of(mapping, handle.old_channel), subtask, records)

    def assign_output(self, assigned: Assigned, handle: OutputHandle, outputs: Old) -> None:
        """J14. The output of a new subtask. Each record goes to the subpartition to which it belongs."""
        edge = self.graph.out_of[assigned.vertex][handle.partition]
        records = outputs[edge, handle.old_subtask, handle.old_subpartition]
        mapping = assigned.partitions[handle.partition] if assigned.partitions else None
        if mapping is None:
            self.give_output(edge, assigned.subtask, handle.old_subpartition, records)
            return
        targets = [new for new, old in enumerate(mapping.channels) if handle.old_subpartition in old]
        if len(targets) == 1:
            self.give_output(edge, assigned.subtask, targets[0], records)
            return
        select = self.partitioner(edge).select
        for one in records:
            self.give_output(edge, assigned.subtask, select(key_of(one)), (one,))

    def partitioner(self, edge: int) -> CustomPartitioner | KeyGroupPartitioner:
        """J14. Returns a fresh partitioner of an edge whose records belong to one new subtask each."""
        consumer = self.graph.vertices[self.graph.edges[edge].consumer]
        if self.graph.edges[edge].kind is EdgeKind.CUSTOM:
            return CustomPartitioner(consumer.parallelism)
        return KeyGroupPartitioner(consumer.parallelism, consumer.max_parallelism)

    def give_input(self, edge: int, producer: int, consumer: int, records: Iterable[int]) -> None:
        """J14. A channel gets further records."""
        graph, vertex = self.graph, self.graph.edges[edge].consumer
        info = ChannelInfo(graph.into[vertex].index(edge), graph.producers[edge, consumer].index(producer))
        to = self.inputs.setdefault(graph.task(vertex, consumer), {})
        to[info] = (*to.get(info, ()), *records)

    def give_output(self, edge: int, producer: int, consumer: int, records: Iterable[int]) -> None:
        """J14. A subpartition gets further records."""
        graph, vertex = self.graph, self.graph.edges[edge].producer
        info = ChannelInfo(graph.out_of[vertex].index(edge), graph.consumers[edge, producer].index(consumer))
        to = self.outputs.setdefault(graph.task(vertex, producer), {})
        to[info] = (*to.get(info, ()), *records)

    def restored(self, task: int) -> Restored:
        """J14. Returns the channel state of a task."""
        if self.checkpoint is None:
            return NEW
        return Restored(self.inputs.get(task, {}), self.outputs.get(task, {}), is_restored=True)

    # ---- operator state ----------------------------------------------------------------------------------------------
    def states(self, task: int) -> Sequence[OperatorState]:
        """J14. Returns the operator states from which a task starts."""
        if self.checkpoint is None:
            return ()
        vertex, subtask = self.graph.tasks[task]
        states = self.checkpoint.states[vertex]
        if self.old[vertex] == self.new[vertex]:
            return (states[subtask],)
        kind = self.graph.vertices[vertex].kind
        if kind is VertexKind.BROADCAST_JOIN:  # each subtask had everything
            return (states[subtask % self.old[vertex]],)
        if kind is VertexKind.COUNT:
            return self.by_key(vertex, subtask, states)
        parallelism = self.new[vertex]
        splits = sorted([one for state in states for one in state.splits], key=lambda one: one.split)
        prepared = [one for state in states for one in state.prepared]
        return (
            OperatorState(splits=tuple(splits[subtask::parallelism]), prepared=tuple(prepared[subtask::parallelism])),
        )

    def by_key(self, vertex: int, subtask: int, states: Sequence[OperatorState]) -> Sequence[OperatorState]:
        """J14. Returns the keyed state of the key groups that a subtask owns."""
        of = self.graph.vertices[vertex]
        select = KeyGroupPartitioner(of.parallelism, of.max_parallelism).select
        return tuple(
            OperatorState(records=tuple(run for run in state.records if select(key_of(run.first)) == subtask))
            for state in states
        )


def channel_of(mapping: RescaleMapping, old: int) -> int:
    """J14. Returns the channel that continues an old one."""
    return next(new for new, olds in enumerate(mapping.channels) if old in olds)
