"""Which subpartition gets a record. Specification: pipeline.md."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from conformance.ports import KEYS, EdgeKind, key_of

from ..state.filter.virtual_channel import CustomPartitioner, KeyGroupPartitioner


class Partitioner(Protocol):
    """Selects the subpartition of a record (Flink: `ChannelSelector`)."""

    def select(self, record: int) -> int:
        """J2. Returns the number of the subpartition."""


class ByKey:
    """Every record of a key goes to the owner of its key group."""

    __slots__ = ("owners",)

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        self.owners = owners(parallelism, max_parallelism)

    def select(self, record: int) -> int:
        """J2. The owner of the key group of its key."""
        return self.owners[key_of(record)]


@lru_cache(maxsize=128)
def owners(parallelism: int, max_parallelism: int) -> tuple[int, ...]:
    """J2. Returns by key the owner of its key group."""
    by_group = KeyGroupPartitioner(parallelism, max_parallelism)
    return tuple(by_group.select(key) for key in range(KEYS))


class InTurn:
    """One after the other (Flink: `RebalancePartitioner`, `RescalePartitioner`)."""

    __slots__ = ("next", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.next = 0

    def select(self, record: int) -> int:
        """J2. The next one."""
        chosen, self.next = self.next, (self.next + 1) % self.size
        return chosen


class Custom:
    """That of the user, which counts the records that it sees."""

    __slots__ = ("by_key",)

    def __init__(self, parallelism: int) -> None:
        self.by_key = CustomPartitioner(parallelism)

    def select(self, record: int) -> int:
        """J2. By its key, and by how many came before."""
        return self.by_key.select(key_of(record))


class First:
    """All records go to the first (Flink: `GlobalPartitioner`, `ForwardPartitioner`)."""

    __slots__ = ()

    def select(self, record: int) -> int:
        """J2. The first."""
        return 0


def partitioner(kind: EdgeKind, size: int, max_parallelism: int) -> Partitioner | None:
    """J2. Returns a fresh partitioner of an edge with so many subpartitions; none if each record goes to all."""
    if kind is EdgeKind.BROADCAST:
        return None
    if kind is EdgeKind.HASH:
        return ByKey(size, max_parallelism)
    if kind is EdgeKind.CUSTOM:
        return Custom(size)
    return InTurn(size) if kind in (EdgeKind.REBALANCE, EdgeKind.RESCALE, EdgeKind.SHUFFLE) else First()
