"""Known bugs of checkpoints at the input gate, and of the channels in it."""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Barrier,
    ChannelKind,
    CheckpointReason,
    ErrorKind,
    KnownBug,
    PortError,
    Taken,
)
from reference_impl.channels.channel import PhysicalChannel
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.persister import Persister
from reference_impl.channels.recovered_store import PushedStore, RecoveredStore
from reference_impl.channels.remote import ReferenceRemoteChannel
from reference_impl.gate import ReferenceGate
from reference_impl.known_bugs.building import with_parts


class _NothingOvertakes(ReferenceRemoteChannel):
    async def convert_to_priority(self, seq: int) -> None:
        raise PortError(ErrorKind.STATE, "that barrier was received before")


class AnnouncedBarriersStay(ReferenceGate):
    remote_channel_class = _NothingOvertakes


class _UnknownIsIgnored(ReferenceRemoteChannel):
    def move_to_front(self, seq: int) -> None:
        if self.last_barrier_seq == seq:
            super().move_to_front(seq)


class UnknownBarriersOvertake(ReferenceGate):
    remote_channel_class = _UnknownIsIgnored


class StartsBeforeConversion(ReferenceGate):
    async def checkpoint_started(self, barrier: Barrier) -> None:
        for channel in self.channels:
            if isinstance(channel, PhysicalChannel):
                await channel.checkpoint_started(barrier)


class _MissingIsNotReady(PushedStore):
    def decline(self, checkpoint: int) -> None:
        reason = CheckpointReason.DECLINED_TASK_NOT_READY
        raise PortError(ErrorKind.CHECKPOINT, "the channel is recovering", reason)


class _RemoteNotReady(ReferenceRemoteChannel):
    def make_store(self, config: Any) -> RecoveredStore:
        store = super().make_store(config)
        return _MissingIsNotReady() if isinstance(store, PushedStore) else store


class MissingBarrierIsNotReady(ReferenceGate):
    remote_channel_class = _RemoteNotReady


class _NeverSubsumed(ReferenceRemoteChannel):
    def collect_known(self, checkpoint: int) -> tuple[int, ...]:
        return () if checkpoint < self.last_barrier else super().collect_known(checkpoint)

    def start(self, checkpoint: int, known: tuple[int, ...]) -> None:
        if checkpoint >= self.persister.last_seen:
            super().start(checkpoint, known)


class OlderCheckpointsStart(ReferenceGate):
    remote_channel_class = _NeverSubsumed


class DeclinesDuringRecovery(ReferenceGate):
    async def checkpoint_started(self, barrier: Barrier) -> None:
        if any(isinstance(one, (ReferenceLocalChannel, ReferenceRemoteChannel)) and one.store for one in self.channels):
            reason = CheckpointReason.DECLINED_TASK_NOT_READY
            raise PortError(ErrorKind.CHECKPOINT, "recovered data is not consumed", reason)
        await super().checkpoint_started(barrier)


class _WritesOnDelivery(ReferenceRemoteChannel):
    async def take_element(self) -> Taken | None:
        waiting = self.store.count()
        taken = await super().take_element()
        if taken is not None and self.store.count() < waiting:
            self.persister.maybe_persist(taken.element)
        return taken


class RecoveredDataIsWrittenTwice(ReferenceGate):
    remote_channel_class = _WritesOnDelivery


class _TwoSections(ReferenceRemoteChannel):
    async def checkpoint_started(self, barrier: Barrier) -> None:
        async with self.lock:
            known = self.collect_known(barrier.checkpoint)
        async with self.lock:
            self.start(barrier.checkpoint, known)


class CollectsThenSetsPending(ReferenceGate):
    remote_channel_class = _TwoSections


class _AlwaysPending(Persister):
    def is_new(self, checkpoint: int) -> bool:
        return True


class _PendingAgain(ReferenceRemoteChannel):
    persister_class = _AlwaysPending


class BarrierBeforeStartIsPending(ReferenceGate):
    remote_channel_class = _PendingAgain


class ForgetsWhatWasStopped(ReferenceGate):
    def physical_channel(
        self, number: int, kind: ChannelKind, handed_over: tuple[int, ...], last_stopped: int
    ) -> PhysicalChannel:
        return super().physical_channel(number, kind, handed_over, 0)


def _bug(identity: str, ticket: str, slug: str, summary: str, part: type[ReferenceGate]) -> KnownBug:
    return KnownBug(identity, ticket, "gate", slug, summary, lambda: with_parts(identity, gate_class=part))


_ARRIVES = "elements-arrive-once-and-in-order-across-conversion"
_TOLD = "the-consumer-is-told-of-what-waits"
_WRITTEN = "data-in-front-of-a-barrier-is-written-once-in-every-channel"

BUGS: tuple[KnownBug, ...] = (
    _bug("B-36bg", "FLINK-21104", _WRITTEN,
         "A converted channel forgets which checkpoint was stopped before.", ForgetsWhatWasStopped),
    _bug("B-06g", "FLINK-40016", _WRITTEN,
         "Recovered buffers are written when the checkpoint starts and again on delivery.",
         RecoveredDataIsWrittenTwice),
    _bug("B-08g", "FLINK-38544", _WRITTEN,
         "What is known is collected in one section and the barrier expected in another.", CollectsThenSetsPending),
    _bug("B-37g", "FLINK-20097", _WRITTEN,
         "A barrier that came before its checkpoint started is taken to be pending.", BarrierBeforeStartIsPending),
    _bug("B-63g", "FLINK-38544", "a-missing-recovery-barrier-declines-the-checkpoint",
         "A missing recovery barrier passes for a task that is not ready.", MissingBarrierIsNotReady),
    _bug("B-G19", "own", "an-announced-barrier-can-overtake",
         "No announced barrier can overtake.", AnnouncedBarriersStay),
    _bug("B-G20", "own", "only-a-queued-barrier-can-overtake",
         "Making anything a priority event is accepted.", UnknownBarriersOvertake),
    _bug("B-G21", "own", "checkpoints-are-declined-until-channels-are-physical",
         "A checkpoint before conversion passes over the recovered channels.", StartsBeforeConversion),
    _bug("B-G22", "own", "a-newer-barrier-subsumes-an-older-checkpoint",
         "A checkpoint starts after a newer barrier was received.", OlderCheckpointsStart),
    _bug("B-G23", "FLINK-39018", "a-checkpoint-starts-if-nothing-speaks-against-it",
         "Checkpoints are declined until recovered data is consumed.", DeclinesDuringRecovery),
)  # fmt: skip
