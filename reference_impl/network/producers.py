"""The producers' side of channels, put together: subpartitions, and what reads them. Specification: chain.md."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.ports import Element, EndOfPartition, Resources

from .channel import PhysicalChannel
from .channel_info import ChannelInfo
from .local_channel import LocalChannel
from .reader import Reader
from .remote_channel import RemoteChannel
from .subpartition import Subpartition


class Upstream:
    """Who produces what a task reads, as far as the task reaches them. Here it reaches none."""

    def subpartition(self, info: ChannelInfo) -> Subpartition | None:
        """gate.md G9. Returns what a local channel reads; None: it gets a subpartition of its own."""
        return None

    def connect(self, info: ChannelInfo, channel: PhysicalChannel) -> None:
        """gate.md G9. There is a physical channel now."""

    def resume(self, info: ChannelInfo) -> None:
        """gate.md G7. A producer in another process is to go on."""

    def add_credit(self, info: ChannelInfo, credit: int) -> None:
        """gate.md G7. A producer in another process gets credit."""

    def release(self) -> None:
        """C29, task-restore.md E20. The task is over: what it has not read is given up."""


class Producers(Upstream):
    """By channel, its producer. A local channel reads the subpartition itself; for a remote one, a reader sends."""

    def __init__(self, subpartitions: Mapping[ChannelInfo, Subpartition]) -> None:
        self.subpartitions = subpartitions
        """Subpartition: by channel, the one of its producer."""
        self.local: dict[ChannelInfo, LocalChannel] = {}
        self.remote: dict[ChannelInfo, RemoteChannel] = {}
        """By channel, the physical channel once there is one: a local or a remote channel."""
        self.readers: dict[ChannelInfo, Reader] = {}
        """By channel, the reader of a remote channel once it is connected (C6)."""

    # ---- what the consumer does --------------------------------------------------------------------------------------
    def subpartition(self, info: ChannelInfo) -> Subpartition:
        """gate.md G9. A local channel reads the subpartition of its producer."""
        return self.subpartitions[info]

    def connect(self, info: ChannelInfo, channel: PhysicalChannel) -> None:
        """gate.md G9. There is a physical channel now."""
        if isinstance(channel, LocalChannel):
            self.local[info] = channel
        elif isinstance(channel, RemoteChannel):
            self.remote[info] = channel

    def request(self, credit: int, exclusive_buffers: int) -> None:
        """C6. Each remote channel that has none gets a reader (Flink: `PartitionRequestServerHandler`)."""
        for info, subpartition in self.subpartitions.items():
            if info in self.remote and info not in self.readers:
                self.readers[info] = Reader(subpartition, credit, exclusive_buffers)

    def resume(self, info: ChannelInfo) -> None:
        """C9. The reader of this channel goes on after an element that blocked its subpartition (Flink:
        `PartitionRequestServerHandler`, `ResumeConsumption`)."""
        self.readers[info].resume()

    def add_credit(self, info: ChannelInfo, credit: int) -> None:
        """C8. The reader of this channel gets credit (Flink: `PartitionRequestServerHandler`, `AddCredit`)."""
        self.readers[info].add_credit(credit)

    # ---- producer threads and network threads ------------------------------------------------------------------------
    async def send(self, info: ChannelInfo, element: Element) -> None:
        """C1 to C5, C7, task-restore.md E17. Add an element; its local channel or its reader is notified."""
        consumer = self.local.get(info)
        if consumer is not None:
            await consumer.add(element)
            return
        subpartition = self.subpartitions[info]
        if type(element) is EndOfPartition:
            subpartition.finish()
        else:
            subpartition.add(element)
        reader = self.readers.get(info)
        if reader is not None:
            reader.hear()

    async def transfer(self, info: ChannelInfo) -> Element | None:
        """C10, C31. The network carries the next element, and a backlog that was announced apart, to the remote channel
        (Flink: `PartitionRequestQueue.writeAndFlushNextMessageIfPossible`,
        `CreditBasedPartitionRequestClientHandler`)."""
        reader, consumer = self.readers[info], self.remote[info]
        backlog, taken = reader.take_backlog(), reader.next()
        if backlog:
            await consumer.hear_backlog(backlog)
        if taken is None:
            return None
        await consumer.receive(taken.element, taken.seq, taken.backlog)
        return taken.element

    # ---- observers and release ---------------------------------------------------------------------------------------
    def release(self) -> None:
        """C29, task-restore.md E20. The task is over: all subpartitions are released."""
        for subpartition in self.subpartitions.values():
            subpartition.release()

    def resources(self) -> list[Resources]:
        """C29, task-restore.md E20. What the subpartitions hold that no local channel counts as its own."""
        return [one.resources() for info, one in self.subpartitions.items() if info not in self.local]
