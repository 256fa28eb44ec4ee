"""How tasks are deployed: with channels, subpartitions, and what they restore. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from conformance.ports import (
    ChannelKind,
    GateConfig,
    Recovery,
    Runs,
    SubpartitionConfig,
    Transaction,
    VertexKind,
)

from ..network.channel_info import ChannelInfo, Numbering, numbering
from ..network.partitioners import partitioner
from ..network.result_partition import OutputSubpartition, ResultPartition
from ..task.restore import in_effect, recovery_buffers
from .graph import ALWAYS_ALIGNED
from .network import Connection, JobProducers
from .operators import operator
from .restoring import Shares
from .states import JobStates
from .task import JobListener, JobTask, SourceTask, restore_config

if TYPE_CHECKING:
    from .pipeline import Pipeline


class Producer:
    """The producer of a connection. The task is made after its subpartitions."""

    task: JobTask

    def room_made(self) -> None:
        """J3. A buffer has left."""
        self.task.room_made()

    def was_read(self, info: ChannelInfo) -> None:
        """J16. The end of data was taken."""
        self.task.was_read(info)


class Deployment:
    """Tasks that are deployed together. Everything that is connected is."""

    def __init__(self, job: Pipeline, tasks: Sequence[int], shares: Shares) -> None:
        self.job = job
        self.graph = job.graph
        self.settings = job.config.settings
        self.tasks = tasks
        self.shares = shares
        self.handles = {task: Producer() for task in tasks}
        self.inputs = {task: self.numbers(self.graph.into, self.graph.producers, task) for task in tasks}
        self.outputs = {task: self.numbers(self.graph.out_of, self.graph.consumers, task) for task in tasks}
        self.states = {task: self.register(task) for task in tasks}
        self.subpartitions = {
            task: {
                info: OutputSubpartition(
                    SubpartitionConfig(self.settings.exclusive_buffers), job.design, job.faults, self.states[task], info
                )
                for info in self.outputs[task].infos
            }
            for task in tasks
        }
        self.producers = {task: self.connect(task) for task in tasks}

    def numbers(
        self, edges: Sequence[Sequence[int]], ends: Mapping[tuple[int, int], Sequence[int]], task: int
    ) -> Numbering:
        """J2. Returns how the channels, or the subpartitions, of a task are numbered."""
        vertex, subtask = self.graph.tasks[task]
        return numbering([len(ends[edge, subtask]) for edge in edges[vertex]])

    def register(self, task: int) -> JobStates:
        """J6. The task joins the channel state writer of its worker."""
        worker = self.job.worker_of(task)
        return JobStates(worker.writer, worker.index(task), self.inputs[task], self.outputs[task])

    def connect(self, task: int) -> JobProducers:
        """J2. Returns the producers of what a task reads."""
        graph = self.graph
        vertex, subtask = graph.tasks[task]
        connections: dict[ChannelInfo, Connection] = {}
        for info in self.inputs[task].infos:
            edge = graph.into[vertex][info.gate]
            producer = graph.producers[edge, subtask][info.channel]
            up = graph.edges[edge].producer
            of = graph.task(up, producer)
            at = ChannelInfo(graph.out_of[up].index(edge), graph.consumers[edge, producer].index(subtask))
            link = "" if self.is_local(producer, subtask) else f"link {edge}/{producer}/{subtask}"
            connections[info] = Connection(self.subpartitions[of][at], self.handles[of], link)
        return JobProducers(connections, self.job.agenda, partial(self.job.network_failed, task))

    def is_local(self, producer: int, consumer: int) -> bool:
        """J2. Whether two subtasks are on the same worker."""
        return self.graph.worker(producer) == self.graph.worker(consumer)

    def make(self, task: int) -> JobTask:
        """J14. Returns a task."""
        job, graph, settings = self.job, self.graph, self.settings
        vertex, subtask = graph.tasks[task]
        of = graph.vertices[vertex]
        restored = self.shares.restored(task)
        inputs = self.inputs[task]
        sizes = [len(graph.producers[edge, subtask]) for edge in graph.into[vertex]]
        config = restore_config(settings, tuple(sizes), tuple(restored.inputs.get(info, ()) for info in inputs.infos))
        thread = f"task {vertex}/{subtask}"
        listener = JobListener(
            self.producers[task],
            sizes,
            recovery_buffers(config),
            partial(job.agenda.wake, thread),
            job.lock_type,
            reads_at_once=in_effect(config) is Recovery.RECOVER_FIRST,
        )
        kinds = [
            tuple(
                ChannelKind.LOCAL if self.is_local(producer, subtask) else ChannelKind.REMOTE
                for producer in graph.producers[edge, subtask]
            )
            for edge in graph.into[vertex]
        ]
        inputs_of = [tuple(kinds)] if of.kind is VertexKind.UNION else [(one,) for one in kinds]
        gates = [
            GateConfig(one, in_effect(config), settings.exclusive_buffers, settings.floating_buffers)
            for one in inputs_of
        ]
        commit: Callable[[Transaction, Runs], None] = partial(job.commit, vertex)
        operators = operator(
            of, subtask, self.shares.states(task), job.supplied, settings, self.awaited(vertex, subtask), commit
        )
        operators.channels = len(inputs.infos)
        made = (SourceTask if of.kind is VertexKind.SOURCE else JobTask)(
            job,
            task,
            settings,
            gates,
            inputs,
            job.design,
            job.faults,
            listener,
            self.states[task],
            [self.partition(task, number) for number in range(len(graph.out_of[vertex]))],
            operators,
            restored,
            self.always_aligned(task),
        )
        self.handles[task].task = made
        made.checkpoints.clock.now = job.now
        made.throttled = task in job.throttled
        worker = job.worker_of(task)
        worker.tasks[worker.index(task)] = made
        job.agenda.assign(thread, made.work, made.has_more)
        job.agenda.replace(f"restore {vertex}/{subtask}", partial(job.read, made), made.has_more_to_read)
        for info, connection in self.producers[task].connections.items():
            if connection.link:
                producers = self.producers[task]
                job.agenda.replace(connection.link, partial(producers.carry, info), partial(producers.has_more, info))
        return made

    def awaited(self, vertex: int, subtask: int) -> list[int]:
        """J18. Returns the splits that a subtask of a source will be assigned."""
        if vertex not in self.graph.sources:
            return []
        unassigned = self.job.master.unassigned(vertex, self.shares.checkpoint)
        return [one for one in unassigned if self.job.master.enumerators[vertex].owner(one) == subtask]

    def always_aligned(self, task: int) -> list[int]:
        """J6. Returns the channels of a task that can have no channel state, if it has others."""
        graph, numbers = self.graph, self.inputs[task]
        kinds = [graph.edges[edge].kind for edge in graph.into[graph.tasks[task][0]]]
        found = [number for number, info in enumerate(numbers.infos) if kinds[info.gate] in ALWAYS_ALIGNED]
        return [] if len(found) == len(numbers.infos) else found

    def partition(self, task: int, number: int) -> ResultPartition:
        """J2. Returns a result partition of a task."""
        graph = self.graph
        vertex, subtask = graph.tasks[task]
        edge = graph.out_of[vertex][number]
        kind, down = graph.edges[edge].kind, graph.edges[edge].consumer
        consumers = graph.consumers[edge, subtask]
        readers = []
        for consumer in consumers:
            gate = graph.into[down].index(edge)
            channel = graph.producers[edge, consumer].index(subtask)
            readers.append((self.producers[graph.task(down, consumer)], ChannelInfo(gate, channel)))
        subpartitions = [self.subpartitions[task][ChannelInfo(number, index)] for index in range(len(consumers))]
        chosen = partitioner(kind, len(consumers), graph.vertices[down].max_parallelism)
        return ResultPartition(subpartitions, readers, chosen, kind in ALWAYS_ALIGNED)
