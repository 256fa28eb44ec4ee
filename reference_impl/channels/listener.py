"""Whom a channel tells what: its gate, or, where a channel stands alone, the port's own signals."""

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
    """The surroundings of a channel. Nothing here may be called while the lock of the channel is held."""

    async def data_available(self, channel: Any) -> None:
        """The channel had nothing and has something now."""

    async def priority_available(self, channel: Any, seq: int, forced: bool = False) -> None:
        """A priority event with this sequence number is in front; `forced`: to be believed even if it looks stale."""

    def state_consumed(self, channel: Any) -> None:
        """The end of the recovered data was taken."""

    def consumption_resumed(self, channel: Any) -> None:
        """The producer, elsewhere, is told to go on."""

    def credit_announced(self, channel: Any, credit: int) -> None:
        """The producer, elsewhere, may send so many buffers more."""


class Signals:
    """A listener that passes everything on as signals of a port."""

    def __init__(self, port: Port) -> None:
        self.port = port

    async def data_available(self, channel: Any) -> None:
        self.port.emit(DataAvailable())

    async def priority_available(self, channel: Any, seq: int, forced: bool = False) -> None:
        self.port.emit(PriorityAvailable(seq))

    def state_consumed(self, channel: Any) -> None:
        self.port.emit(StateConsumed(channel.index))

    def consumption_resumed(self, channel: Any) -> None:
        self.port.emit(ConsumptionResumed(channel.index))

    def credit_announced(self, channel: Any, credit: int) -> None:
        self.port.emit(CreditAnnounced(credit, channel.index))
