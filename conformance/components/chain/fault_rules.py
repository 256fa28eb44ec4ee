"""Rules and goals of the chain about what fails when the chain calls it."""

from __future__ import annotations

from typing import Any

from conformance.components.chain import steps
from conformance.components.chain.answers import acknowledged, checkpoint_in_words
from conformance.components.chain.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, shared
from conformance.models import faults
from conformance.models.designs import FAULTS, READBACK
from conformance.models.faults import struck_by
from conformance.ports import CHANNEL_STATE_WRITER, ChainCheckpoint, ChainPort, CheckpointStatus

RULES = Rules[Ledger]("chain")
rule, goal = RULES.rule, RULES.goal
Restored = Seen[ChainCheckpoint | None, int, str]

WRITING = (steps.barrier, steps.transfer, steps.consume, steps.trigger)
"""The steps that write state of a checkpoint."""
STRIKEABLE = (*WRITING, steps.produce, steps.recover_output, steps.finish_output_recovery, steps.recover)

RULES.adopt(faults.an_operation_fails_with_what_it_calls, *STRIKEABLE, needs=FAULTS)
faults.see_strikes(RULES, ChainPort.can_fail, *STRIKEABLE)


@shared("I-52", struck=True)
def a_checkpoint_is_not_acknowledged_without_its_state(ledger: object, seen: Seen[Any]) -> Judgement:
    """An operation that cannot write state of a checkpoint acknowledges no checkpoint."""
    if struck_by(seen).place != CHANNEL_STATE_WRITER:
        return False
    done = acknowledged(seen.signals)
    if not done:
        return True
    owed = "the operation could not write state of a checkpoint, so it must acknowledge none"
    return Broken(FailureClass.LOST, owed, f"it acknowledged {checkpoint_in_words(done[0])}")


RULES.adopt(a_checkpoint_is_not_acknowledged_without_its_state, *WRITING, needs=FAULTS)


@rule(steps.snapshot, invariant="I-62", needs=FAULTS | READBACK)
def a_checkpoint_is_not_completed_without_its_state(ledger: Ledger, seen: Seen[ChainCheckpoint, int]) -> Judgement:
    """A checkpoint never completes if state of it could not be written: neither when the operation fails, nor before
    the chain is released, nor by the release."""
    if ledger.history.reading not in ledger.checkpoints.unwritten:
        return False
    if seen.value.status is not CheckpointStatus.COMPLETED:
        return True
    owed = f"state of checkpoint {ledger.history.reading} could not be written, so it must never be completed"
    return Broken(FailureClass.LOST, owed, f"its status is {seen.value.status}")


# ---- goals -----------------------------------------------------------------------------------------------------------
def _cannot_write(ledger: Ledger, seen: Seen[Any]) -> bool:
    return struck_by(seen).place == CHANNEL_STATE_WRITER


for _step, _slug, _statement in (
    (steps.barrier, "output-state-could-not-be-written", "A producer could not write output state."),
    (steps.transfer, "what-arrived-could-not-be-written", "A remote channel could not write what arrived."),
    (
        steps.consume,
        "what-was-queued-or-taken-could-not-be-written",
        "The consumer could not write what was queued when a checkpoint started, or what it took from a local channel.",
    ),
):
    RULES.sight(_slug, _statement, _step, _cannot_write, needs=FAULTS, struck=True)


@goal(*STRIKEABLE, needs=FAULTS, struck=True)
def something_failed_while_a_restored_chain_recovered(ledger: Ledger, seen: Seen[Any]) -> bool:
    """Something failed in a chain that was restored, before it had counted all recovered records."""
    return ledger.history.generation > 0 and ledger.recovering()


@goal(*STRIKEABLE, needs=FAULTS, struck=True)
def something_failed_again_while_the_chain_recovered_from_it(ledger: Ledger, seen: Seen[Any]) -> bool:
    """Something failed in a chain that was restored because something had failed, before it had counted all recovered
    records."""
    return ledger.history.fell_back and ledger.recovering()


@goal(*WRITING, needs=FAULTS, struck=True)
def a_checkpoint_during_recovery_could_not_be_written(ledger: Ledger, seen: Seen[Any]) -> bool:
    """State of a checkpoint could not be written while recovered records were not counted."""
    return _cannot_write(ledger, seen) and ledger.recovering()


@goal(steps.restore, needs=FAULTS)
def a_checkpoint_was_restored_after_something_had_failed(ledger: Ledger, seen: Restored) -> bool:
    """After something had failed, a checkpoint was restored that had completed before."""
    return ledger.history.broke and ledger.history.reading > 0
