"""The graph of a job: which subtasks are connected, and how channels and subpartitions are numbered.

Specification: pipeline.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.ports import EdgeKind, JobConfig, VertexKind

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


class Graph:
    """What follows from the configuration."""

    def __init__(self, config: JobConfig) -> None:
        self.config = config
        self.vertices = config.vertices
        self.edges = config.edges
        self.tasks = config.tasks()
        """By number of a task, its vertex and subtask."""
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
        self.sources = [number for number, one in enumerate(self.vertices) if one.kind is VertexKind.SOURCE]
        self.regions = self.make_regions()
        """By number of a task, all tasks of its region, ascending."""

    def make_regions(self) -> list[tuple[int, ...]]:
        """J11. Returns, by task, the tasks that are connected with it."""
        region = list(range(len(self.tasks)))
        for (edge, consumer), producers in self.producers.items():
            down = region[self.task(self.edges[edge].consumer, consumer)]
            ups = {region[self.task(self.edges[edge].producer, one)] for one in producers}
            region = [down if one in ups else one for one in region]
        return [tuple(task for task, one in enumerate(region) if one == of) for of in region]

    def task(self, vertex: int, subtask: int) -> int:
        """J2. Returns the number of a task."""
        return self.config.task(vertex, subtask)

    def worker(self, subtask: int) -> int:
        """J12. Returns the worker on which a subtask runs."""
        return subtask % self.config.settings.workers

    def upstream(self, task: int) -> Iterable[int]:
        """J5. Returns the tasks that produce what a task reads."""
        vertex, subtask = self.tasks[task]
        for edge in self.into[vertex]:
            for producer in self.producers[edge, subtask]:
                yield self.task(self.edges[edge].producer, producer)
