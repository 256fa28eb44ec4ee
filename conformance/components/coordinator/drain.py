"""The fair drain of a coordinator: everything arrives, what failed is restarted, and one more checkpoint completes."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.coordinator import steps
from conformance.components.coordinator.ledger import Ledger
from conformance.components.coordinator.sides import INJECTED, Checkpoint
from conformance.driver import Drain, Each, Once, While
from conformance.driver.step import AnyStep, Operands

_FLOW: tuple[AnyStep, ...] = (
    steps.turn, steps.run, steps.deliver, steps.reply, steps.arrive, steps.barrier, steps.cut, steps.inject,
    steps.complete,
)  # fmt: skip


def _flow(ledger: Ledger) -> Operands | None:
    """Returns the first of these steps that is enabled."""
    for one in _FLOW:
        if ledger.phase in one.during and (possible := one.when(ledger)):
            return one(*possible[0])
    return None


def _recover(ledger: Ledger) -> Operands | None:
    """Returns a step that lets a doomed attempt fail, restarts what has failed, or aborts what cannot complete."""
    if ledger.failed:
        return None
    if ledger.failures.failover:
        return steps.restart_all()
    for one in ledger.alive:
        if one.must_fail:
            return steps.fail_attempt(one.subtask, one.number)
    if ledger.dead_lines():
        return steps.restart()
    if ledger.abort_notifications:
        return steps.notify_aborted(*ledger.abort_notifications[0])
    hopeless = [one.number for one in ledger.pending() if _is_hopeless(one, ledger)]
    return steps.abort(hopeless[0]) if hopeless else None


def _is_hopeless(one: Checkpoint, ledger: Ledger) -> bool:
    """Whether nothing that is under way helps a checkpoint to complete."""
    return one.state == INJECTED or not ledger.turns.queue


def _last_checkpoint(ledger: Ledger) -> Sequence[Operands]:
    possible = () if ledger.failed else steps.trigger.when(ledger)
    return [steps.trigger(*possible[0])] if possible else []


def _last_words(ledger: Ledger) -> Sequence[Operands]:
    """An event to each subtask, and a report of each."""
    if ledger.failed:
        return []
    return [
        *(steps.send(*one) for one in steps.sendable(ledger)), *(steps.report(*one) for one in steps.reporting(ledger)),
    ]  # fmt: skip


def _failed(ledger: Ledger) -> bool:
    return ledger.failed


DRAIN = Drain[Ledger](
    While((_flow, _recover)),
    Each(lambda ledger: [*_last_words(ledger), *_last_checkpoint(ledger)]),
    While((_flow, _recover)),
    Each(_last_words),
    While((_flow, _recover)),
    Once((steps.resources(), steps.fail()), unless=_failed),
    Once((steps.resources(),)),
)
