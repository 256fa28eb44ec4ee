"""Defects of checkpoints in the local channel: those of recovery.md, section 4, and own ones for properties without
one."""

from __future__ import annotations

from typing import Any

from conformance.ports import Barrier, CheckpointReason, Data, Element, ErrorKind, KnownBug, PortError, Taken
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.persister import Mode, Persister
from reference_impl.channels.recovered_store import PushedStore, RecoveryBarrier, records
from reference_impl.known_bugs.building import with_parts
from reference_impl.known_bugs.local_channel import with_class, with_store


class WritesRecoveredDataAgain(ReferenceLocalChannel):
    """Recovered data is looked at by the persister when it is handed out, as if it had just arrived."""

    async def take_element(self) -> Taken | None:
        live = self.subpartition.seq
        taken = await super().take_element()
        return self.noted(taken) if self.subpartition.seq == live else taken


class GivesItsBuffersAway(PushedStore):
    """The writer gets the buffers themselves, and recycles them."""

    def known(self, checkpoint: int) -> tuple[int, ...]:
        ids = super().known(checkpoint)
        for position in range(len(ids)):
            self.queued[position] = Data(())
        return ids


class MissingBarrierFailsTheJob(PushedStore):
    def decline(self, checkpoint: int) -> None:
        raise PortError(ErrorKind.STATE, f"recovery barrier {checkpoint} is missing")


class MissingBarrierIsNotReady(PushedStore):
    """The reason that is not counted hides the defect behind it."""

    def decline(self, checkpoint: int) -> None:
        raise PortError(ErrorKind.CHECKPOINT, "not ready", CheckpointReason.DECLINED_TASK_NOT_READY)


class MissingBarrierKeepsCopies(PushedStore):
    """The copies made on the way to the barrier that is not there are never recycled."""

    copies = 0

    def decline(self, checkpoint: int) -> None:
        self.copies += super().count()
        super().decline(checkpoint)

    def count(self) -> int:
        return super().count() + self.copies


class OlderBarriersAreInTheWay(PushedStore):
    def known(self, checkpoint: int) -> tuple[int, ...]:
        first = next((one for one in self.queued if type(one) is RecoveryBarrier), None)
        if self.in_recovery and first is not None and first.checkpoint != checkpoint:
            self.decline(checkpoint)
        return super().known(checkpoint)


class MarksOnlyWhatIsThere(PushedStore):
    """A channel with nothing queued is not marked, and will look for its mark all the same."""

    def insert_barrier(self, checkpoint: int) -> bool:
        return bool(self) and super().insert_barrier(checkpoint)


class TakesAllRecoveredData(PushedStore):
    """What was pushed behind the recovery barrier is written too; it is also in the slice of what was not pushed."""

    def known(self, checkpoint: int) -> tuple[int, ...]:
        super().known(checkpoint)
        return records(self.queued)


class NeverSubsumed(Persister):
    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        if self.mode is not Mode.RECEIVED or self.last_seen <= checkpoint:
            super().start(checkpoint, known)


class ReceivedIsInTheWay(Persister):
    """A checkpoint that starts after its own barrier came counts as subsumed."""

    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        if self.mode is Mode.RECEIVED and self.last_seen == checkpoint:
            super().start(checkpoint - 1, known)
        super().start(checkpoint, known)


class WritesBeforeItRefuses(Persister):
    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        if self.mode is Mode.RECEIVED and self.last_seen > checkpoint:
            self.write(checkpoint, (*known, 0))
        super().start(checkpoint, known)


class LateStopStops(Persister):
    def stops(self, checkpoint: int) -> bool:
        return True


class OldBarriersCount(Persister):
    def is_obsolete(self, checkpoint: int) -> bool:
        return self.mode is Mode.COMPLETED and super().is_obsolete(checkpoint)


class BarriersChangeNothing(Persister):
    """After its barrier, data is still written."""

    def barrier(self, element: Element) -> int | None:
        pending = self.mode is Mode.PENDING
        checkpoint = super().barrier(element)
        if pending and type(element) is Barrier and element.checkpoint == checkpoint:
            self.mode = Mode.PENDING
        return checkpoint


class WritesTwice(Persister):
    def maybe_persist(self, element: Element) -> None:
        super().maybe_persist(element)
        super().maybe_persist(element)


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[Any]) -> KnownBug:
    if issubclass(part, Persister):
        return KnownBug(
            identity, ticket, "local-channel", slug, summary, lambda: with_class(identity, persister_class=part)
        )
    if issubclass(part, PushedStore):
        return KnownBug(identity, ticket, "local-channel", slug, summary, lambda: with_store(identity, part))
    return KnownBug(
        identity, ticket, "local-channel", slug, summary, lambda: with_parts(identity, local_channel_class=part)
    )


BUGS: tuple[KnownBug, ...] = (
    _bug("B-06", "FLINK-40016", "recovered-data-is-written-as-the-checkpoint-starts",
         "Recovered data is written when a checkpoint starts, and again when it is handed out.",
         WritesRecoveredDataAgain),
    _bug("B-27", "FLINK-40667", "copies-for-a-checkpoint-leave-the-consumer-its-buffers",
         "Buffers that were written are recycled under the consumer.", GivesItsBuffersAway),
    _bug("B-63a", "FLINK-39523", "a-missing-recovery-barrier-declines-the-checkpoint",
         "A missing recovery barrier fails the job.", MissingBarrierFailsTheJob),
    _bug("B-63b", "FLINK-39523", "a-missing-recovery-barrier-declines-the-checkpoint",
         "A missing recovery barrier declines the checkpoint for a reason that is not counted.",
         MissingBarrierIsNotReady),
    _bug("B-63c", "FLINK-39523", "while-it-lives-a-port-holds-what-it-should",
         "After a missing recovery barrier the copies made so far are kept.", MissingBarrierKeepsCopies),
    _bug("B-L24", "own", "recovery-barriers-are-inserted-in-recovery-only",
         "In recovery, a channel with nothing queued is not marked.", MarksOnlyWhatIsThere),
    _bug("B-L25", "own", "a-newer-barrier-subsumes-an-older-checkpoint",
         "A checkpoint that starts after a newer barrier came is ignored.", NeverSubsumed),
    _bug("B-L26", "own", "a-checkpoint-starts-if-nothing-speaks-against-it",
         "The recovery barrier of an older checkpoint is in the way.", OlderBarriersAreInTheWay),
    _bug("B-L26a", "own", "a-checkpoint-starts-if-nothing-speaks-against-it",
         "A checkpoint whose own barrier came before it started is subsumed.", ReceivedIsInTheWay),
    _bug("B-L27", "own", "a-refused-checkpoint-writes-nothing", "Data is written before the checkpoint is refused.",
         WritesBeforeItRefuses),
    _bug("B-L28", "own", "a-late-stop-of-an-older-checkpoint-changes-nothing",
         "A late stop of an older checkpoint stops the newer one.", LateStopStops),
    _bug("B-L29", "own", "an-older-barrier-does-not-end-the-checkpoint",
         "The barrier of an older checkpoint ends the newer one.", OldBarriersCount),
    _bug("B-L30", "own", "nothing-behind-the-barrier-is-written", "The barrier does not end what is written.",
         BarriersChangeNothing),
    _bug("B-L31", "own", "live-data-before-the-barrier-is-written-once", "Live data is written twice.", WritesTwice),
    _bug("B-L32", "own", "recovered-data-is-written-as-the-checkpoint-starts",
         "What was pushed behind the recovery barrier is written as well.", TakesAllRecoveredData),
)  # fmt: skip
