"""Virtual channels: what the old channels of old subtasks pass on to their targets. Specification: filter.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from conformance.ports import PARTITIONER, RECORD_READ, EdgeKind, FilterConfig, RescaleMapping
from conformance.ports.key_groups import hash_of_number, key_group, owner

from ...faults import Faults
from ..spill.storage import Storage
from .buffers import NetworkBuffer
from .deserializer import SpanningDeserializer
from .elements import ACTIVE, BARE, STATUS, WATERMARK, Element, read, status, watermark


class Descriptor(Struct, frozen=True):
    """The name of a virtual channel (Flink: `SubtaskConnectionDescriptor`)."""

    old_subtask: int
    old_channel: int


class Partitioner(Protocol):
    """Selects the subtask of a record (Flink: `StreamPartitioner`)."""

    def select(self, key: int) -> int:
        """X6. Returns the subtask to which a record with this key belongs (Flink: `selectChannel`)."""


class KeyGroupPartitioner:
    """By the key group of the key (Flink: `KeyGroupStreamPartitioner`)."""

    __slots__ = ("max_parallelism", "parallelism")

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        self.parallelism = parallelism
        self.max_parallelism = max_parallelism

    def select(self, key: int) -> int:
        """X6. The owner of the key group (Flink: `KeyGroupRangeAssignment.assignKeyToParallelOperator`)."""
        return owner(key_group(hash_of_number(key), self.max_parallelism), self.max_parallelism, self.parallelism)


class CustomPartitioner:
    """That of the user, which counts the records that it sees (Flink: `CustomPartitionerWrapper`)."""

    __slots__ = ("parallelism", "seen")

    def __init__(self, parallelism: int) -> None:
        self.parallelism = parallelism
        self.seen = 0

    def select(self, key: int) -> int:
        """X6. The n-th record that it sees, from 0, goes to subtask key + n."""
        self.seen += 1
        return (key + self.seen - 1) % self.parallelism


def partitioner(kind: EdgeKind, config: FilterConfig) -> Partitioner | None:
    """X6. Returns a fresh partitioner of an edge, with the new parallelism of the vertex; none if it never filters
    (Flink: `StreamPartitioner.copy`, `setup`)."""
    if kind is EdgeKind.HASH:
        return KeyGroupPartitioner(config.parallelism, config.max_parallelism)
    return CustomPartitioner(config.parallelism) if kind is EdgeKind.CUSTOM else None


class Combined:
    """Watermarks and statuses of the virtual channels of one channel (Flink: `DemultiplexingRecordDeserializer`)."""

    __slots__ = ("active", "times")

    def __init__(self, size: int) -> None:
        self.times: list[int | None] = [None] * size
        """Times: by virtual channel, its last watermark."""
        self.active = [True] * size
        """Active: by virtual channel, what its last status says."""

    def watermark(self, index: int, time: int) -> int | None:
        """X13. Returns the smallest watermark; nothing while a virtual channel has none."""
        self.times[index] = time
        known = [one for one in self.times if one is not None]
        return min(known) if len(known) == len(self.times) else None

    def status(self, index: int, active: bool) -> bool:
        """X14. Returns whether any virtual channel is active."""
        self.active[index] = active
        return any(self.active)


class VirtualChannel:
    """The elements of an old channel of an old subtask (Flink: `VirtualChannel`, `RecordFilter`)."""

    __slots__ = ("combined", "deserializer", "faults", "index", "partitioner", "subtask")

    def __init__(
        self,
        index: int,
        combined: Combined,
        partitioner: Partitioner | None,
        subtask: int,
        deserializer: SpanningDeserializer,
        faults: Faults,
    ) -> None:
        """`partitioner`: none if every record passes."""
        self.index = index
        """Which of the virtual channels of its channel it is."""
        self.combined = combined
        self.partitioner = partitioner
        self.subtask = subtask
        self.deserializer = deserializer
        self.faults = faults

    def set_next_buffer(self, buffer: NetworkBuffer) -> None:
        """X5, X25. Take a buffer over."""
        self.deserializer.set_next_buffer(buffer)

    def next(self) -> Element | None:
        """X2. Returns the next element that passes; nothing if there is none in the buffer. Raises: PortError IO."""
        while (element := self.deserializer.next()) is not None:
            passed = self.passed(element)
            if passed is not None:
                return passed
        return None

    def passed(self, element: Element) -> Element | None:
        """X6, X13 to X15. Returns what is passed on instead of this element, if anything. Raises: PortError IO."""
        tag, number = read(element)
        if tag <= BARE:
            self.faults.reach(RECORD_READ)
            return element if self.keeps(number) else None
        if tag == WATERMARK:
            time = self.combined.watermark(self.index, number)
            return None if time is None else watermark(time)
        if tag == STATUS:
            return status(self.combined.status(self.index, number == ACTIVE))
        return None

    def keeps(self, key: int) -> bool:
        """X6. Whether a record belongs to this subtask (Flink: `RecordFilter.filter`). Raises: PortError IO."""
        if self.partitioner is None:
            return True
        self.faults.reach(PARTITIONER)
        return self.partitioner.select(key) == self.subtask

    def recycle(self) -> None:
        """X25. Give the buffer back, if there is one."""
        self.deserializer.recycle()

    def clear(self) -> None:
        """X28. The task is over: nothing is held."""
        self.deserializer.clear()


class OrdinaryInput(VirtualChannel):
    """A channel of a task that was not rescaled: everything passes (Flink: `StreamTaskNetworkInput`)."""

    __slots__ = ()

    def passed(self, element: Element) -> Element:
        """X11. The element itself."""
        if read(element)[0] <= BARE:
            self.faults.reach(RECORD_READ)
        return element


VirtualChannels = dict[Descriptor, VirtualChannel]


@lru_cache(maxsize=256)
def descriptors(mapping: RescaleMapping, channel: int) -> Sequence[Descriptor]:
    """X3. Returns the names of the virtual channels of a channel."""
    return [Descriptor(subtask, old) for subtask in mapping.old_subtasks for old in mapping.channels[channel]]


def virtual_channels(
    config: FilterConfig, gate: int, channel: int, storage: Storage, faults: Faults
) -> VirtualChannels:
    """X3. Returns the virtual channels of a channel: all old subtasks of its gate, with all old channels that it
    continues. Without a rescale there is nothing to distinguish."""
    kind, mapping = config.gates[gate].kind, config.gates[gate].mapping
    names = descriptors(mapping, channel)
    combined = Combined(len(names))

    def deserializer() -> SpanningDeserializer:
        """X2. Each virtual channel keeps what it has read of an element."""
        return SpanningDeserializer(storage, config.partial_in_memory)

    if not config.rescaled:
        return dict.fromkeys(names, OrdinaryInput(0, combined, None, config.subtask, deserializer(), faults))
    filters = [partitioner(kind, config) if name.old_subtask in mapping.ambiguous else None for name in names]
    return {
        name: VirtualChannel(index, combined, filters[index], config.subtask, deserializer(), faults)
        for index, name in enumerate(names)
    }
