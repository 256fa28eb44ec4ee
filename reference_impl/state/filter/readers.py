"""How the task reads a channel: demultiplexed when it is processed, or filtered before. Specification: filter.md."""

from __future__ import annotations

from typing import Protocol

from conformance.ports import ErrorKind, PortError, Taken

from .buffers import NetworkBuffer
from .channels import Pushed, RecoveredInput
from .fetch import check_ended
from .virtual_channel import VirtualChannel, VirtualChannels


class Reader(Protocol):
    """Takes what comes next out of a channel."""

    async def take(self) -> Taken | None:
        """X16. Returns nothing if there is nothing yet, or everything was taken. Raises: PortError IO, STATE."""


class BufferReader:
    """Takes buffers with what was filtered (Flink: `StreamTaskNetworkInput`)."""

    __slots__ = ("channel", "taken")

    def __init__(self, channel: RecoveredInput, taken: dict[int, NetworkBuffer]) -> None:
        """`taken`: by number, the buffers that the task has."""
        self.channel = channel
        self.taken = taken

    async def take(self) -> Taken | None:
        """X16. A buffer, with the elements that end in it."""
        pushed = await self.channel.poll()
        if pushed is None:
            return self.channel.end() if self.channel.ends() else None
        buffer = pushed.buffer
        elements = self.channel.decode(buffer.content())
        self.taken[buffer.number] = buffer
        return Taken(buffer.number, elements, min(self.channel.decoder.begun, buffer.size))


class Demultiplexer:
    """Takes elements out of buffers that follow their descriptors (Flink: `DemultiplexingRecordDeserializer`)."""

    __slots__ = ("channel", "selected", "virtual")

    def __init__(self, channel: RecoveredInput, virtual: VirtualChannels) -> None:
        self.channel = channel
        self.virtual = virtual
        self.selected: VirtualChannel | None = None
        """Selected: the virtual channel that reads the buffer taken last."""

    async def take(self) -> Taken | None:
        """X10. The next element. A buffer is given back when the last of its elements was taken."""
        while True:
            if self.selected is None:
                pushed = await self.channel.poll()
                if pushed is None:
                    return self.end()
                self.selected = self.select(pushed)
            try:
                element = self.selected.next()
                if element is not None:
                    taken = self.channel.decode(bytes(element.read(0, element.size)))
                    self.selected.deserializer.forget()
                    return Taken(elements=taken)
            except PortError:
                self.selected.recycle()
                raise
            self.selected = None

    def select(self, pushed: Pushed) -> VirtualChannel:
        """X3, X10. Returns the virtual channel, which takes the buffer over (Flink: `select`, `setNextBuffer`).

        Raises: PortError STATE if there is no such one; the buffer is given back.
        """
        virtual = None if pushed.descriptor is None else self.virtual.get(pushed.descriptor)
        if virtual is None:
            pushed.buffer.recycle()
            raise PortError(ErrorKind.STATE, f"{self.channel.name} has no such virtual channel")
        virtual.set_next_buffer(pushed.buffer)
        return virtual

    def end(self) -> Taken | None:
        """X9, X10. The end, once. Raises: PortError IO if a virtual channel ends inside an element."""
        if not self.channel.ends():
            return None
        check_ended(self.virtual)
        return self.channel.end()
