"""Known bugs of the input gate, the channels in it, and the conversion of these."""

from __future__ import annotations

from typing import ClassVar

from conformance.ports import (
    ChannelKind,
    Data,
    Element,
    EndOfData,
    EndOfPartition,
    ErrorKind,
    GateTaken,
    KnownBug,
    PortError,
    Taken,
)
from reference_impl.channels.channel import END_OF_RECOVERED_STATE, Channel, PhysicalChannel
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.recovered import ReferenceRecoveredChannel
from reference_impl.channels.recovered_store import RecoveredStore
from reference_impl.channels.remote import ReferenceRemoteChannel
from reference_impl.gate import ReferenceGate
from reference_impl.known_bugs.building import with_parts
from reference_impl.known_bugs.subpartition import BlockedLetsDataThrough
from reference_impl.subpartition import ReferenceSubpartition
from reference_impl.tracker import UpstreamRecoveryTracker


# ---- locks -----------------------------------------------------------------------------------------------------------
class _TellsUnderItsLock(ReferenceRecoveredChannel):
    async def push_recovered(self, data: Data) -> None:
        async with self.lock:
            if self.append(data):
                await self.listener.data_available(self)

    async def finish_recovered(self) -> None:
        async with self.lock:
            first = self.append(END_OF_RECOVERED_STATE)
            self.state_read = True
            if first:
                await self.listener.data_available(self)


class ConversionAndPushTakeTheLocksInTurn(ReferenceGate):
    """Conversion holds the gate and wants the channel; a push holds the channel and wants the gate."""

    recovered_channel_class = _TellsUnderItsLock

    async def replace(self, number: int, old: ReferenceRecoveredChannel) -> None:
        async with self.lock:
            handed_over = await old.hand_over()
            new = self.physical_channel(number, self.config.channels[number], handed_over, old.last_stopped())
            await old.release()
            self.forget(old)
            self.channels[number] = new
            available = new.in_use() > 0 and self.enqueue(new, False) and self.wakes()
        await self.announce(available, False)


class _KeepsPushersWaiting(ReferenceRemoteChannel):
    async def release(self) -> None:
        ready, self.upstream_ready.done = self.upstream_ready.done, True
        await super().release()
        self.upstream_ready.done = ready


class ReleaseKeepsPushersWaiting(ReferenceGate):
    remote_channel_class = _KeepsPushersWaiting


# ---- conversion ------------------------------------------------------------------------------------------------------
class ConversionLeavesTheOldChannelQueued(ReferenceGate):
    def forget(self, channel: Channel) -> None:
        if isinstance(channel, PhysicalChannel):
            super().forget(channel)


class ConversionLeavesTheBitSet(ReferenceGate):
    """The old channel leaves the queue, and counts as queued."""

    def forget(self, channel: Channel) -> None:
        queued = self.enqueued[channel.index]
        super().forget(channel)
        if queued and not isinstance(channel, PhysicalChannel):
            self.enqueued[channel.index] = True


class ConversionCountsTheBacklogOnly(ReferenceGate):
    async def swap(self, old: Channel, new: PhysicalChannel, waiting: int) -> None:
        await super().swap(old, new, 0)


class ConversionReverses(ReferenceGate):
    def physical_channel(
        self, number: int, kind: ChannelKind, handed_over: tuple[int, ...], last_stopped: int
    ) -> PhysicalChannel:
        return super().physical_channel(number, kind, handed_over[::-1], last_stopped)


class _ConvertsAnyway(ReferenceRecoveredChannel):
    def can_convert(self) -> bool:
        return True


class ConvertsAnyway(ReferenceGate):
    recovered_channel_class = _ConvertsAnyway


class ConvertsOnlyWhatIsEmpty(ReferenceGate):
    async def convert(self) -> None:
        if any(channel.in_use() for channel in self.channels if not isinstance(channel, PhysicalChannel)):
            raise PortError(ErrorKind.STATE, "a channel has recovered data")
        await super().convert()


class QueuesReleasedChannels(ReferenceGate):
    def enqueue(self, channel: Channel, priority: bool) -> bool:
        released, channel.released = channel.released, False
        try:
            return super().enqueue(channel, priority)
        finally:
            channel.released = released


class RequestsTooEarly(ReferenceGate):
    async def request_partitions(self) -> None:
        if self.converted:
            await super().request_partitions()


# ---- polling ---------------------------------------------------------------------------------------------------------
class EmptyPollRaises(ReferenceGate):
    async def poll(self) -> GateTaken | None:
        taken = await super().poll()
        if taken is None and self.requested and not self.finished():
            raise RuntimeError("no next element")
        return taken


class EndsTwice(ReferenceGate):
    last: GateTaken | None = None

    async def poll(self) -> GateTaken | None:
        again, self.last = self.last, None
        if again is not None:
            return again
        taken = await super().poll()
        if taken is not None and type(taken.element) is EndOfPartition:
            self.last = taken
        return taken


class _LiveFirst(ReferenceRemoteChannel):
    async def take_element(self) -> Taken | None:
        if not self.received.elements or self.released:
            return await super().take_element()
        store, self.store = self.store, RecoveredStore()
        try:
            return await super().take_element()
        finally:
            self.store = store


class LiveDataComesFirst(ReferenceGate):
    remote_channel_class = _LiveFirst


class _EndsBeforeData(ReferenceRemoteChannel):
    def enqueue(self, element: Element, seq: int) -> bool:
        announces = super().enqueue(element, seq)
        queued = self.received.elements
        if type(element) is EndOfPartition and len(queued) > 1 and type(queued[-2].element) is EndOfData:
            queued[-1], queued[-2] = queued[-2], queued[-1]
        return announces


class PartitionEndsBeforeItsData(ReferenceGate):
    remote_channel_class = _EndsBeforeData


class _LeakyLocalChannel(ReferenceLocalChannel):
    subpartition_class: ClassVar[type[ReferenceSubpartition]] = BlockedLetsDataThrough


class BlockedChannelsDeliver(ReferenceGate):
    local_channel_class = _LeakyLocalChannel


class PriorityIsQueuedLast(ReferenceGate):
    def enqueue(self, channel: Channel, priority: bool) -> bool:
        return super().enqueue(channel, False)


class ForceIsIgnored(ReferenceGate):
    async def priority_available(self, channel: Channel, seq: int, forced: bool = False) -> None:
        await super().priority_available(channel, seq)


class ServesOneChannelOnly(ReferenceGate):
    """A channel that has more is served again before the others."""

    async def next_element(self) -> tuple[Channel, Taken] | None:
        found = await super().next_element()
        queue = self.with_data
        if found is not None and len(queue) > queue.priority and queue.elements[-1] is found[0]:
            queue.elements.insert(queue.priority, queue.elements.pop())
        return found


class WaitsForTheSlowest(ReferenceGate):
    """Nothing is polled while the producer of any local channel is blocked."""

    async def next_element(self) -> tuple[Channel, Taken] | None:
        if any(isinstance(one, ReferenceLocalChannel) and one.subpartition.blocked for one in self.channels):
            return None
        return await super().next_element()


class StopsAtAnEmptyChannel(ReferenceGate):
    async def next_element(self) -> tuple[Channel, Taken] | None:
        channel = self.with_data.poll()
        if channel is None:
            return None
        self.enqueued[channel.index] = False
        taken = await self.ask(channel)
        if taken is None:
            return None
        self.with_data.add_priority(channel)  # asked already: as if it came first, with its answer
        self.enqueued[channel.index] = True
        self.answer = taken
        return await super().next_element()

    answer: Taken | None = None

    async def ask(self, channel: Channel) -> Taken | None:
        answer, self.answer = self.answer, None
        return answer if answer is not None else await super().ask(channel)


class FinishesWithTheFirst(ReferenceGate):
    def finished(self) -> bool:
        return any(self.ended)


class UnavailableAtTheEnd(ReferenceGate):
    def available(self) -> bool:
        return self.is_available and not self.finished()


class ClosedGateAnswers(ReferenceGate):
    async def poll(self) -> GateTaken | None:
        return None if self.released else await super().poll()


class RefusesAfterRelease(ReferenceGate):
    async def recover(self, channel: int, data: Data) -> None:
        if self.released:
            raise PortError(ErrorKind.STATE, "the gate is closed")
        await super().recover(channel, data)


# ---- producers -------------------------------------------------------------------------------------------------------
class _Forgetful(UpstreamRecoveryTracker):
    def end_of_output_state(self, channel: int) -> bool:
        return channel in self.unrestored and super().end_of_output_state(channel)


class CompletesTwice(ReferenceGate):
    tracker_class = _Forgetful


class _OncePerGate(UpstreamRecoveryTracker):
    def end_of_output_state(self, channel: int) -> bool:
        super().end_of_output_state(channel)
        return True


class TracksOncePerGate(ReferenceGate):
    tracker_class = _OncePerGate

    async def end_of_output_state(self, channel: int) -> None:
        if self.tracker.end_of_output_state(channel):
            for one in self.channels:
                if not isinstance(one, ReferenceLocalChannel) or one.subpartition.blocked:
                    await self.resume(one.index)


# ---- counts ----------------------------------------------------------------------------------------------------------
class CountsLiveDataOnly(ReferenceGate):
    def in_use(self, channel: int) -> int:
        one = self.channels[channel]
        recovered = one.store.count() if isinstance(one, (ReferenceLocalChannel, ReferenceRemoteChannel)) else 0
        return one.in_use() - recovered


class ReleaseForgetsTheLastChannel(ReferenceGate):
    async def release(self) -> None:
        last = self.channels.pop() if len(self.channels) > 1 else None
        await super().release()
        if last is not None:
            self.channels.append(last)


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[ReferenceGate]) -> KnownBug:
    return KnownBug(identity, ticket, "gate", slug, summary, lambda: with_parts(identity, gate_class=part))


_ARRIVES = "elements-arrive-once-and-in-order-across-conversion"
_TOLD = "the-consumer-is-told-of-what-waits"
_WRITTEN = "data-in-front-of-a-barrier-is-written-once-in-every-channel"

BUGS: tuple[KnownBug, ...] = (
    _bug("B-02", "FLINK-39018", "locks-are-taken-in-one-order",
         "Conversion takes the lock of the gate, then of the channel; a push takes them the other way.",
         ConversionAndPushTakeTheLocksInTurn),
    _bug("B-02a", "FLINK-39018", "threads-do-not-wait-in-a-circle",
         "The same defect, found as the deadlock that it leads to.", ConversionAndPushTakeTheLocksInTurn),
    _bug("B-03", "FLINK-39018", "operations-answer-as-the-interface-says",
         "Conversion leaves the old channel in the queue, and a poll reads what is released.",
         ConversionLeavesTheOldChannelQueued),
    _bug("B-03a", "FLINK-39018", _TOLD,
         "Conversion takes the old channel from the queue and leaves its bit set.", ConversionLeavesTheBitSet),
    _bug("B-05g", "FLINK-39018", _TOLD,
         "Conversion counts the backlog only, so a channel with handed-over buffers is not queued.",
         ConversionCountsTheBacklogOnly),
    _bug("B-36a", "FLINK-21104", "operations-answer-as-the-interface-says",
         "A late notification queues a channel that is released.", QueuesReleasedChannels),
    _bug("B-36d", "FLINK-21104", "operations-answer-as-the-interface-says", "An empty poll raises.", EmptyPollRaises),
    _bug("B-85a", "FLINK-38544", "producers-go-on-once-all-output-state-has-ended",
         "The end of output state is counted once per gate.", TracksOncePerGate),
    _bug("B-42d", "FLINK-19681", "priority-events-come-first",
         "A forced notification is dropped as stale.", ForceIsIgnored),
    _bug("B-11g", "FLINK-40668", "what-was-begun-comes-to-an-end",
         "Release leaves those waiting who push.", ReleaseKeepsPushersWaiting),
    _bug("B-G2", "own", "recovered-data-comes-before-live-data",
         "Live elements of a remote channel overtake recovered data.", LiveDataComesFirst),
    _bug("B-G3", "own", "the-end-of-data-comes-before-the-end-of-a-partition",
         "The end of a partition overtakes the end of its data.", PartitionEndsBeforeItsData),
    _bug("B-G4", "own", _ARRIVES, "Handed-over buffers come in reverse order.", ConversionReverses),
    _bug("B-G5", "own", "a-blocked-channel-delivers-priority-events-only",
         "Data passes a producer that is blocked.", BlockedChannelsDeliver),
    _bug("B-G6", "own", "priority-events-come-first",
         "A channel with a priority event is queued behind the others.", PriorityIsQueuedLast),
    _bug("B-G7", "own", "channels-are-served-in-turn",
         "A channel that has more is served again at once.", ServesOneChannelOnly),
    _bug("B-G8", "own", "one-slow-channel-delays-no-other",
         "Nothing is polled while any producer is blocked.", WaitsForTheSlowest),
    _bug("B-G9", "own", "a-poll-answers-what-is-there",
         "A poll ends at the first channel that has nothing.", StopsAtAnEmptyChannel),
    _bug("B-G10", "own", "an-ended-channel-delivers-nothing-more",
         "The end of a partition is handed out twice.", EndsTwice),
    _bug("B-G11", "own", "a-gate-is-finished-once-every-channel-has-ended",
         "The gate is finished with its first channel.", FinishesWithTheFirst),
    _bug("B-G12", "own", "a-gate-with-data-is-available",
         "A finished gate is not available, so nobody reads that it is finished.", UnavailableAtTheEnd),
    _bug("B-G13", "own", "no-conversion-loses-state", "Conversion does not look at what is left.", ConvertsAnyway),
    _bug("B-G14", "own", "channels-convert-once-nothing-can-be-lost",
         "Conversion refuses channels with recovered data, though they could hand it over.", ConvertsOnlyWhatIsEmpty),
    _bug("B-G15", "own", "partitions-are-requested-after-conversion",
         "A request before conversion goes unnoticed.", RequestsTooEarly),
    _bug("B-G16", "own", "the-output-state-of-a-channel-ends-once",
         "A second end of output state goes unnoticed.", CompletesTwice),
    _bug("B-G17", "own", "a-closed-gate-is-not-polled", "A closed gate answers nothing.", ClosedGateAnswers),
    _bug("B-G18", "own", "a-push-after-release-is-recycled-silently",
         "A push into a closed gate is an error.", RefusesAfterRelease),
    _bug("B-G24", "own", "buffers-in-use-count-what-waits",
         "The buffers in use leave out recovered ones.", CountsLiveDataOnly),
    _bug("B-G25", "own", "after-release-nothing-is-held",
         "Release forgets the last channel.", ReleaseForgetsTheLastChannel),
)  # fmt: skip
