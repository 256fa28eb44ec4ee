"""The graph of a job: which subtasks are connected, and how channels and subpartitions are numbered.

Specification: pipeline.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from conformance.ports import ChannelKind, Edge, EdgeKind, JobConfig, JobVertex, VertexKind

from ..network.channel_info import ChannelInfo, Numbering, numbering

ALWAYS_ALIGNED = (EdgeKind.FORWARD, EdgeKind.RESCALE, EdgeKind.BROADCAST)
"""The kinds of edges that have no channel state."""


def connected(kind: EdgeKind, producers: int, consumers: int) -> list[tuple[int, int]]:
    """J2. Returns the pairs of subtasks that a channel joins (Flink: `EdgeManagerBuildUtil.connectVertexToResult`)."""
    if kind is EdgeKind.FORWARD:
        return [(subtask, subtask) for subtask in range(producers)]
    if kind is not EdgeKind.RESCALE:
        return [(producer, consumer) for consumer in range(consumers) for producer in range(producers)]
    if producers >= consumers:
        return [(producer, producer * consumers // producers) for producer in range(producers)]
    return [(consumer * producers // consumers, consumer) for consumer in range(consumers)]


def link_name(edge: int, producer: int, consumer: int) -> str:
    """J2. Returns the name of the thread that carries what one subtask sends to another."""
    return f"link {edge}/{producer}/{consumer}"


class Source(NamedTuple):
    """Where a channel of a task comes from."""

    task: int
    """The task that produces."""
    info: ChannelInfo
    """Partition and subpartition of that task."""
    link: str
    """The thread of the network; empty if the channel is local."""


class Target(NamedTuple):
    """Where an edge out of a task leads to."""

    kind: EdgeKind
    max_parallelism: int
    """That of the consumer."""
    readers: tuple[tuple[int, ChannelInfo], ...]
    """By subpartition, the task that reads it, and the channel there."""


class Wiring(NamedTuple):
    """What a task is connected with."""

    inputs: Numbering
    outputs: Numbering
    """How its channels and its subpartitions are numbered."""
    channels: tuple[int, ...]
    """By gate, how many it has."""
    kinds: tuple[tuple[tuple[ChannelKind, ...], ...], ...]
    """Of each input, by its gates, the channels; of a union, all gates are one input."""
    sources: tuple[Source, ...]
    """By number of a channel."""
    targets: tuple[Target, ...]
    """By partition."""
    always_aligned: tuple[int, ...]
    """The channels that can have no channel state, if there are others."""


class Threads(NamedTuple):
    """The names of the threads of a task, and of those that bring messages to the task and from it."""

    task: str
    restore: str
    to: str
    from_: str


class Graph:
    """What follows from vertices, edges, and the number of workers. It never changes."""

    def __init__(self, vertices: tuple[JobVertex, ...], edges: tuple[Edge, ...], workers: int) -> None:
        self.vertices = vertices
        self.edges = edges
        self.workers = workers
        self.first: list[int] = []
        """By vertex, the number of its first task."""
        self.tasks: list[tuple[int, int]] = []
        """By number of a task, its vertex and subtask."""
        for number, one in enumerate(vertices):
            self.first.append(len(self.tasks))
            self.tasks += [(number, subtask) for subtask in range(one.parallelism)]
        self.threads = [
            Threads(*(f"{kind} {vertex}/{subtask}" for kind in ("task", "restore", "to", "from")))
            for vertex, subtask in self.tasks
        ]
        """By task."""
        self.into: list[list[int]] = [[] for _ in self.vertices]
        self.out_of: list[list[int]] = [[] for _ in self.vertices]
        """By vertex, the edges into it and out of it, in their order."""
        self.producers: dict[tuple[int, int], list[int]] = {}
        """By edge and subtask of its consumer, the subtasks of its producer, by channel."""
        self.consumers: dict[tuple[int, int], list[int]] = {}
        """By edge and subtask of its producer, the subtasks of its consumer, by subpartition."""
        for number, edge in enumerate(self.edges):
            self.into[edge.consumer].append(number)
            self.out_of[edge.producer].append(number)
            ups, downs = self.vertices[edge.producer].parallelism, self.vertices[edge.consumer].parallelism
            self.producers.update({(number, consumer): [] for consumer in range(downs)})
            self.consumers.update({(number, producer): [] for producer in range(ups)})
            for producer, consumer in connected(edge.kind, ups, downs):
                self.producers[number, consumer].append(producer)
                self.consumers[number, producer].append(consumer)
        self.links = [
            link_name(edge, producer, consumer)
            for (edge, consumer), producers in self.producers.items()
            for producer in producers
            if not self.is_local(producer, consumer)
        ]
        """The threads of the network."""
        self.sources = [number for number, one in enumerate(self.vertices) if one.kind is VertexKind.SOURCE]
        self.regions = self.make_regions()
        """By number of a task, all tasks of its region, ascending."""
        self.wirings = [self.wire(vertex, subtask) for vertex, subtask in self.tasks]
        """By task."""

    def make_regions(self) -> list[tuple[int, ...]]:
        """J11. Returns, by task, the tasks that are connected with it."""
        region = list(range(len(self.tasks)))
        for (edge, consumer), producers in self.producers.items():
            down = region[self.task(self.edges[edge].consumer, consumer)]
            ups = {region[self.task(self.edges[edge].producer, one)] for one in producers}
            region = [down if one in ups else one for one in region]
        return [tuple(task for task, one in enumerate(region) if one == of) for of in region]

    def wire(self, vertex: int, subtask: int) -> Wiring:
        """J2. Returns what a task is connected with."""
        into, out_of = self.into[vertex], self.out_of[vertex]
        inputs = numbering([len(self.producers[edge, subtask]) for edge in into])
        outputs = numbering([len(self.consumers[edge, subtask]) for edge in out_of])
        kinds = tuple(
            tuple(
                ChannelKind.LOCAL if self.is_local(producer, subtask) else ChannelKind.REMOTE
                for producer in self.producers[edge, subtask]
            )
            for edge in into
        )
        aligned = [n for n, info in enumerate(inputs.infos) if self.edges[into[info.gate]].kind in ALWAYS_ALIGNED]
        return Wiring(
            inputs,
            outputs,
            tuple(map(len, kinds)),
            (kinds,) if self.vertices[vertex].kind is VertexKind.UNION else tuple((one,) for one in kinds),
            tuple(self.source(edge, producer, subtask) for edge in into for producer in self.producers[edge, subtask]),
            tuple(self.target(edge, subtask) for edge in out_of),
            () if len(aligned) == len(inputs.infos) else tuple(aligned),
        )

    def source(self, edge: int, producer: int, consumer: int) -> Source:
        """J2. Returns where a channel comes from."""
        up = self.edges[edge].producer
        at = ChannelInfo(self.out_of[up].index(edge), self.consumers[edge, producer].index(consumer))
        link = "" if self.is_local(producer, consumer) else link_name(edge, producer, consumer)
        return Source(self.task(up, producer), at, link)

    def target(self, edge: int, producer: int) -> Target:
        """J2. Returns where an edge leads to from a subtask of its producer."""
        down = self.edges[edge].consumer
        gate = self.into[down].index(edge)
        readers = tuple(
            (self.task(down, consumer), ChannelInfo(gate, self.producers[edge, consumer].index(producer)))
            for consumer in self.consumers[edge, producer]
        )
        return Target(self.edges[edge].kind, self.vertices[down].max_parallelism, readers)

    def is_local(self, producer: int, consumer: int) -> bool:
        """J2. Whether two subtasks are on the same worker."""
        return self.worker(producer) == self.worker(consumer)

    def task(self, vertex: int, subtask: int) -> int:
        """J2. Returns the number of a task."""
        return self.first[vertex] + subtask

    def worker(self, subtask: int) -> int:
        """J12. Returns the worker on which a subtask runs."""
        return subtask % self.workers

    def upstream(self, task: int) -> Iterable[int]:
        """J5. Returns the tasks that produce what a task reads."""
        vertex, subtask = self.tasks[task]
        for edge in self.into[vertex]:
            for producer in self.producers[edge, subtask]:
                yield self.task(self.edges[edge].producer, producer)


@lru_cache(maxsize=128)
def _graph(vertices: tuple[JobVertex, ...], edges: tuple[Edge, ...], workers: int) -> Graph:
    return Graph(vertices, edges, workers)


def graph_of(config: JobConfig) -> Graph:
    """J2. Returns the graph of a job. Jobs that are alike share it."""
    return _graph(config.vertices, config.edges, config.settings.workers)
