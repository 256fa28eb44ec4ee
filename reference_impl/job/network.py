"""The network between the tasks of a job. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from conformance.ports import Buffer, Element, PortError

from ..network.channel_info import ChannelInfo
from ..network.producers import Producers
from ..network.result_partition import OutputSubpartition
from .agenda import Agenda


class Room(Protocol):
    """Who produces, and learns that there is room again."""

    def room_made(self) -> None:
        """J3. A buffer has left a subpartition."""

    def was_read(self, info: ChannelInfo) -> None:
        """J16. The consumer of a subpartition has taken the end of data."""


class Connection(NamedTuple):
    """A channel of a task, as far as its producer has it."""

    subpartition: OutputSubpartition
    producer: Room
    link: str
    """The thread of the network; empty if the channel is local."""


class JobProducers(Producers):
    """The producers of what a task reads. Threads that can act because of it are woken."""

    def __init__(
        self, connections: Mapping[ChannelInfo, Connection], agenda: Agenda, failed: Callable[[PortError], None]
    ) -> None:
        """J2. `failed`: the network reports that something has failed on the side of the task."""
        super().__init__({info: one.subpartition for info, one in connections.items()})
        self.connections = connections
        self.agenda = agenda
        self.failed = failed

    async def send(self, info: ChannelInfo, element: Element) -> None:
        """chain.md C7. The reader of a remote channel may have something to send."""
        await super().send(info, element)
        self.look(info)

    def request(self, credit: int, exclusive_buffers: int) -> None:
        """chain.md C6. The readers may have something to send."""
        super().request(credit, exclusive_buffers)
        for info in self.readers:
            self.look(info)

    def resume(self, info: ChannelInfo) -> None:
        """chain.md C9. The reader may have something to send."""
        super().resume(info)
        self.look(info)

    def add_credit(self, info: ChannelInfo, credit: int) -> None:
        """chain.md C8. The reader may have something to send."""
        super().add_credit(info, credit)
        self.look(info)

    def look(self, info: ChannelInfo) -> None:
        """I-22. Wake the network if the reader of a channel has something to send."""
        if self.has_more(info):
            self.agenda.wake(self.connections[info].link)

    def has_more(self, info: ChannelInfo) -> bool:
        """I-22. Whether the reader of a channel has something to send."""
        reader = self.readers.get(info)
        return reader is not None and (reader.in_line or reader.backlog > 0)

    async def carry(self, info: ChannelInfo) -> bool:
        """chain.md C10, C31. The network carries one element. Returns whether there was anything to carry."""
        if not self.has_more(info):
            return False
        try:
            element = await self.transfer(info)
        except PortError as error:
            self.failed(error)
            return True
        if type(element) is Buffer:
            self.connections[info].producer.room_made()
        return True

    def was_taken(self, info: ChannelInfo, element: Element) -> None:
        """J3. The task has taken an element. If the channel is local, there is room again."""
        if type(element) is Buffer and info in self.local:
            self.connections[info].producer.room_made()

    def was_read(self, info: ChannelInfo) -> None:
        """J16. The task has taken the end of data of a channel (Flink: `acknowledgeAllRecordsProcessed`)."""
        connection = self.connections[info]
        connection.producer.was_read(connection.subpartition.info)

    async def time_out(self, info: ChannelInfo, checkpoint: int) -> None:
        """subpartition.md S11. The barrier of a checkpoint becomes unaligned if it is still queued."""
        consumer = self.local.get(info)
        if consumer is not None:
            await consumer.time_out(checkpoint)
            return
        self.subpartitions[info].aligned_timeout(checkpoint)
        reader = self.readers.get(info)
        if reader is not None:
            reader.hear()
            self.look(info)
