"""Situations of the coordinator that a campaign must have seen."""

from __future__ import annotations

from conformance.components.coordinator import steps
from conformance.components.coordinator.holding_rules import BLOCKED
from conformance.components.coordinator.ledger import Ledger
from conformance.components.coordinator.rules import UP
from conformance.driver import Rules, Seen
from conformance.ports import Message, Resources

RULES = Rules[Ledger]("coordinator")
goal = RULES.goal


@goal(steps.restart)
def subtasks_restarted_while_others_ran(ledger: Ledger, seen: Seen[None]) -> bool:
    """Failed subtasks were restarted from a checkpoint while others went on."""
    return ledger.points[0].number > 0 and any(one.state == "running" for one in ledger.alive)


@goal(steps.restart_all)
def the_job_restarted_during_a_checkpoint(ledger: Ledger, seen: Seen[None]) -> bool:
    """The whole job was restarted from a checkpoint, and a newer one was aborted by that."""
    return ledger.points[0].number > 0 and bool(ledger.failures.restarting[1])


@goal(steps.cut)
def a_cut_came_after_the_abort(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The coordinator completed its part of a checkpoint that had been aborted."""
    return ledger.checkpoints[seen.operands[0]].state == "aborted"


@goal(steps.abort)
def a_checkpoint_was_aborted_while_events_were_held_back(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint was aborted, and an event had not left."""
    return any(one.unsent for one in ledger.alive)


@goal(steps.abort, needs=BLOCKED)
def a_checkpoint_was_aborted_while_reports_were_held_back(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint was aborted, for example by a timeout, and a report had not left: the coordinator may have waited
    for it."""
    return any(one.unreported for one in ledger.alive)


@goal(steps.complete)
def checkpoints_overlapped_and_completed(ledger: Ledger, seen: Seen[tuple[tuple[Message, ...], ...], int]) -> bool:
    """A checkpoint completed that had begun while another one was in progress."""
    return ledger.checkpoints[seen.operands[0]].overlaps


@goal(steps.complete)
def a_checkpoint_subsumed_another(ledger: Ledger, seen: Seen[tuple[tuple[Message, ...], ...], int]) -> bool:
    """A checkpoint completed while an older one was in progress, which was aborted by that."""
    return bool(ledger.subsumed(seen.operands[0]))


@goal(steps.complete)
def a_checkpoint_completed_after_a_subtask_failed(
    ledger: Ledger, seen: Seen[tuple[tuple[Message, ...], ...], int]
) -> bool:
    """A checkpoint completed after a subtask that took part in it had failed."""
    return bool(ledger.dead_lines())


@goal(steps.complete)
def a_checkpoint_completed_with_a_finished_subtask(
    ledger: Ledger, seen: Seen[tuple[tuple[Message, ...], ...], int]
) -> bool:
    """A checkpoint or savepoint completed in which a finished subtask took no part."""
    return any(line.attempts and line.attempts[-1].state == "finished" for line in ledger.lines)


@goal(steps.restore, needs=UP)
def stored_reports_were_replayed_after_rescaling(ledger: Ledger, seen: Seen[Resources, int, int]) -> bool:
    """The job was restored with another parallelism from a checkpoint with stored reports."""
    number, parallelism = seen.operands
    stored = next(one.stored for one in ledger.points if one.number == number)
    return any(stored) and parallelism != len(stored)


@goal(steps.speculate)
def a_subtask_had_two_attempts(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A second attempt of a subtask was deployed while the first one ran."""
    return True
