"""Whom a channel tells something. Specification: gate.md."""

from __future__ import annotations

from typing import Any, Protocol

from conformance.ports import (
    ConsumptionResumed,
    CreditAnnounced,
    DataAvailable,
    Port,
    PriorityAvailable,
    StateConsumed,
)


class Listener(Protocol):
    """What a channel tells its gate, or its port if it stands alone. It has released its channel lock then."""

    async def data_available(self, channel: Any) -> None:
        """G3. The channel had nothing and has something now."""

    async def priority_available(self, channel: Any, seq: int, forced: bool = False) -> None:
        """G4, G5. A priority event with this sequence number stands in front.

        `forced`: the gate does not ask whether the number is newer than the last one.
        """

    def state_consumed(self, channel: Any) -> None:
        """G7. The end of recovered data was taken."""

    def consumption_resumed(self, channel: Any) -> None:
        """G7. The producer, in another process, is to go on."""

    def credit_announced(self, channel: Any, credit: int) -> None:
        """G7. The producer, in another process, gets this much more credit."""


class Signals:
    """The listener of a channel that stands alone: it emits the signals of the channel's port."""

    def __init__(self, port: Port) -> None:
        self.port = port

    async def data_available(self, channel: Any) -> None:
        """recovered-channel.md V2, local-channel.md L2, remote-channel.md R10."""
        self.port.emit(DataAvailable())

    async def priority_available(self, channel: Any, seq: int, forced: bool = False) -> None:
        """local-channel.md L4, remote-channel.md R10, R27."""
        self.port.emit(PriorityAvailable(seq))

    def state_consumed(self, channel: Any) -> None:
        """recovered-channel.md V7, local-channel.md L16, remote-channel.md R25."""
        self.port.emit(StateConsumed(channel.index))

    def consumption_resumed(self, channel: Any) -> None:
        """remote-channel.md R26."""
        self.port.emit(ConsumptionResumed(channel.index))

    def credit_announced(self, channel: Any, credit: int) -> None:
        """remote-channel.md R17."""
        self.port.emit(CreditAnnounced(credit, channel.index))
