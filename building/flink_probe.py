"""Restores kept checkpoints of a job on released Flink with sources held, and compares what the job then holds with the
offsets of its sources: every record in front of them was counted once, and no others.

A fresh JVM knows of no records, so that readers stay at the offsets with which they were restored, and what was in
flight arrives. So the probe says which checkpoint of an episode was wrong, where its judge says only that what came out
in the end was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from conformance.components.pipeline.contents import keepers
from conformance.components.pipeline.graph import Graph, graph_of
from conformance.components.pipeline.records import Records, differences
from conformance.ports import (
    CheckpointKind,
    Implementation,
    JobCheckpoint,
    JobConfig,
    Limits,
    OperatorState,
    PipelinePort,
    PortError,
    Recovery,
    Until,
)
from conformance.ports import find_implementation as find

PARALLELISM = "2"
WAITING = 120.0
"""How many seconds a cluster may take to start."""
TRIES = 5
"""How often to wait: an engine that is slow gives up early."""
NOT_AT_REST = "the restored job has not come to rest, so that nothing can be said"


def probe(implementation: str, job: JobConfig, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yields each checkpoint below a folder, by its path, and what is wrong with it; nothing: it is exactly its cut.

    They are restored with everything that is new turned off.
    """
    settings = replace(job.settings, recovery=Recovery.RECOVER_FIRST, during_recovery=False, output_on_downstream=False)
    vertices = graph_of(job).rescaled(PARALLELISM)
    with closing(find(implementation)) as made:
        made.limit(Limits(WAITING))
        for metadata in sorted(folder.rglob("chk-*/_metadata"), key=lambda one: _number(one.parent)):
            place = metadata.parent
            point = JobCheckpoint(_number(place), CheckpointKind.UNALIGNED, (), location=f"file:{place.absolute()}")
            restored = JobConfig(vertices, job.edges, settings, point)
            try:
                yield str(place.relative_to(folder)), _wrong(made, restored)
            except PortError as error:
                yield str(place.relative_to(folder)), [f"it cannot be restored: {error}"]


def _number(place: Path) -> int:
    return int(place.name.removeprefix("chk-"))


def _wrong(implementation: Implementation, job: JobConfig) -> list[str]:
    port, graph = implementation.components()["pipeline"](job), graph_of(job)
    assert isinstance(port, PipelinePort)
    try:
        if not all(any(port.settle(until) for _ in range(TRIES)) for until in (Until.RUNNING, Until.IDLE)):
            return [NOT_AT_REST]
        return list(wrong(graph, {vertex: _states(port, vertex) for vertex in (*graph.sources, *graph.counts)}))
    finally:
        port.release()


def _states(port: PipelinePort, vertex: int) -> tuple[OperatorState, ...]:
    states = port.state(vertex)
    assert isinstance(states, tuple)
    return states


def wrong(graph: Graph, states: dict[int, tuple[OperatorState, ...]]) -> Iterator[str]:
    """Yields what is wrong in the states of sources and counts of a job at rest: how they differ from the offsets."""
    offsets = dict.fromkeys(graph.splits, 0)
    for vertex in graph.sources:
        seen: set[int] = set()
        for one in (split for state in states[vertex] for split in state.splits):
            if one.split in seen:
                yield f"split {one.split} has two readers"
            seen.add(one.split)
            offsets[one.split] = max(one.offset, offsets[one.split])
    for vertex in graph.counts:
        for keeper in keepers(graph, vertex, states[vertex]):
            there = Records()
            twice = there.add(keeper.state)
            for _, what in differences(there, twice, Records.up_to(offsets, keeper.paths)):
                yield f"{keeper.name} has not counted what is in front of the offsets, each record once: {what}"


def lines(found: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    """Yields a line for each checkpoint."""
    for name, what in found:
        yield f"{name}: {'; '.join(what) or 'exactly its cut'}"
