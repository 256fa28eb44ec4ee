"""What a change of parallelism is about: edges, handles of channel state, which old subtask feeds which new one."""

from __future__ import annotations

from msgspec import Struct

from conformance.ports.word import Word


class EdgeKind(Word):
    """How an edge of the job distributes records (Flink: the partitioner of a stream edge)."""

    HASH = "hash"
    """By key: each subtask of the consumer owns a range of key groups (Flink: `KeyGroupStreamPartitioner`)."""
    REBALANCE = "rebalance"
    """In turn."""
    SHUFFLE = "shuffle"
    """By chance."""
    GLOBAL = "global"
    """To the first subtask."""
    CUSTOM = "custom"
    """By the user's partitioner (Flink: `CustomPartitionerWrapper`). Such an edge has channel state only if the user
    forces it (`execution.checkpointing.unaligned.forced`). The user's partitioner of the suite counts: it sends the
    n-th record that it sees, from 0, to subtask (key + n) modulo the number of channels."""
    BROADCAST = "broadcast"
    """To every subtask."""
    FORWARD = "forward"
    """To the subtask with the same number."""
    RESCALE = "rescale"
    """To some neighbours."""

    @property
    def is_pointwise(self) -> bool:
        """Returns whether a subtask is connected with some subtasks only."""
        return self in (EdgeKind.FORWARD, EdgeKind.RESCALE)


class InputHandle(Struct, frozen=True):
    """Names the state of an input channel, as an old subtask has stored it (Flink: `InputChannelStateHandle`)."""

    old_subtask: int
    gate: int
    """The gates of a vertex are numbered in the order of its edges."""
    old_channel: int
    """On an edge that is not pointwise: the old subtask of the producer. On another one, channels are counted from 0
    for each subtask."""


class OutputHandle(Struct, frozen=True):
    """Names the channel state of a subpartition (Flink: `ResultSubpartitionStateHandle`)."""

    old_subtask: int
    partition: int
    """The partitions of a vertex are numbered in the order of its edges."""
    old_subpartition: int
    """On an edge that is not pointwise: the old subtask of the consumer. On another one, as for channels."""


class RescaleMapping(Struct, frozen=True):
    """What a new subtask recovers through a gate, or through a partition, where consumer and producer change places
    (Flink: `InflightDataGateOrPartitionRescalingDescriptor`)."""

    old_subtasks: tuple[int, ...]
    """The old subtasks whose channel state it recovers."""
    channels: tuple[tuple[int, ...], ...]
    """For each of its channels (subpartitions), the old ones that it continues. On a pointwise edge, which is never
    rescaled, nothing is read here."""
    ambiguous: tuple[int, ...]
    """Those of the old subtasks from which other new subtasks recover, too, so that records are filtered."""
