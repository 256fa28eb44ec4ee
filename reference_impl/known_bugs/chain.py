"""Defects of the parts of a chain, as they show from end to end: those of recovery.md, section 4, and our own."""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Alignment,
    Barrier,
    ChainConfig,
    CheckpointStatus,
    KnownBug,
)
from reference_impl.chain.chain import ChainGate, ReferenceChain
from reference_impl.chain.drainer import Slices
from reference_impl.chain.handler import Handler, Written
from reference_impl.design import Design
from reference_impl.known_bugs import chain_parts as wrong
from reference_impl.known_bugs.building import with_parts
from reference_impl.known_bugs.subpartition import BlockedHandsOutOnly


# ---- consumer --------------------------------------------------------------------------------------------------------
class ForgetsWhatWasCounted(ReferenceChain):
    def __init__(self, config: ChainConfig, design: Design) -> None:
        super().__init__(config, design)
        for ids in self.records:
            ids.clear()


class CountsBarriers(ReferenceChain):
    async def deal_with(self, taken: Any) -> None:
        if type(taken.element) is Barrier:
            self.records[taken.channel].append(self.records[taken.channel][-1] if self.records[taken.channel] else 0)
        await super().deal_with(taken)


class ReleasesTheGateOnly(ReferenceChain):
    """What a remote consumer has not fetched stays with its producer."""

    async def release(self) -> None:
        await self.gate.release()


class SnapshotsTooLate(Handler):
    """The state is taken when the last barrier comes: by then, data behind the first was counted."""

    async def complete(self, last: Barrier | None) -> None:
        written = self.written.get(self.current)
        if written is not None:
            written.counted = self.take_counted()
        await super().complete(last)


class GoesOnBehindAligned(Handler):
    async def barrier(self, channel: int, barrier: Barrier) -> None:
        await super().barrier(channel, barrier)
        if channel in self.stopped:
            self.stopped.remove(channel)
            await self.gate.resume(channel)


class ResumesTwice(Handler):
    async def go_on(self) -> None:
        stopped = list(self.stopped)
        await super().go_on()
        for channel in stopped:
            await self.gate.resume(channel)


class FirstBarrierCompletes(Handler):
    def is_complete(self) -> bool:
        return any(self.got)


class ForgetsTheSubsumed(Handler):
    async def begin(self, barrier: Barrier) -> bool:
        if not self.over:
            await self.go_on()
            self.over = True
        return await super().begin(barrier)


class ObsoleteHoldsItsChannel(Handler):
    async def ignore(self, channel: int, barrier: Barrier) -> None:
        return None


class AlignedStartsTheWriter(Handler):
    """A savepoint is begun like any other checkpoint: what is in flight is written."""

    async def begin(self, barrier: Barrier) -> bool:
        return await super().begin(Barrier(barrier.checkpoint, Alignment.UNALIGNED))


class NeverSaysComplete(Handler):
    async def complete(self, last: Barrier | None) -> None:
        checkpoint = self.current
        await super().complete(last)
        self.written[checkpoint].status = CheckpointStatus.PENDING


class SliceFirst(Written):
    """What was not pushed is written before what was queued."""

    __slots__ = ()

    def complete_input(self, persisted: Slices) -> Slices:
        return tuple(part + ids for ids, part in zip(persisted, self.slices, strict=True))


class WritesTheSliceFirst(Handler):
    async def start_unaligned(self, barrier: Barrier) -> None:
        await super().start_unaligned(barrier)
        written = self.written[barrier.checkpoint]
        self.written[barrier.checkpoint] = SliceFirst(written.counted, written.slices)


# ---- building --------------------------------------------------------------------------------------------------------
_OF_THE_GATE = ("recovered_channel_class", "local_channel_class", "remote_channel_class")


def _bug(identity: str, ticket: str, slug: str, summary: str, **parts: type[Any]) -> KnownBug:
    """A chain with other classes for some of its parts, those of its gate included."""

    def build() -> Any:
        if "chain_class" in parts:
            return with_parts(identity, chain_class=parts["chain_class"])
        of_the_gate = {name: part for name, part in parts.items() if name in _OF_THE_GATE}
        of_the_chain = {name: part for name, part in parts.items() if name not in _OF_THE_GATE}
        if of_the_gate:
            of_the_chain["gate_class"] = type("MutantGate", (ChainGate,), of_the_gate)
        return with_parts(identity, chain_class=type("MutantChain", (ReferenceChain,), of_the_chain))

    return KnownBug(identity, ticket, "chain", slug, summary, build)


BUGS: tuple[KnownBug, ...] = (
    _bug("B-01-chain", "FLINK-39018", "a-blocked-producer-nearby-does-not-hold-up-a-checkpoint",
         "A blocked subpartition does not announce a barrier, so the checkpoint waits for the slowest channel.",
         subpartition_class=BlockedHandsOutOnly),
    _bug("B-01-chain-remote", "FLINK-39018", "a-blocked-producer-elsewhere-does-not-hold-up-a-checkpoint",
         "A blocked subpartition does not announce a barrier, which is not sent then.",
         subpartition_class=BlockedHandsOutOnly),
    _bug("B-02-chain", "FLINK-39018", "locks-are-taken-in-one-order",
         "A local channel tells the gate of a recovered record under its own lock.",
         local_channel_class=wrong.TellsUnderTheLock),
    _bug("B-06-chain", "FLINK-40016", "nothing-is-in-a-checkpoint-twice",
         "A recovered record is written when the checkpoint starts, and again when it is delivered.",
         local_channel_class=wrong.PersistsRecovered),
    _bug("B-08-chain", "own", "nothing-is-missing-in-a-checkpoint",
         "What is known is collected, and the rest awaited, in two critical sections.",
         gate_class=wrong.CollectsOfAllThenStarts),
    _bug("B-11-chain", "FLINK-40668", "what-was-begun-comes-to-an-end",
         "Without credit not even an event is sent, so the upstream never becomes ready for recovered data.",
         reader_class=wrong.EventsNeedCredit),
    _bug("B-41-chain", "FLINK-17568", "nothing-behind-a-barrier-is-in-the-checkpoint",
         "Data behind the first barrier is counted before the state is taken.", handler_class=SnapshotsTooLate),
    _bug("B-42-chain", "FLINK-19681", "everything-sent-is-counted",
         "The channel of an obsolete aligned barrier is not resumed.", handler_class=ObsoleteHoldsItsChannel),
    _bug("B-43-chain", "FLINK-18252", "an-aligned-barrier-keeps-its-place",
         "An aligned barrier overtakes data.", subpartition_class=wrong.AlignedBarrierOvertakes),
    _bug("B-43-chain-writer", "FLINK-18136", "an-aligned-checkpoint-holds-no-channel-state",
         "An aligned checkpoint starts the writer.", handler_class=AlignedStartsTheWriter),
    _bug("B-58-chain", "FLINK-17440", "after-release-nothing-is-held",
         "A failing consumer leaves what was not fetched with the producer.", chain_class=ReleasesTheGateOnly),
    _bug("B-59-chain", "FLINK-25305", "a-checkpoint-completes-exactly-when-its-last-barrier-comes",
         "A checkpoint is acknowledged when the first barrier comes.", handler_class=FirstBarrierCompletes),
    _bug("B-63-chain", "own", "a-checkpoint-is-declined-for-a-newer-one-only",
         "A push drops the recovery barrier of a checkpoint that is just starting.",
         local_channel_class=wrong.DropsBarriers),
    _bug("B-73-chain", "own", "records-are-counted-once-and-in-order",
         "Output state is recovered before input state.", chain_class=wrong.InputAndOutputChangePlaces),
    _bug("B-76-chain", "FLINK-20645", "nothing-is-missing-in-a-checkpoint",
         "Of a newer checkpoint, only what came before the barrier of an older one is written.",
         remote_channel_class=wrong.RemembersAnOlderBarrier),
    _bug("B-80-chain", "FLINK-38544", "nothing-is-in-a-checkpoint-twice",
         "A recovered record is pushed and marked as pushed in two critical sections.",
         drainer_class=wrong.CommitsOutsideTheLock),
    _bug("B-80-chain-lost", "FLINK-38544", "nothing-is-missing-in-a-checkpoint",
         "A recovered record is marked as pushed before it is pushed.", drainer_class=wrong.CommitsBeforehand),
    _bug("B-82-chain", "own", "channel-state-is-in-order",
         "Recovered data that was not pushed is written before what was queued.", handler_class=WritesTheSliceFirst),
    _bug("B-85-chain", "own", "a-restored-chain-counts-everything",
         "The end of recovered output state is not sent if there was none.",
         chain_class=wrong.NoCompletionWithoutOutputState),
    _bug("B-C1", "own", "operations-answer-as-the-interface-says",
         "A channel is resumed twice after an aligned checkpoint.", handler_class=ResumesTwice),
    _bug("B-C2", "own", "threads-do-not-wait-in-a-circle",
         "The end of recovered data is delivered under a lock that is taken again.",
         drainer_class=wrong.FinishesUnderTheLock),
    _bug("B-C3", "own", "recovered-records-are-counted-before-live-ones",
         "Live data is handed out whenever nothing recovered is queued.", local_channel_class=wrong.ShowsLiveTooEarly),
    _bug("B-C4", "own", "a-channel-waits-behind-its-aligned-barrier",
         "A channel is resumed as soon as its aligned barrier was consumed.", handler_class=GoesOnBehindAligned),
    _bug("B-C5", "own", "an-unaligned-barrier-does-not-pass-another",
         "A newer unaligned barrier overtakes an older one.", subpartition_class=wrong.NewerBarrierOvertakesOlder),
    _bug("B-C6", "own", "an-unaligned-barrier-goes-first",
         "The gate queues a channel with a priority event like any other.", gate_class=wrong.PriorityQueuesUp),
    _bug("B-C7", "own", "recovered-data-does-not-hold-up-a-checkpoint",
         "A local channel hands out what was handed over before any barrier.",
         local_channel_class=wrong.PriorityWaitsForRecovered),
    _bug("B-C8", "own", "an-unaligned-barrier-leaves-its-producer-first",
         "The network does not look for a barrier if no data waits behind it.", reader_class=wrong.PriorityIsNotHeard),
    _bug("B-C9", "own", "the-end-of-partition-comes-last",
         "The end of partition overtakes data.", subpartition_class=wrong.EndOvertakes),
    _bug("B-C10", "own", "a-subsumed-checkpoint-is-declined",
         "A pending checkpoint is forgotten when a newer one comes.", handler_class=ForgetsTheSubsumed),
    _bug("B-C11", "own", "a-checkpoint-before-the-conversion-is-declined",
         "A recovered channel lets a checkpoint start.", recovered_channel_class=wrong.AcceptsBeforeItIsReady),
    _bug("B-C12", "own", "a-checkpoint-says-how-far-it-is",
         "An acknowledged checkpoint stays pending.", handler_class=NeverSaysComplete),
    _bug("B-C13", "own", "nothing-is-missing-in-a-checkpoint",
         "A checkpoint during recovery leaves out what was not pushed yet.", drainer_class=wrong.NoSlice),
    _bug("B-C14", "own", "a-restored-chain-counts-everything",
         "The output state is not recovered.", chain_class=wrong.OutputStateIsDropped),
    _bug("B-C15", "own", "the-state-of-the-consumer-is-what-it-counted",
         "A restored consumer begins to count from nothing.", chain_class=ForgetsWhatWasCounted),
    _bug("B-C16", "own", "the-state-of-the-consumer-is-what-it-counted",
         "A barrier is counted.", chain_class=CountsBarriers),
    _bug("B-C17", "own", "a-checkpoint-comes-to-an-end",
         "A barrier is lost that was sent before the consumer asked for data.",
         chain_class=wrong.BarrierNeedsAConsumer),
    _bug("B-C18", "own", "what-was-begun-comes-to-an-end",
         "Recovered output state is sent without metadata, so nothing opens the upstream before there is credit.",
         chain_class=wrong.OutputStateWithoutMetadata),
)  # fmt: skip
