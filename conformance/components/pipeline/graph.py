"""What follows from the graph of a job: who reads which records, in which order, and who is restarted with whom."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, product

from msgspec.structs import replace

from conformance.ports import Edge, EdgeKind, JobConfig, JobVertex, VertexKind

SOURCE, SINK, COUNT, JOIN = VertexKind.SOURCE, VertexKind.SINK, VertexKind.COUNT, VertexKind.BROADCAST_JOIN
STATELESS = frozenset({EdgeKind.FORWARD, EdgeKind.RESCALE, EdgeKind.BROADCAST})
"""The edges that never have channel state."""
_IN_ORDER = frozenset({EdgeKind.HASH, EdgeKind.FORWARD, EdgeKind.GLOBAL})
"""The edges on which records with one key, from one subtask, go to one subtask."""
MOST_PARALLELISM = 4
"""How far a restore raises the parallelism of a vertex."""
HOW = ("same", "up", "down", "mixed", "1", "2", "3")
"""The parallelism of a restored job: unchanged, each vertex with one subtask more or less, in turn more and less, or so
many subtasks."""
Path = tuple[int, ...]
"""The numbers of the edges on which records are passed on."""


class Graph:
    """A job as its configuration says: the paths of records, the tasks, the regions. It never changes."""

    __slots__ = (
        "counts", "edges", "job", "joins", "kept", "names", "paths", "regions", "sinks", "sources", "splits", "tasks",
        "vertices",
    )  # fmt: skip

    def __init__(self, vertices: tuple[JobVertex, ...], edges: tuple[Edge, ...]) -> None:
        config = self.job = JobConfig(vertices, edges)
        """The job without its settings."""
        self.vertices = vertices
        self.edges = edges
        self.tasks = config.tasks()
        self.names = tuple(f"{vertex}/{subtask}" for vertex, subtask in self.tasks)
        self.sources, self.sinks, self.counts, self.joins = (
            tuple(at for at, one in enumerate(vertices) if one.kind is kind) for kind in (SOURCE, SINK, COUNT, JOIN)
        )
        self.splits = tuple(split for vertex in self.sources for split in config.splits_of(vertex))
        """All splits."""
        self.paths: list[dict[int, Path]] = []
        """By vertex and split whose records it passes on or writes, the path from the source."""
        self.kept: list[dict[int, Path]] = []
        """By vertex and split whose records it keeps as broadcast state, the path."""
        for vertex, one in enumerate(vertices):
            reading = [
                {split: (*path, number) for split, path in self.paths[edge.producer].items()}
                for number, edge in enumerate(edges)
                if edge.consumer == vertex
            ]
            kept = reading.pop() if one.kind is JOIN else {}
            own: dict[int, Path] = dict.fromkeys(config.splits_of(vertex), ()) if one.kind is SOURCE else {}
            self.paths.append({**own, **{split: path for some in reading for split, path in some.items()}})
            self.kept.append(kept)
        self.regions = self._regions()
        """By task, the tasks with which it is restarted, if only its region is."""

    def _regions(self) -> tuple[frozenset[int], ...]:
        region = [frozenset({number}) for number in range(len(self.tasks))]
        first = [0, *accumulate(one.parallelism for one in self.vertices)]
        for edge in self.edges:
            many, others = (self.vertices[vertex].parallelism for vertex in (edge.producer, edge.consumer))
            for producer, consumer in product(range(many), range(others)):
                one = region[first[edge.producer] + producer]
                other = region[first[edge.consumer] + consumer]
                if one is not other and self.connects(edge.kind, producer, many, consumer, others):
                    joined = one | other
                    for number in joined:
                        region[number] = joined
        return tuple(region)

    @staticmethod
    def connects(kind: EdgeKind, producer: int, producers: int, consumer: int, consumers: int) -> bool:
        """Returns whether an edge has a channel from a subtask of its producer to one of its consumer."""
        if kind is EdgeKind.FORWARD:
            return producer == consumer
        if kind is EdgeKind.RESCALE:
            if producers >= consumers:
                return consumer * producers // consumers <= producer < (consumer + 1) * producers // consumers
            return consumer * producers // consumers == producer
        return True

    def is_in_order(self, path: Path) -> bool:
        """Returns whether, on this path, records of one split and key go from subtask to subtask in one way only."""
        return all(self.edges[number].kind in _IN_ORDER for number in path)

    def fans_out(self, path: Path) -> bool:
        """Returns whether each subtask of a source is connected, on this path, with each subtask at its end."""
        return any(not self.edges[number].kind.is_pointwise for number in path)

    def lets_barriers_pass(self, throttled: Iterable[int]) -> bool:
        """Returns whether unaligned barriers reach all tasks although the operators of these stand still: these, and
        those in front of them, which may have no room, have no input on which barriers stay behind data."""
        held = {self.tasks[number][0] for number in throttled}
        for edge in sorted(self.edges, key=lambda one: -one.consumer):
            if edge.consumer in held:
                held.add(edge.producer)
        return not any(edge.consumer in held and edge.kind in STATELESS for edge in self.edges)

    def rescaled(self, how: str) -> tuple[JobVertex, ...]:
        """Returns the vertices with another parallelism each: as `HOW` says. That of vertices that a forward edge joins
        stays the same."""
        each = []
        for number, one in enumerate(self.vertices):
            now = one.parallelism
            wanted = {"same": now, "up": now + 1, "down": now - 1, "mixed": now + (1 if number % 2 else -1)}.get(how)
            most = min(one.max_parallelism, max(MOST_PARALLELISM, now))
            each.append(replace(one, parallelism=max(1, min(int(how) if wanted is None else wanted, most))))
        for edge in self.edges:
            if edge.kind is EdgeKind.FORWARD:
                each[edge.consumer] = replace(each[edge.consumer], parallelism=each[edge.producer].parallelism)
        return tuple(each)


@lru_cache(maxsize=128)
def _graph(vertices: tuple[JobVertex, ...], edges: tuple[Edge, ...]) -> Graph:
    return Graph(vertices, edges)


def graph_of(config: JobConfig) -> Graph:
    """Returns the graph of a job. Jobs that are alike share it."""
    return _graph(config.vertices, config.edges)
