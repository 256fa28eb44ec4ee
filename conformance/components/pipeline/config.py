"""The configurations of jobs from which scenarios are drawn: each kind of vertex and of edge, small jobs first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Protocol

from msgspec import Meta
from msgspec.structs import replace

from conformance.components.pipeline.graph import graph_of
from conformance.models.faults import WithFaults
from conformance.ports import Edge, EdgeKind, JobConfig, JobSettings, JobVertex, Recovery, VertexKind

MOST_SPLIT_RECORDS = 999_999


class DescribesJob(Protocol):
    """What the ledger of a job needs of the configuration of its scenario."""

    @property
    def portions(self) -> tuple[int, ...]:
        """Returns how many records of a split are supplied at a time."""

    def job(self) -> JobConfig:
        """Returns the configuration of the first port."""


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

    @staticmethod
    def restored(job: JobConfig, step: Sequence[Any]) -> JobConfig:
        """Returns a job after a step: a `restore` may give its vertices another parallelism."""
        return replace(job, vertices=graph_of(job).rescaled(step[2])) if step[0] == "restore" else job


GRAPHS = {
    "one edge": ("source sink", "0-1 rebalance"),
    "keyed": ("source count sink", "0-1 hash, 1-2 rebalance"),
    "keyed twice": ("source map count sink", "0-1 hash, 1-2 hash, 2-3 hash"),
    "chained": ("source count sink", "0-1 hash, 1-2 forward"),
    "rebalanced": ("source map count sink", "0-1 rebalance, 1-2 hash, 2-3 global"),
    "rescaled": ("source map count sink", "0-1 rescale, 1-2 hash, 2-3 rescale"),
    "custom": ("source map sink", "0-1 custom, 1-2 hash"),
    "two sinks": ("source count sink sink", "0-1 hash, 1-2 hash, 0-3 rebalance"),
    "separate": ("source source sink sink", "0-2 hash, 1-3 forward"),
    "union": ("source source union sink", "0-2 hash, 1-2 rebalance, 2-3 hash"),
    "two inputs": ("source source two-input count sink", "0-2 hash, 1-2 hash, 2-3 hash, 3-4 hash"),
    "selective": ("source source selective sink", "0-2 hash, 1-2 rebalance, 2-3 rebalance"),
    "keyed with broadcast": ("source source broadcast-join sink", "0-2 hash, 1-2 broadcast, 2-3 hash"),
}
"""By topology, its vertices, numbered from 0, and its edges."""
_FIRST, _MEMORY, _PUSHED = Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED
_BASE = JobSettings(recovery=_PUSHED)


def make(
    graph: str, parallelism: int | Sequence[int] = 1, settings: JobSettings = _BASE, splits: int = 2,
    faults: bool = False,
) -> PipelineScenarioConfig:  # fmt: skip
    """Returns a job of this topology. `parallelism`: that of all vertices, or by vertex."""
    kinds, edges = GRAPHS[graph]
    vertices = []
    for number, kind in enumerate(map(VertexKind, kinds.split())):
        name = f"{kind.value} {number}"
        many = parallelism if isinstance(parallelism, int) else parallelism[number]
        vertices.append(JobVertex(name, kind, many, splits=splits if kind is VertexKind.SOURCE else 0))
    return PipelineScenarioConfig(tuple(vertices), tuple(_edges(edges)), settings, faults=faults)


def _edges(words: str) -> Iterator[Edge]:
    for one in words.split(", "):
        ends, kind = one.split(" ")
        producer, consumer = ends.split("-")
        yield Edge(int(producer), int(consumer), EdgeKind(kind))


_TIGHT = replace(_BASE, tolerable=1, room=1, exclusive_buffers=1, floating_buffers=1, recovery_buffers=2)
_SHARING = replace(_BASE, sharing=2, records_in_buffer=3, watermarks=2)
_STRICT = replace(_BASE, tolerable=1, regions=False, watermarks=2)
_ALIGNED = replace(_BASE, recovery=_FIRST, unaligned=False, concurrent=2, tolerable=1)
_UPSTREAM = replace(_BASE, output_on_downstream=False, watermarks=1)
_ONE_WORKER = replace(_BASE, workers=1, watermarks=1)


def _with(settings: JobSettings, recovery: Recovery) -> JobSettings:
    return replace(settings, recovery=recovery)


CONFIGS = (
    *[make(graph, 1, _with(_BASE, recovery)) for graph in GRAPHS for recovery in (_FIRST, _MEMORY, _PUSHED)],
    *[make(graph, 2, _with(_BASE, recovery)) for graph in GRAPHS for recovery in (_FIRST, _MEMORY, _PUSHED)],
    *[make(graph, 2, settings) for graph in GRAPHS for settings in (_TIGHT, _SHARING)],
    *[make(graph, 1, _ALIGNED) for graph in GRAPHS],
    *[make("keyed", many, _with(_BASE, recovery)) for many in ((1, 2, 1), (2, 1, 3), (3, 3, 3))
      for recovery in (_FIRST, _MEMORY, _PUSHED)],
    make("one edge", (1, 2), _BASE, 1), make("one edge", (2, 1), _BASE, 3),
    make("keyed twice", (1, 2, 3, 2), _BASE, 3), make("rebalanced", (2, 3, 2, 1), _BASE, 3),
    make("rescaled", (1, 2, 2, 1), _BASE), make("custom", (2, 3, 2), _BASE), make("union", (2, 1, 3, 2), _SHARING),
    make("keyed with broadcast", (3, 2, 3, 2), _with(_TIGHT, _MEMORY)), make("selective", (1, 2, 2, 1), _BASE),
    *[make(graph, many, settings)
      for graph in ("keyed", "union", "separate", "rescaled", "keyed with broadcast") for many in (1, 2)
      for settings in (_STRICT, _ALIGNED, _UPSTREAM, _ONE_WORKER, _with(_UPSTREAM, _FIRST))],
    make("keyed", 2, replace(_BASE, during_recovery=False)),
    *[make(graph, many, settings, faults=True)
      for graph in ("keyed", "two inputs", "separate", "rebalanced") for many in (1, 2)
      for settings in (_BASE, _with(_SHARING, _MEMORY), _with(_STRICT, _FIRST))],
)  # fmt: skip
