"""The input gate, which reads all channels of one input as one queue, and the union of gates, which reads several of
them as one (Flink: `SingleInputGate`, `UnionInputGate`)."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from msgspec import Struct

from conformance.ports.channel import Recovery
from conformance.ports.elements import Barrier, Buffer, Element
from conformance.ports.faults import (
    CHANNEL_RELEASE,
    NETWORK_BUFFER_POOL,
    SUBPARTITION_REQUEST,
    WRITER_THROWS,
    FaultKind,
    Places,
)
from conformance.ports.port import Answer, Port
from conformance.ports.word import Word


class ChannelKind(Word):
    """Where the producer of a channel is."""

    LOCAL = "local"
    """In the same process."""
    REMOTE = "remote"
    """In another process, over the network."""


class GateConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The gates in their order, each with its channels, and how they recover. Several are read as one, by a union.

    With a `recovery` other than NONE every channel is a recovered channel until `convert`. The exclusive buffers are
    those of each remote channel, the floating buffers those of each gate.
    """

    gates: tuple[tuple[ChannelKind, ...], ...]
    recovery: Recovery = Recovery.NONE
    exclusive_buffers: int = 2
    floating_buffers: int = 2

    @property
    def channels(self) -> tuple[ChannelKind, ...]:
        """The channels of all gates, in the order of their numbers."""
        if len(self.gates) == 1:
            return self.gates[0]
        return tuple(kind for channels in self.gates for kind in channels)

    def alone(self, gate: int) -> GateConfig:
        """Returns the configuration of one of the gates."""
        return GateConfig((self.gates[gate],), self.recovery, self.exclusive_buffers, self.floating_buffers)


class BufferOrEvent(Struct, frozen=True):
    """A polled element, its channel, and whether the gate has more (Flink: `BufferOrEvent`)."""

    channel: int
    element: Element
    more: bool
    """Whether a channel is still queued in the gate, so that the consumer polls again without being notified."""
    more_priority: bool
    """Whether a channel that is still queued has a priority event."""


_THROWS = (FaultKind.THROWS,)
_SETUP_THROWS: Places = {SUBPARTITION_REQUEST: _THROWS, NETWORK_BUFFER_POOL: _THROWS}
"""What can fail before live data flows."""


class GatePort(Port):
    """One input gate, or the union of several. Specification: gate.md.

    The channels have one numbering: those of a gate follow those of the gate before it. With several gates, no
    checkpoint is taken, no barrier overtakes later, and the output state of no channel ends: a task does all this at
    each gate. So these methods are called with one gate only: `end_of_output_state`, `insert_recovery_barriers`,
    `checkpoint_started`, `checkpoint_stopped`, `convert_to_priority`, `in_use` and `persisted`.

    Signals: `DataAvailable` when the gate becomes available, `PriorityAvailable` (with `seq` -1) when a priority event
    does, `ConsumptionResumed(channel)` and `CreditAnnounced` for producers of remote channels, `StateConsumed(channel)`
    when the end of recovered data of a channel was taken.

    If the channel state writer fails in a poll or in the start of a checkpoint, that operation fails with an error of
    kind `io`. If it fails in an arrival, if a subpartition cannot be requested, or if the buffer pool has no buffers
    for a channel that is converted, the gate keeps the error, notifies its reader of data, and a poll fails with an
    error of kind `io`; polls before may return what is queued already. An arrival may fail with the error besides, and
    a conversion or a request in place of the poll. When an operation of the task has failed, the task fails: nothing
    is called any more but observers and `release`. While the gate keeps an error, only `poll` is called besides.
    In a union the gate of the channel keeps the error, and a poll of the union returns it; only the request of a
    subpartition and the buffer pool fail there.
    """

    can_fail: ClassVar[Places] = {**WRITER_THROWS, **_SETUP_THROWS, CHANNEL_RELEASE: _THROWS}

    # ---- recovery thread
    @abstractmethod
    def recover(self, channel: int, data: Buffer) -> Answer[None]:
        """The recovery thread hands in a recovered buffer: before `convert`, or with PUSHED after it.

        With PUSHED it waits until the upstream of the channel is ready.
        """

    @abstractmethod
    def finish_recovery(self, channel: int) -> Answer[None]:
        """No recovered buffer of this channel follows. Also called for a channel without state; waits as `recover`."""

    # ---- task thread
    @abstractmethod
    def convert(self, gate: int) -> Answer[None]:
        """Replace every recovered channel of one gate by a physical one, without loss or reordering, whether or not the
        state of other gates was read. A second call changes nothing.

        Raises: PortError STATE if a channel of this gate still has state that it cannot hand over, or it is released.
        """

    @abstractmethod
    def request_partitions(self, gate: int) -> Answer[None]:
        """Request the subpartitions of all channels of one gate, after its conversion. A second call changes nothing.

        Raises: PortError STATE before conversion, or if the gate is released.
        """

    @abstractmethod
    def poll(self) -> Answer[BufferOrEvent | None]:
        """Take the next element: priority events first, then one of each gate and of each channel in turn; None if
        there is none, or if the gate of a union whose turn it is has none.

        With one gate it is allowed without a notification, before `convert` and after the end; not between `convert`
        and `request_partitions`, nor between `insert_recovery_barriers` and `checkpoint_started`. Several gates are
        polled for a reason only: a notification, a result that said that more follows, or `available`.

        Raises: PortError RELEASED if the gate is released and not finished; a union may also return None then.
        """

    @abstractmethod
    def resume(self, channel: int) -> Answer[None]:
        """Resume the blocked producer of a channel; in recovery, only once all output state has ended."""

    @abstractmethod
    def end_of_output_state(self, channel: int) -> Answer[None]:
        """The consumer took the `RecoveryCompletion` of a channel; after the last one, the gate resumes all channels.

        Raises: PortError STATE if that of this channel came before and another is still missing.
        """

    @abstractmethod
    def insert_recovery_barriers(self, checkpoint: int) -> Answer[None]:
        """Insert a recovery barrier into every channel in recovery; with PUSHED, after `request_partitions`, and before
        `checkpoint_started`, which follows."""

    @abstractmethod
    def checkpoint_started(self, barrier: Barrier) -> Answer[None]:
        """The task starts an unaligned checkpoint: every channel in turn writes what it has in front of the barrier.

        Raises: PortError CHECKPOINT, with the reason of the first channel that refuses.
        """

    @abstractmethod
    def checkpoint_stopped(self, checkpoint: int) -> Answer[None]:
        """The checkpoint was completed or aborted: stop it in every channel. Before `convert`, also one that never
        starts."""

    @abstractmethod
    def convert_to_priority(self, channel: int, seq: int) -> Answer[None]:
        """The announced barrier of a remote channel becomes unaligned and overtakes what is queued.

        Raises: PortError STATE if it is not the last barrier that arrived there, or is not queued any more.
        """

    # ---- network thread
    @abstractmethod
    def arrive(self, channel: int, element: Element, backlog: int = -1) -> Answer[None]:
        """A live element arrives over the network with the next sequence number, or a local producer adds it.

        `backlog` is what a remote producer says that waits behind it, or -1 if it says nothing.
        """

    # ---- observer
    @abstractmethod
    def available(self) -> Answer[bool]:
        """Whether the gate is available, so that its reader polls (Flink: `getAvailableFuture().isDone()`)."""

    @abstractmethod
    def in_use(self, channel: int) -> Answer[int]:
        """How many buffers wait in the channel and, if it is local, in its subpartition."""

    @abstractmethod
    def finished(self) -> Answer[bool]:
        """Whether the end of partition of every channel was polled."""

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
        """The record ids written as input state of `checkpoint`, by channel, each in the order written."""
