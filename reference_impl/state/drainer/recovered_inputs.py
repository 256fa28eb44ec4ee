"""What was taken of the recovered data of a task. Specification: drainer.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...network.channel_info import ChannelInfo
from ...network.gate import Gate
from .buffers import RecoveryBuffers


class RecoveredInputs:
    """It listens to the gates of a task. What they tell their reader is of no concern: the owner asks them."""

    def __init__(self, recovered: Iterable[Iterable[int]], buffers: RecoveryBuffers) -> None:
        """`recovered`: by gate and by channel, how many records are recovered."""
        self.buffers = buffers
        self.untaken = [list(counts) for counts in recovered]
        """Not taken: by gate and by channel, how many recovered records were not taken."""
        self.consumed = [0] * len(self.untaken)
        """Consumed: by gate, out of how many channels the end of recovered data was taken."""

    async def gate_available(self, gate: Any, data: bool, priority: bool) -> None:
        """N6."""

    def state_consumed(self, channel: ChannelInfo) -> None:
        """N6."""
        self.consumed[channel.gate] += 1

    def consumption_resumed(self, channel: ChannelInfo) -> None:
        """N6."""

    def credit_announced(self, channel: ChannelInfo, credit: int) -> None:
        """N6."""

    def was_taken(self, gate: Gate, channel: int) -> None:
        """N6. The buffer of a recovered record is given back."""
        if self.untaken[gate.index][channel]:
            self.untaken[gate.index][channel] -= 1
            self.buffers.recycle()

    def is_consumed(self, gate: int) -> bool:
        """N6. Whether all recovered data of a gate was taken, and its end."""
        return self.consumed[gate] == len(self.untaken[gate])
