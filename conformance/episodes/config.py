"""The configuration of an episode: the job, its knobs, and what the adapter has promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from conformance.ports import Edge, EdgeKind, JobConfig, JobVertex, VertexKind
from conformance.ports.episodes import MOST_KEYS, EpisodeJob, Promises, key_among

SINK = 2
"""The number of the vertex whose rows are the output."""
MOST_SPLITS = 8
PORTIONS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)


class EpisodeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A job that reads splits, counts by key, and writes what it has counted."""

    splits: Annotated[int, Meta(ge=1, le=MOST_SPLITS)] = 1
    parallelism: Annotated[int, Meta(ge=1, le=64)] = 1
    """That of the first life."""
    keys: Annotated[int, Meta(ge=1, le=MOST_KEYS)] = 1
    knobs: Mapping[str, int | str | bool] = field(default_factory=dict)
    promises: Promises = field(default_factory=Promises)
    """What the adapter promised when the episode was drawn: the rules follow from that."""
    interleaving: Literal["whole"] = "whole"

    @property
    def portions(self) -> tuple[int, ...]:
        """Returns how many records of a split are supplied at a time."""
        return PORTIONS

    def key_of(self, record: int) -> int | str | None:
        """Returns the key of a record; None: there is no such record."""
        return key_among(record, self.keys)

    def name_of(self, record: int) -> str:
        """Returns what a message calls a record."""
        return str(record)

    def job(self) -> JobConfig:
        """Returns the job as the one of the component `pipeline`."""
        many = self.parallelism
        vertices = (
            JobVertex("source", VertexKind.SOURCE, many, splits=self.splits),
            JobVertex("count", VertexKind.COUNT, many),
            JobVertex("sink", VertexKind.SINK, many),
        )
        return JobConfig(vertices, (Edge(0, 1, EdgeKind.HASH), Edge(1, SINK, EdgeKind.REBALANCE)))

    def started(self) -> EpisodeJob:
        """Returns the configuration of the first port."""
        return EpisodeJob(self.job(), self.keys, self.knobs)
