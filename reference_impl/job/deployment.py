"""How tasks are deployed: with channels, subpartitions, and what they restore. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from conformance.ports import GateConfig, Recovery, Runs, SubpartitionConfig, Transaction, VertexKind

from ..network.channel_info import ChannelInfo
from ..network.partitioners import partitioner
from ..network.result_partition import OutputSubpartition, ResultPartition
from ..task.restore import in_effect, recovery_buffers
from .graph import ALWAYS_ALIGNED, Target, Wiring
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
        self.states = {task: self.register(task) for task in tasks}
        config = SubpartitionConfig(self.settings.exclusive_buffers)
        self.subpartitions = {
            task: {
                info: OutputSubpartition(config, job.design, job.faults, self.states[task], info)
                for info in self.graph.wirings[task].outputs.infos
            }
            for task in tasks
        }
        self.producers = {task: self.connect(self.graph.wirings[task], task) for task in tasks}

    def register(self, task: int) -> JobStates:
        """J6. The task joins the channel state writer of its worker."""
        worker, wiring = self.job.worker_of(task), self.graph.wirings[task]
        return JobStates(worker.writer, worker.index(task), wiring.inputs, wiring.outputs)

    def connect(self, wiring: Wiring, task: int) -> JobProducers:
        """J2. Returns the producers of what a task reads."""
        connections: dict[ChannelInfo, Connection] = {}
        for info, (of, at, link) in zip(wiring.inputs.infos, wiring.sources, strict=True):
            connections[info] = Connection(self.subpartitions[of][at], self.handles[of], link)
        return JobProducers(connections, self.job.agenda, partial(self.job.network_failed, task))

    def make(self, task: int) -> JobTask:
        """J14. Returns a task."""
        job, graph, settings = self.job, self.graph, self.settings
        vertex, subtask = graph.tasks[task]
        of, wiring, threads = graph.vertices[vertex], graph.wirings[task], graph.threads[task]
        restored, producers, inputs = self.shares.restored(task), self.producers[task], wiring.inputs
        config = restore_config(
            settings, wiring.channels, tuple([restored.inputs.get(info, ()) for info in inputs.infos])
        )
        recovery = in_effect(config)
        listener = JobListener(
            producers,
            wiring.channels,
            recovery_buffers(config),
            partial(job.agenda.wake, threads.task),
            job.lock_type,
            reads_at_once=recovery is Recovery.RECOVER_FIRST,
        )
        gates = [
            GateConfig(one, recovery, settings.exclusive_buffers, settings.floating_buffers) for one in wiring.kinds
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
            config,
            gates,
            inputs,
            job.design,
            job.faults,
            listener,
            self.states[task],
            [self.partition(task, number, target) for number, target in enumerate(wiring.targets)],
            operators,
            restored,
            wiring.always_aligned,
        )
        self.handles[task].task = made
        made.checkpoints.clock.now = job.now
        made.throttled = task in job.throttled
        worker = job.worker_of(task)
        worker.tasks[worker.index(task)] = made
        job.agenda.assign(threads.task, made.work, made.has_more)
        job.agenda.replace(threads.restore, partial(job.read, made), made.has_more_to_read)
        for info, connection in producers.connections.items():
            if connection.link:
                job.agenda.replace(connection.link, partial(producers.carry, info), partial(producers.has_more, info))
        return made

    def awaited(self, vertex: int, subtask: int) -> list[int]:
        """J18. Returns the splits that a subtask of a source will be assigned."""
        if vertex not in self.graph.sources:
            return []
        unassigned = self.job.master.unassigned(vertex, self.shares.checkpoint)
        return [one for one in unassigned if self.job.master.enumerators[vertex].owner(one) == subtask]

    def partition(self, task: int, number: int, target: Target) -> ResultPartition:
        """J2. Returns a result partition of a task."""
        readers = [(self.producers[consumer], info) for consumer, info in target.readers]
        subpartitions = [self.subpartitions[task][ChannelInfo(number, index)] for index in range(len(readers))]
        chosen = partitioner(target.kind, len(readers), target.max_parallelism)
        return ResultPartition(subpartitions, readers, chosen, target.kind in ALWAYS_ALIGNED)
