"""The configurations of jobs from which scenarios are drawn: each kind of vertex and of edge, small jobs first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from conformance.models.faults import WithFaults
from conformance.ports import Edge, EdgeKind, JobConfig, JobSettings, JobVertex, Recovery, VertexKind

MOST_SPLIT_RECORDS = 999_999


class PipelineScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """The job with which a run begins. `portions`: how many records of a split are supplied at a time. All others are
    those of the job."""

    vertices: Annotated[tuple[JobVertex, ...], Meta(min_length=2, max_length=9)]
    edges: Annotated[tuple[Edge, ...], Meta(min_length=1, max_length=12)]
    settings: JobSettings = JobSettings()
    portions: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=MOST_SPLIT_RECORDS)], ...], Meta(min_length=1, max_length=6)
    ] = (1, 3, 8)
    interleaving: Literal["whole"] = "whole"
    faults: bool = False

    def job(self) -> JobConfig:
        """Returns the configuration of the first port."""
        return JobConfig(self.vertices, self.edges, self.settings)


_SOURCE, _MAP, _COUNT, _SINK = VertexKind.SOURCE, VertexKind.MAP, VertexKind.COUNT, VertexKind.SINK
_HASH, _REBALANCE, _FORWARD, _BROADCAST, _CUSTOM, _RESCALE, _GLOBAL = (
    EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.FORWARD, EdgeKind.BROADCAST, EdgeKind.CUSTOM, EdgeKind.RESCALE,
    EdgeKind.GLOBAL,
)  # fmt: skip
Graph = tuple[tuple[tuple[str, VertexKind], ...], tuple[tuple[int, int, EdgeKind], ...]]

GRAPHS: dict[str, Graph] = {
    "one edge": ((("source", _SOURCE), ("sink", _SINK)), ((0, 1, _REBALANCE),)),
    "keyed": ((("source", _SOURCE), ("count", _COUNT), ("sink", _SINK)), ((0, 1, _HASH), (1, 2, _REBALANCE))),
    "keyed twice": (
        (("source", _SOURCE), ("map", _MAP), ("count", _COUNT), ("sink", _SINK)),
        ((0, 1, _HASH), (1, 2, _HASH), (2, 3, _HASH)),
    ),
    "chained": ((("source", _SOURCE), ("count", _COUNT), ("sink", _SINK)), ((0, 1, _HASH), (1, 2, _FORWARD))),
    "rebalanced": (
        (("source", _SOURCE), ("map", _MAP), ("count", _COUNT), ("sink", _SINK)),
        ((0, 1, _REBALANCE), (1, 2, _HASH), (2, 3, _GLOBAL)),
    ),
    "rescaled": (
        (("source", _SOURCE), ("map", _MAP), ("count", _COUNT), ("sink", _SINK)),
        ((0, 1, _RESCALE), (1, 2, _HASH), (2, 3, _RESCALE)),
    ),
    "custom": ((("source", _SOURCE), ("map", _MAP), ("sink", _SINK)), ((0, 1, _CUSTOM), (1, 2, _HASH))),
    "two sinks": (
        (("source", _SOURCE), ("count", _COUNT), ("sink", _SINK), ("other sink", _SINK)),
        ((0, 1, _HASH), (1, 2, _HASH), (0, 3, _REBALANCE)),
    ),
    "separate": (
        (("source", _SOURCE), ("source 2", _SOURCE), ("sink", _SINK), ("sink 2", _SINK)),
        ((0, 2, _HASH), (1, 3, _FORWARD)),
    ),
    "union": (
        (("source", _SOURCE), ("source 2", _SOURCE), ("union", VertexKind.UNION), ("sink", _SINK)),
        ((0, 2, _HASH), (1, 2, _REBALANCE), (2, 3, _HASH)),
    ),
    "two inputs": (
        (("source", _SOURCE), ("source 2", _SOURCE), ("two inputs", VertexKind.TWO_INPUT), ("count", _COUNT),
         ("sink", _SINK)),
        ((0, 2, _HASH), (1, 2, _HASH), (2, 3, _HASH), (3, 4, _HASH)),
    ),
    "selective": (
        (("source", _SOURCE), ("source 2", _SOURCE), ("selective", VertexKind.SELECTIVE), ("sink", _SINK)),
        ((0, 2, _HASH), (1, 2, _REBALANCE), (2, 3, _REBALANCE)),
    ),
    "keyed with broadcast": (
        (("source", _SOURCE), ("rules", _SOURCE), ("join", VertexKind.BROADCAST_JOIN), ("sink", _SINK)),
        ((0, 2, _HASH), (1, 2, _BROADCAST), (2, 3, _HASH)),
    ),
}  # fmt: skip
"""By topology, its vertices and edges."""
_FIRST, _MEMORY, _PUSHED = Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED
_BASE = JobSettings(recovery=_PUSHED)


def make(
    graph: str, parallelism: int | Sequence[int] = 1, settings: JobSettings = _BASE, splits: int = 2,
    faults: bool = False,
) -> PipelineScenarioConfig:  # fmt: skip
    """Returns a job of this topology. `parallelism`: that of all vertices, or by vertex."""
    vertices, edges = GRAPHS[graph]
    each = [parallelism] * len(vertices) if isinstance(parallelism, int) else parallelism
    return PipelineScenarioConfig(
        tuple(
            JobVertex(name, kind, many, splits=splits if kind is _SOURCE else 0)
            for (name, kind), many in zip(vertices, each, strict=True)
        ),
        tuple(Edge(*one) for one in edges),
        settings,
        faults=faults,
    )


_TIGHT = replace(_BASE, room=1, exclusive_buffers=1, floating_buffers=1, recovery_buffers=2)
_SHARING = replace(_BASE, sharing=2, records_in_buffer=3)
_STRICT = replace(_BASE, tolerable=1, regions=False)
_ALIGNED = replace(_BASE, recovery=_FIRST, unaligned=False, concurrent=2)
_UPSTREAM = replace(_BASE, output_on_downstream=False)
_ONE_WORKER = replace(_BASE, workers=1)


def _with(settings: JobSettings, recovery: Recovery) -> JobSettings:
    return replace(settings, recovery=recovery)


CONFIGS = (
    *[make(graph, 1, _with(_BASE, recovery)) for graph in GRAPHS for recovery in (_FIRST, _MEMORY, _PUSHED)],
    *[make(graph, 2, _with(_BASE, recovery)) for graph in GRAPHS for recovery in (_FIRST, _MEMORY, _PUSHED)],
    *[make(graph, 2, settings) for graph in GRAPHS for settings in (_TIGHT, _SHARING)],
    *[make("keyed", many, _with(_BASE, recovery)) for many in ((1, 2, 1), (2, 1, 3), (3, 3, 3))
      for recovery in (_FIRST, _MEMORY, _PUSHED)],
    make("one edge", (1, 2), _BASE, 1), make("one edge", (2, 1), _BASE, 3),
    make("keyed twice", (1, 2, 3, 2), _BASE, 3), make("rebalanced", (2, 3, 2, 1), _BASE, 3),
    make("rescaled", (1, 2, 2, 1), _BASE), make("custom", (2, 3, 2), _BASE), make("union", (2, 1, 3, 2), _SHARING),
    make("keyed with broadcast", (3, 2, 3, 2), _with(_TIGHT, _MEMORY)), make("selective", (1, 2, 2, 1), _BASE),
    *[make(graph, many, settings) for graph in ("keyed", "union", "separate") for many in (1, 2)
      for settings in (_STRICT, _ALIGNED, _UPSTREAM, _ONE_WORKER, _with(_UPSTREAM, _FIRST))],
    make("keyed", 2, replace(_BASE, during_recovery=False)),
    *[make(graph, many, settings, faults=True) for graph in ("keyed", "two inputs", "separate") for many in (1, 2)
      for settings in (_BASE, _with(_SHARING, _MEMORY), _with(_STRICT, _FIRST))],
)  # fmt: skip
