"""All channels of one input, seen as one queue, and several such inputs seen as one (Flink: `SingleInputGate`,
`UnionInputGate`)."""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum

from msgspec import Struct

from conformance.ports.channel import Recovery
from conformance.ports.elements import Barrier, Buffer, Element
from conformance.ports.port import Answer, Port


class ChannelKind(StrEnum):
    """Where the producer of a channel is."""

    LOCAL = "local"
    REMOTE = "remote"


class GateConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The channels of a gate in their order, and how they recover.

    With a `recovery` other than NONE every channel is a recovered channel until `convert`.
    """

    channels: tuple[ChannelKind, ...]
    recovery: Recovery = Recovery.NONE
    exclusive_buffers: int = 2
    floating_buffers: int = 2


class BufferOrEvent(Struct, frozen=True):
    """A polled element, whose it is, and whether the gate has more (Flink: `BufferOrEvent`)."""

    channel: int
    element: Element
    more: bool
    """Something else can be polled now."""
    more_priority: bool
    """A channel with a priority event stands in front."""


class GatePort(Port):
    """One input gate. Specification: gate.md.

    Signals: `DataAvailable` when the gate becomes available, `PriorityAvailable` (with `seq` -1) when a priority event
    does, `ConsumptionResumed(channel)` and `CreditAnnounced` for producers of remote channels, `StateConsumed(channel)`
    when the end of recovered data of a channel was taken.
    """

    # ---- recovery thread
    @abstractmethod
    def recover(self, channel: int, data: Buffer) -> Answer[None]:
        """A recovered buffer of the channel: before `convert`, or with PUSHED after it. May have to wait."""

    @abstractmethod
    def finish_recovery(self, channel: int) -> Answer[None]:
        """No recovered buffer of this channel follows; said also of a channel without state."""

    # ---- task thread
    @abstractmethod
    def convert(self) -> Answer[None]:
        """Replace every recovered channel by a physical one. Nothing is lost and no order changes. Idempotent.

        Raises: PortError STATE if a channel still has state that it cannot hand over.
        """

    @abstractmethod
    def request_partitions(self) -> Answer[None]:
        """Ask the producers for data, after conversion. Idempotent.

        Raises: PortError STATE before conversion.
        """

    @abstractmethod
    def poll(self) -> Answer[BufferOrEvent | None]:
        """The next element: priority events first, then one of each channel in turn. None if there is nothing.

        Raises: PortError RELEASED from a released gate.
        """

    @abstractmethod
    def resume(self, channel: int) -> Answer[None]:
        """Let the blocked producer of a channel go on."""

    @abstractmethod
    def end_of_output_state(self, channel: int) -> Answer[None]:
        """The consumer took the `RecoveryCompletion` of a channel. Once all came, all channels are resumed.

        Raises: PortError STATE if it came before.
        """

    @abstractmethod
    def insert_recovery_barriers(self, checkpoint: int) -> Answer[None]:
        """With PUSHED, and before `checkpoint_started`: mark the recovered data of every channel in recovery."""

    @abstractmethod
    def checkpoint_started(self, barrier: Barrier) -> Answer[None]:
        """An unaligned checkpoint starts: every channel in turn writes what is queued in front of the barrier.

        Raises: PortError CHECKPOINT with the reason of the first channel that refuses.
        """

    @abstractmethod
    def checkpoint_stopped(self, checkpoint: int) -> Answer[None]:
        """The checkpoint is over, in every channel."""

    @abstractmethod
    def convert_to_priority(self, channel: int, seq: int) -> Answer[None]:
        """The announced barrier of a remote channel overtakes what is queued.

        Raises: PortError STATE if that barrier is not queued.
        """

    # ---- network thread
    @abstractmethod
    def arrive(self, channel: int, element: Element) -> Answer[None]:
        """A live element: over the network with the next sequence number, or added by the producer in this process."""

    # ---- observer
    @abstractmethod
    def available(self) -> Answer[bool]:
        """Whether the gate says that something can be polled (Flink: `getAvailableFuture().isDone()`)."""

    @abstractmethod
    def in_use(self, channel: int) -> Answer[int]:
        """The buffers that wait in the channel, or upstream of it in this process."""

    @abstractmethod
    def finished(self) -> Answer[bool]:
        """Whether every channel has ended."""

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
        """The record ids written as input state of `checkpoint`, by channel, each in the order written."""


class UnionGateConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The gates under a union, in their order; channels are numbered through."""

    gates: tuple[GateConfig, ...]


class UnionGatePort(Port):
    """Several gates as one. Channels are numbered through all gates. Specification: union-gate.md.

    Signals as of a gate.
    """

    @abstractmethod
    def recover(self, channel: int, data: Buffer) -> Answer[None]:
        """A recovered buffer of the channel."""

    @abstractmethod
    def finish_recovery(self, channel: int) -> Answer[None]:
        """No recovered buffer of this channel follows."""

    @abstractmethod
    def convert(self, gate: int) -> Answer[None]:
        """Replace the recovered channels of one gate; the others need not have been read.

        Raises: PortError STATE if a channel of this gate still has state that it cannot hand over.
        """

    @abstractmethod
    def request_partitions(self, gate: int) -> Answer[None]:
        """Ask the producers of one gate for data."""

    @abstractmethod
    def poll(self) -> Answer[BufferOrEvent | None]:
        """The next element of any gate: priority events first, then one of each gate in turn."""

    @abstractmethod
    def resume(self, channel: int) -> Answer[None]:
        """Let the blocked producer of a channel go on."""

    @abstractmethod
    def arrive(self, channel: int, element: Element) -> Answer[None]:
        """A live element."""

    @abstractmethod
    def available(self) -> Answer[bool]:
        """Whether the union says that something can be polled."""

    @abstractmethod
    def finished(self) -> Answer[bool]:
        """Whether every channel of every gate has ended."""
