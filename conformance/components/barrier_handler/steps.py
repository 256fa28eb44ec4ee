"""The steps of a barrier handler: the task takes barriers, announcements and markers from its channels; time passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.components.barrier_handler.ledger import Ledger
from conformance.driver import DISABLED, Drain, Once, Seen, Step, Steps, While, always
from conformance.models.answers import checkpoint
from conformance.models.barriers import KINDS, PASSING, TIMEOUTABLE
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.ports import Alignment, AlignmentTimes, Answer, Barrier, BarrierHandlerPort

LIVE = ("live",)
ALWAYS = ("live", "broken", "failed")

STEPS = Steps[BarrierHandlerPort, Ledger]()
step = STEPS.step


# ---- what may come out of a channel ----------------------------------------------------------------------------------
def triggered(ledger: Ledger) -> Sequence[tuple[int, int, str]]:
    """Checkpoints that a source is asked for by a call: the newest one, or the next."""
    if not ledger.upstream.sources:
        return DISABLED
    return [
        (channel, checkpoint, str(kind))
        for kind in KINDS
        for channel, checkpoint in ledger.upstream.barriers(kind, ledger.upstream.sources)
        if checkpoint >= ledger.alignment.current
    ]


def endable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels that may end: those that are not blocked and have announced nothing that is still to come."""
    upstream = ledger.upstream
    channels = upstream.silent((*upstream.inputs, *ledger.upstream.sources))
    return [(channel,) for channel in channels if not upstream.blocked[channel]]


# ---- the task --------------------------------------------------------------------------------------------------------
def _refused(note: Callable[..., None]) -> Callable[..., None]:
    """What the ledger learns from an operation that does this, and in which the inputs refused or failed to start."""

    def struck(ledger: Ledger, seen: Seen[None], *operands: Any) -> None:
        note(ledger, *operands)
        ledger.start_struck(seen)

    return struck


def _barrier(kind: Alignment, weight: int) -> Step[Ledger, None, int, int]:
    def when(ledger: Ledger) -> Sequence[tuple[int, int]]:
        return ledger.upstream.barriers(kind, ledger.upstream.inputs)

    def end(ledger: Ledger, channel: int, checkpoint: int) -> None:
        ledger.barrier(channel, checkpoint, kind)

    @step("task", LIVE, when=when, end=end, struck=_refused(end), weight=weight, name=f"{kind}_barrier")
    def barrier(port: BarrierHandlerPort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
        return port.barrier(channel, Barrier(checkpoint, kind), ledger.upstream.timestamp(checkpoint))

    return barrier


aligned_barrier = _barrier(Alignment.ALIGNED, 10)
timeoutable_barrier = _barrier(Alignment.TIMEOUTABLE, 16)
unaligned_barrier = _barrier(Alignment.UNALIGNED, 8)


def _called(ledger: Ledger, channel: int, checkpoint: int, kind: str) -> None:
    ledger.barrier(channel, checkpoint, Alignment(kind), blocks=False)


@step("task", LIVE, when=triggered, end=_called, struck=_refused(_called), weight=8)
def rpc_barrier(port: BarrierHandlerPort, ledger: Ledger, channel: int, checkpoint: int, kind: str) -> Answer[None]:
    return port.rpc_barrier(channel, Barrier(checkpoint, Alignment(kind)), ledger.upstream.timestamp(checkpoint))


@step(
    "task",
    LIVE,
    when=lambda ledger: ledger.upstream.announceable(),
    end=Ledger.announce,
    struck=_refused(Ledger.announce),
    weight=14,
)
def announcement(port: BarrierHandlerPort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
    return port.announcement(channel, checkpoint, ledger.upstream.seqs[channel], ledger.upstream.timestamp(checkpoint))


@step(
    "task",
    LIVE,
    when=lambda ledger: ledger.upstream.cancellable(),
    end=Ledger.cancel,
    struck=_refused(Ledger.cancel),
    weight=3,
)
def cancel_marker(port: BarrierHandlerPort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
    return port.cancel_marker(channel, checkpoint)


@step("task", LIVE, when=endable, end=Ledger.end_of, struck=_refused(Ledger.end_of), weight=1)
def end_of_partition(port: BarrierHandlerPort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.end_of_partition(channel)


@step("timer", LIVE, when=lambda ledger: PASSING, end=Ledger.pass_time, struck=_refused(Ledger.pass_time), weight=10)
def advance(port: BarrierHandlerPort, ledger: Ledger, milliseconds: int) -> Answer[None]:
    return port.advance(milliseconds)


# ---- observers and the driver ----------------------------------------------------------------------------------------
@step("observer", LIVE, when=always, weight=6, in_words=checkpoint)
def pending(port: BarrierHandlerPort, ledger: Ledger) -> Answer[int | None]:
    return port.pending()


@step("observer", LIVE, when=always, weight=4)
def alignment_times(port: BarrierHandlerPort, ledger: Ledger) -> Answer[AlignmentTimes]:
    return port.alignment_times()


def strikable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: only unaligned checkpoints start in the inputs."""
    return ledger.faults.possible() if ledger.config.alternating else ()


fault = fault_step(STEPS, LIVE, when=strikable)
resources = resources_step(STEPS, ALWAYS, weight=4)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)

BARRIERS = (aligned_barrier, timeoutable_barrier, unaligned_barrier)
"""The steps in which the task has taken a barrier from a channel."""
_BY_KIND = dict(zip(KINDS, BARRIERS, strict=True))
ACTS = (*BARRIERS, rpc_barrier, announcement, cancel_marker, end_of_partition, advance)
"""The steps in which the handler may do something."""


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _due(ledger: Ledger) -> Any:
    """While a checkpoint is in progress, its missing barriers come."""
    upstream, alignment = ledger.upstream, ledger.alignment
    if ledger.phase != "live" or not alignment.pending:
        return None
    for channel in alignment.missing():
        if upstream.blocked[channel] or upstream.last[channel] >= alignment.current:
            continue
        if channel >= ledger.upstream.first_source:
            return rpc_barrier(channel, alignment.current, str(upstream.kinds[alignment.current]))
        checkpoint, _ = upstream.announced.get(channel, (alignment.current, 0))
        return _BY_KIND[upstream.kinds.get(checkpoint, TIMEOUTABLE)](channel, checkpoint)
    return None


DRAIN = Drain[Ledger](
    While((_due,)),
    Once((pending(), alignment_times()), unless=lambda ledger: ledger.phase != "live"),
    Once((resources(), fail()), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Let the missing barriers come, ask what is in progress and how long it took, then release."""
