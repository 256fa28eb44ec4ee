"""One input gate. recovery.md, section 2.9, and the conversion of its channels.

The queue of channels with data belongs to the gate lock. A channel is asked for its next element under that lock (the
order is gate, then channel), so a channel tells the gate something only after it has let its own lock go; whoever
listens to the gate is told after the gate lock was let go.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from conformance.ports import (
    Barrier,
    ChannelConfig,
    ChannelKind,
    ConsumptionResumed,
    CreditAnnounced,
    Data,
    DataAvailable,
    Element,
    EndOfPartition,
    ErrorKind,
    GateConfig,
    GatePort,
    GateTaken,
    Next,
    PortError,
    PriorityAvailable,
    Recovery,
    Resources,
    Signal,
    StateConsumed,
    Taken,
)
from conformance.scheduling import Lock, Pause
from reference_impl.channels.channel import END_OF_RECOVERED_STATE, Channel, PhysicalChannel
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.recovered import ReferenceRecoveredChannel
from reference_impl.channels.remote import ReferenceRemoteChannel
from reference_impl.design import Design
from reference_impl.prioritized_deque import PrioritizedDeque
from reference_impl.tracker import UpstreamRecoveryTracker

_BEFORE_ALL = -(2**31)
"""The sequence number before the first."""


class GateListener(Protocol):
    """Whoever reads the gate."""

    async def gate_available(self, gate: ReferenceGate, data: bool, priority: bool) -> None:
        """Data, or a priority event, can be polled, and could not before."""

    def gate_tells(self, gate: ReferenceGate, signal: Signal) -> None:
        """Anything else that the gate says."""


class ReferenceGate(GatePort):
    """The gate of every generation; where recovered data lives is a matter of its channels."""

    recovered_channel_class: ClassVar[type[ReferenceRecoveredChannel]] = ReferenceRecoveredChannel
    local_channel_class: ClassVar[type[ReferenceLocalChannel]] = ReferenceLocalChannel
    remote_channel_class: ClassVar[type[ReferenceRemoteChannel]] = ReferenceRemoteChannel
    tracker_class: ClassVar[type[UpstreamRecoveryTracker]] = UpstreamRecoveryTracker

    def __init__(self, config: GateConfig, design: Design, listener: GateListener | None = None, index: int = 0):
        self.config = config
        self.design = design
        self.listener = listener
        self.index = index
        suffix = f" {index}" if index else ""
        self.lock = Lock(f"gate{suffix} lock", "gate lock", index)
        self.request_lock = Lock(f"request{suffix} lock", "request lock", index)
        self.outside = Pause("outside the gate lock")
        count = len(config.channels)
        self.channels: list[Channel] = [self.first_channel(number, kind) for number, kind in enumerate(config.channels)]
        self.with_data: PrioritizedDeque[Channel] = PrioritizedDeque()
        self.enqueued = [False] * count
        self.last_priority = [_BEFORE_ALL] * count
        """The sequence number of the last priority event polled, by channel."""
        self.ended = [False] * count
        self.is_available = False
        self.converted = config.recovery is Recovery.NONE
        self.requested = self.released = False
        self.tracker = self.tracker_class(count)

    # ---- channels --------------------------------------------------------------------------------------------------
    def first_channel(self, number: int, kind: ChannelKind) -> Channel:
        """A recovered channel if anything is to be recovered."""
        if self.config.recovery is Recovery.NONE:
            return self.physical_channel(number, kind, (), 0)
        return self.recovered_channel_class(ChannelConfig(self.config.recovery), self, number)

    def physical_channel(
        self, number: int, kind: ChannelKind, handed_over: tuple[int, ...], last_stopped: int
    ) -> PhysicalChannel:
        config = ChannelConfig(
            self.config.recovery, handed_over, self.config.exclusive_buffers, self.config.floating_buffers
        )
        if kind is ChannelKind.LOCAL:
            return self.local_channel_class(config, self.design, self, number, last_stopped)
        return self.remote_channel_class(config, self, number, last_stopped)

    def physical(self, number: int) -> PhysicalChannel:
        channel = self.channels[number]
        if not isinstance(channel, PhysicalChannel):
            raise PortError(ErrorKind.STATE, f"channel {number} is not converted yet")
        return channel

    # ---- recovery thread -------------------------------------------------------------------------------------------
    async def recover(self, channel: int, data: Data) -> None:
        await self.channels[channel].push_recovered(data)

    async def finish_recovery(self, channel: int) -> None:
        await self.channels[channel].finish_recovered()

    # ---- conversion ------------------------------------------------------------------------------------------------
    async def convert(self) -> None:
        async with self.request_lock:
            recovered = [one for one in self.channels if isinstance(one, ReferenceRecoveredChannel)]
            if not all(old.can_convert() for old in recovered):  # all or none
                raise PortError(ErrorKind.STATE, "a channel has state that conversion would lose")
            for old in recovered:
                await self.replace(old.index, old)
            self.converted = True

    async def replace(self, number: int, old: ReferenceRecoveredChannel) -> None:
        """Build the new channel and release the old one outside the gate lock; then let them change places."""
        handed_over = await old.hand_over()
        new = self.physical_channel(number, self.config.channels[number], handed_over, old.last_stopped())
        waiting = new.in_use()
        await old.release()
        await self.swap(old, new, waiting)

    async def swap(self, old: Channel, new: PhysicalChannel, waiting: int) -> None:
        available = False
        async with self.lock:
            self.forget(old)
            self.channels[new.index] = new
            if waiting:
                available = self.enqueue(new, False) and self.wakes()
        await self.announce(available, False)

    def forget(self, channel: Channel) -> None:
        """A channel leaves the queue."""
        if self.enqueued[channel.index]:
            self.with_data.remove(lambda one: one is channel)
            self.enqueued[channel.index] = False

    async def request_partitions(self) -> None:
        async with self.request_lock:
            if self.released or not self.converted:
                raise PortError(ErrorKind.STATE, "the gate is released, or its channels are not converted yet")
            if not self.requested:
                self.requested = True
                for number in range(len(self.channels)):
                    await self.physical(number).request()

    # ---- what the channels tell ------------------------------------------------------------------------------------
    async def data_available(self, channel: Channel) -> None:
        async with self.lock:
            available = self.enqueue(channel, False) and self.wakes()
        await self.announce(available, False)

    async def priority_available(self, channel: Channel, seq: int, forced: bool = False) -> None:
        available = priority = False
        async with self.lock:
            if (forced or not self.is_stale(channel, seq)) and self.enqueue(channel, True):
                priority = self.with_data.priority == 1
                available = self.wakes()
        await self.announce(available, priority)

    def is_stale(self, channel: Channel, seq: int) -> bool:
        """The event was polled before its notification came. Sequence numbers are ints of 32 bits and wrap around."""
        last = self.last_priority[channel.index]
        if (last < 0) != (seq < 0) and max(last, seq) > 2**30:
            return last < 0
        return last >= seq

    def enqueue(self, channel: Channel, priority: bool) -> bool:
        """Whether that changed anything. The caller holds the gate lock."""
        index = channel.index
        if self.ended[index] or channel.released:
            return False
        if not self.enqueued[index]:
            self.enqueued[index] = True
            if priority:
                self.with_data.add_priority(channel)
            else:
                self.with_data.add(channel)
            return True
        if not priority or self.with_data.contains_priority(channel):
            return False
        self.with_data.prioritize(channel)
        return True

    def wakes(self) -> bool:
        """Whether the element just queued is the first; the gate is available from now on."""
        if len(self.with_data) == 1:
            self.is_available = True
            return True
        return False

    async def announce(self, data: bool, priority: bool) -> None:
        """Tell whoever reads the gate; nobody holds the gate lock now."""
        if not (data or priority):
            return
        if self.listener is not None:
            await self.outside
            await self.listener.gate_available(self, data, priority)
            return
        if priority:
            self.emit(PriorityAvailable(-1))
        if data:
            self.emit(DataAvailable())

    def emit(self, signal: Signal) -> None:
        if self.listener is None:
            super().emit(signal)
        else:
            self.listener.gate_tells(self, signal)

    def state_consumed(self, channel: Channel) -> None:
        self.emit(StateConsumed(channel.index))

    def consumption_resumed(self, channel: Channel) -> None:
        self.emit(ConsumptionResumed(channel.index))

    def credit_announced(self, channel: Channel, credit: int) -> None:
        self.emit(CreditAnnounced(credit, channel.index))

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def poll(self) -> GateTaken | None:
        if self.finished():
            return None
        if self.released:
            raise PortError(ErrorKind.RELEASED, "the gate is closed")
        while True:
            async with self.lock:
                found = await self.next_element()
                more, more_priority = len(self.with_data) > 0, self.with_data.priority > 0
                if not more:
                    self.is_available = False
            if found is None:
                return None
            channel, taken = found
            if taken.element is END_OF_RECOVERED_STATE:
                assert isinstance(channel, PhysicalChannel)
                await channel.on_state_consumed()
                continue
            if type(taken.element) is EndOfPartition:
                more = await self.end(channel) and more
            return GateTaken(channel.index, taken.element, more, more_priority)

    async def next_element(self) -> tuple[Channel, Taken] | None:
        """Of the first channel that has something. The caller holds the gate lock."""
        while True:
            channel = self.with_data.poll()
            if channel is None:
                return None
            self.enqueued[channel.index] = False
            taken = await self.ask(channel)
            if taken is not None:
                if taken.next is not Next.NONE:  # behind all others: one element in turn
                    self.enqueue(channel, taken.next is Next.PRIORITY)
                if taken.element.data_type.has_priority:
                    self.last_priority[channel.index] = taken.seq
                return channel, taken

    async def ask(self, channel: Channel) -> Taken | None:
        if isinstance(channel, PhysicalChannel):
            taken = await channel.take_element()
            if taken is not None and type(taken.element) is Data:
                channel.read_at_once()
            return taken
        return await channel.take()

    async def end(self, channel: Channel) -> bool:
        """Nothing more comes from this channel. Whether anything may still come from another."""
        async with self.lock:
            self.ended[channel.index] = True
            self.forget(channel)
            finished = all(self.ended)
            if finished:
                self.is_available = True
        await channel.release()
        if finished:
            await self.announce(True, False)
        return not finished

    async def resume(self, channel: int) -> None:
        await self.physical(channel).resume()

    async def end_of_output_state(self, channel: int) -> None:
        if self.tracker.end_of_output_state(channel):
            for number in range(len(self.channels)):
                await self.physical(number).resume()

    async def insert_recovery_barriers(self, checkpoint: int) -> None:
        for number in range(len(self.channels)):
            await self.physical(number).insert_recovery_barrier(checkpoint)

    async def checkpoint_started(self, barrier: Barrier) -> None:
        for channel in list(self.channels):
            await channel.checkpoint_started(barrier)

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        for channel in list(self.channels):
            await channel.checkpoint_stopped(checkpoint)

    async def convert_to_priority(self, channel: int, seq: int) -> None:
        remote = self.channels[channel]
        if not isinstance(remote, ReferenceRemoteChannel):
            raise PortError(ErrorKind.STATE, f"no barrier is announced by channel {channel}")
        await remote.convert_to_priority(seq)

    # ---- network thread --------------------------------------------------------------------------------------------
    async def arrive(self, channel: int, element: Element) -> None:
        await self.physical(channel).arrive(element)

    # ---- observers and release -------------------------------------------------------------------------------------
    def available(self) -> bool:
        return self.is_available

    def has_priority(self) -> bool:
        """Whether a channel with a priority event stands in front."""
        return self.with_data.priority > 0

    def finished(self) -> bool:
        return all(self.ended)

    def in_use(self, channel: int) -> int:
        return self.channels[channel].in_use()

    def persisted(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        return tuple(channel.persisted(checkpoint) for channel in self.channels)

    async def release(self) -> None:
        async with self.request_lock:
            self.released = True
            for channel in list(self.channels):
                await channel.release()
        async with self.lock:
            self.with_data.clear()
            self.enqueued = [False] * len(self.channels)

    def resources(self) -> Resources:
        held = [channel.resources() for channel in self.channels]
        return Resources(
            segments=sum(one.segments or 0 for one in held),
            heap=0,
            files=0,
            listeners=sum(one.listeners or 0 for one in held),
            futures=sum(one.futures or 0 for one in held),
        )
