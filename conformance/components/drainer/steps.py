"""The steps of a drainer: it pushes, the task takes and starts checkpoints, their state is written, all ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.components.drainer.ledger import Ledger
from conformance.driver import BROKEN, DISABLED, Drain, Each, Once, Steps, While, always
from conformance.models.answers import records_by_channel, whether
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.ports import Answer, Drained, DrainerPort, Piece, RecoveryTrigger

FETCHED, INSTALLED, LIVE = ("fetched",), ("installed",), ("fetched", "installed")
ALWAYS = (*LIVE, BROKEN, "failed")
MOST_CHECKPOINTS = 5
MOST_RECORDS = 6
"""How many checkpoints, and how many records of a channel, a scenario has."""

STEPS = Steps[DrainerPort, Ledger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def next_checkpoint(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint."""
    newest = ledger.recovered.newest
    return ((newest + 1,),) if newest < MOST_CHECKPOINTS else DISABLED


def abortable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Checkpoints that started and were not aborted."""
    return [(one,) for one in ledger.recovered.started if one not in ledger.written.aborted]


def known(ledger: Ledger) -> Sequence[tuple[int]]:
    """The newest three checkpoints."""
    newest = ledger.recovered.newest
    return [(one,) for one in range(max(1, newest - 2), newest + 1)]


def gates(ledger: Ledger) -> Sequence[tuple[int]]:
    """All gates."""
    return [(gate,) for gate in range(len(ledger.recovered.gates))]


def sends(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """Channels whose producer may send, with the next record."""
    recovered = ledger.recovered
    open_channels = recovered.open_channels(MOST_RECORDS)
    return [(*recovered.channels[channel], recovered.next_record(channel)) for channel in open_channels]


# ---- the task --------------------------------------------------------------------------------------------------------
@step("task", FETCHED, when=always, begin=Ledger.begin_waking, end=Ledger.end, learn=Ledger.install, weight=12)
def install(port: DrainerPort, ledger: Ledger) -> Answer[None]:
    return port.install()


@step("task", LIVE, when=next_checkpoint, begin=Ledger.begin_waking, end=Ledger.end, learn=Ledger.tried,
      weight=12, fails=True)  # fmt: skip
def checkpoint(port: DrainerPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint(checkpoint)


@step("task", LIVE, when=abortable, end=Ledger.abort, weight=3)
def abort(port: DrainerPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.abort(checkpoint)


@step("task", INSTALLED, when=gates, begin=Ledger.begin_alone, end=Ledger.end, learn=Ledger.take, weight=30)
def take(port: DrainerPort, ledger: Ledger, gate: int) -> Answer[Drained | None]:
    return port.take(gate)


# ---- the drainer, the producers, the writer, the canceler ------------------------------------------------------------
@step("drain", INSTALLED, when=always, begin=Ledger.begin_drain, end=Ledger.end_drain, learn=Ledger.drain,
      struck=Ledger.drain_struck, weight=40)  # fmt: skip
def drain(port: DrainerPort, ledger: Ledger) -> Answer[Piece | None]:
    return port.drain()


@step("network", INSTALLED, when=sends, begin=Ledger.arrive, end=Ledger.end, weight=6)
def buffer(port: DrainerPort, ledger: Ledger, gate: int, channel: int, record: int) -> Answer[None]:
    return port.arrive(gate, channel, record)


@step("executor", LIVE, when=always, begin=Ledger.begin_alone, end=Ledger.end, learn=Ledger.write,
      struck=Ledger.write_struck, weight=24,
      in_words=whether("wrote or gave up a part", "nothing was left to write"))  # fmt: skip
def write(port: DrainerPort, ledger: Ledger) -> Answer[bool]:
    return port.write()


@step("canceler", LIVE, when=always, begin=Ledger.begin_cancel, end=Ledger.cancel, weight=1, cancels=True)
def cancel(port: DrainerPort, ledger: Ledger) -> Answer[None]:
    return port.cancel()


# ---- observers and the driver ----------------------------------------------------------------------------------------
@step("observer", (*LIVE, BROKEN), when=known, learn=Ledger.look_back, weight=8, in_words=records_by_channel)
def stored(port: DrainerPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...] | None]:
    return port.stored(checkpoint)


@step("observer", LIVE, when=always, learn=Ledger.look, weight=6)
def trigger(port: DrainerPort, ledger: Ledger) -> Answer[RecoveryTrigger]:
    return port.trigger()


fault = fault_step(STEPS, INSTALLED, weight=2)
resources = resources_step(STEPS, ALWAYS, weight=4)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restart)


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _installed(ledger: Ledger) -> Any:
    return install() if ledger.phase == "fetched" else None


def _write(ledger: Ledger) -> Any:
    return write() if ledger.phase == "installed" and not ledger.lookers.found_nothing("writer") else None


def _drain(ledger: Ledger) -> Any:
    if ledger.recovered.handing_on:  # it must be able to go on, unless it waits for a buffer
        return drain() if ledger.phase in (*INSTALLED, BROKEN) and not ledger.is_waiting() else None
    return drain() if ledger.phase == "installed" and not ledger.lookers.found_nothing("drainer") else None


def _take(ledger: Ledger) -> Any:
    if ledger.phase != "installed":
        return None
    if ledger.is_waiting():  # only a gate in which recovered data waits helps
        return take(ledger.first_gate_in_use())
    return next(
        (take(gate) for gate in range(len(ledger.recovered.gates)) if not ledger.lookers.found_nothing(gate)), None
    )


def _looks(ledger: Ledger) -> Sequence[tuple[Any, ...]]:
    if ledger.phase == BROKEN:
        return [resources(), *(stored(checkpoint) for checkpoint in ledger.written.complete)]
    if ledger.phase != "installed":
        return ()
    return [trigger(), resources(), *(stored(checkpoint) for checkpoint in ledger.recovered.started)]


DRAIN = Drain[Ledger](
    While((_installed, _write)),
    Each(_looks),
    While((_drain, _take)),
    While((_write,)),
    Each(_looks),
    Once((resources(), fail()), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Write what was handed over, before anything more is pushed; push and take everything, write the rest, release."""
