"""What a gate needs of its channels, whatever their kind. Specification: gate.md."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from conformance.ports import (
    Barrier,
    Buffer,
    BufferAndBacklog,
    DataType,
    Element,
    InputChannelPort,
    PhysicalChannelPort,
    Resources,
)

from ..state.persister import Persister
from .listener import Listener, Signals


class EndOfRecoveredState:
    """The end of recovered data. It stands behind the recovered buffers of a channel and never leaves the gate."""

    data_type: ClassVar[DataType] = DataType.EVENT


END_OF_RECOVERED_STATE: Any = EndOfRecoveredState()


class Channel(InputChannelPort):
    """What recovered and physical channels share: a number in the gate, the channel lock, and a listener."""

    def __init__(self, listener: Listener | None, index: int, lock_name: str) -> None:
        self.listener: Listener = Signals(self) if listener is None else listener
        self.index = index
        self.lock = self.listener.lock_type(f"{lock_name} {index} lock", "channel lock", index)
        self.released = False

    @abstractmethod
    async def next_element(self) -> BufferAndBacklog | None:
        """G12 to G14. The next element (Flink: `InputChannel.getNextBuffer`). The gate holds the gate lock while it
        asks.

        A physical channel also returns the end of recovered data; a recovered channel deals with that end itself.
        """

    def buffer_was_copied(self) -> None:
        """G12. The consumer has read the data buffer that was polled last. The gate holds the gate lock."""

    async def return_copied(self) -> None:
        """G12. Recycle what was copied. The gate calls it after it has released the gate lock.

        A floating buffer returns to a pool then, which may offer it to another channel, whose lock must be taken
        (remote-channel.md R15, R18). Only a remote channel has anything to do here.
        """

    @abstractmethod
    async def checkpoint_started(self, barrier: Barrier) -> None:
        """G22. A checkpoint starts: from now on live data in front of its barrier is written (Flink:
        `InputChannel.checkpointStarted`)."""

    @abstractmethod
    async def checkpoint_stopped(self, checkpoint: int) -> None:
        """G23. A checkpoint is over: nothing more is written for it (Flink: `checkpointStopped`)."""

    @abstractmethod
    async def push_recovered(self, data: Buffer) -> None:
        """G1. Push a recovered buffer (Flink: `RecoveredInputChannel.onRecoveredStateBuffer`)."""

    @abstractmethod
    async def finish_recovered(self) -> None:
        """G2. Push the end of recovered data (Flink: `RecoveredInputChannel.finishReadRecoveredState`)."""

    @abstractmethod
    async def release(self) -> None:
        """G9, G17, G27. Give back everything that is held (Flink: `releaseAllResources`)."""

    @abstractmethod
    def in_use(self) -> int:
        """G9, G26. The number of buffers that wait in the channel (Flink: `getBuffersInUseCount`)."""

    @abstractmethod
    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        """G26. The records that were written as the input state of a checkpoint."""

    @abstractmethod
    def resources(self) -> Resources:
        """G26. The resources that the channel holds now."""


class PhysicalChannel(Channel, PhysicalChannelPort):
    """A local or a remote channel, in contrast to a recovered one. It delivers recovered data before live data."""

    persister: Persister

    async def take(self) -> BufferAndBacklog | None:
        """local-channel.md L10 to L16, remote-channel.md R22 to R25. Here the channel stands alone.

        In a gate, G14 decides when the channel is notified that the end of recovered data was taken.
        """
        taken = await self.next_element()
        if taken is None or taken.element is not END_OF_RECOVERED_STATE:
            return taken
        await self.end_of_recovered_state()
        return None

    @abstractmethod
    async def end_of_recovered_state(self) -> None:
        """G14. The end of recovered data was taken. The gate calls this without holding the gate lock."""

    @abstractmethod
    async def request(self) -> None:
        """G10. Request the subpartition; a second request changes nothing (Flink: `requestSubpartitions`)."""

    @abstractmethod
    async def arrive(self, element: Element, backlog: int = -1) -> None:
        """G25. An element of the producer is there: from the network, or from a local producer."""

    @abstractmethod
    async def insert_recovery_barrier(self, checkpoint: int) -> bool:
        """G21. Returns whether the channel is in recovery (Flink: `RecoverableInputChannel`, with a
        `RecoveryCheckpointBarrier`)."""

    @abstractmethod
    async def resume(self) -> None:
        """G18, G20. The producer may go on after an element that blocked it (Flink: `resumeConsumption`)."""
