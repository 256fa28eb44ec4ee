"""Producers, the channels between, one gate and a consumer that counts: the smallest job there is.

Everything that recovery must keep right meets here: the subpartition at the producer, the channel, the conversion, the
persisted in-flight data, and the state of the consumer. A checkpoint of a chain is a value, so that another chain, in
another design, can be made from it.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum

from msgspec import Struct

from conformance.ports.channel import Recovery
from conformance.ports.elements import Alignment, Element
from conformance.ports.gate import ChannelKind
from conformance.ports.port import Answer, Port


class CheckpointStatus(StrEnum):
    """How far a checkpoint is."""

    ABSENT = "absent"
    """The consumer has not seen it."""
    PENDING = "pending"
    COMPLETED = "completed"
    DECLINED = "declined"
    """Refused, or subsumed by a newer one. It will not complete any more."""


class ChainCheckpoint(Struct, frozen=True):
    """A checkpoint of a chain; all but the status is empty unless it is completed.

    Each of the others holds record ids by channel: what the consumer had counted, in that order; the input state and
    the output state, in the order written. Recovered, input state comes before output state.
    """

    status: CheckpointStatus
    counted: tuple[tuple[int, ...], ...] = ()
    input_state: tuple[tuple[int, ...], ...] = ()
    output_state: tuple[tuple[int, ...], ...] = ()


class ChainConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The channels in their order; `restored`: the checkpoint that the chain begins with, or nothing.

    With a `recovery` other than NONE every channel is a recovered channel at first, also if there is nothing to
    recover. With `output_on_downstream`, recovered output state is given to the consumer, behind the input state
    (Flink: `execution.checkpointing.unaligned.recover-output-on-downstream.enabled`); otherwise to the subpartition.
    """

    channels: tuple[ChannelKind, ...]
    recovery: Recovery = Recovery.NONE
    restored: ChainCheckpoint | None = None
    output_on_downstream: bool = False
    exclusive_buffers: int = 2
    floating_buffers: int = 2


class Consumed(Struct, frozen=True):
    """What the consumer took, and of which channel. It has dealt with it."""

    channel: int
    element: Element


class ChainPort(Port):
    """Producers, a gate and a consumer that counts. Specification: chain.md.

    Recovery: `recover` and `finish_recovery` feed the consumer's side, `recover_output` and `finish_output_recovery`
    the producer's. Whoever recovers first or in memory feeds the consumer before `convert`; by pushing, after it.

    Signals: `DataAvailable` and `PriorityAvailable` of the gate; `StateConsumed(channel)` when the consumer took the
    end of the recovered input state; `CheckpointAcknowledged` and `CheckpointDeclined`.
    """

    # ---- producer thread
    @abstractmethod
    def produce(self, channel: int, ids: tuple[int, ...]) -> Answer[None]:
        """The producer of a channel sends a buffer with these records."""

    @abstractmethod
    def barrier(self, channel: int, checkpoint: int, alignment: Alignment) -> Answer[None]:
        """The producer of a channel takes its part of a checkpoint and sends the barrier."""

    @abstractmethod
    def finish(self, channel: int) -> Answer[None]:
        """The producer of a channel has nothing more to send: the end of partition follows."""

    @abstractmethod
    def recover_output(self, channel: int) -> Answer[None]:
        """The next record of the recovered output state goes into the subpartition, before anything live."""

    @abstractmethod
    def finish_output_recovery(self, channel: int) -> Answer[None]:
        """All of it is in, or there was none: its end is sent, and the producer begins."""

    # ---- network thread
    @abstractmethod
    def transfer(self, channel: int) -> Answer[Element | None]:
        """The next element of a remote channel travels to the consumer; None if nothing can leave the producer now.

        A local channel needs no transfer.
        """

    # ---- recovery thread
    @abstractmethod
    def recover(self, channel: int) -> Answer[None]:
        """The next record of the recovered input state goes into the gate. May have to wait for the upstream."""

    @abstractmethod
    def finish_recovery(self, channel: int) -> Answer[None]:
        """All of it is in, or there was none."""

    # ---- task thread
    @abstractmethod
    def convert(self) -> Answer[None]:
        """Replace the recovered channels of the gate by physical ones.

        Raises: PortError STATE if a channel still has state that it cannot hand over.
        """

    @abstractmethod
    def request_partitions(self) -> Answer[None]:
        """Ask the producers for data, after conversion."""

    @abstractmethod
    def consume(self) -> Answer[Consumed | None]:
        """Take the next element from the gate and deal with it: count records, align barriers, start checkpoints.

        None if the gate has nothing. A refused checkpoint is declined, and the job goes on.
        """

    @abstractmethod
    def trigger(self, checkpoint: int) -> Answer[None]:
        """The consumer is asked for a checkpoint before its channels are converted: it declines.

        Barriers of that checkpoint may come later all the same, and are obsolete.
        """

    # ---- observer
    @abstractmethod
    def counted(self) -> Answer[tuple[tuple[int, ...], ...]]:
        """The state of the consumer: the records counted by channel, in the order counted, restored ones included."""

    @abstractmethod
    def snapshot(self, checkpoint: int) -> Answer[ChainCheckpoint]:
        """A checkpoint of this chain. Allowed in every state, also after `release`."""
