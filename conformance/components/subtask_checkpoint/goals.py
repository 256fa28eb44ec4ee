"""Situations that a campaign must have seen in a subtask checkpoint coordinator."""

from __future__ import annotations

from conformance.components.subtask_checkpoint import steps
from conformance.components.subtask_checkpoint.checkpoint import Stage
from conformance.components.subtask_checkpoint.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.models.designs import FAULTS
from conformance.ports import Alignment, CheckpointReason, StatePart, SubtaskCall

RULES = Rules[Ledger]("subtask-checkpoint")
goal = RULES.goal


@goal(steps.trigger)
def the_task_was_asked_for_an_aborted_checkpoint(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The task was asked for its part of an unaligned checkpoint that was aborted before its inputs were started."""
    one = ledger.checkpoints[seen.operands[0]]
    first = one.told[0] if one.told else None
    return seen.operands[0] > ledger.last and one.aborted and one.awaited and first is not SubtaskCall.WRITER_START


@goal(steps.trigger)
def a_checkpoint_was_dropped_that_the_writer_has_begun(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The task was asked for an older checkpoint that the channel state writer had begun."""
    return seen.operands[0] <= ledger.last and ledger.checkpoints[seen.operands[0]].has_channel_state()


@goal(steps.abort)
def a_checkpoint_was_aborted_between_its_start_and_its_barrier(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint was aborted whose inputs had started, and of which the task had not taken its part."""
    return ledger.checkpoints[seen.operands[0]].stage is Stage.STARTED


@goal(steps.abort)
def a_checkpoint_was_aborted_while_its_state_was_written(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint was aborted when a part of its state was final and another one was not."""
    one = ledger.checkpoints[seen.operands[0]]
    return one.stage is Stage.BEGUN and 0 < len(one.missing) < len(StatePart) and not one.failed


@goal(steps.abort)
def a_checkpoint_was_aborted_when_its_state_was_final(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint was aborted when all of its state was final and its asynchronous part had not run."""
    one = ledger.checkpoints[seen.operands[0]]
    return one.stage is Stage.BEGUN and not one.missing and not one.failed and not one.acknowledged


@goal(steps.advance)
def a_barrier_timed_out_while_the_outputs_were_written(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A barrier timed out before the channel state of the outputs was final."""
    timer = ledger.timer
    one = ledger.checkpoints[timer.checkpoint]
    return timer.checkpoint > 0 and StatePart.OUTPUTS in one.missing and timer.now + seen.operands[0] >= one.due


@goal(steps.trigger)
def a_barrier_left_while_an_older_one_could_time_out(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A timeoutable barrier left when the timer of an older one was running."""
    one = ledger.checkpoints[seen.operands[0]]
    return ledger.timer.checkpoint > 0 and one.alignment is Alignment.TIMEOUTABLE and not one.aborted


@goal(steps.finish_part)
def channel_state_was_the_last_to_be_final(ledger: Ledger, seen: Seen[None, int, str]) -> bool:
    """The in-flight data of the inputs was the last part of a checkpoint that was final."""
    return list(ledger.checkpoints[seen.operands[0]].missing) == [StatePart.INPUTS] == [seen.operands[1]]


@goal(steps.fail_part)
def channel_state_failed_in_a_shared_file(ledger: Ledger, seen: Seen[None, int, str, str]) -> bool:
    """Channel state of a checkpoint failed because another task failed that writes to the same file."""
    return seen.operands[2] == CheckpointReason.SHARED_STREAM and not ledger.checkpoints[seen.operands[0]].is_given_up()


@goal(steps.run_async)
def two_checkpoints_were_in_progress(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A newer checkpoint was final while an older one was still written."""
    older = [ledger.checkpoints[number] for number in ledger.running if number < seen.operands[0]]
    written = [one for one in older if one.missing and not one.is_given_up()]
    return not ledger.checkpoints[seen.operands[0]].missing and bool(written)


@goal(steps.decline)
def a_checkpoint_was_declined_that_had_begun(ledger: Ledger, seen: Seen[None, int, str]) -> bool:
    """The barrier handler gave up an unaligned checkpoint of which the task had taken its part."""
    return ledger.checkpoints[seen.operands[0]].stage is Stage.BEGUN


@goal(steps.run_async, needs=FAULTS)
def a_checkpoint_succeeded_after_one_that_was_refused(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint was final after the inputs had refused an older one."""
    refused = [one for one in ledger.checkpoints if CheckpointReason.DECLINED_TASK_NOT_READY in one.declined]
    return bool(refused) and not ledger.checkpoints[seen.operands[0]].missing


@goal(steps.trigger)
def a_task_took_its_part_after_it_was_cancelled(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The task's thread took its part of a checkpoint after another thread had cancelled the task."""
    return ledger.is_cancelled() and not ledger.checkpoints[seen.operands[0]].aborted
