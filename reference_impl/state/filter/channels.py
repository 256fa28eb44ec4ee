"""The channels of the task that restores, into which recovered data goes. Specification: filter.md."""

from __future__ import annotations

from msgspec import Struct

from conformance.ports import CHANNEL_PUSH, ErrorKind, PortError, Taken
from conformance.ports.framing import Decoder, Recovered, Unreadable
from conformance.scheduling import Lock

from ...faults import Faults
from .buffers import NetworkBuffer
from .virtual_channel import Descriptor


class Pushed(Struct):
    """What waits in a channel."""

    buffer: NetworkBuffer
    descriptor: Descriptor | None
    """Of which virtual channel its bytes are, if they are demultiplexed when they are processed."""


class RecoveredInput:
    """A channel in recovery (Flink: `RecoveredInputChannel`)."""

    __slots__ = ("closed", "consumed", "decoder", "faults", "finished", "lock", "name", "queue")

    def __init__(self, gate: int, channel: int, faults: Faults) -> None:
        self.name = f"channel {channel} of gate {gate}"
        self.faults = faults
        self.lock = Lock(f"lock of {self.name}", "channel lock")
        self.queue: list[Pushed] = []
        self.finished = False
        """Finished: the channel was notified that everything was read."""
        self.consumed = False
        """Consumed: the task has taken the end."""
        self.closed = False
        """Closed: the task is over, so that nothing is pushed and nothing taken."""
        self.decoder = Decoder()
        """The deserializer with which the task reads what was filtered."""

    async def push(self, buffer: NetworkBuffer, descriptor: Descriptor | None = None) -> None:
        """X7, X10, X25. The channel takes a buffer over, also if this fails (Flink: `onRecoveredStateBuffer`).

        Raises: PortError IO, RELEASED.
        """
        buffer.pass_on()
        try:
            async with self.lock:
                if self.closed:
                    raise PortError(ErrorKind.RELEASED, f"{self.name} was released")
                self.faults.reach(CHANNEL_PUSH)
                self.queue.append(Pushed(buffer, descriptor))
        except BaseException:  # the channel has taken it over, whatever happens
            buffer.recycle()
            raise

    async def finish(self) -> None:
        """X9. The channel is notified that everything was read (Flink: `finishReadRecoveredState`)."""
        async with self.lock:
            self.finished = True

    async def poll(self) -> Pushed | None:
        """X16, X27. Take the buffer in front; nothing if none waits, or the task is over."""
        async with self.lock:
            return self.queue.pop(0) if self.queue and not self.closed else None

    def ends(self) -> bool:
        """X16. Whether the end is what the task takes next."""
        return self.finished and not self.queue and not self.consumed and not self.closed

    def end(self) -> Taken:
        """X16. The task takes the end, once (Flink: `EndOfInputChannelStateEvent`)."""
        self.consumed = True
        return Taken(last=True)

    def decode(self, piece: bytes) -> tuple[Recovered | Unreadable, ...]:
        """X16. Returns the elements that end in what the task has taken."""
        return tuple(self.decoder.read(piece))

    def release(self) -> None:
        """X28. Give back what waits."""
        self.closed = True
        while self.queue:
            self.queue.pop().buffer.recycle()
