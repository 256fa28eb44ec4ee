"""Defects of the local channel, checkpoints apart: those of recovery.md, section 4, and own ones for properties
without one."""

from __future__ import annotations

from typing import Any

from conformance.ports import ChannelConfig, Data, Element, Event, KnownBug, Next, PriorityAvailable, Signal, Taken
from reference_impl.channels.channel import END_OF_RECOVERED_STATE
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.reading_order import READING_ORDER, HandedOverFirst, LiveOnly, PushedFirst
from reference_impl.channels.recovered_store import PushedStore, RecoveredStore, RecoveryBarrier
from reference_impl.known_bugs.building import with_parts
from reference_impl.subpartition import Queued, ReferenceSubpartition


# ---- threads ---------------------------------------------------------------------------------------------------------
class PushTakesItsLockTwice(ReferenceLocalChannel):
    async def push_recovered(self, data: Data) -> None:
        await self.upstream_ready
        async with self.lock:
            await super().push_recovered(data)


class AnnouncesUnderTheSubpartitionLock(ReferenceLocalChannel):
    """The producer takes the lock of the channel while it holds that of the subpartition."""

    async def add(self, element: Element) -> bool:
        async with self.subpartition_lock:
            accepted = self.add_to_subpartition(element)
            told = self.drain_signals()
            async with self.lock:
                for signal in told:
                    if type(signal) is PriorityAvailable:
                        self.order.priority_announced()
        await self.tell(told)
        return accepted


class ReleaseLeavesPushersWaiting(ReferenceLocalChannel):
    def wake_pushers(self) -> None: ...


class PushesBeforeTheUpstreamIsReady(ReferenceLocalChannel):
    """The consumer is woken, and runs into a channel without a view."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.upstream_ready.complete()


# ---- what comes out --------------------------------------------------------------------------------------------------
class LooksIntoTheMissingView(ReferenceLocalChannel):
    """Behind the last recovered buffer the view is asked what follows, also if there is none yet."""

    async def next_live(self) -> Next:
        self.check_requested()
        return await super().next_live()


class LiveDataFillsTheGaps(PushedFirst):
    """Live data is handed out in recovery whenever nothing recovered waits."""

    async def take(self) -> Taken | None:
        taken = await super().take()
        return await self.view.take_live() if taken is None else taken


class LowersTheFlagTooLate(HandedOverFirst):
    """After a priority event no other is expected, though one may be queued behind it."""

    async def take_pending(self) -> Taken | None:
        taken = await super().take_pending()
        self.has_pending_priority = False
        return taken


class SecondPriorityIsNotMentioned(PushedFirst):
    """Behind a priority event comes what was recovered: if that is nothing, the consumer sleeps."""

    def priority_taken(self, taken: Taken) -> Taken:
        return Taken(taken.element, taken.seq, self.store.next_type(), taken.backlog)


class WaitsInLine(ReferenceSubpartition):
    def enqueue_unaligned(self, checkpoint: int, queued: Queued) -> bool:
        announces = super().enqueue_unaligned(checkpoint, queued)
        if not self.blocked and len(self.queue) > 1:
            self.queue.elements.remove(queued)
            self.queue.elements.insert(1, queued)
        return announces


class BlockedGivesNothing(ReferenceSubpartition):
    def poll(self) -> Taken | None:
        return None if self.blocked else super().poll()


class BlockedGivesAll(ReferenceSubpartition):
    def delivery_blocked(self) -> bool:
        return False


class HandsOutRecoveryBarriers(PushedStore):
    def drop_barriers_in_front(self) -> None: ...

    def take(self) -> tuple[Any, int]:
        head, seq = super().take()
        return (Event(head.checkpoint) if type(head) is RecoveryBarrier else head), seq


class EndOvertakes(PushedStore):
    def finish(self) -> bool:
        first = super().finish()
        self.queued.insert(0, self.queued.pop())
        return first


class StopsAtARecoveryBarrier(PushedFirst):
    """A take that finds a recovery barrier in front removes it, and answers nothing."""

    async def take(self) -> Taken | None:
        queued = self.store.queued
        if self.store.in_recovery and queued and type(queued[0]) is RecoveryBarrier:
            del queued[0]
            return None
        return await super().take()


class RecoveredHasOneNumber(PushedStore):
    def take(self) -> tuple[Any, int]:
        self.seq = 0
        return super().take()


class AnnouncesTheNextNumber(ReferenceLocalChannel):
    def drain_signals(self) -> list[Signal]:
        told = super().drain_signals()
        return [PriorityAvailable(one.seq + 1) if type(one) is PriorityAvailable else one for one in told]


# ---- what goes in, and what is asked ---------------------------------------------------------------------------------
class RejectsBeforeTheRequest(ReferenceLocalChannel):
    def add_to_subpartition(self, element: Element) -> bool:
        return super().add_to_subpartition(element) and (self.view or type(element) is not Event)


class AcceptsAfterTheEnd(ReferenceLocalChannel):
    def add_to_subpartition(self, element: Element) -> bool:
        return self.subpartition.add(element)


class RecoveryBarrierClosesTheQueue(PushedStore):
    def insert_barrier(self, checkpoint: int) -> bool:
        self.finished = True
        return super().insert_barrier(checkpoint)


class RefusesAfterRelease(ReferenceLocalChannel):
    async def push_recovered(self, data: Data) -> None:
        await self.upstream_ready
        async with self.lock:
            first = self.store.push(data)
        if first:
            await self.listener.data_available(self)


class AcceptsAfterRecovery(PushedStore):
    def check_open(self) -> None: ...


class ResumesWhatIsReleased(ReferenceLocalChannel):
    async def resume(self) -> None:
        if not self.released:
            await super().resume()


class RecoveredOnceDelivered(ReferenceLocalChannel):
    """Recovery counts as over when all is delivered, not when it is consumed."""

    def in_recovery(self) -> bool:
        return super().in_recovery() and END_OF_RECOVERED_STATE not in self.store.queued


class CountsOnlyUpstream(ReferenceLocalChannel):
    def in_use(self) -> int:
        return super().in_use() - self.store.count()


class NeedsAViewToCount(ReferenceLocalChannel):
    def in_use(self) -> int:
        if not self.view:
            raise AttributeError("the view has not been made yet")
        return super().in_use()


class ReleaseForgetsTheSubpartition(ReferenceLocalChannel):
    async def release(self) -> None:
        if self.view:
            await super().release()
            return
        async with self.lock:
            self.released = True
            self.store.clear()
            self.wake_pushers()


class ConsumedInSilence(ReferenceLocalChannel):
    """Live data becomes visible, and nobody looks whether there is any."""

    async def on_state_consumed(self) -> None:
        async with self.lock:
            self.store.consumed()
        self.listener.state_consumed(self)


class ResumesInSilence(ReferenceLocalChannel):
    async def resume(self) -> None:
        if self.released or not self.view:
            await super().resume()
        async with self.subpartition_lock:
            self.subpartition.resume()


def with_order(identity: str, **orders: type[LiveOnly]) -> Any:
    """The reference whose local channels read in another order, by recovery."""
    order = {recovery: orders.get(recovery.name.lower(), usual) for recovery, usual in READING_ORDER.items()}
    return with_parts(identity, local_channel_class=type("Mutant", (ReferenceLocalChannel,), {"reading_order": order}))


def with_store(identity: str, part: type[PushedStore]) -> Any:
    """The reference whose local channels keep pushed data in another way."""

    def make_store(self: ReferenceLocalChannel, config: ChannelConfig) -> RecoveredStore:
        usual = ReferenceLocalChannel.make_store(self, config)
        return part() if type(usual) is PushedStore else usual

    mutant = type("Mutant", (ReferenceLocalChannel,), {"make_store": make_store})
    return with_parts(identity, local_channel_class=mutant)


def with_class(identity: str, **parts: type[Any]) -> Any:
    """The reference whose local channels are made of other parts."""
    return with_parts(identity, local_channel_class=type("Mutant", (ReferenceLocalChannel,), dict(parts)))


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[Any]) -> KnownBug:
    if issubclass(part, ReferenceSubpartition):
        return KnownBug(
            identity, ticket, "local-channel", slug, summary, lambda: with_class(identity, subpartition_class=part)
        )
    if issubclass(part, PushedStore):
        return KnownBug(identity, ticket, "local-channel", slug, summary, lambda: with_store(identity, part))
    if issubclass(part, LiveOnly):
        recovery = "pushed" if issubclass(part, PushedFirst) else "in_memory"
        return KnownBug(
            identity, ticket, "local-channel", slug, summary, lambda: with_order(identity, **{recovery: part})
        )
    return KnownBug(
        identity, ticket, "local-channel", slug, summary, lambda: with_parts(identity, local_channel_class=part)
    )


BUGS: tuple[KnownBug, ...] = (
    _bug("B-05", "FLINK-39018", "buffers-in-use-count-what-waits",
         "Recovered buffers that wait in the channel do not count.", CountsOnlyUpstream),
    _bug("B-11", "FLINK-40668", "a-push-waits-until-the-upstream-is-there",
         "A push wakes the consumer before the channel has a view.", PushesBeforeTheUpstreamIsReady),
    _bug("B-11a", "FLINK-40668", "what-was-begun-comes-to-an-end",
         "Release does not wake a push that waits for the upstream.", ReleaseLeavesPushersWaiting),
    _bug("B-62", "FLINK-40521", "the-consumer-is-told-of-what-waits",
         "A second priority event behind the first, in recovery, wakes nobody.", SecondPriorityIsNotMentioned),
    _bug("B-62a", "FLINK-40521", "priority-events-pass-recovered-data",
         "A second priority event behind the first waits behind all recovered data.", LowersTheFlagTooLate),
    _bug("B-L1", "own", "operations-answer-as-the-interface-says", "Buffers cannot be counted before the request.",
         NeedsAViewToCount),
    _bug("B-L2", "own", "threads-do-not-wait-in-a-circle", "A push takes the lock of the channel twice.",
         PushTakesItsLockTwice),
    _bug("B-L3", "own", "locks-are-taken-in-one-order",
         "The producer takes the lock of the channel inside that of the subpartition.",
         AnnouncesUnderTheSubpartitionLock),
    _bug("B-L4", "own", "a-consumer-who-was-told-may-take",
         "Taking the last recovered buffer asks a view that is not there.", LooksIntoTheMissingView),
    _bug("B-L5", "own", "live-data-waits-behind-recovered-data",
         "In recovery, live data comes when nothing recovered waits.", LiveDataFillsTheGaps),
    _bug("B-L6", "own", "priority-events-come-first", "An unaligned barrier lets one element pass.", WaitsInLine),
    _bug("B-L7", "own", "a-blocked-channel-hands-out-priority-events",
         "While blocked, the channel hands out nothing at all.", BlockedGivesNothing),
    _bug("B-L8", "own", "only-priority-events-leave-a-blocked-channel", "Blocking has no effect.", BlockedGivesAll),
    _bug("B-L9", "own", "elements-arrive-once-in-order-and-unchanged",
         "A recovery barrier whose checkpoint never came is handed out.", HandsOutRecoveryBarriers),
    _bug("B-L10", "own", "the-end-of-recovered-data-is-told-once", "The end of recovered data overtakes it.",
         EndOvertakes),
    _bug("B-L11", "own", "a-take-answers-what-is-there", "A take that finds a recovery barrier answers nothing.",
         StopsAtARecoveryBarrier),
    _bug("B-L12", "own", "sequence-numbers-have-no-gaps", "All recovered buffers have one number.",
         RecoveredHasOneNumber),
    _bug("B-L13", "own", "a-priority-event-carries-the-number-announced", "The number behind the right one is told.",
         AnnouncesTheNextNumber),
    _bug("B-L14", "own", "what-is-added-is-accepted", "Before the request, events are rejected.",
         RejectsBeforeTheRequest),
    _bug("B-L15", "own", "nothing-is-accepted-after-the-end", "The end of the partition ends nothing.",
         AcceptsAfterTheEnd),
    _bug("B-L16", "own", "recovered-data-is-accepted-until-its-end", "Behind a recovery barrier nothing is accepted.",
         RecoveryBarrierClosesTheQueue),
    _bug("B-L17", "own", "a-push-after-release-is-recycled-silently", "A push after release is an error.",
         RefusesAfterRelease),
    _bug("B-L18", "own", "a-push-after-the-end-is-refused", "A push after recovery is queued, and never read.",
         AcceptsAfterRecovery),
    _bug("B-L19", "own", "a-blocked-channel-is-resumed-unless-released", "Resuming a released channel is no error.",
         ResumesWhatIsReleased),
    _bug("B-L20", "own", "a-channel-is-in-recovery-until-the-end-was-taken",
         "Recovery counts as over when all is delivered, not consumed.", RecoveredOnceDelivered),
    _bug("B-L21", "own", "after-release-nothing-is-held",
         "Without a view, release leaves the subpartition as it is.", ReleaseForgetsTheSubpartition),
    _bug("B-L22", "own", "the-consumer-is-told-of-what-waits",
         "After recovery nobody is told of live data that waited.", ConsumedInSilence),
    _bug("B-L23", "own", "the-consumer-is-told-of-what-waits", "After a resume nobody is told of what waited.",
         ResumesInSilence),
)  # fmt: skip
