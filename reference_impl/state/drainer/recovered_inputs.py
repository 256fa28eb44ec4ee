"""What was taken of the recovered data of a task. Specification: drainer.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.ports import Buffer, Element
from conformance.scheduling import Lock

from ...network.channel_info import ChannelInfo
from .buffers import RecoveryBuffers


class RecoveredInputs:
    """It listens to the gates of a task. Their notifications are of no concern: the owner asks them."""

    lock_type: type[Lock] = Lock

    def __init__(self, channels: Iterable[int], buffers: RecoveryBuffers) -> None:
        """`channels`: by gate, how many it has."""
        self.channels = tuple(channels)
        self.buffers = buffers
        self.consumed = [0] * len(self.channels)
        """Consumed: by gate, out of how many channels the end of recovered data was taken."""

    async def gate_available(self, gate: Any, data: bool, priority: bool) -> None:
        """N6. The task asks its gates, and needs no notification."""

    def state_consumed(self, channel: ChannelInfo) -> None:
        """N6. Count the channels of a gate whose recovered data was consumed (Flink:
        `InputGate.getStateConsumedFuture`)."""
        self.consumed[channel.gate] += 1

    def consumption_resumed(self, channel: ChannelInfo) -> None:
        """N6. There is no producer that is blocked."""

    def credit_announced(self, channel: ChannelInfo, credit: int) -> None:
        """N6. There is no producer that needs credit."""

    def was_taken(self, channel: ChannelInfo, element: Element) -> None:
        """N6. The task has taken an element. The buffer of recovered data is given back."""
        if type(element) is Buffer:
            self.buffers.recycle(channel)

    def is_consumed(self, gate: int) -> bool:
        """N6. Whether all recovered data of a gate was taken, and its end."""
        return self.consumed[gate] == self.channels[gate]
