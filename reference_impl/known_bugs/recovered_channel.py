"""Defects of the recovered channel: those of recovery.md, section 4, and own ones for properties without one."""

from __future__ import annotations

from conformance.ports import Barrier, Data, KnownBug, Next, Resources, Taken
from reference_impl.channels.channel import END_OF_RECOVERED_STATE
from reference_impl.channels.recovered import ReferenceRecoveredChannel
from reference_impl.known_bugs.building import with_parts


class StumblesOverManyBuffers(ReferenceRecoveredChannel):
    def empty_queue(self) -> tuple[int, ...]:
        if len(self.queue) > 3:
            raise OverflowError("too many buffers to hand over")
        return super().empty_queue()


class ReadsAfterRelease(ReferenceRecoveredChannel):
    async def take(self) -> Taken | None:
        return None if self.released else await super().take()


class TakesTheTail(ReferenceRecoveredChannel):
    def next_element(self) -> Taken | None:
        if len(self.queue) > 1 and not self.state_read:
            self.queue.insert(0, self.queue.pop())
        return super().next_element()


class EndOvertakes(ReferenceRecoveredChannel):
    """The end of recovered state stands in front of what is queued."""

    def append(self, data: Data) -> bool:
        first = super().append(data)
        if data is END_OF_RECOVERED_STATE and data in self.queue:
            self.queue.insert(0, self.queue.pop())
        return first


class HoldsTheLastBack(ReferenceRecoveredChannel):
    """The last buffer is not handed out before it is known what follows."""

    def next_element(self) -> Taken | None:
        return super().next_element() if len(self.queue) > 1 or self.state_read else None


class NumbersFromTheQueue(ReferenceRecoveredChannel):
    def next_element(self) -> Taken | None:
        self.seq += len(self.queue) > 2
        return super().next_element()


class AcceptsOnlySoMany(ReferenceRecoveredChannel):
    """State that does not fit into a few buffers is refused."""

    def append(self, data: Data) -> bool:
        self.state_read |= len(self.queue) >= 4 and data is not END_OF_RECOVERED_STATE
        return super().append(data)


class AnnouncesAfterRelease(ReferenceRecoveredChannel):
    def append(self, data: Data) -> bool:
        return super().append(data) or self.released


class AcceptsAfterTheEnd(ReferenceRecoveredChannel):
    def append(self, data: Data) -> bool:
        state_read, self.state_read = self.state_read, False
        try:
            return super().append(data)
        finally:
            self.state_read |= state_read


class ConvertsWithUnreadState(ReferenceRecoveredChannel):
    """Whatever the design, it is enough that all state was read."""

    def can_convert(self) -> bool:
        return self.state_read


class WaitsForConsumption(ReferenceRecoveredChannel):
    """State must be consumed before the channel becomes physical: until then no checkpoint is possible."""

    def can_convert(self) -> bool:
        return super().can_convert() and (self.consumed or not self.state_read)


class LosesTheHeadOfTheQueue(ReferenceRecoveredChannel):
    """The buffer that the consumer was told of stays behind."""

    def empty_queue(self) -> tuple[int, ...]:
        return super().empty_queue()[1:]


class AcceptsCheckpoints(ReferenceRecoveredChannel):
    async def checkpoint_started(self, barrier: Barrier) -> None: ...


class WritesAndDeclines(ReferenceRecoveredChannel):
    """What is queued is written before it is found that the checkpoint cannot be."""

    written: tuple[int, ...] = ()

    async def checkpoint_started(self, barrier: Barrier) -> None:
        self.written = tuple(record for data in self.queue if type(data) is Data for record in data.ids)
        await super().checkpoint_started(barrier)

    def persisted(self, checkpoint: int) -> tuple[int, ...]:
        return self.written


class ForgetsWhatWasStopped(ReferenceRecoveredChannel):
    def last_stopped(self) -> int:
        return 0


class RemembersTheLastStop(ReferenceRecoveredChannel):
    """The checkpoint stopped last, though a newer one had been stopped before."""

    async def checkpoint_stopped(self, checkpoint: int) -> None:
        self.stopped = checkpoint


class CountsNothing(ReferenceRecoveredChannel):
    def in_use(self) -> int:
        return 0


class KeepsWhatWasTaken(ReferenceRecoveredChannel):
    """The segment of a buffer that was taken goes back with the release only."""

    kept = 0

    def next_element(self) -> Taken | None:
        taken = super().next_element()
        self.kept += taken is not None and taken.element.data_type.is_buffer
        return taken

    def recycle(self) -> None:
        super().recycle()
        self.kept = 0

    def resources(self) -> Resources:
        held = super().resources()
        return Resources((held.segments or 0) + self.kept, held.heap, held.files, held.listeners, held.futures)


class ChecksReleaseTooEarly(ReferenceRecoveredChannel):
    """Whether the channel is released is looked up before its lock is taken: a push that raced with release stays."""

    async def push_recovered(self, data: Data) -> None:
        released = self.released or self.converted
        async with self.lock:
            first = not released and not self.state_read and not self.queue
            if not released and not self.state_read:
                self.queue.append(data)
        if first:
            await self.listener.data_available(self)


class KeepsItsQueue(ReferenceRecoveredChannel):
    def recycle(self) -> None: ...


class LooksBeforeItLocks(ReferenceRecoveredChannel):
    """Whether the queue is empty is looked up before the lock is taken: the consumer may have emptied it since."""

    async def push_recovered(self, data: Data) -> None:
        first = not self.queue
        async with self.lock:
            self.append(data)
        if first:
            await self.listener.data_available(self)


class NextForgetsTheEnd(ReferenceRecoveredChannel):
    def next_type(self) -> Next:
        following = super().next_type()
        return Next.NONE if following is Next.EVENT else following


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[ReferenceRecoveredChannel]) -> KnownBug:
    return KnownBug(
        identity, ticket, "recovered-channel", slug, summary, lambda: with_parts(identity, recovered_channel_class=part)
    )


BUGS: tuple[KnownBug, ...] = (
    _bug("B-36b", "FLINK-21104", "the-newest-stopped-checkpoint-is-remembered",
         "A converted channel forgets which checkpoint was stopped.", ForgetsWhatWasStopped),
    _bug("B-V1", "own", "operations-answer-as-the-interface-says",
         "Handing over more than three elements fails.", StumblesOverManyBuffers),
    _bug("B-V2", "own", "a-released-channel-is-not-read", "A released channel answers that it is empty.",
         ReadsAfterRelease),
    _bug("B-V3", "own", "recovered-buffers-arrive-once-and-in-order",
         "While state is read, the newest buffer is taken first.", TakesTheTail),
    _bug("B-V4", "own", "the-end-of-recovered-data-is-told-once",
         "The end of recovered state overtakes what is queued.", EndOvertakes),
    _bug("B-V5", "own", "a-take-answers-what-is-there", "The last buffer is held back until the end is known.",
         HoldsTheLastBack),
    _bug("B-V6", "own", "sequence-numbers-have-no-gaps", "Numbers depend on the length of the queue.",
         NumbersFromTheQueue),
    _bug("B-V7", "own", "recovered-data-is-accepted-until-its-end", "State of more than four buffers is refused.",
         AcceptsOnlySoMany),
    _bug("B-V8", "own", "a-push-after-release-is-recycled-silently",
         "The gate is told of a buffer that came after release.", AnnouncesAfterRelease),
    _bug("B-V9", "own", "a-push-after-the-end-is-refused", "A buffer behind the end of state is accepted.",
         AcceptsAfterTheEnd),
    _bug("B-V10", "own", "no-conversion-loses-state", "A channel is converted as soon as all state is read.",
         ConvertsWithUnreadState),
    _bug("B-V11", "own", "a-channel-converts-once-nothing-can-be-lost",
         "With recovery in memory, all state must be consumed before conversion.", WaitsForConsumption),
    _bug("B-V12", "own", "conversion-hands-over-what-was-not-taken", "Conversion loses the head of the queue.",
         LosesTheHeadOfTheQueue),
    _bug("B-V13", "own", "checkpoints-are-declined-until-channels-are-physical",
         "A checkpoint starts in a channel that is not physical.", AcceptsCheckpoints),
    _bug("B-V14", "own", "a-declined-checkpoint-leaves-nothing-behind",
         "A declined checkpoint has written what was queued.", WritesAndDeclines),
    _bug("B-V15", "own", "a-late-stop-does-not-hide-a-newer-one",
         "A late stop of an older checkpoint is remembered instead of the newest one.", RemembersTheLastStop),
    _bug("B-V16", "own", "buffers-in-use-count-what-waits", "Queued buffers do not count.", CountsNothing),
    _bug("B-V17", "own", "after-release-nothing-is-held",
         "A push that raced with release stays queued.", ChecksReleaseTooEarly),
    _bug("B-V17a", "own", "after-release-nothing-is-held", "Release keeps the queue.",
         KeepsItsQueue),
    _bug("B-V17b", "own", "while-it-lives-a-port-holds-what-it-should",
         "The segment of a buffer that was taken is given back at release only.", KeepsWhatWasTaken),
    _bug("B-V18", "own", "the-consumer-is-told-of-what-waits",
         "Whether the gate must be told is decided before the lock is taken.", LooksBeforeItLocks),
    _bug("B-V18a", "own", "the-consumer-is-told-of-what-waits",
         "Behind the last buffer, the end of recovered state is not mentioned.", NextForgetsTheEnd),
)  # fmt: skip
