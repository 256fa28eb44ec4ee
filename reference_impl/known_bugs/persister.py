"""Known bugs of the channel state persister."""

from __future__ import annotations

from conformance.ports import (
    Announcement,
    Barrier,
    CheckpointReason,
    Data,
    Element,
    ErrorKind,
    KnownBug,
    PortError,
)
from reference_impl.channels.persister import Mode, Persister
from reference_impl.known_bugs.building import with_parts


class LateStopEndsTheNewer(Persister):
    def stops(self, checkpoint: int) -> bool:
        return True


class BarrierBeforeStartIsPending(Persister):
    def is_new(self, checkpoint: int) -> bool:
        return True


class OlderAndNewerBarrierRaises(Persister):
    def barrier(self, element: Element) -> int | None:
        if type(element) is Barrier and self.mode is Mode.RECEIVED and element.checkpoint > self.last_seen:
            raise AssertionError("a barrier was received already")
        return super().barrier(element)


class NewerBarrierIsMissed(Persister):
    """While one checkpoint is pending, the barrier of a newer one does not end it."""

    def barrier(self, element: Element) -> int | None:
        if type(element) is Barrier and self.mode is Mode.PENDING and element.checkpoint > self.last_seen:
            return element.checkpoint
        return super().barrier(element)


class NeverSubsumed(Persister):
    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        if self.mode is not Mode.RECEIVED or self.last_seen <= checkpoint:
            super().start(checkpoint, known)


class AlwaysSubsumed(Persister):
    """A barrier that is here refuses its own checkpoint."""

    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        if self.mode is Mode.RECEIVED and self.last_seen == checkpoint:
            raise PortError(ErrorKind.CHECKPOINT, "a barrier is here", CheckpointReason.SUBSUMED)
        super().start(checkpoint, known)


class ObsoleteBarriersCount(Persister):
    def is_obsolete(self, checkpoint: int) -> bool:
        return False


class AnnouncementsAreIgnored(Persister):
    def barrier(self, element: Element) -> int | None:
        return None if type(element) is Announcement else super().barrier(element)


class AnnouncementsAreBarriers(Persister):
    def barrier(self, element: Element) -> int | None:
        if type(element) is Announcement:
            self.mode = Mode.RECEIVED
        return super().barrier(element)


class KnownDataIsForgotten(Persister):
    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        super().start(checkpoint, known[1:])


class WritesAfterTheEnd(Persister):
    """What arrives after a checkpoint was stopped still goes into it."""

    def maybe_persist(self, element: Element) -> None:
        if self.mode is Mode.COMPLETED and type(element) is Data and self.last_seen in self.written:
            self.write(self.last_seen, element.ids)
        super().maybe_persist(element)


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[Persister]) -> KnownBug:
    return KnownBug(identity, ticket, "persister", slug, summary, lambda: with_parts(identity, persister_class=part))


BUGS: tuple[KnownBug, ...] = (
    _bug("B-37", "FLINK-20097", "a-late-stop-loses-nothing",
         "The late stop of an older checkpoint switches off a newer one.", LateStopEndsTheNewer),
    _bug("B-37a", "FLINK-20097", "nothing-behind-a-barrier-is-written",
         "A barrier that came before its checkpoint started is taken to be pending.", BarrierBeforeStartIsPending),
    _bug("B-36c", "FLINK-21104", "operations-answer-as-the-interface-says",
         "A newer barrier after an older one raises.", OlderAndNewerBarrierRaises),
    _bug("B-76", "FLINK-20645", "nothing-behind-a-barrier-is-written",
         "A newer barrier does not end the checkpoint that is pending.", NewerBarrierIsMissed),
    _bug("B-P1", "own", "a-newer-barrier-subsumes-an-older-checkpoint",
         "An older checkpoint is dropped in silence.", NeverSubsumed),
    _bug("B-P2", "own", "a-checkpoint-starts-unless-a-newer-barrier-is-here",
         "A barrier that is here refuses its own checkpoint.", AlwaysSubsumed),
    _bug("B-P3", "own", "a-barrier-counts-unless-it-is-obsolete",
         "The barrier of a checkpoint that is over counts.", ObsoleteBarriersCount),
    _bug("B-P4", "own", "an-announcement-names-its-checkpoint",
         "An announcement is not recognised.", AnnouncementsAreIgnored),
    _bug("B-P5", "own", "a-received-barrier-is-known-until-its-checkpoint-is-over",
         "An announcement passes for the barrier.", AnnouncementsAreBarriers),
    _bug("B-P6", "own", "data-in-front-of-a-barrier-is-written-once",
         "The first buffer that was known is not written.", KnownDataIsForgotten),
    _bug("B-P7", "own", "nothing-behind-a-barrier-is-written",
         "What arrives after the end of a checkpoint is written for it.", WritesAfterTheEnd),
)  # fmt: skip
