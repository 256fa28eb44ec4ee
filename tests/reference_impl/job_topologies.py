"""Jobs for tests: small graphs that have each kind of vertex and edge, at a parallelism of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.ports import Edge, EdgeKind, JobConfig, JobSettings, JobVertex, VertexKind

Parallelism = Sequence[int]
"""By vertex; a vertex behind the last one has that of the last one."""


def job(
    kinds: Sequence[VertexKind],
    edges: Sequence[tuple[int, int, EdgeKind]],
    parallelism: Parallelism,
    splits: int,
    settings: JobSettings,
) -> JobConfig:
    """A job of these vertices and edges. `splits`: of each source."""
    return JobConfig(
        tuple(
            JobVertex(
                f"{kind.value} {number}",
                kind,
                parallelism[min(number, len(parallelism) - 1)],
                splits=splits if kind is VertexKind.SOURCE else 0,
            )
            for number, kind in enumerate(kinds)
        ),
        tuple(Edge(*edge) for edge in edges),
        settings,
    )


SOURCE, MAP, COUNT, UNION, TWO_INPUT, SELECTIVE, JOIN, SINK = (
    VertexKind.SOURCE,
    VertexKind.MAP,
    VertexKind.COUNT,
    VertexKind.UNION,
    VertexKind.TWO_INPUT,
    VertexKind.SELECTIVE,
    VertexKind.BROADCAST_JOIN,
    VertexKind.SINK,
)
HASH, REBALANCE, GLOBAL, CUSTOM, BROADCAST, FORWARD, RESCALE = (
    EdgeKind.HASH,
    EdgeKind.REBALANCE,
    EdgeKind.GLOBAL,
    EdgeKind.CUSTOM,
    EdgeKind.BROADCAST,
    EdgeKind.FORWARD,
    EdgeKind.RESCALE,
)
Make = Callable[[Parallelism, int, JobSettings], JobConfig]


def _shaped(kinds: Sequence[VertexKind], *edges: tuple[int, int, EdgeKind]) -> Make:
    return lambda parallelism, splits, settings: job(kinds, edges, parallelism, splits, settings)


TOPOLOGIES: Mapping[str, Make] = {
    "count": _shaped((SOURCE, COUNT, SINK), (0, 1, HASH), (1, 2, REBALANCE)),
    "pipeline": _shaped((SOURCE, MAP, COUNT, SINK), (0, 1, FORWARD), (1, 2, HASH), (2, 3, GLOBAL)),
    "custom": _shaped((SOURCE, MAP, SINK), (0, 1, CUSTOM), (1, 2, REBALANCE)),
    "rescale": _shaped((SOURCE, MAP, COUNT, SINK), (0, 1, RESCALE), (1, 2, HASH), (2, 3, RESCALE)),
    "union": _shaped((SOURCE, SOURCE, UNION, SINK), (0, 2, REBALANCE), (1, 2, HASH), (2, 3, REBALANCE)),
    "two-input": _shaped((SOURCE, SOURCE, TWO_INPUT, COUNT, SINK), (0, 2, HASH), (1, 2, CUSTOM), (2, 3, HASH),
                         (3, 4, FORWARD)),
    "selective": _shaped((SOURCE, SOURCE, SELECTIVE, SINK), (0, 2, REBALANCE), (1, 2, REBALANCE), (2, 3, HASH)),
    "mixed": _shaped((SOURCE, SOURCE, TWO_INPUT, SINK), (0, 2, FORWARD), (1, 2, HASH), (2, 3, REBALANCE)),
    "broadcast": _shaped((SOURCE, SOURCE, JOIN, SINK), (0, 2, HASH), (1, 2, BROADCAST), (2, 3, REBALANCE)),
    "two-sinks": _shaped((SOURCE, COUNT, SINK, SINK), (0, 1, HASH), (1, 2, REBALANCE), (1, 3, FORWARD)),
}  # fmt: skip
"""By name. Where a forward edge is, its ends have the same parallelism if all have."""
