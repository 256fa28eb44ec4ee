"""Whom a channel, or a gate, notifies. Specification: gate.md."""

from __future__ import annotations

from typing import Any, Protocol

from conformance.ports import (
    ConsumptionResumed,
    CreditAnnounced,
    DataAvailable,
    Port,
    PriorityAvailable,
    Signal,
    StateConsumed,
)
from conformance.scheduling import Lock

from .channel_info import ChannelInfo, Numbering


class Listener(Protocol):
    """Notifications of a channel to its gate, or to its port if it stands alone. It has released its channel lock
    then."""

    lock_type: type[Lock]
    """How the locks of the channel are made: those of the owner of all threads that it meets."""

    async def data_available(self, channel: Any) -> None:
        """G3. The channel had nothing and has something now (Flink: `InputChannel.notifyChannelNonEmpty`)."""

    async def priority_available(self, channel: Any, seq: int, forced: bool = False) -> None:
        """G4, G5. A priority event with this sequence number stands in front.

        `forced`: the gate does not ask whether the number is newer than the last one.
        """

    def state_consumed(self, channel: Any) -> None:
        """G7. The end of recovered data was taken (Flink: `RecoveredInputChannel.getStateConsumedFuture`)."""

    def consumption_resumed(self, channel: Any) -> None:
        """G7. The producer, in another process, is to go on (Flink: `RemoteInputChannel.resumeConsumption`,
        `PartitionRequestClient.resumeConsumption`)."""

    def credit_announced(self, channel: Any, credit: int) -> None:
        """G7. The producer, in another process, gets this much more credit (Flink:
        `PartitionRequestClient.notifyCreditAvailable`)."""


class Listens(Protocol):
    """Takes the signals of a component: its port, or the job of which it is a part."""

    def emit(self, signal: Signal) -> None:
        """gate.md G7. Something is signalled."""


class Signals:
    """The listener of a channel that stands alone: it emits the signals of the channel's port."""

    lock_type = Lock

    def __init__(self, port: Port) -> None:
        self.port = port

    async def data_available(self, channel: Any) -> None:
        """recovered-channel.md V2, local-channel.md L2, remote-channel.md R10. Emit `DataAvailable`: data can be taken
        (Flink: `notifyChannelNonEmpty`)."""
        self.port.emit(DataAvailable())

    async def priority_available(self, channel: Any, seq: int, forced: bool = False) -> None:
        """local-channel.md L4, remote-channel.md R10, R27. Emit `PriorityAvailable`: a priority event can be taken
        (Flink: `notifyPriorityEvent`)."""
        self.port.emit(PriorityAvailable(seq))

    def state_consumed(self, channel: Any) -> None:
        """recovered-channel.md V7, local-channel.md L16, remote-channel.md R25. Emit `StateConsumed`: the end of
        recovered data was taken (Flink: `getStateConsumedFuture`)."""
        self.port.emit(StateConsumed(channel.index))

    def consumption_resumed(self, channel: Any) -> None:
        """remote-channel.md R26. Emit `ConsumptionResumed`: the producer may go on (Flink: `resumeConsumption`)."""
        self.port.emit(ConsumptionResumed(channel.index))

    def credit_announced(self, channel: Any, credit: int) -> None:
        """remote-channel.md R17. Emit `CreditAnnounced`: the producer gets credit (Flink: `notifyCreditAvailable`)."""
        self.port.emit(CreditAnnounced(credit, channel.index))


class GateListener(Protocol):
    """Notifications of a gate to the task or the union that reads it. It has released its gate lock then."""

    lock_type: type[Lock]
    """How the locks of the gate and of its channels are made."""

    async def gate_available(self, gate: Any, data: bool, priority: bool) -> None:
        """G6, U1, U2. Data, or a priority event, can be polled, and could not be polled before.

        (Flink: `InputGate.getAvailableFuture`, `getPriorityEventAvailableFuture`.)
        """

    def state_consumed(self, channel: ChannelInfo) -> None:
        """G7, U5. The end of recovered data was taken (Flink: `getStateConsumedFuture`)."""

    def consumption_resumed(self, channel: ChannelInfo) -> None:
        """G7, U5. The producer, in another process, is to go on (Flink: `resumeConsumption`)."""

    def credit_announced(self, channel: ChannelInfo, credit: int) -> None:
        """G7, U5. The producer, in another process, gets credit (Flink: `notifyCreditAvailable`)."""


class GateSignals:
    """The listener of a gate that stands alone, or of a union: it emits the signals of a port."""

    lock_type = Lock

    def __init__(self, port: Port, numbers: Numbering) -> None:
        self.port = port
        self.numbers = numbers

    async def gate_available(self, gate: Any, data: bool, priority: bool) -> None:
        """G6, U1, U2. Emit `PriorityAvailable` or `DataAvailable`: something can be polled (Flink:
        `InputGate.getAvailableFuture`, `getPriorityEventAvailableFuture`)."""
        if priority:
            self.port.emit(PriorityAvailable(-1))
        if data:
            self.port.emit(DataAvailable())

    def state_consumed(self, channel: ChannelInfo) -> None:
        """G7, U5. Emit `StateConsumed` with the number of the channel among all gates."""
        self.port.emit(StateConsumed(self.numbers.number(channel)))

    def consumption_resumed(self, channel: ChannelInfo) -> None:
        """G7, U5. Emit `ConsumptionResumed` with the number of the channel among all gates."""
        self.port.emit(ConsumptionResumed(self.numbers.number(channel)))

    def credit_announced(self, channel: ChannelInfo, credit: int) -> None:
        """G7, U5. Emit `CreditAnnounced` with the number of the channel among all gates."""
        self.port.emit(CreditAnnounced(credit, self.numbers.number(channel)))
