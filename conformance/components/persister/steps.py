"""The steps of a channel state persister: the task starts and stops checkpoints, the network delivers."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.persister.ledger import Ledger
from conformance.driver import Drain, Each, Once, Steps, always
from conformance.parts.lifetime import fail_step, restart_step
from conformance.ports import Alignment, Announcement, Answer, Barrier, Buffer, Event, PersisterPort

LIVE = ("live",)
ALWAYS = ("live", "failed")

STEPS = Steps[PersisterPort, Ledger]()
step = STEPS.step


def near(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint, the newest one again, or the one before it."""
    newest = ledger.newest
    return ((newest + 1,), (newest,), (newest - 1,)) if newest > 1 else ((newest + 1,),)


def startable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """A checkpoint that was not started, with none or two records queued when it starts."""
    states = ledger.input.states
    return [(one, known) for (one,) in near(ledger) if one not in states for known in (0, 2)]


def started(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last three checkpoints that were started."""
    return [(one,) for one in list(ledger.input.states)[-3:]]


@step("task", LIVE, when=startable, learn=Ledger.start, weight=12, fails=True)
def start(port: PersisterPort, ledger: Ledger, checkpoint: int, known: int) -> Answer[None]:
    return port.start(checkpoint, ledger.known(known))


@step("task", LIVE, when=near, end=Ledger.stop, weight=6)
def stop(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.stop(checkpoint)


@step("network", LIVE, when=always, end=Ledger.came, weight=16)
def buffer(port: PersisterPort, ledger: Ledger) -> Answer[None]:
    return port.maybe_persist(Buffer((ledger.records,)))


@step("network", LIVE, when=always, weight=2)
def event(port: PersisterPort, ledger: Ledger) -> Answer[None]:
    return port.maybe_persist(Event(0))


@step("network", LIVE, when=near, end=Ledger.barrier)
def barrier(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[int | None]:
    return port.barrier(Barrier(checkpoint, Alignment.UNALIGNED))


@step("network", LIVE, when=near, weight=2)
def announcement(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[int | None]:
    return port.barrier(Announcement(checkpoint, 0))


@step("observer", LIVE, when=always, weight=4)
def barrier_received(port: PersisterPort, ledger: Ledger) -> Answer[bool]:
    return port.barrier_received()


@step("observer", ALWAYS, when=started, weight=6)
def persisted(port: PersisterPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[int, ...]]:
    return port.persisted(checkpoint)


fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)

DRAIN = Drain[Ledger](
    Each(lambda ledger: [persisted(one) for one in ledger.input.states]),
    Once((fail(),), unless=lambda ledger: ledger.failed),
)
"""Read what was written for every checkpoint, then release."""
