"""The chain, the smallest job of the suite: producers, their channels, one gate, and a consumer that counts records.

It combines everything that recovery must keep right: the subpartition at the producer, the channel, the conversion, the
persisted in-flight data, and the state of the consumer. A checkpoint of a chain is a value, from which another chain
can start, also with another recovery design.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from msgspec import Struct

from conformance.ports.channel import Recovery
from conformance.ports.elements import Alignment, Element
from conformance.ports.faults import BUFFER_POOL, WRITER_THROWS, FaultKind, Places
from conformance.ports.gate import ChannelKind
from conformance.ports.port import Answer, Port
from conformance.ports.word import Word


class CheckpointStatus(Word):
    """How far a checkpoint is."""

    ABSENT = "absent"
    """The consumer has received no barrier and no trigger of it."""
    PENDING = "pending"
    COMPLETED = "completed"
    DECLINED = "declined"
    """The consumer declined it, or a newer checkpoint subsumed it, so that it cannot complete any more."""


class ChainCheckpoint(Struct, frozen=True):
    """A checkpoint of a chain; all fields but `status` are empty unless it is completed.

    The other fields hold record ids by channel: the records that the consumer had counted, in that order; the input
    state and the output state, in the order written. A restored chain delivers the input state of a channel first and
    then its output state.
    """

    status: CheckpointStatus
    counted: tuple[tuple[int, ...], ...] = ()
    input_state: tuple[tuple[int, ...], ...] = ()
    output_state: tuple[tuple[int, ...], ...] = ()


class ChainConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The channels in their order; `restored` is the checkpoint from which the chain starts, None for a fresh start.

    With a `recovery` other than NONE every channel is a recovered channel until `convert`, also if there is nothing to
    recover. With `output_on_downstream`, the gate gets the recovered output state, behind the input state (Flink:
    `execution.checkpointing.unaligned.recover-output-on-downstream.enabled`); otherwise the subpartitions get it.
    Without `unaligned`, the edge is without unaligned checkpoints: every barrier crosses it aligned (Flink:
    `StreamEdge.supportsUnalignedCheckpoints`).
    """

    channels: tuple[ChannelKind, ...]
    recovery: Recovery = Recovery.NONE
    restored: ChainCheckpoint | None = None
    output_on_downstream: bool = False
    exclusive_buffers: int = 2
    floating_buffers: int = 2
    unaligned: bool = True


class Consumed(Struct, frozen=True):
    """An element that the consumer took and dealt with, its channel, and whether the gate said that more follows."""

    channel: int
    element: Element
    more: bool
    """Whether another element could be taken when the gate handed this one out. If not, the consumer takes again only
    once it is notified."""


class ChainPort(Port):
    """Producers, a gate and a consumer that counts. Specification: chain.md.

    Recovery: `recover` and `finish_recovery` feed the gate, `recover_output` and `finish_output_recovery` feed the
    subpartitions. With RECOVER_FIRST and IN_MEMORY the gate is fed before `convert`, with PUSHED after it.

    Signals: `DataAvailable` and `PriorityAvailable` of the gate; `StateConsumed(channel)` when the consumer took the
    end of the recovered input state; `CheckpointAcknowledged` and `CheckpointDeclined`.

    If input state or output state of a checkpoint cannot be written, the operation that was to write it fails with an
    error of kind `io`, and the checkpoint never completes. If a buffer pool was destroyed, so does an operation that
    needs a buffer for records that are sent or recovered. The task fails then: nothing is called any more but
    `snapshot`, `resources` and `release`, and another chain starts from a checkpoint that had completed before.
    """

    can_fail: ClassVar[Places] = {**WRITER_THROWS, BUFFER_POOL: (FaultKind.ENDS,)}

    # ---- producer thread
    @abstractmethod
    def produce(self, channel: int, ids: tuple[int, ...]) -> Answer[None]:
        """The producer of a channel sends a buffer with these records."""

    @abstractmethod
    def barrier(self, channel: int, checkpoint: int, alignment: Alignment) -> Answer[None]:
        """The producer of a channel takes its part of a checkpoint and sends the barrier.

        The barrier is timeoutable only on an edge without unaligned checkpoints. There it crosses aligned, as an
        unaligned one does: it is appended, announced to nobody, and consumed as an aligned barrier.
        """

    @abstractmethod
    def finish(self, channel: int) -> Answer[None]:
        """The producer of a channel has nothing more to send: it sends the end of partition."""

    @abstractmethod
    def recover_output(self, channel: int) -> Answer[None]:
        """The producer adds the next recovered output record to its subpartition, before it adds any live element."""

    @abstractmethod
    def finish_output_recovery(self, channel: int) -> Answer[None]:
        """All recovered output state was added, or there was none: the producer sends its end.

        After that the producer may send live elements.
        """

    # ---- network thread
    @abstractmethod
    def transfer(self, channel: int) -> Answer[Element | None]:
        """The next element of a remote channel travels to the consumer; None if nothing can leave the producer now.

        A local channel needs no transfer.
        """

    # ---- recovery thread
    @abstractmethod
    def recover(self, channel: int) -> Answer[None]:
        """The recovery thread hands the next record of the recovered input state to the gate.

        With PUSHED it waits until the upstream of the channel is ready.
        """

    @abstractmethod
    def finish_recovery(self, channel: int) -> Answer[None]:
        """The gate has all recovered input state of a channel, or there was none. Called once."""

    # ---- task thread
    @abstractmethod
    def convert(self) -> Answer[None]:
        """Replace the recovered channels of the gate by physical ones. The driver calls it once nothing would be lost.

        Raises: PortError STATE if a channel still has state that it cannot hand over.
        """

    @abstractmethod
    def request_partitions(self) -> Answer[None]:
        """Request the subpartitions of all channels, after conversion."""

    @abstractmethod
    def consume(self) -> Answer[Consumed | None]:
        """Take the next element from the gate and deal with it: count records, align barriers, start checkpoints.

        None if the gate has nothing. Called also before `convert`. If a channel refuses a checkpoint, the consumer
        declines it, and the job goes on.
        """

    @abstractmethod
    def trigger(self, checkpoint: int) -> Answer[None]:
        """The consumer is asked for a checkpoint before its channels are converted: it declines.

        Barriers of that checkpoint that come later are obsolete.
        """

    # ---- observer
    @abstractmethod
    def counted(self) -> Answer[tuple[tuple[int, ...], ...]]:
        """The state of the consumer: the records counted by channel, in the order counted, restored ones included."""

    @abstractmethod
    def snapshot(self, checkpoint: int) -> Answer[ChainCheckpoint]:
        """Read back a checkpoint of this chain. Allowed in every state, also after `release`."""
