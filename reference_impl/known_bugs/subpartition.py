"""Defects of the subpartition: those of recovery.md, section 4, and one of our own for each property without one."""

from __future__ import annotations

from conformance.ports import (
    Availability,
    Barrier,
    CheckpointReason,
    Data,
    Element,
    Event,
    KnownBug,
    Next,
    Resources,
    Taken,
)
from reference_impl.known_bugs.building import with_parts
from reference_impl.subpartition import Queued, ReferenceSubpartition, is_barrier


class BlockedSwallowsPriority(ReferenceSubpartition):
    """Neither announced nor handed out: the barrier waits until the subpartition is resumed (73 s were observed)."""

    def delivery_blocked(self) -> bool:
        return self.blocked

    def should_announce_priority(self) -> bool:
        return self.queue.priority == 1 and not self.blocked


class BlockedAnnouncesOnly(ReferenceSubpartition):
    def delivery_blocked(self) -> bool:
        return self.blocked


class BlockedHandsOutOnly(ReferenceSubpartition):
    def should_announce_priority(self) -> bool:
        return self.queue.priority == 1 and not self.blocked


class BlockedLetsDataThrough(ReferenceSubpartition):
    """Once a priority event was queued while blocked, everything behind it leaves too."""

    def delivery_blocked(self) -> bool:
        return False


class BlockedNeedsCredit(ReferenceSubpartition):
    """Without credit a blocked subpartition has nothing for the reader, not even an event."""

    def available(self, has_credit: bool) -> Availability:
        if not has_credit and self.blocked:
            return Availability(False, 0)
        return super().available(has_credit)


class NoCompletionWithoutState(ReferenceSubpartition):
    """Nothing was recovered, so nothing is said to be complete: the consumer's tracker waits for ever."""

    recovered_anything = False

    def recover(self, element: Element) -> None:
        self.recovered_anything = True
        super().recover(element)

    def finish_recovery(self, block: bool) -> None:
        super().finish_recovery(block and self.recovered_anything)


class OverwritesThePromise(ReferenceSubpartition):
    def promise(self, checkpoint: int) -> None:
        self.promised = None
        super().promise(checkpoint)


class AbortForgetsThePromise(ReferenceSubpartition):
    def abort(self, checkpoint: int, reason: CheckpointReason) -> None:
        if self.promised == checkpoint:
            self.promised = None


class ConversionIncludesDataBehind(ReferenceSubpartition):
    """The alignment timeout takes all queued data, also what stands behind the barrier."""

    def aligned_timeout(self, checkpoint: int) -> None:
        overtaken = self.copy_data(self.queue.elements)
        promised = self.promised
        super().aligned_timeout(checkpoint)
        if promised == checkpoint:
            self.write(checkpoint, overtaken)


class ConversionStopsAtAnOlderBarrier(ReferenceSubpartition):
    """Data in front of an older, aborted barrier is not found."""

    def copy_data(self, overtaken: list[Queued]) -> tuple[int, ...]:
        for index, queued in reversed(list(enumerate(overtaken))):
            if type(queued.element) is Barrier:
                return super().copy_data(overtaken[index:])
        return super().copy_data(overtaken)


class OvertakenDataIsNotWritten(ReferenceSubpartition):
    def enqueue_unaligned(self, checkpoint: int, queued: Queued) -> bool:
        self.queue.add_priority(queued)
        return self.should_announce_priority()


class OvertakenDataIsGivenAway(ReferenceSubpartition):
    """The writer gets the buffers themselves instead of copies."""

    def copy_data(self, overtaken: list[Queued]) -> tuple[int, ...]:
        copied = super().copy_data(overtaken)
        for queued in overtaken:
            queued.ids = ()
        return copied


class BarrierBehindData(ReferenceSubpartition):
    def enqueue_unaligned(self, checkpoint: int, queued: Queued) -> bool:
        announces = super().enqueue_unaligned(checkpoint, queued)
        self.queue.elements.remove(queued)
        self.queue.elements.append(queued)
        return announces


class UnfinishedHeadIsHidden(ReferenceSubpartition):
    def poll(self) -> Taken | None:
        elements = self.queue.elements
        if elements and not elements[0].finished and not self.flush_requested:
            return None
        return super().poll()


class PriorityIsNotNumbered(ReferenceSubpartition):
    def hand_out(self, head: Queued) -> Taken:
        taken = super().hand_out(head)
        if head.data_type.has_priority:
            self.seq -= 1
        return taken


class AnnouncesTheNextNumber(ReferenceSubpartition):
    def announce_priority(self) -> None:
        self.seq += 1
        super().announce_priority()
        self.seq -= 1


class AnnouncesBlockedData(ReferenceSubpartition):
    def should_announce_data(self) -> bool:
        return self.view and not self.flush_requested and self.count_finished() == 1


class EmptyPollAfterAnnouncement(ReferenceSubpartition):
    """The first poll after a generic event finds nothing."""

    hidden = False

    def add(self, element: Element) -> bool:
        self.hidden = type(element) is Event and self.view and not self.blocked and not self.queue
        return super().add(element)

    def poll(self) -> Taken | None:
        if self.hidden:
            self.hidden = False
            return None
        return super().poll()


class NextIgnoresBlocking(ReferenceSubpartition):
    def something_available(self) -> bool:
        return self.flush_requested or self.count_finished() > 0


class NextForgetsTheLast(ReferenceSubpartition):
    """A single finished element behind the polled one is not mentioned."""

    def next_type(self) -> Next:
        return super().next_type() if len(self.queue) > 1 else Next.NONE


class BacklogCountsEvents(ReferenceSubpartition):
    def count_backlog(self) -> int:
        return 0 if self.blocked else len(self.queue)


class AvailableWhileEmpty(ReferenceSubpartition):
    def something_available(self) -> bool:
        return not self.delivery_blocked() and (self.flush_requested or self.count_finished() > 0 or self.seq > 2)


class ResumeHidesWhatWaited(ReferenceSubpartition):
    """After a resume nothing is available until the next element comes."""

    hidden = False

    def resume(self) -> None:
        super().resume()
        self.hidden = True

    def available(self, has_credit: bool) -> Availability:
        if self.hidden:
            return Availability(False, self.count_backlog())
        return super().available(has_credit)

    def add(self, element: Element) -> bool:
        self.hidden = False
        return super().add(element)


class ResumesAnything(ReferenceSubpartition):
    def resume(self) -> None:
        self.blocked = False


class AttachesTwice(ReferenceSubpartition):
    def attach_view(self) -> None:
        if not self.view:
            super().attach_view()


class AcceptsAfterFinish(ReferenceSubpartition):
    def add(self, element: Element) -> bool:
        finished, self.finished = self.finished, False
        try:
            return super().add(element)
        finally:
            self.finished = finished


class ReleaseKeepsThePromise(ReferenceSubpartition):
    def release(self) -> None:
        promised, self.promised = self.promised, None
        super().release()
        self.promised = promised


class ReleaseForgetsTheUnfinishedBuffer(ReferenceSubpartition):
    leaked = 0

    def release(self) -> None:
        self.leaked += sum(not queued.finished for queued in self.queue)
        super().release()

    def resources(self) -> Resources:
        held = super().resources()
        assert held.segments is not None
        return Resources(held.segments + self.leaked, held.heap, held.files, held.listeners, held.futures)


class PolledBuffersAreKept(ReferenceSubpartition):
    """The segment of a polled buffer goes back with the release only."""

    kept = 0

    def hand_out(self, head: Queued) -> Taken:
        self.kept += head.is_buffer and head.finished
        return super().hand_out(head)

    def release(self) -> None:
        super().release()
        self.kept = 0

    def resources(self) -> Resources:
        held = super().resources()
        assert held.segments is not None
        return Resources(held.segments + self.kept, held.heap, held.files, held.listeners, held.futures)


class FlushIsIgnored(ReferenceSubpartition):
    def flush(self) -> None: ...


class FlushIsForgotten(ReferenceSubpartition):
    """A flush is announced; whoever asks is told that there is nothing."""

    def flush(self) -> None:
        super().flush()
        self.flush_requested = False


class SecondElementIsNotAnnounced(ReferenceSubpartition):
    """Only an element that finds the queue empty is announced: one behind an unfinished buffer is not."""

    def should_announce_data(self) -> bool:
        return super().should_announce_data() and len(self.queue) == 1


class RecoveryEmptiesBuffers(ReferenceSubpartition):
    """Recovered buffers are put in without their records."""

    def recover(self, element: Element) -> None:
        super().recover(Data(()) if type(element) is Data else element)


class TimeoutForgetsToRemove(ReferenceSubpartition):
    """The converted barrier is in the queue twice: once in front, once in its old place."""

    def aligned_timeout(self, checkpoint: int) -> None:
        if self.promised != checkpoint:
            return
        position = next(index for index, queued in enumerate(self.queue) if is_barrier(queued, checkpoint))
        old = self.queue.elements[position]
        super().aligned_timeout(checkpoint)
        self.queue.elements.insert(position + 1, old)


class FlushRefusesAnEmptyQueue(ReferenceSubpartition):
    def flush(self) -> None:
        _ = self.queue.elements[0]
        super().flush()


class SplitsReversed(ReferenceSubpartition):
    def hand_out(self, head: Queued) -> Taken:
        if type(head.element) is Data:
            head.ids = head.ids[::-1]
        return super().hand_out(head)


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[ReferenceSubpartition]) -> KnownBug:
    return KnownBug(
        identity, ticket, "subpartition", slug, summary, lambda: with_parts(identity, subpartition_class=part)
    )


BUGS: tuple[KnownBug, ...] = (
    _bug("B-01", "FLINK-39018", "a-blocked-subpartition-announces-priority-events",
         "A blocked subpartition swallows the announcement and the poll of a priority event.", BlockedSwallowsPriority),
    _bug("B-01a", "FLINK-39018", "a-blocked-subpartition-hands-out-priority-events",
         "Only the announcement was mended: the consumer polls and gets nothing.", BlockedAnnouncesOnly),
    _bug("B-01b", "FLINK-39018", "a-blocked-subpartition-announces-priority-events",
         "Only the poll was mended: nobody polls.", BlockedHandsOutOnly),
    _bug("B-01c", "FLINK-39018", "only-priority-events-leave-a-blocked-subpartition",
         "Data leaves a blocked subpartition as well.", BlockedLetsDataThrough),
    _bug("B-85", "FLINK-38544", "the-end-of-recovered-state-is-always-sent",
         "No end of recovered output state is sent when there was no state.", NoCompletionWithoutState),
    _bug("B-88", "FLINK-27251", "a-newer-timeoutable-barrier-fails-the-older-promise",
         "A new timeoutable barrier silently overwrites the open promise.", OverwritesThePromise),
    _bug("B-S1", "own", "priority-events-leave-with-and-without-credit",
         "A priority event needs credit to leave a blocked subpartition.", BlockedNeedsCredit),
    _bug("B-S2", "own", "a-promise-to-the-writer-is-settled",
         "An aborted checkpoint's promise is forgotten, not failed.", AbortForgetsThePromise),
    _bug("B-S3", "own", "overtaken-data-is-written-once-and-in-order",
         "A converted barrier takes data behind it into the state.", ConversionIncludesDataBehind),
    _bug("B-S4", "own", "overtaken-data-is-written-once-and-in-order",
         "Data in front of an older barrier is missing in the state.", ConversionStopsAtAnOlderBarrier),
    _bug("B-S5", "own", "overtaken-data-is-written-once-and-in-order",
         "Data overtaken by an unaligned barrier is not written.", OvertakenDataIsNotWritten),
    _bug("B-S6", "own", "elements-arrive-once-in-order-and-unchanged",
         "Overtaken data is written and not delivered any more.", OvertakenDataIsGivenAway),
    _bug("B-S7", "own", "elements-arrive-once-in-order-and-unchanged",
         "An unaligned barrier is queued behind data.", BarrierBehindData),
    _bug("B-S8", "own", "a-take-answers-what-is-there",
         "An unfinished buffer is readable only after a flush.", UnfinishedHeadIsHidden),
    _bug("B-S9", "own", "sequence-numbers-have-no-gaps",
         "Priority events do not count in the sequence.", PriorityIsNotNumbered),
    _bug("B-S10", "own", "priority-events-are-announced-once",
         "A priority event is announced with the number after its own.", AnnouncesTheNextNumber),
    _bug("B-S11", "own", "nothing-is-announced-that-is-blocked",
         "Data is announced while the subpartition is blocked.", AnnouncesBlockedData),
    _bug("B-S12", "own", "what-is-announced-can-be-polled",
         "The first poll after an announced event answers nothing.", EmptyPollAfterAnnouncement),
    _bug("B-S13", "own", "the-next-type-tells-what-follows",
         "The next type ignores that the subpartition has just been blocked.", NextIgnoresBlocking),
    _bug("B-S14", "own", "the-next-type-tells-what-follows",
         "The last queued element is never named as the next.", NextForgetsTheLast),
    _bug("B-S15", "own", "the-backlog-counts-ready-data", "The backlog counts events.", BacklogCountsEvents),
    _bug("B-S16", "own", "availability-tells-the-truth",
         "A subpartition that was once busy is always available.", AvailableWhileEmpty),
    _bug("B-S17", "own", "resuming-makes-waiting-elements-available",
         "What waited is not available after a resume.", ResumeHidesWhatWaited),
    _bug("B-S18", "own", "only-a-blocked-subpartition-can-be-resumed",
         "Resuming twice goes unnoticed.", ResumesAnything),
    _bug("B-S19", "own", "a-view-is-attached-once", "A second view is accepted.", AttachesTwice),
    _bug("B-S20", "own", "nothing-is-accepted-after-the-end",
         "A finished subpartition takes further elements.", AcceptsAfterFinish),
    _bug("B-S21", "own", "after-release-nothing-is-held",
         "Release leaves the promise to the writer open.", ReleaseKeepsThePromise),
    _bug("B-S22", "own", "after-release-nothing-is-held",
         "Release does not recycle an unfinished buffer.", ReleaseForgetsTheUnfinishedBuffer),
    _bug("B-S30", "own", "while-it-lives-a-port-holds-what-it-should",
         "A polled buffer is given back at release only.", PolledBuffersAreKept),
    _bug("B-S23", "own", "nothing-due-waits-for-ever",
         "An element added behind an unfinished buffer is not announced.", SecondElementIsNotAnnounced),
    _bug("B-S28", "own", "what-is-flushed-is-announced", "A flush does nothing.", FlushIsIgnored),
    _bug("B-S29", "own", "availability-tells-the-truth", "A flush is announced and then forgotten.",
         FlushIsForgotten),
    _bug("B-S24", "own", "elements-arrive-once-in-order-and-unchanged",
         "Recovered buffers are empty.", RecoveryEmptiesBuffers),
    _bug("B-S25", "own", "elements-arrive-once-in-order-and-unchanged",
         "A converted barrier is delivered twice.", TimeoutForgetsToRemove),
    _bug("B-S26", "own", "operations-answer-as-the-interface-says",
         "Flushing an empty subpartition raises.", FlushRefusesAnEmptyQueue),
    _bug("B-S27", "own", "elements-arrive-once-in-order-and-unchanged",
         "The records of a buffer come in reverse order.", SplitsReversed),
)  # fmt: skip
