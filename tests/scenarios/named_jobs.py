"""Scenarios of whole jobs that have names: what Flink's integration tests of recovered state do, step by step.

`UnalignedCheckpointRescaleITCase` lets each of its topologies run under back-pressure, fail, and restore an unaligned
checkpoint with fewer, more or as many subtasks. `RecoveredStateFilteringLargeRecordITCase` takes a checkpoint with
records in flight, restores it with another parallelism and takes the next one while that is being recovered, and
restores this one. In both, an operator that stands still takes the place of back-pressure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from conformance.components.pipeline import PipelineScenarioConfig
from conformance.components.pipeline.config import make
from conformance.components.pipeline.graph import graph_of
from conformance.ports import Edge, EdgeKind, JobSettings, JobVertex, Recovery, VertexKind
from conformance.scenarios import Scenario, Step

DESIGNS = (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED)
Steps = tuple[Step, ...]
IDLE: Step = ("settle", "idle")
RUNNING: Step = ("settle", "running")
ENDED: Step = ("settle", "no-checkpoint")
UNALIGNED: Step = ("trigger", "unaligned")


def _broadcast(parallelism: Sequence[int], settings: JobSettings, splits: int) -> PipelineScenarioConfig:
    """Records are not keyed, and all subtasks have all records of the other source."""
    kinds = (VertexKind.SOURCE, VertexKind.SOURCE, VertexKind.BROADCAST_JOIN, VertexKind.SINK)
    edges = ((0, 2, EdgeKind.REBALANCE), (1, 2, EdgeKind.BROADCAST), (2, 3, EdgeKind.REBALANCE))
    vertices = (
        JobVertex(name, kind, many, splits=splits if kind is VertexKind.SOURCE else 0)
        for name, kind, many in zip(("source", "rules", "join", "sink"), kinds, parallelism, strict=True)
    )
    return PipelineScenarioConfig(tuple(vertices), tuple(Edge(*one) for one in edges), settings)


def _job(topology: str, parallelism: Sequence[int], design: Recovery) -> PipelineScenarioConfig:
    # Barriers on a broadcast edge overtake nothing: the task behind it must have room for all its records.
    settings = JobSettings(recovery=design, room=64 if "broadcast" in topology else 3)
    splits = max(parallelism)
    return (_broadcast if topology == "broadcast" else partial(make, topology))(parallelism, settings, splits)


TOPOLOGIES = {
    "pipeline": "rebalanced",
    "multi-input": "two inputs",
    "keyed, different parallelism": "keyed twice",
    "union": "union",
    "broadcast": "broadcast",
    "keyed with broadcast": "keyed with broadcast",
    "custom partitioner": "custom",
}
"""Those of `UnalignedCheckpointRescaleITCase`, by name, and the graph of this suite that has its vertices and edges."""
PARALLELISM = {
    "rebalanced": (2, 2, 3, 2), "two inputs": (2, 2, 3, 2, 2), "keyed twice": (1, 3, 2, 3), "union": (2, 1, 3, 2),
    "broadcast": (2, 2, 3, 2), "keyed with broadcast": (2, 2, 3, 2), "custom": (2, 3, 2),
}  # fmt: skip
RESCALES = {"down": "down", "up": "up", "unchanged": "same"}


def _last(config: PipelineScenarioConfig) -> list[int]:
    """The tasks of the sink."""
    sink = len(config.vertices) - 1
    return [task for task, (vertex, _) in enumerate(config.job().tasks()) if vertex == sink]


def _supplies(config: PipelineScenarioConfig, count: int) -> Steps:
    return tuple(("supply", split, count) for split in range(sum(one.splits for one in config.vertices)))


def _overtaking(config: PipelineScenarioConfig, tasks: Sequence[int], number: int) -> Steps:
    """An unaligned checkpoint overtakes what waits in front of operators that stand still. Those that have a broadcast
    input go on then, because the barriers there overtake nothing."""
    kinds = [config.vertices[vertex].kind for vertex, _ in config.job().tasks()]
    joins = [task for task, kind in enumerate(kinds) if kind is VertexKind.BROADCAST_JOIN]
    still: Steps = tuple(("throttle", task, True) for task in (*joins, *tasks))
    on: Steps = tuple(("throttle", task, False) for task in joins)
    return (RUNNING, *still, *_supplies(config, 8), IDLE, UNALIGNED, *((IDLE, *on) if on else ()), ENDED,
            ("snapshot", number))  # fmt: skip


def _at_the_cut(config: PipelineScenarioConfig, number: int, how: str, design: Recovery) -> Steps:
    """After the restore, the job holds exactly the cut; then it goes on."""
    return (
        ("kill",), ("restore", number, how, design.value, True), IDLE,
        *(("state", vertex) for vertex in range(len(config.vertices))), *_supplies(config, 3), IDLE,
    )  # fmt: skip


def _rescaled(topology: str, how: str, design: Recovery) -> Scenario:
    config = _job(topology, PARALLELISM[topology], design)
    steps = (*_overtaking(config, _last(config), 1), *_at_the_cut(config, 1, how, design), UNALIGNED, ENDED)
    return Scenario("pipeline", config, steps)


def _keyed_broadcast_from_7_to_2(design: Recovery) -> Scenario:
    config = _job("keyed with broadcast", (7, 7, 7, 7), design)
    steps = (*_overtaking(config, _last(config), 1), *_at_the_cut(config, 1, "2", design))
    return Scenario("pipeline", config, steps)


def _three_phases(how: str, then: str, design: Recovery) -> Scenario:
    """Of a keyed job: the checkpoint that is restored at last was taken while operators stood still in front of what
    was recovered. A job that recovers first takes it when all that was recovered has been consumed."""
    config = _job("keyed", (2, 3, 2), design)
    many = [one.parallelism for one in graph_of(config.job()).rescaled(how)]
    behind_sources = range(many[0], sum(many))
    restored: Steps = (("kill",), ("restore", 1, how, design.value, True))
    if design is Recovery.RECOVER_FIRST:
        second = (*restored, *_overtaking(config, range(sum(many[:2]), sum(many)), 2))
    else:
        still = (("throttle", task, True) for task in behind_sources)
        second = (*restored, *still, IDLE, UNALIGNED, ENDED, ("snapshot", 2))
    steps = (*_overtaking(config, _last(config), 1), *second, *_at_the_cut(config, 2, then, design))
    return Scenario("pipeline", config, steps)


def scenarios() -> Iterator[tuple[str, Scenario]]:
    """All, by name."""
    for design in DESIGNS:
        for name, topology in TOPOLOGIES.items():
            for direction, how in RESCALES.items():
                yield f"{name}, {direction}, {design.value}", _rescaled(topology, how, design)
        yield f"keyed with broadcast, 7 to 2, {design.value}", _keyed_broadcast_from_7_to_2(design)
        for how, then in (("up", "down"), ("down", "up"), ("same", "same")):
            yield f"three phases, {how} and {then}, {design.value}", _three_phases(how, then, design)


NAMED = dict(scenarios())
