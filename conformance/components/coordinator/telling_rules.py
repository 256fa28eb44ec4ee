"""Rules of the coordinator about the notifications of the operator coordinator."""

from __future__ import annotations

from conformance.components.coordinator import steps
from conformance.components.coordinator.ledger import Ledger
from conformance.components.coordinator.rules import ANY, SETTLING
from conformance.components.coordinator.words import attempt
from conformance.components.coordinator.words import told as in_words
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen
from conformance.models import lifetime
from conformance.ports import (
    Capability,
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CoordinatorReset,
    Signal,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
)

RULES = Rules[Ledger]("coordinator")
rule = RULES.rule
ATTEMPTS = (SubtaskReady, SubtaskFailed, SubtaskReset, CoordinatorReset)
"""What the coordinator is notified of its attempts and of restarts."""


# ---- attempts --------------------------------------------------------------------------------------------------------
def _why_not(ledger: Ledger, signal: SubtaskReady | SubtaskFailed) -> str:
    """Returns why the coordinator must not be notified of this now; an empty text: it may be."""
    one, name = ledger.attempt(signal.subtask, signal.attempt), attempt(signal.subtask, signal.attempt)
    if type(signal) is SubtaskFailed:
        return "" if one is not None and one.state == "failed" and not one.told_failed else f"{name} has failed before"
    if one is None or one.state != "running":
        return f"{name} does not run"
    return f"{name} was ready before" if one.ready else ""


@rule(
    *ANY,
    invariant="CP26",
    tickets=("FLINK-22345",),
    signals=ATTEMPTS,
    formerly=(
        "the-coordinator-is-told-of-living-attempts-only",
        "the-coordinator-is-notified-of-running-attempts-only",
    ),
)
def the_coordinator_is_notified_of_what_has_happened(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The coordinator is notified that an attempt is ready while the attempt runs, that it failed when it has failed,
    and of a reset when it is restarted; of each once, and of nothing else."""
    for at, signal in enumerate(seen.signals):
        if type(signal) is SubtaskReady or type(signal) is SubtaskFailed:
            why = "it was notified of that before" if signal in seen.signals[:at] else _why_not(ledger, signal)
        elif type(signal) is SubtaskReset or type(signal) is CoordinatorReset:
            why = "" if ledger.failures.restarting[0] else "nothing is restarted"
        else:
            continue
        if why:
            owed = f"the coordinator must not be notified of this now: {in_words([signal])}"
            return Broken(FailureClass.PROTOCOL, owed, f"it was notified of it, and {why}")
    return True


@rule(*SETTLING, invariant="CP26", after_learning=True)
def a_running_attempt_becomes_ready(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When the main thread has nothing to do, the coordinator knows every attempt that runs."""
    if ledger.turns.queue:
        return False
    judged = False
    for one in ledger.alive:
        if one.state == "running":
            judged = True
            if not one.ready:
                owed = f"{attempt(one.subtask, one.number)} runs, so the coordinator must be notified that it is ready"
                return Broken(FailureClass.ORPHANED, owed, "the coordinator was not notified")
    return judged


@rule(*steps.FAILURES, invariant="CP26", tickets=("FLINK-20396",), formerly=("a-failure-is-told-and-resets-nothing",))
def a_failure_is_notified_and_resets_nothing(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """When an attempt fails, the coordinator is notified that it failed, and is not reset before the restart."""
    told = [one for one in seen.signals if type(one) is SubtaskFailed]
    wanted = SubtaskFailed(*seen.operands)
    if told != [wanted]:
        owed = f"the coordinator must be notified once that {attempt(*seen.operands)} failed"
        return Broken(FailureClass.PROTOCOL, owed, f"it was notified of this: {in_words(told)}")
    reset = [one for one in seen.signals if type(one) in (SubtaskReset, CoordinatorReset)]
    return not reset or Broken(
        FailureClass.PROTOCOL, "a subtask is reset when it is restarted", "it was reset when it failed"
    )


@rule(steps.restart, invariant="CP26", tickets=("FLINK-20396", "FLINK-20397", "FLINK-31041"))
def a_restart_resets_each_subtask_once(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """When failed subtasks are restarted, the coordinator is notified once of the reset of each of them, and of the
    checkpoint to which it is reset."""
    wanted = [SubtaskReset(subtask, ledger.points[0].number) for subtask in ledger.failures.restarting[0]]
    told = [one for one in seen.signals if type(one) in ATTEMPTS]
    if told == wanted:
        return True
    return Broken(
        FailureClass.PROTOCOL,
        f"the coordinator must be notified of this: {in_words(wanted)}",
        f"it was notified of this: {in_words(told)}",
    )


@rule(steps.restart_all, invariant="CP26", tickets=("FLINK-20222", "FLINK-31041"))
def a_restart_of_the_job_resets_the_coordinator_once(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """When the job is restarted, the coordinator is notified of each attempt that was there that it failed, in any
    order, and then once that it is reset, and to which checkpoint, also if there is none."""
    failed = [SubtaskFailed(*one) for one in ledger.failures.cancelled]
    wanted: list[Signal] = [*failed, CoordinatorReset(ledger.points[0].number)]
    told = [one for one in seen.signals if type(one) in ATTEMPTS]
    if sorted(told[:-1], key=repr) == sorted(failed, key=repr) and told[-1:] == wanted[-1:]:
        return True
    return Broken(
        FailureClass.PROTOCOL,
        f"the coordinator must be notified of this: {in_words(wanted)}",
        f"it was notified of this: {in_words(told)}",
    )


# ---- checkpoints -----------------------------------------------------------------------------------------------------
@rule(
    *ANY,
    invariant="CP27",
    tickets=("FLINK-32655",),
    signals=(
        CheckpointCompleteNotified,
        CheckpointAbortNotified,
    ),
    formerly=("the-end-of-a-checkpoint-is-told-once",),
)
def the_end_of_a_checkpoint_is_notified_once(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The coordinator is notified once that a checkpoint is complete, or once that it was aborted, whichever is
    true."""
    judged = False
    for at, signal in enumerate(seen.signals):
        if type(signal) is not CheckpointCompleteNotified and type(signal) is not CheckpointAbortNotified:
            continue
        checkpoint = ledger.checkpoints.get(signal.checkpoint)
        if checkpoint is None:
            continue
        judged = True
        word = "completed" if type(signal) is CheckpointCompleteNotified else "aborted"
        if checkpoint.told or signal in seen.signals[:at]:
            owed = f"the coordinator was notified of the end of checkpoint {checkpoint.number} before"
            return Broken(FailureClass.DUPLICATED, owed, f"it was notified again: {word}")
        if checkpoint.is_over() and checkpoint.state != word:
            owed = f"checkpoint {checkpoint.number} is {checkpoint.state}"
            return Broken(FailureClass.PROTOCOL, owed, f"the coordinator was notified that it was {word}")
    return judged


@rule(*SETTLING, invariant="CP27", tickets=("FLINK-32655",), after_learning=True)
def the_coordinator_learns_what_became_of_a_checkpoint(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When the main thread has nothing to do, the coordinator has been notified of the end of each checkpoint that it
    was asked for, except of a completed savepoint."""
    if ledger.turns.queue:
        return False
    judged = False
    for one in ledger.checkpoints.values():
        if one.must_tell:
            judged = True
            if not one.told:
                owed = f"checkpoint {one.number} is {one.state}, so the coordinator must be notified"
                return Broken(FailureClass.LOST, owed, "the coordinator was not notified")
    return judged


RULES.adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=frozenset({Capability.RESOURCES}))
