"""Rules of the coordinator about a user's coordinator that throws. Specification: coordinator.md, O49 to O51."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.components.coordinator import steps
from conformance.components.coordinator.ledger import Ledger
from conformance.components.coordinator.rules import ANY
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen
from conformance.models.designs import FAULTS
from conformance.ports import (
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    FaultStruck,
    GlobalFailoverTriggered,
    ReportReceived,
    Signal,
)

RULES = Rules[Ledger]("coordinator")
rule = RULES.rule
CALLS = (CheckpointRequested, ReportReceived, CheckpointCompleteNotified, CheckpointAbortNotified)
STRUCK = (FaultStruck,)


def _threw_at(signals: list[Signal]) -> Signal | None:
    """Returns the call in which the coordinator threw: the last one before the fault has struck."""
    call = None
    for signal in signals:
        if type(signal) is FaultStruck:
            break
        if type(signal) in CALLS:
            call = signal
    return call


@rule(*ANY, invariant="CP36", needs=FAULTS, signals=STRUCK)
def a_coordinator_that_throws_fails_the_job(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If the coordinator throws when it is asked for its state or given a report, a restart of the whole job is asked
    for, unless one was asked for before."""
    if type(_threw_at(seen.signals)) not in (CheckpointRequested, ReportReceived):
        return False
    if ledger.failures.failover or GlobalFailoverTriggered in map(type, seen.signals):
        return True
    return Broken(
        FailureClass.LOST,
        "the coordinator threw, so the job must be restarted",
        "the failover of the job was not triggered",
    )


@rule(*ANY, invariant="CP36", needs=FAULTS, signals=STRUCK)
def a_checkpoint_fails_if_the_coordinator_throws(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If the coordinator throws when it is asked for its state, the result of that checkpoint is a failure at once."""
    call = _threw_at(seen.signals)
    if type(call) is not CheckpointRequested:
        return False
    if CoordinatorCheckpointed(call.checkpoint, False) in seen.signals:
        return True
    return Broken(
        FailureClass.LOST, f"the result of checkpoint {call.checkpoint} must be a failure", "it has no result"
    )


# ---- goals -----------------------------------------------------------------------------------------------------------
def _has_thrown_at(call: type) -> Callable[[Ledger, Seen[Any]], bool]:
    """Looked for when resources are counted, as in every drain: it would cost time to look after each operation."""
    return lambda ledger, seen: call.__name__ in ledger.failures.thrown


for _call, _when, _formerly in (
    (CheckpointRequested, "asked for its state", ()),
    (ReportReceived, "given a report", ()),
    (CheckpointCompleteNotified, "notified of a completed checkpoint",
     ("the-coordinator-threw-when-told-of-a-completed-checkpoint",)),
    (CheckpointAbortNotified, "notified of an aborted checkpoint",
     ("the-coordinator-threw-when-told-of-an-aborted-checkpoint",)),
):  # fmt: skip
    RULES.sight(
        f"the-coordinator-threw-when-{_when.replace(' ', '-')}", f"The coordinator threw when it was {_when}.",
        steps.resources, _has_thrown_at(_call), needs=FAULTS, formerly=_formerly,
    )  # fmt: skip
