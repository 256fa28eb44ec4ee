"""The consumer's side of one channel: recovered, local or remote.

A gate uses all three through the operations of `InputChannelPort`. They differ in where their data comes from:
recovered data from the recovery thread, live data from the network or from a producer in the same process. Record ids
never repeat within a run.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from msgspec import Struct

from conformance.ports.elements import Barrier, Buffer, Element
from conformance.ports.faults import (
    BUFFER_POOL,
    CHANNEL_STATE_WRITER,
    CONNECTION,
    NETWORK_BUFFER_POOL,
    PRODUCER,
    SUBPARTITION_REQUEST,
    WRITER_THROWS,
    FaultKind,
    Places,
)
from conformance.ports.outcomes import ErrorKind, PortError
from conformance.ports.port import Answer, Port
from conformance.ports.subpartition import BufferAndBacklog
from conformance.ports.word import Word


class Recovery(Word):
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

        The end of recovered data is no element: a take that removes it returns None and signals `StateConsumed`.

        Raises: PortError STATE from a recovered channel that is released or converted. A local channel raises none
        there, and a remote one is not asked.
        """

    @abstractmethod
    def checkpoint_started(self, barrier: Barrier) -> Answer[None]:
        """The task starts the checkpoint of an unaligned barrier: the channel writes its data in front of the barrier.

        Raises: PortError CHECKPOINT, reason DECLINED_TASK_NOT_READY, from a recovered channel; reason SUBSUMED if a
        newer barrier was received; reason DECLINED if a channel in recovery has no recovery barrier of the checkpoint.
        """

    @abstractmethod
    def checkpoint_stopped(self, checkpoint: int) -> Answer[None]:
        """The checkpoint was completed or aborted, also before it started: the channel writes nothing more for it."""

    @abstractmethod
    def in_use(self) -> Answer[int]:
        """How many buffers wait in the channel and, if it is local, in its subpartition.

        Flink: `getBuffersInUseCount`.
        """

    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[int, ...]]:
        """The record ids written as input state of `checkpoint`, in the order written. Allowed in every state."""


class RecoveredChannelPort(InputChannelPort):
    """The placeholder of a channel while its state is read. Specification: recovered-channel.md.

    A push asks the buffer pool for a buffer. If the pool has none now, the push waits, with no lock, until the pool
    offers one, or until the channel is released or converted, which ends the push. If the pool is destroyed, before
    the push or while it waits, the push fails with an error of kind `io` or `released`. A conversion asks for the
    exclusive buffers of the physical channel before it hands anything over. If they cannot be had, it fails with an
    error of kind `io`, and nothing has changed. If they were only refused, the conversion can be tried again. If the
    pool is destroyed, or the exclusive buffers cannot be had for good, the task fails, and nothing is called any more
    but `persisted`, `resources` and `release`.
    """

    can_fail: ClassVar[Places] = {
        BUFFER_POOL: (FaultKind.REFUSES, FaultKind.ENDS),
        NETWORK_BUFFER_POOL: (FaultKind.THROWS, FaultKind.REFUSES),
    }

    @abstractmethod
    def push_recovered(self, data: Buffer) -> Answer[None]:
        """The recovery thread adds a recovered buffer. A released channel recycles it and raises nothing.

        Raises: PortError STATE after `finish_recovered`, IO or RELEASED if the buffer pool is destroyed, RELEASED if
        the channel is released while the push waits for a buffer.
        """

    def offer_buffer(self) -> Answer[bool]:
        """The buffer pool has a buffer again and offers it; True if the channel keeps it, for the push that waits.

        Flink: `BufferListener.notifyBufferAvailable`. Only an implementation with the capability `faults` is asked for
        this, while a push waits for a buffer.
        """
        raise PortError(ErrorKind.STATE, "no push of this port waits for a buffer: it must not claim `faults`")

    @abstractmethod
    def finish_recovered(self) -> Answer[None]:
        """All state was read: the end of recovered data is queued behind the recovered buffers. Called once, also if
        nothing was pushed; a channel that is released or converted queues nothing and raises nothing."""

    @abstractmethod
    def convert(self) -> Answer[tuple[int, ...]]:
        """Convert to a physical channel: return the record ids that it takes over, and release this channel.

        Raises: PortError STATE if state would be lost: with RECOVER_FIRST before the consumer has taken all of it, with
        IN_MEMORY before all of it was read, with PUSHED if a buffer is queued. IO if the exclusive buffers of the
        physical channel cannot be had.
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
        """No recovered buffer follows: queues the end of recovered data. Called once, also if nothing was pushed. Waits
        as `push_recovered` does, and a released channel raises nothing."""

    @abstractmethod
    def insert_recovery_barrier(self, checkpoint: int) -> Answer[bool]:
        """Queue a recovery barrier of `checkpoint`; False if the channel is not in recovery, where nothing changes.

        `checkpoint_started` or `checkpoint_stopped` follows, before the next take.
        """

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

    If the channel state writer fails, so does the arrival or the start that has called it, with an error of kind `io`.
    So does the request if the connection cannot be made; if the subpartition is not there yet, the request does
    nothing and is made again. If credit or a resumption cannot be sent, the operation fails that wanted to send it; a
    recycling may keep the error for the next take instead, and notify the gate. Once the producer has failed, its error
    arrives in place of the next element: the gate is notified, and the next take fails with an error of kind `io`. The
    error may arrive more than once, before the request, and after release. Between the arrival of an error and that
    take, the request, a recycling and a resumption may fail with the error, too. After an operation has failed, the
    task fails, and nothing is called any more but observers and `release`.
    """

    can_fail: ClassVar[Places] = {
        CHANNEL_STATE_WRITER: (FaultKind.THROWS, FaultKind.SLOW),
        PRODUCER: (FaultKind.ENDS,),
        SUBPARTITION_REQUEST: (FaultKind.THROWS, FaultKind.REFUSES),
        CONNECTION: (FaultKind.THROWS,),
    }

    @abstractmethod
    def request(self) -> Answer[None]:
        """Request the subpartition from the producer; a second request changes nothing. No element arrives before, but
        the error of a producer may."""

    @abstractmethod
    def receive(self, element: Element, seq: int, backlog: int) -> Answer[None]:
        """An element arrives with its sequence number and the producer's backlog behind it, or -1 if none was sent.

        The first element of any kind makes the upstream ready. A released channel recycles the element. If the producer
        has failed, its error arrives instead, whatever the operands are.

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
        """The consumer recycles `count` data buffers that it took, live or recovered, in the order of taking. Allowed
        after `release`, too, where it raises nothing."""

    @abstractmethod
    def free_for_live(self) -> Answer[int]:
        """How many buffers are set aside for live data; outside recovery, this is the credit of the producer."""


class LocalChannelPort(PhysicalChannelPort):
    """A channel whose producer is in the same process. It reads the subpartition through a view.

    Specification: local-channel.md.

    The port stands for the channel and its subpartition together. If the channel state writer fails, so does the take
    or the start that has called it, with an error of kind `io`. So does the request if the subpartition cannot be had,
    and a take that finds no more data of a producer that has failed. The task fails then, and nothing is called any
    more but observers and `release`. If the subpartition is not there yet, the request does nothing, and is made again.
    """

    can_fail: ClassVar[Places] = {
        **WRITER_THROWS,
        SUBPARTITION_REQUEST: (FaultKind.THROWS, FaultKind.REFUSES),
        PRODUCER: (FaultKind.ENDS,),
    }

    @abstractmethod
    def request(self) -> Answer[None]:
        """Attach a view to the subpartition; a second request changes nothing.

        Signals `DataAvailable` if something can be taken already.

        Raises: PortError STATE if the channel is released.
        """

    @abstractmethod
    def add(self, element: Element) -> Answer[bool]:
        """The producer adds an element, also before `request`; False if the subpartition is finished or released."""
