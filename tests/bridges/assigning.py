"""Draws jobs with restores, and compares what was assigned."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.ports import Assigned, AssignmentConfig, Edge, EdgeKind, RescaleMapping, Vertex
from conformance.ports.key_groups import MOST, default_max_parallelism

Call = tuple[Any, ...]
_KINDS = (
    *[EdgeKind.HASH] * 3, EdgeKind.REBALANCE, EdgeKind.SHUFFLE, EdgeKind.FORWARD, EdgeKind.BROADCAST, EdgeKind.RESCALE
)  # fmt: skip
_WITH_STATE = frozenset((EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.SHUFFLE))
"""Edges of other kinds have no state in a job that unaligned checkpoints are not forced on."""


def drawn_job(random: Random, downstream: bool) -> tuple[AssignmentConfig, list[Call]]:
    """A job, and the calls of up to three restores of it. No two edges join the same vertices."""
    count, large = random.randint(2, 5), random.random() < 0.15
    edges = _drawn_edges(random, count)
    parallelisms = _leveled(edges, [_parallelism(random, large) for _ in range(count)])
    vertices = [
        Vertex(f"v{number}", one, random.choice((128, default_max_parallelism(one), random.randint(40, MOST))))
        for number, one in enumerate(parallelisms)
    ]
    config = AssignmentConfig(tuple(vertices), edges, downstream and random.random() < 0.5)
    calls: list[Call] = []
    chained: set[int] = set()
    for _ in range(random.randint(1, 3)):
        wanted = [_parallelism(random, large) if random.random() < 0.6 else one for one in parallelisms]
        wanted = _leveled(edges, wanted)
        found = _held(random, edges, parallelisms)
        found += [("rescale", vertex, one) for vertex, one in enumerate(wanted) if one != parallelisms[vertex]]
        new = [at for at in _chainable(edges) if at not in chained and random.random() < 0.3]
        found += [("chain", at) for at in new]
        random.shuffle(found)
        calls += [*found, ("assign",)]
        parallelisms, chained = wanted, chained | set(new)
    return config, calls


def _parallelism(random: Random, large: bool) -> int:
    return random.choice((16, 20, 30, 36) if large else (1, 2, 3, 4, 7, 8, 12))


def _drawn_edges(random: Random, count: int) -> tuple[Edge, ...]:
    found: dict[tuple[int, int], Edge] = {}
    for consumer in range(1, count):
        for _ in range(random.choice((1, 1, 1, 2))):
            producer = random.randrange(consumer)
            found[producer, consumer] = Edge(producer, consumer, random.choice(_KINDS))
    return tuple(found.values())


def _leveled(edges: tuple[Edge, ...], parallelisms: list[int]) -> list[int]:
    """The same, but equal at both ends of each forward edge."""
    found = list(parallelisms)
    while uneven := [
        one for one in edges if one.kind is EdgeKind.FORWARD and found[one.producer] != found[one.consumer]
    ]:
        ends = uneven[0].producer, uneven[0].consumer
        found[ends[0]] = found[ends[1]] = min(found[end] for end in ends)
    return found


def _chainable(edges: tuple[Edge, ...]) -> list[int]:
    """Forward edges that are the only partition of their producer and the only gate of their consumer."""
    return [
        at
        for at, one in enumerate(edges)
        if one.kind is EdgeKind.FORWARD
        and sum(other.producer == one.producer for other in edges) == 1
        and sum(other.consumer == one.consumer for other in edges) == 1
    ]


def _held(random: Random, edges: tuple[Edge, ...], parallelisms: list[int]) -> list[Call]:
    found: list[Call] = []
    for at, edge in enumerate(edges):
        if edge.kind not in _WITH_STATE:
            continue
        gate = sum(other.consumer == edge.consumer for other in edges[:at])
        partition = sum(other.producer == edge.producer for other in edges[:at])
        producers, consumers = range(parallelisms[edge.producer]), range(parallelisms[edge.consumer])
        dense = random.choice((0, 0.2, 0.7, 1))
        read, written = random.choice((0, dense)), random.choice((0, dense))
        for producer in producers:
            for consumer in consumers:
                if random.random() < read:
                    found.append(("hold_input", edge.consumer, consumer, gate, producer))
                if random.random() < written:
                    found.append(("hold_output", edge.producer, producer, partition, consumer))
    return found


def meaning(assigned: tuple[Assigned, ...]) -> dict[tuple[int, int], object]:
    """What the subtasks get, by vertex and subtask, without those that get nothing. Said in one of several ways that
    mean the same: the order of handles, and how it is said that nothing moves, mean nothing."""
    found: dict[tuple[int, int], object] = {}
    for one in assigned:
        gates, partitions = _moved(one.gates, one.subtask), _moved(one.partitions, one.subtask)
        if one.inputs or one.from_upstream or one.outputs or gates or partitions:
            handles = frozenset(one.inputs), frozenset(one.from_upstream), frozenset(one.outputs)
            found[one.vertex, one.subtask] = handles, gates, partitions
    return found


def _moved(mappings: tuple[RescaleMapping | None, ...], subtask: int) -> tuple[RescaleMapping | None, ...]:
    named = tuple(None if one is None or not one.old_subtasks else one for one in mappings)
    return named if any(one is not None and _moves(one, subtask) for one in named) else ()


def _moves(mapping: RescaleMapping, subtask: int) -> bool:
    stays = all(olds in ((channel,), ()) for channel, olds in enumerate(mapping.channels))
    return not (mapping.old_subtasks == (subtask,) and not mapping.ambiguous and stays)
