"""The steps of a barrier handler: the task takes barriers, announcements and markers from its channels; time passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.components.barrier_handler.ledger import MOST_CHECKPOINTS, Ledger
from conformance.driver import DISABLED, Drain, Once, Seen, Step, Steps, While, always
from conformance.parts.faults import fault_step
from conformance.parts.lifetime import fail_step, resources_step, restart_step
from conformance.ports import Alignment, Answer, Barrier, BarrierHandlerPort

LIVE = ("live",)
ALWAYS = ("live", "broken", "failed")

TIMEOUTABLE = Alignment.TIMEOUTABLE

STEPS = Steps[BarrierHandlerPort, Ledger]()
step = STEPS.step


# ---- what may come out of a channel ----------------------------------------------------------------------------------
def _open(ledger: Ledger, sources: bool = False) -> Sequence[int]:
    """The channels that have not ended, or the sources among them."""
    first, ended = ledger.channels - ledger.sources, ledger.ended
    numbers = range(first, ledger.channels) if sources else range(first)
    return [number for number in numbers if not ended[number]] if True in ended else numbers


def _near(ledger: Ledger, channel: int) -> Sequence[int]:
    """The checkpoints of which a channel may deliver something next: the current one, the next, and an older one."""
    current, last = ledger.current, ledger.last[channel]
    if last >= MOST_CHECKPOINTS:
        return ()
    if last >= current:
        return (last + 1,)
    near = (current, current + 1) if current < MOST_CHECKPOINTS else (current,)
    return near if last + 1 == current else (last + 1, *near)


def _pairs(ledger: Ledger, kind: Alignment, sources: bool = False) -> Sequence[tuple[int, int]]:
    """Channels, and checkpoints whose barrier of this kind may come out of them.

    A barrier that was announced stays timeoutable, also if it overtakes. A newer one overtakes it only if unaligned.
    """
    found = []
    for channel in _open(ledger, sources):
        if ledger.blocked[channel] and kind is not Alignment.UNALIGNED:
            continue
        waits = ledger.announced.get(channel, (0, 0))[0]
        for checkpoint in _near(ledger, channel):
            began = ledger.kinds.get(checkpoint, kind)
            if kind is not began and (kind is not Alignment.UNALIGNED or began is not Alignment.TIMEOUTABLE):
                continue
            if waits and (checkpoint < waits or (checkpoint == waits) is (kind is Alignment.UNALIGNED)):
                continue
            found.append((channel, checkpoint))
    return found


def aligned(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Aligned barriers: of savepoints, and of all checkpoints of a job without unaligned ones."""
    return _pairs(ledger, Alignment.ALIGNED)


def timeoutable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Timeoutable barriers."""
    return _pairs(ledger, Alignment.TIMEOUTABLE) if ledger.alternating else DISABLED


def unaligned(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Unaligned barriers, which come out of blocked channels, too."""
    return _pairs(ledger, Alignment.UNALIGNED) if ledger.alternating else DISABLED


def triggered(ledger: Ledger) -> Sequence[tuple[int, int, str]]:
    """Checkpoints that a source is asked for by a call: the newest one, or the next."""
    return [
        (channel, checkpoint, str(kind))
        for kind in (Alignment if ledger.alternating else (Alignment.ALIGNED,))
        for channel, checkpoint in _pairs(ledger, kind, sources=True)
        if checkpoint >= ledger.current
    ]


def announceable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Announcements: of barriers that are queued in channels that are not blocked and have announced nothing else."""
    if not ledger.alternating:
        return DISABLED
    return [
        (channel, checkpoint)
        for channel, checkpoint in _pairs(ledger, Alignment.TIMEOUTABLE)
        if channel not in ledger.announced
    ]


def cancellable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Cancel markers, which come in the place of a barrier."""
    return [
        (channel, checkpoint)
        for channel in _open(ledger)
        if not ledger.blocked[channel] and channel not in ledger.announced
        for checkpoint in _near(ledger, channel)
    ]


def endable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels that may end: those that are not blocked and have announced nothing that is still to come."""
    return [
        (channel,)
        for channel in (*_open(ledger), *_open(ledger, sources=True))
        if not ledger.blocked[channel] and channel not in ledger.announced
    ]


def passing(ledger: Ledger) -> Sequence[tuple[int]]:
    """A moment, or as long as an alignment may take."""
    return ((1,), (ledger.timeout,))


# ---- the task --------------------------------------------------------------------------------------------------------
def _refused(note: Callable[..., None]) -> Callable[..., None]:
    """What the ledger learns from an operation that does this, and in which the inputs refused or failed to start."""

    def struck(ledger: Ledger, seen: Seen[None], *operands: Any) -> None:
        note(ledger, *operands)
        ledger.start_struck(seen)

    return struck


def _barrier(kind: Alignment, when: Any, weight: int) -> Step[Ledger, None, int, int]:
    def end(ledger: Ledger, channel: int, checkpoint: int) -> None:
        ledger.barrier(channel, checkpoint, kind)

    @step("task", LIVE, when=when, end=end, struck=_refused(end), weight=weight, name=f"{kind}_barrier")
    def barrier(port: BarrierHandlerPort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
        return port.barrier(channel, Barrier(checkpoint, kind), ledger.timestamp(checkpoint))

    return barrier


aligned_barrier = _barrier(Alignment.ALIGNED, aligned, 10)
timeoutable_barrier = _barrier(Alignment.TIMEOUTABLE, timeoutable, 16)
unaligned_barrier = _barrier(Alignment.UNALIGNED, unaligned, 8)


def _called(ledger: Ledger, channel: int, checkpoint: int, kind: str) -> None:
    ledger.barrier(channel, checkpoint, Alignment(kind), blocks=False)


@step("task", LIVE, when=triggered, end=_called, struck=_refused(_called), weight=8)
def rpc_barrier(port: BarrierHandlerPort, ledger: Ledger, channel: int, checkpoint: int, kind: str) -> Answer[None]:
    return port.rpc_barrier(channel, Barrier(checkpoint, Alignment(kind)), ledger.timestamp(checkpoint))


@step("task", LIVE, when=announceable, end=Ledger.announce, struck=_refused(Ledger.announce), weight=14)
def announcement(port: BarrierHandlerPort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
    return port.announcement(channel, checkpoint, ledger.seqs[channel], ledger.timestamp(checkpoint))


@step("task", LIVE, when=cancellable, end=Ledger.cancel, struck=_refused(Ledger.cancel), weight=3)
def cancel_marker(port: BarrierHandlerPort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
    return port.cancel_marker(channel, checkpoint)


@step("task", LIVE, when=endable, end=Ledger.end_of, struck=_refused(Ledger.end_of), weight=2)
def end_of_partition(port: BarrierHandlerPort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.end_of_partition(channel)


@step("timer", LIVE, when=passing, end=Ledger.pass_time, struck=_refused(Ledger.pass_time), weight=10)
def advance(port: BarrierHandlerPort, ledger: Ledger, milliseconds: int) -> Answer[None]:
    return port.advance(milliseconds)


# ---- observers and the driver ----------------------------------------------------------------------------------------
@step("observer", LIVE, when=always, weight=6)
def pending(port: BarrierHandlerPort, ledger: Ledger) -> Answer[int | None]:
    return port.pending()


def strikable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: only unaligned checkpoints start in the inputs."""
    return ledger.faults.possible() if ledger.alternating else ()


fault = fault_step(STEPS, LIVE, when=strikable)
resources = resources_step(STEPS, ALWAYS, weight=4)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)

_BY_KIND = {
    Alignment.ALIGNED: aligned_barrier,
    TIMEOUTABLE: timeoutable_barrier,
    Alignment.UNALIGNED: unaligned_barrier,
}
BARRIERS = (aligned_barrier, timeoutable_barrier, unaligned_barrier)
"""The steps in which the task has taken a barrier from a channel."""
ACTS = (*BARRIERS, rpc_barrier, announcement, cancel_marker, end_of_partition, advance)
"""The steps in which the handler may do something."""


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _due(ledger: Ledger) -> Any:
    """While a checkpoint is in progress, its missing barriers come."""
    if ledger.phase != "live" or ledger.is_done():
        return None
    for channel in ledger.missing():
        if ledger.blocked[channel] or ledger.last[channel] >= ledger.current:
            continue
        if channel >= ledger.channels - ledger.sources:
            return rpc_barrier(channel, ledger.current, str(ledger.kinds[ledger.current]))
        checkpoint, _ = ledger.announced.get(channel, (ledger.current, 0))
        return _BY_KIND[ledger.kinds.get(checkpoint, TIMEOUTABLE)](channel, checkpoint)
    return None


DRAIN = Drain[Ledger](
    While((_due,)),
    Once((pending(),), unless=lambda ledger: ledger.phase != "live"),
    Once((resources(), fail()), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Let the missing barriers come, ask what is in progress, then release."""
