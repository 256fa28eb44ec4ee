"""Known bugs of the remote channel: those of recovery.md, section 4, and own ones for properties without one."""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Barrier,
    ChannelConfig,
    CheckpointReason,
    Data,
    Element,
    ErrorKind,
    KnownBug,
    PortError,
    Taken,
)
from reference_impl.channels.buffer_manager import BufferManager
from reference_impl.channels.recovered_store import PushedStore, RecoveredStore, RecoveryBarrier
from reference_impl.channels.remote import Received, ReferenceRemoteChannel
from reference_impl.known_bugs.building import with_parts

Remote = ReferenceRemoteChannel


# ---- threads ---------------------------------------------------------------------------------------------------------
class CollectsAndStartsApart(Remote):
    """What arrives between the two critical sections is neither known nor awaited."""

    async def checkpoint_started(self, barrier: Barrier) -> None:
        async with self.lock:
            known = self.collect_known(barrier.checkpoint)
        async with self.lock:
            self.start(barrier.checkpoint, known)


class AssignsAgain(Remote):
    async def request(self) -> None:
        await super().request()
        self.requested = False


class PushesAtOnce(Remote):
    async def wait_for_upstream(self) -> None: ...


class ReleaseLeavesPushersWaiting(Remote):
    async def release(self) -> None:
        waiting = self.upstream_ready
        self.upstream_ready = type(waiting)("nobody")
        await super().release()
        self.upstream_ready = waiting


class GivesBackUnderItsLock(Remote):
    """A floating buffer that comes back is offered to those in line, while the lock of this channel is held."""

    async def recycle(self, count: int) -> None:
        credit = 0
        async with self.lock:
            for _ in range(count):
                floating, announced = self.buffers.recycle(self.released)
                await self.buffers.give_back(floating)
                credit += announced
        self.buffers.announce(credit)


class ReturnsUnderTheLock(Remote):
    """Notes under the lock of the pool what the channel has: the locks are taken the other way round."""

    async def recycle(self, count: int) -> None:
        async with self.buffers.pool.lock, self.lock:
            pass
        await super().recycle(count)


class ReplaysTheStashLater(Remote):
    """Live data is let in before the events that came earlier stand in the queue."""

    async def on_state_consumed(self) -> None:
        async with self.lock:
            self.store.consumed()
            credit = self.buffers.open()
        self.listener.state_consumed(self)
        self.buffers.announce(credit)
        async with self.lock:
            self.replay_stash()
            readable = self.readable()
        if readable:
            await self.listener.data_available(self)


# ---- what comes out --------------------------------------------------------------------------------------------------
class StashesNothing(Remote):
    """Ordinary events wait with live elements, and come out whenever nothing recovered waits."""

    def enqueue(self, element: Element, seq: int) -> bool:
        if not self.store.in_recovery or element.data_type.has_priority or type(element) is Data:
            return super().enqueue(element, seq)
        self.received.add(Received(element, seq))
        return False

    async def take_element(self) -> Taken | None:
        async with self.lock:
            if not self.released and not self.store and self.received.elements and self.store.in_recovery:
                head = self.received.poll()
                return None if head is None else Taken(head.element, head.seq, self.next_type(), 0)
        return await super().take_element()


class DropsTheStash(Remote):
    def replay_stash(self) -> None:
        self.stash = []


class WaitsInLine(Remote):
    def enqueue_priority(self, element: Element, seq: int) -> bool:
        if self.received.elements and not self.received.priority and type(element) is Barrier:
            self.received.add(Received(element, seq))
            return False
        return super().enqueue_priority(element, seq)


class LiveBeforeHandedOver(RecoveredStore):
    """Whoever takes gets the last of what was handed over first."""

    def take(self) -> tuple[Any, int]:
        self.queued.insert(0, self.queued.pop())
        return super().take()


class NumbersAnewAfterRecovery(Remote):
    def replay_stash(self) -> None:
        self.stash = [Received(one.element, one.seq + 1) for one in self.stash]
        super().replay_stash()


class StopsAtARecoveryBarrier(Remote):
    async def take_element(self) -> Taken | None:
        queued = self.store.queued
        if queued and type(queued[0]) is RecoveryBarrier and not self.received.priority:
            del queued[0]
            return None
        return await super().take_element()


class ConsumedInSilence(Remote):
    async def on_state_consumed(self) -> None:
        async with self.lock:
            self.store.consumed()
            self.replay_stash()
            credit = self.buffers.open()
        self.listener.state_consumed(self)
        self.buffers.announce(credit)


class CannotCountBeforeTheRequest(Remote):
    def in_use(self) -> int:
        if not self.requested:
            raise PortError(ErrorKind.STATE, "the channel was not requested")
        return super().in_use()


class CountsLiveOnly(Remote):
    def in_use(self) -> int:
        return super().in_use() - self.store.count()


# ---- what is let in --------------------------------------------------------------------------------------------------
class LetsGapsPass(Remote):
    def check_order(self, seq: int) -> None:
        if seq < self.expected:
            super().check_order(seq)


class DataInRecoveryIsStashed(Remote):
    def check_legal(self, element: Element, backlog: int) -> None:
        if type(element) is not Data:
            super().check_legal(element, backlog)


class BacklogOfTheBlockedIsBelieved(Remote):
    def check_legal(self, element: Element, backlog: int) -> None:
        super().check_legal(element, 0)


class RefusesAfterRelease(Remote):
    async def push_recovered(self, data: Data) -> None:
        if self.released:
            raise PortError(ErrorKind.STATE, "the channel is released")
        await super().push_recovered(data)


class AcceptsAfterTheEnd(PushedStore):
    def check_open(self) -> None: ...


class MarksUntilDelivered(PushedStore):
    """Recovery counts as over when all was delivered, not when it was consumed."""

    def insert_barrier(self, checkpoint: int) -> bool:
        return not self.finished and super().insert_barrier(checkpoint)


class RecoveredOnceDelivered(Remote):
    def in_recovery(self) -> bool:
        return self.store.in_recovery and not getattr(self.store, "finished", False)


# ---- checkpoints -----------------------------------------------------------------------------------------------------
class MissingBarrierIsAnError(PushedStore):
    def decline(self, checkpoint: int) -> None:
        raise PortError(ErrorKind.STATE, f"nothing marks where checkpoint {checkpoint} starts")


class WritesWhatItHandsOut(Remote):
    """Recovered buffers are written when a checkpoint starts, and again when they are taken."""

    async def take_element(self) -> Taken | None:
        taken = await super().take_element()
        if taken is not None and taken.seq < 0:
            self.persister.maybe_persist(taken.element)
        return taken


class RemembersTheFirstBarrier(Remote):
    """A newer barrier that overtakes an older one is not noticed: what arrived between the two is missed."""

    def accept(self, element: Element, seq: int) -> bool:
        known = self.last_barrier, self.last_barrier_seq
        priority = super().accept(element, seq)
        if known[0] > 0:
            self.last_barrier_seq = known[1]
        return priority


class WritesBehindTheBarrier(Remote):
    def is_before_barrier(self, one: Received) -> bool:
        return type(one.element) is Data


class NeverSubsumed(Remote):
    def collect_known(self, checkpoint: int) -> tuple[int, ...]:
        return super().collect_known(max(checkpoint, self.last_barrier))

    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        self.persister.write(checkpoint, known)


class RefusesItsOwnBarrier(Remote):
    def collect_known(self, checkpoint: int) -> tuple[int, ...]:
        if checkpoint == self.last_barrier:
            raise PortError(ErrorKind.CHECKPOINT, "its barrier is here", CheckpointReason.SUBSUMED)
        return super().collect_known(checkpoint)


class OvertakesInSilence(Remote):
    async def convert_to_priority(self, seq: int) -> None:
        async with self.lock:
            self.move_to_front(seq)


class AnythingOvertakes(Remote):
    def move_to_front(self, seq: int) -> None:
        if self.last_barrier_seq == seq:
            super().move_to_front(seq)


class ResumesInSilence(Remote):
    async def resume(self) -> None: ...


# ---- buffers ---------------------------------------------------------------------------------------------------------
class TakesInSilence(BufferManager):
    """A floating buffer for which the channel stood in line is kept, and nobody is told."""

    async def floating_available(self) -> bool:
        async with self.channel.lock:
            wanted = not self.channel.released and self.available() < self.required
            if wanted:
                self.floating += 1
        return wanted


class StandsInLineOnce(BufferManager):
    """One buffer that came back is all that is waited for, however many are missing."""

    async def stand_in_line(self) -> None: ...


class BorrowsWithoutEnd(BufferManager):
    """The pool lends whatever is asked for."""

    async def fill(self) -> int:
        self.pool.free += 1
        return await super().fill()


class AnnouncesTheReplacing(BufferManager):
    """An exclusive buffer that comes back for a floating one is announced as if it were one more."""

    def recycle(self, released: bool) -> tuple[int, int]:
        returned = (self.taken or ["heap"])[0] == "exclusive" and not released
        freed, credit = super().recycle(released)
        return freed, 1 if returned else credit


class AnnouncesInRecovery(BufferManager):
    def announce(self, credit: int) -> None:
        if credit:
            self.channel.listener.credit_announced(self.channel, credit)


class KeepsFloatingBuffers(BufferManager):
    def release(self) -> int:
        floating = self.floating
        freed = super().release()
        self.floating = floating
        return freed - floating


class LosesWhatTheBlockedGiveBack(BufferManager):
    def release_floating(self) -> int:
        super().release_floating()
        return 0


def _with_store(identity: str, part: type[RecoveredStore]) -> Any:
    """The reference whose remote channels keep recovered data in another way."""

    def make_store(self: Remote, config: ChannelConfig) -> RecoveredStore:
        usual = Remote.make_store(self, config)
        if type(usual) is not part.__base__:
            return usual
        return part() if type(usual) is PushedStore else part(config.handed_over)

    return with_parts(identity, remote_channel_class=type("Mutant", (Remote,), {"make_store": make_store}))


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[Any]) -> KnownBug:
    if issubclass(part, RecoveredStore):
        return KnownBug(identity, ticket, "remote-channel", slug, summary, lambda: _with_store(identity, part))
    mutant = type("Mutant", (Remote,), {"manager_class": part}) if issubclass(part, BufferManager) else part
    return KnownBug(
        identity, ticket, "remote-channel", slug, summary, lambda: with_parts(identity, remote_channel_class=mutant)
    )


BUGS: tuple[KnownBug, ...] = (
    _bug("B-05r", "FLINK-39018", "buffers-in-use-count-what-waits", "Recovered buffers that wait do not count.",
         CountsLiveOnly),
    _bug("B-06r", "FLINK-40016", "data-in-front-of-a-barrier-is-written-once",
         "Recovered buffers are written when a checkpoint starts, and again when they are taken.",
         WritesWhatItHandsOut),
    _bug("B-08", "FLINK-39018", "data-in-front-of-a-barrier-is-written-once",
         "What arrives between collecting known data and waiting for the rest is lost.", CollectsAndStartsApart),
    _bug("B-11r", "FLINK-40668", "a-push-waits-until-the-upstream-is-there",
         "Recovered data is pushed before the producer has sent anything.", PushesAtOnce),
    _bug("B-11ra", "FLINK-40668", "what-was-begun-comes-to-an-end",
         "Release does not wake a push that waits for the upstream.", ReleaseLeavesPushersWaiting),
    _bug("B-63r", "FLINK-38544", "a-missing-recovery-barrier-declines-the-checkpoint",
         "A missing recovery barrier is an error of the job.", MissingBarrierIsAnError),
    _bug("B-72", "FLINK-23466", "credit-is-what-is-set-aside",
         "A floating buffer that comes to a waiting channel is not announced.", TakesInSilence),
    _bug("B-72b", "FLINK-23466", "a-backlog-gets-the-buffers-that-come-back",
         "A channel that got a floating buffer does not wait for the others that it lacks.", StandsInLineOnce),
    _bug("B-72a", "FLINK-18595", "threads-do-not-wait-in-a-circle",
         "A floating buffer is given back under the lock of the channel.", GivesBackUnderItsLock),
    _bug("B-76r", "FLINK-20645", "data-in-front-of-a-barrier-is-written-once",
         "Data between an older barrier and a newer one that overtakes it is missed.", RemembersTheFirstBarrier),
    _bug("B-83", "derived", "live-data-is-hidden-until-recovered-data-is-consumed",
         "Ordinary events are not kept back during recovery.", StashesNothing),
    _bug("B-83a", "derived", "events-of-a-recovering-channel-are-kept-and-replayed",
         "Ordinary events that came during recovery are dropped.", DropsTheStash),
    _bug("B-83b", "derived", "events-of-a-recovering-channel-are-kept-and-replayed",
         "Live elements get in before the events that came during recovery.", ReplaysTheStashLater),
    _bug("B-R1", "own", "operations-answer-as-the-interface-says", "Buffers cannot be counted before the request.",
         CannotCountBeforeTheRequest),
    _bug("B-R2", "own", "locks-are-taken-in-one-order", "Recycling takes the lock of the pool before that of the "
         "channel.", ReturnsUnderTheLock),
    _bug("B-R3", "own", "priority-events-come-first", "An unaligned barrier waits behind what is queued.", WaitsInLine),
    _bug("B-R4", "own", "elements-arrive-once-and-in-order", "The buffers handed over come last first.",
         LiveBeforeHandedOver),
    _bug("B-R5", "own", "elements-keep-their-sequence-numbers", "Replayed events get another number.",
         NumbersAnewAfterRecovery),
    _bug("B-R6", "own", "a-take-answers-what-is-there", "A take that finds a recovery barrier answers nothing.",
         StopsAtARecoveryBarrier),
    _bug("B-R7", "own", "the-consumer-is-told-of-what-waits", "After recovery nobody is told of what waited.",
         ConsumedInSilence),
    _bug("B-R8", "own", "a-reordered-element-is-refused", "A gap in the sequence numbers is not noticed.",
         LetsGapsPass),
    _bug("B-R9", "own", "no-data-comes-during-recovery", "Live data during recovery is queued.",
         DataInRecoveryIsStashed),
    _bug("B-R10", "own", "a-blocked-producer-has-no-backlog", "The backlog of a blocked producer is believed.",
         BacklogOfTheBlockedIsBelieved),
    _bug("B-R11", "own", "credit-is-what-is-set-aside", "A buffer that replaces a floating one is announced.",
         AnnouncesTheReplacing),
    _bug("B-R24", "own", "credit-is-covered-by-buffers", "The pool lends more buffers than there are.",
         BorrowsWithoutEnd),
    _bug("B-R12", "own", "no-credit-is-announced-during-recovery", "Buffers are announced during recovery.",
         AnnouncesInRecovery),
    _bug("B-R13", "own", "a-push-after-release-is-recycled-silently", "A push after release is an error.",
         RefusesAfterRelease),
    _bug("B-R14", "own", "a-push-after-the-end-is-refused", "A push after the end is queued, and never read.",
         AcceptsAfterTheEnd),
    _bug("B-R15", "own", "recovery-barriers-are-inserted-in-recovery-only", "Nothing is marked once all is delivered.",
         MarksUntilDelivered),
    _bug("B-R16", "own", "a-channel-is-in-recovery-until-the-end-was-taken",
         "Recovery counts as over when all is delivered.", RecoveredOnceDelivered),
    _bug("B-R17", "own", "a-newer-barrier-subsumes-an-older-checkpoint", "An older checkpoint starts after all.",
         NeverSubsumed),
    _bug("B-R18", "own", "a-checkpoint-starts-if-nothing-speaks-against-it",
         "A barrier that is here refuses its own checkpoint.", RefusesItsOwnBarrier),
    _bug("B-R19", "own", "data-in-front-of-a-barrier-is-written-once", "Data behind the barrier is written too.",
         WritesBehindTheBarrier),
    _bug("B-R20", "own", "a-converted-barrier-is-announced-by-force", "A barrier that overtakes is not announced.",
         OvertakesInSilence),
    _bug("B-R21", "own", "only-the-last-barrier-can-overtake", "Any number can be asked to overtake.",
         AnythingOvertakes),
    _bug("B-R22", "own", "the-producer-is-told-to-go-on", "Resuming tells nobody.", ResumesInSilence),
    _bug("B-R23", "own", "after-release-nothing-is-held", "Floating buffers are kept after release.",
         KeepsFloatingBuffers),
    _bug("B-R25", "own", "credit-is-what-is-set-aside", "A second request sets exclusive buffers aside again.",
         AssignsAgain),
    _bug("B-R26", "own", "a-backlog-gets-the-buffers-that-come-back",
         "What a blocked producer needs no more is lost to the pool.", LosesWhatTheBlockedGiveBack),
)  # fmt: skip
