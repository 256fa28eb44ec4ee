"""The consumer's side of one channel: recovered, local or remote.

The three share what a gate does with a channel. Who tells them things differs: recovered data comes from the recovery
thread, live data from the network or from a producer in the same process. Record ids never repeat within a run.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum

from msgspec import Struct

from conformance.ports.elements import Barrier, Buffer, Element
from conformance.ports.port import Answer, Port
from conformance.ports.subpartition import BufferAndBacklog


class Recovery(StrEnum):
    """Where recovered input data lives: what differs between the recovery designs."""

    NONE = "none"
    """Nothing is recovered: a fresh start."""
    RECOVER_FIRST = "recover-first"
    """In the recovered channel, which must be consumed before it is converted."""
    IN_MEMORY = "in-memory"
    """In the recovered channel; conversion hands what is left of it to the physical channel."""
    PUSHED = "pushed"
    """Pushed into the physical channel after conversion; nothing is stored before."""


class ChannelConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`handed_over`: with IN_MEMORY, the record ids, one buffer each, that a recovered channel left behind.

    `exclusive_buffers` (initial credit) and `floating_buffers` (at most) are for remote channels.
    """

    recovery: Recovery = Recovery.NONE
    handed_over: tuple[int, ...] = ()
    exclusive_buffers: int = 2
    floating_buffers: int = 2


class InputChannelPort(Port):
    """What a gate asks of every channel, recovered, local or remote.

    Signals: `DataAvailable` and `PriorityAvailable(seq)`, for the gate.
    """

    @abstractmethod
    def take(self) -> Answer[BufferAndBacklog | None]:
        """The next element (Flink: `getNextBuffer`); None is legal whenever nothing can be taken.

        The end of recovered data is no element: taking it answers None and signals `StateConsumed`.
        """

    @abstractmethod
    def checkpoint_started(self, barrier: Barrier) -> Answer[None]:
        """The checkpoint of an unaligned barrier starts: what is queued in front of the barrier is written.

        Raises: PortError CHECKPOINT with the reason: DECLINED_TASK_NOT_READY from a channel that is not physical yet,
        SUBSUMED if a newer barrier is known, DECLINED if a recovery barrier that must be there is missing.
        """

    @abstractmethod
    def checkpoint_stopped(self, checkpoint: int) -> Answer[None]:
        """The checkpoint is over, completed or aborted."""

    @abstractmethod
    def in_use(self) -> Answer[int]:
        """How many buffers wait here or, for a local channel, upstream (Flink: `getBuffersInUseCount`)."""

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[int, ...]]:
        """The record ids written as input state of `checkpoint`, in the order written. Allowed in every state."""


class RecoveredChannelPort(InputChannelPort):
    """The placeholder of a channel while its state is read. Specification: recovered-channel.md."""

    @abstractmethod
    def push_recovered(self, data: Buffer) -> Answer[None]:
        """A recovered buffer. After release it is recycled silently.

        Raises: PortError STATE after `finish_recovered`.
        """

    @abstractmethod
    def finish_recovered(self) -> Answer[None]:
        """All state is read: the end of recovered data is queued behind it."""

    @abstractmethod
    def convert(self) -> Answer[tuple[int, ...]]:
        """Become physical: answers the record ids handed over to the physical channel, and releases this one.

        Raises: PortError STATE if state would be lost: with RECOVER_FIRST unless all is consumed, with IN_MEMORY unless
        all is read, with PUSHED if anything is stored.
        """

    @abstractmethod
    def last_stopped(self) -> Answer[int]:
        """The newest checkpoint that was stopped here, which the physical channel must know; 0: none."""


class PhysicalChannelPort(InputChannelPort):
    """What local and remote channels share.

    With `Recovery.PUSHED` the channel begins *in recovery*: recovered buffers are pushed, live data stays hidden behind
    them until their end has been taken. Signals besides: `StateConsumed`.
    """

    @abstractmethod
    def push_recovered(self, data: Buffer) -> Answer[None]:
        """A recovered buffer. Waits until the upstream is ready. After release it is recycled silently.

        Raises: PortError STATE if recovery is over.
        """

    @abstractmethod
    def finish_recovered(self) -> Answer[None]:
        """No recovered buffer follows: the end of recovered data is queued. Waits as `push_recovered` does."""

    @abstractmethod
    def insert_recovery_barrier(self, checkpoint: int) -> Answer[bool]:
        """Mark in the recovered data where `checkpoint` started; False, and nothing is done, if not in recovery."""

    @abstractmethod
    def in_recovery(self) -> Answer[bool]:
        """Whether the end of recovered data has not been taken yet."""

    @abstractmethod
    def resume(self) -> Answer[None]:
        """The consumer lets the blocked producer go on. Signals `ConsumptionResumed` if the producer is remote.

        Raises: PortError STATE if released.
        """


class RemoteChannelPort(PhysicalChannelPort):
    """A channel over the network, credit based. Specification: remote-channel.md.

    Signals besides: `CreditAnnounced`, `ConsumptionResumed`.
    """

    @abstractmethod
    def request(self) -> Answer[None]:
        """Ask the producer for the subpartition. Idempotent. Only then can anything arrive."""

    @abstractmethod
    def receive(self, element: Element, seq: int, backlog: int) -> Answer[None]:
        """An element arrived from upstream with its sequence number, and the producer's backlog behind it.

        The first message of any kind makes the upstream ready. After release it is recycled.

        Raises: PortError REORDERING if `seq` is not the expected one, ARGUMENT if an element that blocks the producer
        comes with a backlog, PROTOCOL if data comes while in recovery.
        """

    @abstractmethod
    def convert_to_priority(self, seq: int) -> Answer[None]:
        """The announced barrier with this sequence number overtakes what is queued (Flink:
        `convertToPriorityEvent`); the gate is told in any case, as the announcement may have been the newer one.

        Raises: PortError STATE if that is not the last barrier here.
        """

    @abstractmethod
    def recycle(self, count: int) -> Answer[None]:
        """The consumer is done with `count` live or recovered data buffers that it took before."""

    @abstractmethod
    def free_for_live(self) -> Answer[int]:
        """Buffers set aside for live data: what the producer holds as credit, once announcing is open."""


class LocalChannelPort(PhysicalChannelPort):
    """A channel whose producer is in the same process. It reads the subpartition through a view.

    Specification: local-channel.md.

    The port stands for the channel and its subpartition together.
    """

    @abstractmethod
    def request(self) -> Answer[None]:
        """Attach to the subpartition. Idempotent. What is there already is announced."""

    @abstractmethod
    def add(self, element: Element) -> Answer[bool]:
        """The producer adds an element to the subpartition; False if it is over."""
