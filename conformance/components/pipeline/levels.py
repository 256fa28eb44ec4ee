"""How scenarios of jobs are reduced: smaller jobs first, in which the same tasks, splits and threads have other
numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from conformance.components.pipeline.config import PipelineScenarioConfig
from conformance.components.pipeline.graph import Graph, graph_of
from conformance.driver import Levels, Operands
from conformance.ports import FailureTarget, Until

Steps = Sequence[Operands]
_COST = 2
"""For each task. A run of a job takes a millisecond for each and more, one of a queue less than a quarter. With 2, the
budget suffices for nearly every known bug, and no reduction takes more than ten seconds."""


def worlds(
    config: PipelineScenarioConfig, simpler: Sequence[PipelineScenarioConfig]
) -> Iterable[PipelineScenarioConfig]:
    """Those with as many vertices at most, and no settings but its own or the usual ones."""
    plain = replace(type(config.settings)(), recovery=config.settings.recovery)
    for one in simpler:
        same = one.vertices == config.vertices and one.edges == config.edges
        if same or (len(one.vertices) <= len(config.vertices) and one.settings in (config.settings, plain)
                    and one.faults <= config.faults):  # fmt: skip
            yield one


class Image:
    """One job in another one: each vertex is the vertex of the same kind, or else the next one behind it."""

    def __init__(self, old: Graph, new: Graph) -> None:
        self.old, self.new = old, new
        self.vertices = [self._vertex(vertex) for vertex in range(len(old.job.vertices))]

    def _vertex(self, vertex: int) -> int:
        old, new = self.old.job.vertices, self.new.job.vertices
        kind = old[vertex].kind
        alike = [at for at, one in enumerate(new) if one.kind is kind]
        if alike:
            return alike[min(sum(one.kind is kind for one in old[:vertex]), len(alike) - 1)]
        between = [at for at in range(len(new)) if at not in self.new.sources and at not in self.new.sinks]
        return between[0] if between else self.new.sinks[0]

    def subtask(self, vertex: int, subtask: int) -> tuple[int, int]:
        """The task that stands for one."""
        there = self.vertices[vertex]
        return there, min(subtask, self.new.job.vertices[there].parallelism - 1)

    def task(self, number: int) -> int | None:
        """The number of the task that stands for the one with this number."""
        if number >= len(self.old.tasks):
            return None
        return self.new.job.task(*self.subtask(*self.old.tasks[number]))

    def split(self, split: int) -> int | None:
        """The split that stands for one."""
        for vertex in self.old.sources:
            mine = self.old.job.splits_of(vertex)
            if split in mine:
                there = self.new.job.splits_of(self.vertices[vertex])
                return there[min(split - mine.start, len(there) - 1)]
        return None

    def vertex(self, vertex: int) -> int | None:
        """The vertex that stands for one."""
        return self.vertices[vertex] if vertex < len(self.vertices) else None

    def thread(self, thread: str) -> str | None:
        """The thread that stands for one."""
        kind, _, rest = thread.partition(" ")
        numbers = [int(one) for one in rest.split("/") if one]
        if kind == "link":
            return self._link(*numbers)
        if kind == "enumerator":
            return f"enumerator {self.vertices[numbers[0]]}"
        if kind in ("task", "restore", "to", "from"):
            return "{} {}/{}".format(kind, *self.subtask(numbers[0], numbers[1]))
        return thread

    def _link(self, edge: int, producer: int, consumer: int) -> str | None:
        of = self.old.edges[edge]
        (up, first), (down, second) = self.subtask(of.producer, producer), self.subtask(of.consumer, consumer)
        for number, one in enumerate(self.new.edges):
            if (one.producer, one.consumer) == (up, down):
                return f"link {number}/{first}/{second}"
        return None


_MOVED: Mapping[str, Callable[[Image, Any], int | str | None]] = {
    "task": Image.task,
    "split": Image.split,
    "source": Image.vertex,
    "sink": Image.vertex,
    "vertex": Image.vertex,
    "thread": Image.thread,
}
"""By name of an operand, what stands for its value."""


def moving(
    operands: Mapping[str, tuple[str, ...]],
) -> Callable[[PipelineScenarioConfig, Steps, PipelineScenarioConfig], tuple[Operands, ...]]:
    """Returns the function that moves steps to another job. `operands`: by step, the names of its operands."""

    def moved(config: PipelineScenarioConfig, steps: Steps, other: PipelineScenarioConfig) -> tuple[Operands, ...]:
        here, there = graph_of(config.job()), graph_of(other.job())
        image = Image(here, there)
        found = []
        for name, *values in steps:
            names = operands[name]
            if name == "fail" and values[0] == FailureTarget.TASK.value:
                names = (names[0], "task", *names[2:])
            new = [
                _MOVED[one](image, value) if one in _MOVED else value for one, value in zip(names, values, strict=True)
            ]
            if None not in new:
                found.append((name, *new))
            if name == "restore":
                here, there = (Graph(one.rescaled(values[1]), one.edges) for one in (here, there))
                image = Image(here, there)
        return tuple(found)

    return moved


def levels(operands: Mapping[str, tuple[str, ...]]) -> Levels:
    """The levels of jobs."""
    return Levels(
        cost=lambda config: _COST * sum(one.parallelism for one in config.vertices),
        worlds=worlds,
        moved=moving(operands),
        parts=("kill", "restore", "fail", "trigger"),
        kinds=(
            ("threads", "resources", "output", "state", "snapshot"),
            ("kill", "restore"),
            ("lose", "advance", "fault"),
            ("fail",),
            ("end", "cancel", "stop_with_savepoint"),
            ("throttle",),
            ("settle",),
            ("trigger",),
            ("supply",),
        ),
        turns=("work",),
        stretches=tuple(("settle", one.value) for one in (Until.IDLE, Until.RUNNING)),
        again=60,
        in_vain=3,
    )
