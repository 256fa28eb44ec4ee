"""One input gate, the conversion of its channels, and the upstream recovery tracker. Specification: gate.md.

The gate lock guards the queue of channels. A poll holds it while it asks a channel for an element, and the channel
takes its own lock inside. So a channel notifies its gate only after it has released the channel lock, and the gate
notifies its reader that something can be polled only after it has released the gate lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from conformance.ports import (
    CHANNEL_RELEASE,
    NETWORK_BUFFER_POOL,
    SUBPARTITION_REQUEST,
    Barrier,
    Buffer,
    BufferAndBacklog,
    BufferOrEvent,
    ChannelConfig,
    ChannelKind,
    Element,
    EndOfPartition,
    ErrorKind,
    GateConfig,
    GatePort,
    Next,
    PortError,
    Recovery,
    Resources,
)
from conformance.scheduling import Pause

from ..design import Design
from ..faults import Faults, Faulty
from ..held import together
from .buffer_manager import FloatingPool
from .channel import END_OF_RECOVERED_STATE, Channel, PhysicalChannel
from .channel_info import ChannelInfo, numbering
from .listener import GateListener, GateSignals
from .local_channel import LocalChannel
from .prioritized_deque import PrioritizedDeque
from .recovered_channel import RecoveredChannel
from .remote_channel import RemoteChannel
from .subpartition import Subpartition

NOTHING, PRIORITY = Next.NONE, Next.PRIORITY
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""
_BEFORE_ALL = -(2**31)
"""The last priority at the start: below every sequence number."""


class Gate(Faulty, GatePort):
    """The gate of every recovery design. Where recovered data lives is a matter of its channels."""

    outside = Pause("outside the gate lock")
    """A scenario can stop a thread here, before the union is notified (G6)."""

    def __init__(
        self,
        config: GateConfig,
        design: Design,
        listener: GateListener | None = None,
        index: int = 0,
        faults: Faults | None = None,
        make_channel: MakeChannel | None = None,
    ):
        """`listener`, `faults`, `make_channel`: those of the task or union that reads the gate, or the gate's own."""
        self.config = config
        self.design = design
        self.index = index
        self.listener: GateListener = listener or GateSignals(self, numbering([len(config.channels)]))
        self.make_channel = make_channel or physical_channel
        self.faults = faults or Faults(self)
        suffix = f" {index}" if index else ""
        self.lock_type = self.listener.lock_type
        self.lock = self.lock_type(f"gate{suffix} lock", "gate lock", index)
        self.request_lock = self.lock_type(f"request{suffix} lock", "request lock", index)
        self.pool = FloatingPool(config.floating_buffers, self.lock_type)
        """Floating pool: the buffers that the remote channels share."""
        self.converted = config.recovery is Recovery.NONE
        """Converted: whether every channel is physical."""
        self.requested = self.released = False
        """Requested: whether the producers were asked for data. Released: whether the gate was closed."""
        self.channels: list[Channel] = [
            self.make_channel(self, number, (), 0)
            if self.converted
            else RecoveredChannel(ChannelConfig(config.recovery), self, number)
            for number in range(len(config.channels))
        ]
        """Channels: by number, the channel in use: recovered, local or remote."""
        self.with_data: PrioritizedDeque[Channel] = PrioritizedDeque()
        """Queue: the channels that may have something; priority elements have a priority event."""
        self.enqueued = [False] * len(self.channels)
        """Queued: by channel, whether it is in the queue."""
        self.last_priority = [_BEFORE_ALL] * len(self.channels)
        """Last priority: by channel, the sequence number of the priority event that was polled last."""
        self.ended = [False] * len(self.channels)
        """Ended: by channel, whether its end of partition was polled."""
        self.failed = [False] * len(self.channels)
        """Failed: by channel, whether something failed that it has called and of which the reader does not know."""
        self.causes = [""] * len(self.channels)
        """Failed: by channel, the message of that error."""
        self.upstream_recovering = list(range(len(self.channels)))
        """Unrestored, the state of the tracker: the channels whose end of output state was not noted yet."""
        self.is_available = False
        """Available: whether the gate says that something can be polled."""

    def physical(self, number: int) -> PhysicalChannel:
        """G10, G14, G18, G20, G21, G25. The physical channel with this number.

        Raises: PortError STATE if the channel in use is still a recovered channel.
        """
        channel = self.channels[number]
        if not isinstance(channel, PhysicalChannel):
            raise PortError(ErrorKind.STATE, f"channel {number} is not converted yet")
        return channel

    # ---- recovery thread ---------------------------------------------------------------------------------------------
    async def recover(self, channel: int, data: Buffer) -> None:
        """G1. Push a recovered buffer into its channel (Flink: `RecoveredInputChannel.onRecoveredStateBuffer`)."""
        await self.channels[channel].push_recovered(data)

    async def finish_recovery(self, channel: int) -> None:
        """G2. Push the end of recovered data into its channel (Flink: `finishReadRecoveredState`)."""
        await self.channels[channel].finish_recovered()

    # ---- conversion --------------------------------------------------------------------------------------------------
    async def convert(self, gate: int = 0) -> None:
        """G8, G31, G32. Replace all recovered channels by physical ones (Flink:
        `SingleInputGate.convertRecoveredInputChannels`)."""
        async with self.request_lock:
            recovered = [one for one in self.channels if isinstance(one, RecoveredChannel)]
            if not all(old.can_convert() for old in recovered):  # all or none
                raise PortError(ErrorKind.STATE, "a channel has state that conversion would lose")
            for old in recovered:
                try:
                    await self.replace(old)
                except PortError as error:
                    await self.keep(old.index, error)
                    return
            self.converted = True

    async def replace(self, old: RecoveredChannel) -> None:
        """G9, G31. Only the exchange of the two channels happens under the gate lock."""
        if self.config.channels[old.index] is ChannelKind.REMOTE:
            self.faults.reach(NETWORK_BUFFER_POOL)
        handed_over = await old.hand_over()
        new = self.make_channel(self, old.index, handed_over, old.last_stopped())
        waiting = new.in_use()
        await old.release()
        available = False
        async with self.lock:
            self.dequeue(old)
            self.channels[old.index] = new
            if waiting:
                available, _ = self.enqueue(new, priority=False)
        await self.announce(available, False)

    async def request_partitions(self, gate: int = 0) -> None:
        """G10, G30, G32. Request the subpartitions of all channels (Flink: `SingleInputGate.requestPartitions`)."""
        async with self.request_lock:
            if self.released or not self.converted:
                raise PortError(ErrorKind.STATE, "the gate is released, or its channels are not converted yet")
            if not self.requested:
                self.requested = True
                for number in range(len(self.channels)):
                    try:
                        self.faults.reach(SUBPARTITION_REQUEST)
                        await self.physical(number).request()
                    except PortError as error:
                        await self.keep(number, error)
                        return

    # ---- notifications of channels -----------------------------------------------------------------------------------
    async def data_available(self, channel: Channel) -> None:
        """G3. A channel has data: it is queued, and the reader is notified (Flink:
        `SingleInputGate.notifyChannelNonEmpty`)."""
        async with self.lock:
            available, _ = self.enqueue(channel, priority=False)
        await self.announce(available, False)

    async def priority_available(self, channel: Channel, seq: int, forced: bool = False) -> None:
        """G4, G5. A channel has a priority event: it is queued in front, and the reader is notified (Flink:
        `notifyPriorityEvent`, `notifyPriorityEventForce`)."""
        available = priority = False
        async with self.lock:
            if forced or is_newer(seq, self.last_priority[channel.index]):
                available, priority = self.enqueue(channel, priority=True)
        await self.announce(available, priority)

    async def keep(self, number: int, error: PortError) -> None:
        """G29. Keep the error of what a channel has called, for the poll that asks this channel next.

        Raises: PortError if it is of another kind, so that it concerns the caller of the gate.
        """
        if error.kind is not ErrorKind.IO:
            raise error
        async with self.lock:
            self.causes[number] = error.reason
            self.failed[number] = True
            available, _ = self.enqueue(self.channels[number], priority=False)
        await self.announce(available, False)

    def enqueue(self, channel: Channel, priority: bool) -> tuple[bool, bool]:
        """G3, G4. Put a channel into the queue, or move it to the priority elements. The caller holds the gate lock.

        Returns whether the reader is to be notified of data, and whether of priority.
        """
        if channel.released or self.ended[channel.index]:
            return False, False
        if not self.enqueued[channel.index]:
            self.enqueued[channel.index] = True
            if priority:
                self.with_data.add_priority(channel)
            else:
                self.with_data.add(channel)
        elif priority and not self.with_data.contains_priority(channel):
            self.with_data.prioritize(channel)
        else:
            return False, False
        only = len(self.with_data) == 1
        if only:
            self.is_available = True
        return only, priority and self.with_data.priority == 1

    def dequeue(self, channel: Channel) -> None:
        """G9, G17. Take a channel out of the queue if it is there. The caller holds the gate lock."""
        if self.enqueued[channel.index]:
            self.with_data.remove(lambda one: one is channel)
            self.enqueued[channel.index] = False

    async def announce(self, data: bool, priority: bool) -> None:
        """G6. The caller does not hold the gate lock."""
        if data or priority:
            await self.listener.gate_available(self, data, priority)

    def state_consumed(self, channel: Channel) -> None:
        """G7. The end of recovered data of a channel was taken (Flink: `getStateConsumedFuture`)."""
        self.listener.state_consumed(self.info(channel))

    def consumption_resumed(self, channel: Channel) -> None:
        """G7. The producer of a channel may go on."""
        self.listener.consumption_resumed(self.info(channel))

    def credit_announced(self, channel: Channel, credit: int) -> None:
        """G7. The producer of a channel gets credit."""
        self.listener.credit_announced(self.info(channel), credit)

    @property
    def gates(self) -> tuple[Gate]:
        """U5. This gate alone: a task reads it as it reads the gates of a union."""
        return (self,)

    def polled(self, number: int) -> ChannelInfo:
        """G11. The channel that a poll has numbered so."""
        return ChannelInfo(self.index, number)

    def info(self, channel: Channel) -> ChannelInfo:
        """G7. How the listener, which may read several gates, knows a channel."""
        return ChannelInfo(self.index, channel.index)

    # ---- task thread -------------------------------------------------------------------------------------------------
    async def poll(self) -> BufferOrEvent | None:
        """G11 to G17. G11 takes no lock. One critical section of the gate lock does what G12, G13, G15 and G16 say.

        Floating buffers, G14 and G17 follow when the lock is released; `end` takes it once more.
        """
        if self.finished():
            return None
        if self.released:
            raise PortError(ErrorKind.RELEASED, "the gate is closed")
        while True:
            async with self.lock:
                found = await self.next_element()
                more, more_priority = len(self.with_data) > 0, self.with_data.priority > 0
                self.is_available = more
            if found is None:
                return None
            channel, taken = found
            await channel.return_copied()
            if taken.element is END_OF_RECOVERED_STATE:
                await self.physical(channel.index).end_of_recovered_state()
                continue
            if type(taken.element) is EndOfPartition:
                await self.end(channel)
                more = more and not self.finished()
            return BufferOrEvent(channel.index, taken.element, more, more_priority)

    async def next_element(self) -> tuple[Channel, BufferAndBacklog] | None:
        """G12, G13, G15, G28, G29. Returns the element and its channel. The caller holds the gate lock."""
        while (channel := self.with_data.poll()) is not None:
            self.enqueued[channel.index] = False
            if self.failed[channel.index]:
                raise PortError(ErrorKind.IO, f"channel {channel.index} has failed: {self.causes[channel.index]}")
            taken = await channel.next_element()
            if taken is None:
                continue
            if type(taken.element) is Buffer:
                channel.buffer_was_copied()
            if taken.next is not NOTHING:  # behind all others: one element in turn
                self.enqueue(channel, taken.next is PRIORITY)
            if taken.element.data_type.has_priority:
                self.last_priority[channel.index] = taken.seq
            return channel, taken
        return None

    async def end(self, channel: Channel) -> None:
        """G17. The end of a channel was polled: it is released; after the last one the gate is finished (Flink:
        `transformEvent`, `hasReceivedAllEndOfPartitionEvents`)."""
        async with self.lock:
            self.ended[channel.index] = True
            self.dequeue(channel)
            finished = self.finished()
            if finished:
                self.is_available = True
        await channel.release()
        if finished:
            await self.announce(True, False)

    async def resume(self, channel: int) -> None:
        """G18. Resume the producer of a channel (Flink: `SingleInputGate.resumeConsumption`)."""
        await self.physical(channel).resume()

    async def end_of_output_state(self, channel: int) -> None:
        """G19, G20. A channel has the end of its recovered output state; after the last one all producers are resumed
        (Flink: `UpstreamRecoveryTracker.handleEndOfRecovery`)."""
        if channel not in self.upstream_recovering:
            raise PortError(ErrorKind.STATE, f"channel {channel} has sent the end of its output state before")
        self.upstream_recovering.remove(channel)
        if not self.upstream_recovering:
            for number in range(len(self.channels)):
                await self.physical(number).resume()

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    async def insert_recovery_barriers(self, checkpoint: int) -> None:
        """G21. Mark in every channel where a checkpoint starts (Flink: `RecoveryCheckpointBarrier`)."""
        for number in range(len(self.channels)):
            await self.physical(number).insert_recovery_barrier(checkpoint)

    async def checkpoint_started(self, barrier: Barrier) -> None:
        """G22, G28. Every channel starts the checkpoint (Flink: `CheckpointableInput.checkpointStarted`)."""
        for channel in list(self.channels):
            await channel.checkpoint_started(barrier)

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        """G23. Every channel stops the checkpoint (Flink: `CheckpointableInput.checkpointStopped`)."""
        for channel in list(self.channels):
            await channel.checkpoint_stopped(checkpoint)

    async def convert_to_priority(self, channel: int, seq: int) -> None:
        """G24. The announced barrier of a remote channel overtakes what is queued (Flink:
        `SingleInputGate.convertToPriorityEvent`)."""
        remote = self.channels[channel]
        if not isinstance(remote, RemoteChannel):
            raise PortError(ErrorKind.STATE, f"no barrier is announced by channel {channel}")
        await remote.convert_to_priority(seq)

    # ---- network thread ----------------------------------------------------------------------------------------------
    async def arrive(self, channel: int, element: Element, backlog: int = -1) -> None:
        """G25, G28. An element has arrived in a remote channel, or a local producer has added it."""
        remote = self.physical(channel)
        try:
            await remote.arrive(element, backlog)
        except PortError as error:
            await self.keep(channel, error)
            raise

    # ---- observers and release ---------------------------------------------------------------------------------------
    def available(self) -> bool:
        """G26. Whether the reader may poll (Flink: `isAvailable`)."""
        return self.is_available

    def has_priority(self) -> bool:
        """G15, U2. Whether the queue has a priority element. This takes no lock."""
        return self.with_data.priority > 0

    def finished(self) -> bool:
        """G26. Whether the end of every channel was polled (Flink: `isFinished`)."""
        return all(self.ended)

    def in_use(self, channel: int) -> int:
        """G26. The number of buffers that wait in a channel (Flink: `getBuffersInUseCount`)."""
        return self.channels[channel].in_use()

    def persisted(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """G26. By channel, the records that were written for a checkpoint."""
        return tuple(channel.persisted(checkpoint) for channel in self.channels)

    async def release(self) -> None:
        """G27, G32, G33. Release all channels, and drop the queue (Flink: `SingleInputGate.close`)."""
        failed: PortError | None = None
        async with self.request_lock:
            self.released = True
            for channel in list(self.channels):
                failed = await self.release_channel(channel) or failed
        async with self.lock:
            self.with_data.clear()
            self.enqueued = [False] * len(self.channels)
        if failed is not None:
            raise failed

    async def release_channel(self, channel: Channel) -> PortError | None:
        """G27, G33. Returns the error if the release of the channel fails, which then stays as it is."""
        try:
            self.faults.reach(CHANNEL_RELEASE)
        except PortError as error:
            return error
        await channel.release()
        return None

    def resources(self) -> Resources:
        """G26. What all channels hold."""
        return together([channel.resources() for channel in self.channels])


def physical_channel(
    gate: Gate, number: int, handed_over: tuple[int, ...], last_stopped: int, subpartition: Subpartition | None = None
) -> LocalChannel | RemoteChannel:
    """G9. Make a physical channel, with what its recovered channel hands over and knows. `subpartition`: what it reads
    if it is local; None: one of its own.

    (Flink: `RecoveredInputChannel.toInputChannel`.)
    """
    kind, recovery = gate.config.channels[number], gate.config.recovery
    config = ChannelConfig(recovery, handed_over, gate.config.exclusive_buffers, gate.config.floating_buffers)
    if kind is ChannelKind.LOCAL:
        return LocalChannel(config, gate.design, gate, number, last_stopped, subpartition, gate.faults)
    return RemoteChannel(config, gate, number, last_stopped, gate.pool, gate.faults)


MakeChannel: TypeAlias = Callable[[Gate, int, tuple[int, ...], int], PhysicalChannel]
"""G9. Makes the physical channel of a gate with this number: with what was handed over, and last stopped."""


def is_newer(seq: int, last: int) -> bool:
    """G4. Sequence numbers are integers of 32 bits that wrap around."""
    if (last < 0) != (seq < 0) and max(last, seq) >= 2**30:
        return seq < 0
    return seq > last
