"""The steps of a channel state persister: the task starts and stops checkpoints, the network delivers."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.persister.ledger import Ledger
from conformance.driver import Drain, Each, Once, Steps, always
from conformance.models.answers import checkpoint, records, whether
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.ports import (
    Alignment,
    Announcement,
    Answer,
    Barrier,
    Buffer,
    CancelMarker,
    Element,
    EndOfData,
    EndOfPartition,
    Event,
    PersisterPort,
    RecoveryCompletion,
    RecoveryMetadata,
)

LIVE = ("live",)
ALWAYS = ("live", "broken", "failed")

STEPS = Steps[PersisterPort, Ledger]()
step = STEPS.step


def _event(kind: str, checkpoint: int) -> Element:
    """An event of this kind; those of a checkpoint belong to this one."""
    match kind:
        case "barrier":
            return Barrier(checkpoint, Alignment.UNALIGNED)
        case "announcement":
            return Announcement(checkpoint, 0)
        case "cancel-marker":
            return CancelMarker(checkpoint)
        case "recovery-metadata":
            return RecoveryMetadata(0, 0)
        case "recovery-completion":
            return RecoveryCompletion()
        case "end-of-data":
            return EndOfData()
        case "end-of-partition":
            return EndOfPartition()
    return Event(0)


_NO_BARRIERS = tuple(
    (kind,)
    for kind in (
        "data", "event", "cancel-marker", "recovery-metadata", "recovery-completion", "end-of-data", "end-of-partition",
    )
)  # fmt: skip
_EVENTS = (("barrier",), ("announcement",), ("cancel-marker",), ("end-of-partition",))


def no_barriers(ledger: Ledger) -> Sequence[tuple[str]]:
    """What is neither a barrier nor an announcement."""
    return _NO_BARRIERS


def events(ledger: Ledger) -> Sequence[tuple[str]]:
    """Events that a channel hands in behind the question whether they are barriers."""
    return _EVENTS


def near(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint, the newest one again, or the one before it."""
    newest = ledger.newest
    return ((newest + 1,), (newest,), (newest - 1,)) if newest > 1 else ((newest + 1,),)


def startable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """A checkpoint that was not started, with none or two records queued when it starts."""
    states = ledger.input.states
    return [(one, known) for (one,) in near(ledger) if one not in states for known in (0, 2)]


def started(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last three checkpoints that were started, and the last one that was refused."""
    return [(one,) for one in (*list(ledger.input.states)[-3:], *ledger.refused()[-1:])]


@step("task", LIVE, when=startable, learn=Ledger.start, struck=Ledger.start_failed, weight=12, fails=True)
def start(port: PersisterPort, ledger: Ledger, checkpoint: int, known: int) -> Answer[None]:
    return port.start(ledger.base + checkpoint, ledger.known(known))


@step("task", LIVE, when=near, end=Ledger.stop, weight=6)
def stop(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.stop(ledger.base + checkpoint)


@step("network", LIVE, when=always, end=Ledger.came, struck=Ledger.break_down, weight=16)
def buffer(port: PersisterPort, ledger: Ledger) -> Answer[None]:
    return port.maybe_persist(Buffer((ledger.next_record,)))


@step("network", LIVE, when=always, weight=2)
def event(port: PersisterPort, ledger: Ledger) -> Answer[None]:
    return port.maybe_persist(Event(0))


@step("network", LIVE, when=near, end=Ledger.barrier, in_words=checkpoint)
def barrier(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[int | None]:
    return port.barrier(Barrier(ledger.base + checkpoint, Alignment.UNALIGNED))


@step("network", LIVE, when=near, end=Ledger.barrier, weight=2, in_words=checkpoint)
def aligned_barrier(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[int | None]:
    return port.barrier(Barrier(ledger.base + checkpoint, Alignment.ALIGNED))


@step("network", LIVE, when=near, end=Ledger.barrier, weight=2, in_words=checkpoint)
def timeoutable_barrier(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[int | None]:
    return port.barrier(Barrier(ledger.base + checkpoint, Alignment.TIMEOUTABLE))


@step("network", LIVE, when=no_barriers, weight=2, in_words=checkpoint)
def no_barrier(port: PersisterPort, ledger: Ledger, kind: str) -> Answer[int | None]:
    return port.barrier(Buffer((0,)) if kind == "data" else _event(kind, ledger.base + ledger.newest))


@step("network", LIVE, when=events, weight=2)
def other_event(port: PersisterPort, ledger: Ledger, kind: str) -> Answer[None]:
    return port.maybe_persist(_event(kind, ledger.base + ledger.newest))


@step("network", LIVE, when=near, weight=2, in_words=checkpoint)
def announcement(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[int | None]:
    return port.barrier(Announcement(ledger.base + checkpoint, 0))


@step("observer", ALWAYS, when=always, weight=4, in_words=whether("received", "not received"))
def barrier_received(port: PersisterPort, ledger: Ledger) -> Answer[bool]:
    return port.barrier_received()


@step("observer", ALWAYS, when=started, weight=6, in_words=records)
def persisted(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[int, ...]]:
    return port.persisted(ledger.base + checkpoint)


fault = fault_step(STEPS, LIVE)
resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)

DRAIN = Drain[Ledger](
    Each(lambda ledger: [persisted(one) for one in (*ledger.input.states, *ledger.refused())]),
    Once((resources(), fail()), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Read what was written for every checkpoint, then release."""
BARRIERS = (barrier, aligned_barrier, timeoutable_barrier)
