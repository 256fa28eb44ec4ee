"""Strategies for jobs and for how their parallelism changes from restore to restore."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import Struct

from conformance.ports.assignment import AssignmentConfig, Edge, Vertex
from conformance.ports.key_groups import MOST, default_max_parallelism
from conformance.ports.rescale import EdgeKind
from strategies.values import made

MOST_SUBTASKS = 7
"""The largest parallelism, unless it is said otherwise: with it and 2, each number of new subtasks that recover from an
old one occurs."""
_FEW = 16
"""A maximum parallelism that exceeds the parallelism by at most this much is drawn more often than larger ones: then a
subtask has few key groups, and sometimes one."""
_FIRST = 2
"""The simplest parallelism before a rescale: 1 can only grow."""


class RescalePlan(Struct, frozen=True):
    """How the parallelism of a vertex changes: a number for each time that the job runs, with a restore in between."""

    parallelisms: tuple[int, ...]

    @property
    def rescales(self) -> tuple[tuple[int, int], ...]:
        """Each restore: the old parallelism and the new one, which may be the same."""
        return tuple(pairwise(self.parallelisms))

    def __str__(self) -> str:
        return " → ".join(map(str, self.parallelisms))


def rescale_plans(most: int = MOST_SUBTASKS, longest: int = 5) -> SearchStrategy[RescalePlan]:
    """Draws how parallelism changes in 1 to `longest` restores, each number at most `most`. It shrinks to `2 → 1`.

    Raises: ValueError if there is no such plan.
    """
    if most < _FIRST or longest < 1:
        raise ValueError(f"a plan needs a parallelism of {_FIRST} and a restore, found {most=} and {longest=}")
    others = [one for one in range(1, most + 1) if one != _FIRST]
    return made(
        lambda first, then: RescalePlan((first, *then)),
        st.sampled_from([_FIRST, *others]),
        st.lists(st.integers(1, most), min_size=1, max_size=longest),
    )


def topologies(
    vertices: int = 4, kinds: Sequence[EdgeKind] = tuple(EdgeKind), most: int = MOST_SUBTASKS, edges: int = 6
) -> SearchStrategy[AssignmentConfig]:
    """Draws a job of 2 to `vertices` vertices with a parallelism of up to `most`, and 1 to `edges` edges of these kinds
    among them, each from a vertex to a later one. Several edges may join the same vertices, and the vertices of a
    forward edge have the same parallelism. It shrinks to two vertices of one subtask, with one edge of the first kind.

    A job is drawn as the list of its edges, so that shrinking can delete any; what is drawn is always a job.

    Raises: ValueError if there is no such job.
    """
    if vertices < 2 or edges < 1 or most < 1 or not kinds:
        raise ValueError(f"a job needs two vertices and an edge, found {vertices=}, {edges=}, {most=}, {kinds=}")
    pairs = [(producer, consumer) for consumer in range(1, vertices) for producer in range(consumer)]
    more = st.one_of(st.just(0), st.integers(1, 1 + _FEW), st.integers(1, 1 + MOST - most))
    return made(
        _job,
        st.tuples(*[st.tuples(st.integers(1, most), more)] * vertices),
        st.lists(st.tuples(st.sampled_from(pairs), st.sampled_from(list(kinds))), min_size=1, max_size=edges),
        st.sampled_from([True, False]),
    )


def _job(
    subtasks: tuple[tuple[int, int], ...],
    joined: list[tuple[tuple[int, int], EdgeKind]],
    output_on_downstream: bool,
) -> AssignmentConfig:
    """Returns the job with these edges. Each vertex has a parallelism and a number: 0 for the default maximum
    parallelism, n for one that is larger than the parallelism by n - 1. Vertices behind the last one that an edge names
    are left out."""
    edges = [Edge(producer, consumer, kind) for (producer, consumer), kind in joined]
    alike = list(range(1 + max(one.consumer for one in edges)))
    """For each vertex, the first one that has the same parallelism because forward edges join them."""
    for edge in edges:
        if edge.kind is EdgeKind.FORWARD:
            one, other = sorted((alike[edge.producer], alike[edge.consumer]))
            alike = [one if first == other else first for first in alike]
    vertices = []
    for at, first in enumerate(alike):
        parallelism, more = subtasks[first][0], subtasks[at][1]
        most = parallelism + more - 1 if more else default_max_parallelism(parallelism)
        vertices.append(Vertex(_name(at), parallelism, most))
    return AssignmentConfig(tuple(vertices), tuple(edges), output_on_downstream)


def _name(at: int) -> str:
    """Returns A, B, … Z, AA, AB, …"""
    above, letter = divmod(at, 26)
    return (_name(above - 1) if above else "") + chr(ord("A") + letter)
