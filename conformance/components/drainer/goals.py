"""Situations that a campaign must have seen in a drainer."""

from __future__ import annotations

from typing import Any

from conformance.components.drainer import steps
from conformance.components.drainer.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.ports import Drained, Piece

RULES = Rules[Ledger]("drainer")
goal = RULES.goal


@goal(steps.checkpoint)
def a_checkpoint_came_before_the_drainer(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint came while the state was fetched."""
    return ledger.phase == "fetched"


@goal(steps.checkpoint)
def a_checkpoint_found_data_in_memory_and_on_disk(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint started when records were pushed and not taken, and others were not pushed."""
    return seen.error is None and ledger.in_use() > 0 and ledger.fetched.left() > 0


@goal(steps.checkpoint)
def a_checkpoint_came_in_the_middle_of_a_segment(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint started when one record of a channel was pushed and the next of the same channel was not."""
    return seen.error is None and ledger.fetched.is_in_the_middle()


@goal(steps.checkpoint)
def two_checkpoints_started_while_state_was_pushed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A second checkpoint started before all state was pushed."""
    return seen.error is None and bool(ledger.recovered.started) and ledger.fetched.left() > 0


@goal(steps.checkpoint)
def a_checkpoint_met_the_drainer(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint started while the drainer was in the middle of a record."""
    return seen.error is None and ledger.recovered.handing_on and ledger.fetched.left() > 0


@goal(steps.checkpoint)
def a_checkpoint_started_while_the_drainer_waited_for_a_buffer(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint started while all buffers for recovered data were in use, and the drainer had another record."""
    return seen.error is None and ledger.is_waiting()


@goal(steps.cancel)
def a_task_was_cancelled_while_the_drainer_waited_for_a_buffer(ledger: Ledger, seen: Seen[None]) -> bool:
    """A task was cancelled while all buffers for recovered data were in use, and the drainer had another record."""
    return ledger.recovered.handing_on and ledger.fetched.left() > 0 and ledger.in_use() >= ledger.recovered.buffers


@goal(steps.write)
def a_snapshot_was_written_after_the_drainer_had_ended(ledger: Ledger, seen: Seen[bool]) -> bool:
    """A piece was written when everything was pushed, of a checkpoint that had started before that."""
    return seen.value is True and ledger.drained and any(map(ledger.fetched.holds_records, ledger.written.pending()))


@goal(steps.abort)
def a_checkpoint_was_aborted_before_it_was_written(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint was aborted that had data on disk, before the writer had nothing to do."""
    return ledger.fetched.holds_records(seen.operands[0]) and not ledger.lookers.found_nothing("writer")


@goal(steps.stored)
def a_complete_checkpoint_was_read_after_the_cancellation(
    ledger: Ledger, seen: Seen[tuple[tuple[int, ...], ...] | None, int]
) -> bool:
    """The input state of a checkpoint was read that had data on disk, after the task was cancelled."""
    (checkpoint,) = seen.operands
    return ledger.cancelled and ledger.written.is_kept(checkpoint) and ledger.fetched.holds_records(checkpoint)


@goal(steps.take)
def a_gate_was_read_to_its_end_while_another_was_not_read(ledger: Ledger, seen: Seen[Drained | None, int]) -> bool:
    """Live data came out of a gate when nothing was taken out of another one that had recovered data."""
    if seen.value is None:
        return False
    recovered = ledger.recovered
    return not recovered.left_in(recovered.number(seen.value.gate, seen.value.channel)) and any(
        recovered.state[other] and recovered.lanes[other].is_untouched()
        for other, (gate, _) in enumerate(recovered.channels)
        if gate != seen.value.gate
    )


@goal(steps.take)
def a_channel_without_fetched_state_was_read(ledger: Ledger, seen: Seen[Drained | None, int]) -> bool:
    """Live data came out of a channel for which nothing was fetched, when something was for another one."""
    if seen.value is None or not ledger.fetched.pieces:
        return False
    return not ledger.recovered.state[ledger.recovered.number(seen.value.gate, seen.value.channel)]


@goal(steps.drain)
def a_drainer_had_nothing_to_push(ledger: Ledger, seen: Seen[Piece | None]) -> bool:
    """A drainer ended that had nothing to push."""
    return not ledger.fetched.pieces and seen.value is None


@goal(steps.cancel)
def a_task_was_cancelled_before_the_drainer(ledger: Ledger, seen: Seen[None]) -> bool:
    """A task was cancelled while its state was fetched."""
    return (
        not ledger.fetched.committed
        and not ledger.drained
        and all(lane.is_untouched() for lane in ledger.recovered.lanes)
    )


@goal(steps.cancel)
def a_task_was_cancelled_while_state_was_pushed(ledger: Ledger, seen: Seen[None]) -> bool:
    """A task was cancelled when a part of the state was pushed."""
    return ledger.fetched.committed > 0 and ledger.fetched.left() > 0


@goal(steps.cancel)
def a_task_was_cancelled_while_a_checkpoint_was_written(ledger: Ledger, seen: Seen[Any]) -> bool:
    """A task was cancelled when the input state of a checkpoint was not complete."""
    return bool(ledger.written.pending()) and not ledger.lookers.found_nothing("writer")
