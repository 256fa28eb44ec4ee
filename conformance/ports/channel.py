"""The consumer's side of one channel: recovered, local or remote.

A gate uses all three through the operations of `InputChannelPort`. They differ in where their data comes from:
recovered data from the recovery thread, live data from the network or from a producer in the same process. Record ids
never repeat within a run.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from conformance.ports.elements import Barrier, Buffer, Element
from conformance.ports.faults import WRITER_THROWS, Places
from conformance.ports.port import Answer, Port
from conformance.ports.subpartition import BufferAndBacklog


class Recovery(StrEnum):
    """The recovery design, which decides where recovered input data lives."""

    NONE = "none"
    """Nothing is recovered."""
    RECOVER_FIRST = "recover-first"
    """Recovered data lives in the recovered channel, and the consumer takes all of it before conversion."""
    IN_MEMORY = "in-memory"
    """Recovered data lives in the recovered channel, and conversion hands what is left to the physical channel."""
    PUSHED = "pushed"
    """The recovery thread pushes recovered data into the physical channel, after conversion."""


class ChannelConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`handed_over`: with IN_MEMORY, the record ids that the recovered channel hands over, one buffer each.

    `exclusive_buffers` is the initial credit of a remote channel, `floating_buffers` the most that it can borrow.
    `first_number` is the sequence number of its first live element; only an implementation with the capability
    `begins-anywhere` is asked for another one than 0.
    """

    recovery: Recovery = Recovery.NONE
    handed_over: tuple[int, ...] = ()
    exclusive_buffers: int = 2
    floating_buffers: int = 2
    first_number: int = 0


class InputChannelPort(Port):
    """The operations that a gate uses on every channel, recovered, local or remote.

    Signals: `DataAvailable` and `PriorityAvailable(seq)`, for the gate.
    """

    @abstractmethod
    def take(self) -> Answer[BufferAndBacklog | None]:
        """Take the next element (Flink: `getNextBuffer`); None if there is nothing to take.

        The end of recovered data is no element: a take that removes it answers None and signals `StateConsumed`.
        """

    @abstractmethod
    def checkpoint_started(self, barrier: Barrier) -> Answer[None]:
        """The task starts the checkpoint of an unaligned barrier: the channel writes its data in front of the barrier.

        Raises: PortError CHECKPOINT, reason DECLINED_TASK_NOT_READY, from a recovered channel; reason SUBSUMED if a
        newer barrier was received; reason DECLINED if a channel in recovery has no recovery barrier of the checkpoint.
        """

    @abstractmethod
    def checkpoint_stopped(self, checkpoint: int) -> Answer[None]:
        """The checkpoint was completed or aborted: the channel writes nothing more for it."""

    @abstractmethod
    def in_use(self) -> Answer[int]:
        """How many buffers wait in the channel and, if it is local, in its subpartition.

        Flink: `getBuffersInUseCount`.
        """

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[int, ...]]:
        """The record ids written as input state of `checkpoint`, in the order written. Allowed in every state."""


class RecoveredChannelPort(InputChannelPort):
    """The placeholder of a channel while its state is read. Specification: recovered-channel.md."""

    @abstractmethod
    def push_recovered(self, data: Buffer) -> Answer[None]:
        """The recovery thread adds a recovered buffer. A released channel recycles it and raises nothing.

        Raises: PortError STATE after `finish_recovered`.
        """

    @abstractmethod
    def finish_recovered(self) -> Answer[None]:
        """All state was read: the end of recovered data is queued behind the recovered buffers."""

    @abstractmethod
    def convert(self) -> Answer[tuple[int, ...]]:
        """Convert to a physical channel: answer the record ids that it takes over, and release this channel.

        Raises: PortError STATE if state would be lost: with RECOVER_FIRST before the consumer has taken all of it, with
        IN_MEMORY before all of it was read, with PUSHED if a buffer is queued.
        """

    @abstractmethod
    def last_stopped(self) -> Answer[int]:
        """The newest checkpoint that was stopped here, 0 if none was; the physical channel begins with it."""


class PhysicalChannelPort(InputChannelPort):
    """The operations that local and remote channels share.

    With `Recovery.PUSHED` the channel begins *in recovery*: the recovery thread pushes recovered buffers, and live data
    stays hidden until the consumer has taken the end of recovered data. Further signals: `StateConsumed`.
    """

    @abstractmethod
    def push_recovered(self, data: Buffer) -> Answer[None]:
        """The recovery thread pushes a recovered buffer, and waits before that until the upstream is ready.

        A released channel recycles the buffer and raises nothing.

        Raises: PortError STATE after `finish_recovered`, or if the channel is not in recovery.
        """

    @abstractmethod
    def finish_recovered(self) -> Answer[None]:
        """No recovered buffer follows: queues the end of recovered data. Waits and fails as `push_recovered` does."""

    @abstractmethod
    def insert_recovery_barrier(self, checkpoint: int) -> Answer[bool]:
        """Queue a recovery barrier of `checkpoint`; False if the channel is not in recovery, where nothing changes."""

    @abstractmethod
    def in_recovery(self) -> Answer[bool]:
        """Whether the channel is in recovery: the end of recovered data is still to be taken."""

    @abstractmethod
    def resume(self) -> Answer[None]:
        """The consumer resumes the blocked producer. A remote channel signals `ConsumptionResumed`.

        Raises: PortError STATE if the channel is released, or if it is local and its producer is not blocked.
        """


class RemoteChannelPort(PhysicalChannelPort):
    """A channel over the network, based on credit. Specification: remote-channel.md.

    Further signals: `CreditAnnounced`, `ConsumptionResumed`.
    """

    @abstractmethod
    def request(self) -> Answer[None]:
        """Request the subpartition from the producer; a second request changes nothing. No element arrives before."""

    @abstractmethod
    def receive(self, element: Element, seq: int, backlog: int) -> Answer[None]:
        """An element arrives with its sequence number and the producer's backlog behind it, or -1 if none was sent.

        The first element of any kind makes the upstream ready. A released channel recycles the element.

        Raises: PortError REORDERING if `seq` is not the expected one, ARGUMENT if an element that blocks the producer
        comes with a backlog above 0, PROTOCOL if data comes while the channel is in recovery.
        """

    @abstractmethod
    def convert_to_priority(self, seq: int) -> Answer[None]:
        """The announced barrier with this sequence number becomes unaligned and overtakes what is queued.

        Flink: `convertToPriorityEvent`. Always signals `PriorityAvailable`, although the announcement carried the same
        sequence number.

        Raises: PortError STATE if it is not the last barrier that arrived, or is not queued any more.
        """

    @abstractmethod
    def recycle(self, count: int) -> Answer[None]:
        """The consumer recycles `count` data buffers that it took, live or recovered, in the order of taking."""

    @abstractmethod
    def free_for_live(self) -> Answer[int]:
        """How many buffers are set aside for live data; outside recovery, this is the credit of the producer."""


class LocalChannelPort(PhysicalChannelPort):
    """A channel whose producer is in the same process. It reads the subpartition through a view.

    Specification: local-channel.md.

    The port stands for the channel and its subpartition together. If the channel state writer fails, so does the take
    or the start that has called it, with an error of kind `io`. The task fails then, and nothing is called any more but
    observers and `release`.
    """

    can_fail: ClassVar[Places] = WRITER_THROWS

    @abstractmethod
    def request(self) -> Answer[None]:
        """Attach a view to the subpartition; a second request changes nothing.

        Signals `DataAvailable` if something can be taken already.
        """

    @abstractmethod
    def add(self, element: Element) -> Answer[bool]:
        """The producer adds an element; False if the subpartition is finished or released."""
