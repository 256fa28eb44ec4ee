"""Defects of producers, recovery and channels, for a chain to suffer from."""

from __future__ import annotations

from typing import Any, ClassVar

from conformance.ports import (
    Alignment,
    Barrier,
    ChainCheckpoint,
    Data,
    EndOfPartition,
    Recovery,
    Taken,
)
from reference_impl.chain.chain import ChainGate, ReferenceChain
from reference_impl.chain.drainer import Drainer, Slices
from reference_impl.chain.reader import Reader
from reference_impl.channels.channel import Channel
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.reading_order import READING_ORDER, HandedOverFirst, PushedFirst
from reference_impl.channels.recovered import ReferenceRecoveredChannel
from reference_impl.channels.recovered_store import PushedStore, RecoveredStore
from reference_impl.channels.remote import ReferenceRemoteChannel
from reference_impl.subpartition import Queued, ReferenceSubpartition


# ---- producers -------------------------------------------------------------------------------------------------------
class AlignedBarrierOvertakes(ReferenceSubpartition):
    def enqueue(self, queued: Queued) -> bool:
        announces = super().enqueue(queued)
        if type(queued.element) is Barrier and queued.element.alignment is Alignment.ALIGNED:
            self.queue.elements.insert(self.queue.priority, self.queue.elements.pop())
        return announces


class EndOvertakes(ReferenceSubpartition):
    def enqueue(self, queued: Queued) -> bool:
        announces = super().enqueue(queued)
        if type(queued.element) is EndOfPartition:
            self.queue.elements.insert(self.queue.priority, self.queue.elements.pop())
        return announces


class NewerBarrierOvertakesOlder(ReferenceSubpartition):
    def enqueue_unaligned(self, checkpoint: int, queued: Queued) -> bool:
        announces = super().enqueue_unaligned(checkpoint, queued)
        self.queue.elements.remove(queued)
        self.queue.elements.insert(0, queued)
        return announces


class EventsNeedCredit(Reader):
    """Without credit nothing is sent, so a consumer that grants none before it has recovered hears nothing."""

    def join(self) -> None:
        if self.credit > 0:
            super().join()


class PriorityIsNotHeard(Reader):
    """Only data makes the reader look, what waits in front of the data does not."""

    def hear(self) -> None:
        if len(self.subpartition.queue.elements) > self.subpartition.queue.priority:
            super().hear()
        self.subpartition.signals.clear()


class BarrierNeedsAConsumer(ReferenceChain):
    """A barrier sent before the consumer asked for data is forgotten."""

    async def barrier(self, channel: int, checkpoint: int, alignment: Alignment) -> None:
        if self.gate.requested:
            await super().barrier(channel, checkpoint, alignment)


class OutputStateIsDropped(ReferenceChain):
    async def recover_output(self, channel: int) -> None:
        self.output_left[channel].pop(0)


class OutputStateWithoutMetadata(ReferenceChain):
    """Nothing that needs no credit goes ahead of the first recovered record: the consumer never hears of the producer,
    and waits with what it has to recover before it grants any."""

    async def recover_output(self, channel: int) -> None:
        await self.send(channel, Data((self.output_left[channel].pop(0),)))


class InputAndOutputChangePlaces(ReferenceChain):
    """The output state is given to the consumer, whose own state comes from the producer, behind it."""

    def shares(self, restored: ChainCheckpoint) -> tuple[Slices, Slices]:
        swapped = ChainCheckpoint(restored.status, restored.counted, restored.output_state, restored.input_state)
        return super().shares(swapped) if self.config.output_on_downstream else self.traded(restored)

    def traded(self, restored: ChainCheckpoint) -> tuple[Slices, Slices]:
        """Each side recovers as many records as it should, and not the right ones."""
        input_state, output_state = [], []
        for before, behind in zip(restored.input_state, restored.output_state, strict=True):
            together = behind + before
            input_state.append(together[: len(before)])
            output_state.append(together[len(before) :])
        return tuple(input_state), tuple(output_state)


class NoCompletionWithoutOutputState(ReferenceChain):
    """Nothing was recovered upstream, so nothing is said to be complete: the others stay blocked."""

    async def recover_output(self, channel: int) -> None:
        self.recovered_something = True
        await super().recover_output(channel)

    async def finish_output_recovery(self, channel: int) -> None:
        if self.config.restored is None or getattr(self, "recovered_something", False):
            await super().finish_output_recovery(channel)


# ---- recovery --------------------------------------------------------------------------------------------------------
class CommitsOutsideTheLock(Drainer):
    """A snapshot in between finds the record in the channel, and not yet pushed as well."""

    async def deliver(self, channel: int, record: int) -> None:
        async with self.lock:
            await self.push(channel, record)
        async with self.lock:
            self.commit(channel)


class CommitsBeforehand(Drainer):
    """A snapshot in between finds the record neither in the channel nor before it."""

    async def deliver(self, channel: int, record: int) -> None:
        async with self.lock:
            self.commit(channel)
        async with self.lock:
            await self.push(channel, record)


class NoSlice(Drainer):
    """Nothing is left to push, says the drainer, once it was asked for a checkpoint."""

    async def snapshot(self, checkpoint: int) -> Slices:
        return tuple(() for _ in await super().snapshot(checkpoint))


class FinishesUnderTheLock(Drainer):
    """The end is delivered like a record, under a lock that delivering takes itself."""

    async def finish(self, channel: int) -> None:
        async with self.lock:
            await self.finish_in_order(channel)

    async def finish_in_order(self, channel: int) -> None:
        async with self.lock:
            await super().finish(channel)


class TellsUnderTheLock(ReferenceLocalChannel):
    """The gate is told of a recovered record by whoever still holds the lock of the channel."""

    async def push_recovered(self, data: Data) -> None:
        await self.upstream_ready
        async with self.lock:
            if not self.released and self.store.push(data):
                await self.listener.data_available(self)


class PushesDropBarriers(PushedStore):
    """Who pushes tidies up, also what a checkpoint has just put in."""

    def push(self, data: Data) -> bool:
        self.drop_barriers_in_front()
        return super().push(data)

    def finish(self) -> bool:
        self.drop_barriers_in_front()
        return super().finish()


class DropsBarriers(ReferenceLocalChannel):
    def make_store(self, config: Any) -> RecoveredStore:
        return PushesDropBarriers() if config.recovery is Recovery.PUSHED else super().make_store(config)


class AcceptsBeforeItIsReady(ReferenceRecoveredChannel):
    async def checkpoint_started(self, barrier: Barrier) -> None:
        return None


# ---- channels --------------------------------------------------------------------------------------------------------
class PersistsRecovered(ReferenceLocalChannel):
    """A recovered record is written when the checkpoint starts, and again when it is delivered."""

    async def take_element(self) -> Taken | None:
        taken = await super().take_element()
        if taken is not None and taken.seq < 0:
            self.persister.maybe_persist(taken.element)
        return taken


class CollectsAndStartsApart(ReferenceRemoteChannel):
    """What arrives in between is neither known nor awaited."""

    async def checkpoint_started(self, barrier: Barrier) -> None:
        async with self.lock:
            self.known = self.collect_known(barrier.checkpoint)

    async def start_later(self, barrier: Barrier) -> None:
        async with self.lock:
            self.start(barrier.checkpoint, self.known)


class CollectsOfAllThenStarts(ChainGate):
    """First every channel says what it knows, then every channel begins to wait."""

    remote_channel_class = CollectsAndStartsApart

    async def checkpoint_started(self, barrier: Barrier) -> None:
        await super().checkpoint_started(barrier)
        for _ in self.channels:  # whoever writes is told of each
            await self.outside
        for channel in self.channels:
            if isinstance(channel, CollectsAndStartsApart):
                await channel.start_later(barrier)


class RemembersAnOlderBarrier(ReferenceRemoteChannel):
    """What is known ends at the barrier of a checkpoint that is over: the rest, up to the newer barrier, is missed."""

    def forget_barrier(self) -> None:
        return None


class LiveWhileQueueIsEmpty(PushedFirst):
    """Nothing recovered is queued at the moment, so live data is handed out."""

    async def take(self) -> Taken | None:
        return await super().take() if self.store else await self.view.take_live()


class ShowsLiveTooEarly(ReferenceLocalChannel):
    reading_order: ClassVar = {**READING_ORDER, Recovery.PUSHED: LiveWhileQueueIsEmpty}


class RecoveredBeforePriority(HandedOverFirst):
    def priority_announced(self) -> None:
        return None


class PushedBeforePriority(PushedFirst):
    async def take(self) -> Taken | None:
        if not self.store:
            return await super().take()
        element, seq = self.store.take()
        return Taken(element, seq, self.store.next_type(), 0)


class PriorityWaitsForRecovered(ReferenceLocalChannel):
    reading_order: ClassVar = {
        **READING_ORDER, Recovery.IN_MEMORY: RecoveredBeforePriority, Recovery.PUSHED: PushedBeforePriority
    }  # fmt: skip


class PriorityQueuesUp(ChainGate):
    """A channel with a priority event stands in line like any other."""

    async def priority_available(self, channel: Channel, seq: int, forced: bool = False) -> None:
        await self.data_available(channel)
