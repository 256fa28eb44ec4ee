"""A component of a test's own that has channels and an alignment: a task that aligns at the receiver.

Its producers go on behind an aligned barrier, and the task reads nothing of a channel behind its barrier until every
barrier has come. It shows what `conformance/models` saves: the channels are lanes, the checkpoint is an alignment, what
the producers may send comes from upstream, and the ledger has nothing else but the number of the next record.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from conformance.components import COMPONENTS as KNOWN
from conformance.driver import (
    Bound,
    Broken,
    Component,
    Components,
    Drain,
    FailureClass,
    Judgement,
    Once,
    Operands,
    PortLedger,
    Rules,
    Seen,
    Steps,
    While,
    always,
    answers_property,
)
from conformance.models import alignment, lifetime
from conformance.models.alignment import BarrierAlignment
from conformance.models.barriers import TIMEOUT, Upstream
from conformance.models.lane import Lane
from conformance.models.lifetime import fail_step, resources_step
from conformance.ports import (
    Alignment,
    Answer,
    Barrier,
    BarrierHandlerConfig,
    Buffer,
    Capability,
    CheckpointTriggered,
    Element,
    ElementTaken,
    Implementation,
    Port,
    Resources,
    Signal,
)
from conformance.ports.implementation import Factory

ALIGNED = Alignment.ALIGNED


# ---- the port --------------------------------------------------------------------------------------------------------
class AlignerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    channels: int = 2


class AlignerPort(Port):
    @abstractmethod
    def arrive(self, channel: int, element: Element) -> Answer[None]: ...

    @abstractmethod
    def take(self) -> Answer[ElementTaken | None]: ...


# ---- the ledger ------------------------------------------------------------------------------------------------------
class Ledger(PortLedger):
    __slots__ = ("alignment", "lanes", "record", "upstream")

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.begin_life("live")
        self.lanes = [Lane(recovers=False) for _ in range(channels)]
        self.alignment = BarrierAlignment(channels)
        self.upstream = Upstream(BarrierHandlerConfig(channels, TIMEOUT, alternating=False))
        self.record = 0

    def buffer(self, channel: int) -> None:
        self._send(channel, Buffer((self.record,)))
        self.record += 1

    def barrier(self, channel: int, checkpoint: int) -> None:
        self.upstream.deliver(channel, checkpoint)
        self._send(channel, Barrier(checkpoint, ALIGNED))

    def _send(self, channel: int, element: Element) -> None:
        self.lanes[channel].send(element)
        self.lanes[channel].end_send()

    def take(self, seen: Seen[ElementTaken | None]) -> None:
        if seen.value is None:
            return
        lane, element = self.lanes[seen.value.channel], seen.value.element
        lane.take_next(has_priority=False)
        if type(element) is Barrier and not self.alignment.is_obsolete(element.checkpoint):
            lane.blocked = True
            self.alignment.barrier(seen.value.channel, element.checkpoint, ALIGNED)

    def hear(self, signals: list[Signal]) -> None:
        self.alignment.repeated = 0
        for signal in signals:
            if type(signal) is CheckpointTriggered:
                self.alignment.trigger(signal.checkpoint, signal.unaligned)
        if not self.alignment.pending:
            for lane in self.lanes:
                lane.blocked = False


# ---- the steps -------------------------------------------------------------------------------------------------------
STEPS = Steps[AlignerPort, Ledger]()
LIVE = ("live",)
ALWAYS = ("live", "failed")


def sendable(ledger: Ledger) -> Sequence[tuple[int]]:
    return [(channel,) for channel, lane in enumerate(ledger.lanes) if len(lane.live) < 4]


def barriers(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Barriers are not skipped, since nothing declines a checkpoint here."""
    found = ledger.upstream.barriers(ALIGNED, range(len(ledger.lanes)))
    return [(channel, one) for channel, one in found if one == ledger.upstream.last[channel] + 1]


@STEPS.step("network", LIVE, when=sendable, end=Ledger.buffer, weight=8)
def buffer(port: AlignerPort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.arrive(channel, Buffer((ledger.record,)))


@STEPS.step("network", LIVE, when=barriers, end=Ledger.barrier, weight=4)
def barrier(port: AlignerPort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
    return port.arrive(channel, Barrier(checkpoint, ALIGNED))


@STEPS.step("task", LIVE, when=always, learn=Ledger.take, weight=12)
def take(port: AlignerPort, ledger: Ledger) -> Answer[ElementTaken | None]:
    return port.take()


resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, LIVE)


def _readable(ledger: Ledger) -> Operands | None:
    return take() if not ledger.failed and any(lane.next(hidden=False) for lane in ledger.lanes) else None


DRAIN = Drain[Ledger](While((_readable,)), Once((fail(),), unless=lambda ledger: ledger.failed), Once((resources(),)))

# ---- the rules -------------------------------------------------------------------------------------------------------
RULES = Rules[Ledger]("aligner", answers_property("aligner"))


@RULES.rule(take, invariant="I-10")
def nothing_behind_an_aligned_barrier_is_taken_early(ledger: Ledger, seen: Seen[ElementTaken | None]) -> Judgement:
    """A take returns the next element of a channel whose barrier of the current checkpoint was not received, if there
    is one."""
    ready = {channel: one for channel, lane in enumerate(ledger.lanes) if (one := lane.next(hidden=False)) is not None}
    if seen.value is None:
        return Broken(FailureClass.STUCK, f"channel {min(ready)} can be read", "nothing") if ready else True
    channel, element = seen.value.channel, seen.value.element
    if channel in ready and ready[channel].element == element:
        return True
    return Broken(
        FailureClass.REORDERED, "the next element of a channel that is not blocked", f"{element} of {channel}"
    )


@RULES.rule(take, invariant="I-45", after_learning=True)
def an_aligned_checkpoint_is_triggered(ledger: Ledger, seen: Seen[ElementTaken | None]) -> Judgement:
    """When the last barrier of a checkpoint is taken, the task is asked for its part of it."""
    pending = ledger.alignment.pending
    if seen.value is None or type(seen.value.element) is not Barrier:
        return False
    if pending and not ledger.alignment.missing():
        return Broken(FailureClass.LOST, f"every barrier of checkpoint {pending} was taken", "it is not triggered")
    return True


RULES.adopt(lifetime.after_release_nothing_is_held, resources)
RULES.adopt(alignment.a_checkpoint_is_triggered_once_and_in_order, take, of=lambda ledger: ledger.alignment.repeated)


@RULES.goal(take)
def a_channel_waited_for_the_barrier_of_another(ledger: Ledger, seen: Seen[ElementTaken | None]) -> bool:
    """Something was queued behind a barrier while another channel was read."""
    return any(lane.blocked and lane.live for lane in ledger.lanes) and seen.value is not None


# ---- the component ---------------------------------------------------------------------------------------------------
class AlignerScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    channels: Annotated[int, Meta(ge=1, le=3)] = 2
    interleaving: Literal["whole"] = "whole"


ALIGNER = Component(
    name="aligner",
    port=AlignerPort,
    config_type=AlignerScenarioConfig,
    configs=(AlignerScenarioConfig(), AlignerScenarioConfig(3), AlignerScenarioConfig(1)),
    port_config=lambda config: AlignerConfig(config.channels),
    make_ledger=lambda config, capabilities: Ledger(config.channels),
    steps=tuple(STEPS.all),
    properties=tuple(RULES.all),
    drain=DRAIN,
    final_phase="failed",
    bounds={"elements": Bound(("buffer", "barrier"), 5)},
)
COMPONENTS = Components("tests.components.aligner:COMPONENTS", (*KNOWN.values(), ALIGNER))


# ---- implementations -------------------------------------------------------------------------------------------------
class Aligner(AlignerPort):
    def __init__(self, config: AlignerConfig) -> None:
        self.queues: list[list[Element]] = [[] for _ in range(config.channels)]
        self.waiting: list[int] = []

    def arrive(self, channel: int, element: Element) -> None:
        self.queues[channel].append(element)

    def take(self) -> ElementTaken | None:
        for channel, queue in enumerate(self.queues):
            if queue and self.may_read(channel):
                element = queue.pop(0)
                if type(element) is Barrier:
                    self.align(channel, element.checkpoint)
                return ElementTaken(channel, element)
        return None

    def may_read(self, channel: int) -> bool:
        return channel not in self.waiting

    def align(self, channel: int, checkpoint: int) -> None:
        self.waiting.append(channel)
        if len(self.waiting) == len(self.queues):
            self.waiting.clear()
            self.emit(CheckpointTriggered(checkpoint, False))

    def resources(self) -> Resources:
        return Resources(sum(map(len, self.queues)))

    def release(self) -> None:
        self.queues.clear()


class ReadsOn(Aligner):
    """A channel is read on behind its barrier."""

    def may_read(self, channel: int) -> bool:
        queue = self.queues[channel]
        return super().may_read(channel) or type(queue[0]) is Buffer


class Forgets(Aligner):
    """A checkpoint whose first barrier comes out of the last channel is not triggered."""

    def align(self, channel: int, checkpoint: int) -> None:
        if len(self.queues) > 1 and not self.waiting and channel == len(self.queues) - 1:
            self.first = checkpoint
        super().align(channel, checkpoint)

    def emit(self, signal: Signal) -> None:
        if type(signal) is not CheckpointTriggered or signal.checkpoint != getattr(self, "first", 0):
            super().emit(signal)


class Twice(Aligner):
    """A checkpoint is triggered again with every barrier of the first channel that follows."""

    def align(self, channel: int, checkpoint: int) -> None:
        if channel == 0 and checkpoint > 1:
            self.emit(CheckpointTriggered(checkpoint - 1, False))
        super().align(channel, checkpoint)


class Aligning(Implementation):
    def __init__(self, made: type[Aligner] = Aligner) -> None:
        self.made, self.name = made, made.__name__.lower()

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset()

    def components(self) -> Mapping[str, Factory]:
        return {"aligner": self.made}
