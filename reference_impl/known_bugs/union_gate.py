"""Defects of the union of gates: those of recovery.md, section 4, and one of our own for each property without one."""

from __future__ import annotations

from conformance.ports import (
    CreditAnnounced,
    Data,
    EndOfPartition,
    ErrorKind,
    GateTaken,
    KnownBug,
    PortError,
    Recovery,
    Signal,
    StateConsumed,
)
from conformance.scheduling import Future, Pause
from reference_impl.channels.channel import Channel
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.reading_order import READING_ORDER, LiveOnly
from reference_impl.channels.recovered import ReferenceRecoveredChannel
from reference_impl.gate import ReferenceGate
from reference_impl.known_bugs.building import with_parts
from reference_impl.union_gate import ReferenceUnionGate


class PriorityIsLostIfQueued(ReferenceUnionGate):
    """Whoever is queued already is queued: the priority notification between check and enqueue is lost."""

    def enqueue(self, gate: ReferenceGate, priority: bool) -> bool:
        return not self.is_queued(gate) and super().enqueue(gate, priority)


class QueuedTwice(ReferenceUnionGate):
    """The check whether a gate is queued already fails to see that it is."""

    def is_queued(self, gate: ReferenceGate) -> bool:
        return False


class ResetAfterTheLock(ReferenceUnionGate):
    """The queue was found empty, and what was queued since then is not available."""

    async def poll(self) -> GateTaken | None:
        taken = await super().poll()
        if taken is not None and not taken.more:
            for _ in range(3):
                await Pause("outside the union lock")
            self.is_available = self.finished()
        return taken


class QueuesAgainLater(ReferenceUnionGate):
    """No defect yet: much may come between a poll and the gate's being queued again."""

    async def ask(self, gate: ReferenceGate) -> GateTaken | None:
        taken = await super().ask(gate)
        for _ in range(4):
            await Pause("outside the union lock")
        return taken


class PriorityIsBelievedTwice(ReferenceUnionGate):
    """A gate whose priority event has just been taken stands in front once more."""

    def queue_again(self, gate: ReferenceGate, taken: GateTaken | None) -> None:
        super().queue_again(gate, taken)
        if taken is not None and taken.element.data_type.has_priority and self.is_queued(gate):
            self.with_data.prioritize(gate)


class PriorityStaysBehind(ReferenceUnionGate):
    """The consumer is told of the priority event, and polls whichever gate came last."""

    async def next_gate(self) -> ReferenceGate | None:
        if self.with_data.priority:
            self.with_data.elements.reverse()
        return await super().next_gate()


class ConvertsAllOrNone(ReferenceUnionGate):
    """No gate is converted before the state of every gate was read."""

    async def convert(self, gate: int) -> None:
        if any(one.in_use(number) and not one.converted for one, number in self.places if one is not self.gates[gate]):
            raise PortError(ErrorKind.STATE, "another gate has unread state")
        await super().convert(gate)


class MoreAfterTheEnd(ReferenceUnionGate):
    """A gate that has ended counts as one that may have more."""

    async def poll(self) -> GateTaken | None:
        taken = await super().poll()
        if taken is None or type(taken.element) is not EndOfPartition:
            return taken
        return GateTaken(taken.channel, taken.element, True, taken.more_priority)


class ForgetsWhatCameMeanwhile(QueuesAgainLater):
    """Only what the poll itself said counts; what came into the gate since is forgotten."""

    def has_more(self, gate: ReferenceGate, taken: GateTaken | None) -> bool:
        return taken is not None and taken.more


class TellsOnce(ReferenceUnionGate):
    """A consumer that was told of data once is thought to poll for ever."""

    told = False

    def wakes(self, changed: bool) -> bool:
        told = self.told
        self.told = super().wakes(changed) or told
        return self.told and not told


class WrongOffset(ReferenceUnionGate):
    """Every gate is taken to have one channel."""

    def first_channel(self, gate: ReferenceGate) -> int:
        return gate.index


class RaisesOnAnEmptyGate(ReferenceUnionGate):
    """A notification that came too late, so that its gate has nothing, is an error."""

    def has_more(self, gate: ReferenceGate, taken: GateTaken | None) -> bool:
        if taken is None:
            raise PortError(ErrorKind.STATE, "the gate said that it has data")
        return super().has_more(gate, taken)


class TripsOverAnEmptyGate(ReferenceUnionGate):
    """The same, where nobody thought of it at all."""

    def has_more(self, gate: ReferenceGate, taken: GateTaken | None) -> bool:
        assert taken is not None
        return super().has_more(gate, taken)


class PollsUnderItsLock(ReferenceUnionGate):
    """The gate that is polled has something to tell, and the union lock is held by whoever polls."""

    async def ask(self, gate: ReferenceGate) -> GateTaken | None:
        async with self.lock:
            return await super().ask(gate)


class TellsUnderItsLock(ReferenceGate):
    async def data_available(self, channel: Channel) -> None:
        async with self.lock:
            available = self.enqueue(channel, False) and self.wakes()
            await self.announce(available, False)


class PollsAndTellsUnderLocks(PollsUnderItsLock):
    """Whoever polls takes the union lock and then that of the gate; whoever tells takes them the other way round."""

    gate_class = TellsUnderItsLock


class WaitsForData(ReferenceUnionGate):
    """An empty poll waits for data instead of answering that there is none."""

    async def next_gate(self) -> ReferenceGate | None:
        gate = await super().next_gate()
        if gate is None and not self.finished():
            await Future("data in any gate")
        return gate


class LiveFirst(ReferenceLocalChannel):
    reading_order = READING_ORDER | {Recovery.PUSHED: LiveOnly}


class GateWithLiveFirst(ReferenceGate):
    local_channel_class = LiveFirst


class LiveBeforeRecovered(ReferenceUnionGate):
    """Live data of a local channel does not wait until recovered data was pushed and taken."""

    gate_class = GateWithLiveFirst


class KeepsItsPlace(ReferenceUnionGate):
    """A gate that has more stays in front."""

    def queue_again(self, gate: ReferenceGate, taken: GateTaken | None) -> None:
        super().queue_again(gate, taken)
        if self.is_queued(gate):
            self.with_data.elements.remove(gate)
            self.with_data.elements.insert(0, gate)


class AsksTheSameGateForEver(ReferenceUnionGate):
    """A gate that had nothing keeps its place in front: its turn is not over."""

    def queue_again(self, gate: ReferenceGate, taken: GateTaken | None) -> None:
        super().queue_again(gate, taken)
        if taken is None and not self.is_queued(gate):
            self.with_data.elements.insert(0, gate)


class SpokenTo(ReferenceUnionGate):
    """A gate that was told of once is asked again and again."""

    def has_more(self, gate: ReferenceGate, taken: GateTaken | None) -> bool:
        return True


class AvailableForEver(ReferenceUnionGate):
    """Once there was data the union is available."""

    once = False

    def available(self) -> bool:
        self.once |= self.is_available
        return self.once


class EndIsNotAvailable(ReferenceUnionGate):
    """All gates have ended, so there is nothing to poll, and nobody is told."""

    def available(self) -> bool:
        return self.is_available and not self.finished()


class OneEndIsEnough(ReferenceUnionGate):
    def finished(self) -> bool:
        return any(gate.finished() for gate in self.gates)


class HandsOverNothing(ReferenceRecoveredChannel):
    def can_convert(self) -> bool:
        return True


class ForgetfulGate(ReferenceGate):
    recovered_channel_class = HandsOverNothing


class ForgetsUnreadState(ReferenceUnionGate):
    """State that was not read is converted away."""

    gate_class = ForgetfulGate


class EndOfStateIsKeptBack(ReferenceUnionGate):
    """The union says nothing of the end of recovered data in its gates."""

    def gate_tells(self, gate: ReferenceGate, signal: Signal) -> None:
        if type(signal) is not StateConsumed:
            super().gate_tells(gate, signal)


class ReleasesTheFirstGate(ReferenceUnionGate):
    async def release(self) -> None:
        await self.gates[0].release()


class ReleasesNothing(ReferenceUnionGate):
    """Release is left to the gates, which nobody tells."""

    async def release(self) -> None:
        self.is_available = False


class TellsNumbersOfTheGate(ReferenceUnionGate):
    """What a gate says of its channel is passed on with the number that the channel has there."""

    def gate_tells(self, gate: ReferenceGate, signal: Signal) -> None:
        self.emit(signal)


class CreditsNumbersOfTheGate(ReferenceUnionGate):
    def gate_tells(self, gate: ReferenceGate, signal: Signal) -> None:
        if type(signal) is CreditAnnounced:
            self.emit(signal)
        else:
            super().gate_tells(gate, signal)


class RecoversInReverse(ReferenceUnionGate):
    """Recovered data is pushed into the gates from the last to the first channel."""

    async def recover(self, channel: int, data: Data) -> None:
        await super().recover(len(self.places) - 1 - channel, data)


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[ReferenceUnionGate]) -> KnownBug:
    return KnownBug(identity, ticket, "union-gate", slug, summary, lambda: with_parts(identity, union_gate_class=part))


BUGS: tuple[KnownBug, ...] = (
    _bug("B-15", "FLINK-38544", "each-gate-is-converted-on-its-own",
         "No gate is converted before the state of every gate was read.", ConvertsAllOrNone),
    _bug("B-56a", "FLINK-20145", "the-consumer-is-told-of-priority-events",
         "The priority notification of a gate that is queued already is lost.", PriorityIsLostIfQueued),
    _bug("B-56b", "FLINK-20145", "gates-are-served-in-turn",
         "A gate that is queued already is queued again.", QueuedTwice),
    _bug("B-56c", "FLINK-20383", "a-union-with-data-is-available",
         "Availability is reset after the lock was let go, and with it what came in between.", ResetAfterTheLock),
    _bug("B-56d", "FLINK-20145", "a-priority-event-of-any-gate-comes-first",
         "A gate stands in front once more after its priority event was taken.", PriorityIsBelievedTwice),
    _bug("B-56e", "FLINK-20383", "a-union-with-data-is-available",
         "What came into a gate while it was polled is forgotten.", ForgetsWhatCameMeanwhile),
    _bug("B-66", "FLINK-38544", "nothing-follows-the-last-end",
         "With the last end the consumer is told that more is available.", MoreAfterTheEnd),
    _bug("B-U1", "own", "the-consumer-is-told-of-what-waits", "Only the first data of all is announced.", TellsOnce),
    _bug("B-U2", "own", "elements-arrive-once-in-order-from-their-channel",
         "Channels are numbered as if every gate had one.", WrongOffset),
    _bug("B-U3", "own", "operations-fail-only-after-release",
         "An empty poll of a gate that was queued is an error.", RaisesOnAnEmptyGate),
    _bug("B-U4", "own", "operations-answer-as-the-interface-says",
         "An empty poll of a gate that was queued was never thought of.", TripsOverAnEmptyGate),
    _bug("B-U5", "own", "threads-do-not-wait-in-a-circle",
         "A gate is polled under the union lock, and tells the union something.", PollsUnderItsLock),
    _bug("B-U6", "own", "locks-are-taken-in-one-order",
         "The union lock is taken before that of a gate, and after it.", PollsAndTellsUnderLocks),
    _bug("B-U7", "own", "what-was-begun-comes-to-an-end",
         "An empty poll waits for data.", WaitsForData),
    _bug("B-U8", "own", "live-data-waits-for-recovered-data",
         "A local channel hands out live data first.", LiveBeforeRecovered),
    _bug("B-U9", "own", "gates-are-served-in-turn",
         "A gate that has more stays in front of all others.", KeepsItsPlace),
    _bug("B-U10", "own", "a-priority-event-of-any-gate-comes-first",
         "A gate with a priority event is polled after the others.", PriorityStaysBehind),
    _bug("B-U11", "own", "a-slow-gate-holds-up-no-other",
         "A gate that has nothing keeps its turn until it has something.", AsksTheSameGateForEver),
    _bug("B-U12", "own", "an-empty-union-lets-its-consumer-sleep",
         "The union is never unavailable again.", AvailableForEver),
    _bug("B-U13", "own", "an-empty-union-lets-its-consumer-sleep",
         "A gate that was polled stays in the queue.", SpokenTo),
    _bug("B-U14", "own", "a-union-that-has-ended-is-available",
         "After the last end the union is not available.", EndIsNotAvailable),
    _bug("B-U15", "own", "a-union-is-finished-once-every-gate-is",
         "The union is finished with its first gate.", OneEndIsEnough),
    _bug("B-U16", "own", "unread-state-is-not-converted-away",
         "A gate is converted whatever it has not read.", ForgetsUnreadState),
    _bug("B-U17", "own", "the-end-of-recovered-data-is-told-for-every-gate",
         "The end of recovered data is not passed on.", EndOfStateIsKeptBack),
    _bug("B-U18", "own", "after-release-nothing-is-held",
         "Only the first gate is released.", ReleasesTheFirstGate),
    _bug("B-U19", "own", "released-gates-hand-out-nothing",
         "No gate is released.", ReleasesNothing),
    _bug("B-U20", "own", "elements-arrive-once-in-order-from-their-channel",
         "Recovered data is put into other channels.", RecoversInReverse),
    _bug("B-U21", "own", "the-right-producer-is-resumed",
         "The wrong producer is told to go on.", TellsNumbersOfTheGate),
    _bug("B-U22", "own", "credit-goes-to-producers-of-the-same-gate",
         "The wrong producer is given credit.", CreditsNumbersOfTheGate),
)  # fmt: skip
