"""The rules of the checkpoints of a job: when they end, what they hold. Specification: pipeline.md."""

from __future__ import annotations

from typing import Any

from conformance.components.pipeline import steps
from conformance.components.pipeline.checkpoints import Checkpoint
from conformance.components.pipeline.ledger import Ledger
from conformance.components.pipeline.rules import READBACK, found
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen
from conformance.models.designs import PASSES_LOCALLY, PASSES_REMOTELY
from conformance.ports import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    EdgeKind,
    JobCheckpoint,
)

RULES = Rules[Ledger]("pipeline")
rule = RULES.rule
Acted = Seen[Any, *tuple[Any, ...]]
Snapped = Seen[JobCheckpoint | None, int]


def _first_read(ledger: Ledger, seen: Snapped) -> Checkpoint | None:
    """Returns the checkpoint if its contents were read just now."""
    one = ledger.checkpoints.known.get(seen.operands[0])
    if one is None or one.contents is None or one.contents.checkpoint is not seen.value or not seen.value.states:
        return None
    return one


def _holds(ledger: Ledger, seen: Snapped, *about: str) -> Judgement:
    one = _first_read(ledger, seen)
    if one is None:
        return False
    assert one.contents is not None
    for what in about:
        if what in one.contents.broken:
            return one.contents.broken[what]
    return True


# ---- what a checkpoint holds -----------------------------------------------------------------------------------------
@rule(steps.snapshot, invariant="I-04", needs=READBACK, after_learning=True, tickets=("FLINK-40016", "FLINK-39018"))
def no_record_is_missing_in_a_checkpoint(ledger: Ledger, seen: Snapped) -> Judgement:
    """In a completed checkpoint, each record that a source counts as emitted is in flight on its way, or in the state
    of each vertex behind."""
    return _holds(ledger, seen, "lost")


@rule(steps.snapshot, invariant="I-34", needs=READBACK, after_learning=True, tickets=("FLINK-40016", "FLINK-39523"))
def a_record_is_in_a_checkpoint_once(ledger: Ledger, seen: Snapped) -> Judgement:
    """In a completed checkpoint, no record is in flight twice, in flight and in the state behind, or in a state
    twice."""
    return _holds(ledger, seen, "in flight twice", "arrived twice")


@rule(steps.snapshot, invariant="I-36", needs=READBACK, after_learning=True, tickets=("FLINK-20654",))
def nothing_in_a_checkpoint_is_from_behind_the_cut(ledger: Ledger, seen: Snapped) -> Judgement:
    """In a completed checkpoint, there is no record that its source does not count as emitted."""
    return _holds(ledger, seen, "from behind")


@rule(steps.snapshot, invariant="I-102", needs=READBACK, after_learning=True)
def each_split_is_in_one_place(ledger: Ledger, seen: Snapped) -> Judgement:
    """In a completed checkpoint, each split is not assigned, or is with one reader, at one position."""
    return _holds(ledger, seen, "places")


@rule(steps.snapshot, invariant="I-02", needs=READBACK, after_learning=True, tickets=("FLINK-17564",))
def records_of_a_key_are_counted_in_order(ledger: Ledger, seen: Snapped) -> Judgement:
    """Records of one split and key are counted in their order, over failures and restores, where each record with that
    key takes the same way."""
    if not ledger.graph.counts:
        return False
    return _holds(ledger, seen, "order")


@rule(steps.snapshot, invariant="I-05", needs=READBACK, after_learning=True, tickets=("FLINK-39523",))
def what_is_in_flight_is_stored_in_order(ledger: Ledger, seen: Snapped) -> Judgement:
    """Of each channel, the input state and then the output state are the records in the order in which they were
    sent."""
    if seen.value is None or not seen.value.in_flight:
        return False
    return _holds(ledger, seen, "channel")


@rule(steps.snapshot, invariant="I-10", needs=READBACK, after_learning=True, tickets=("FLINK-18136",))
def an_aligned_checkpoint_has_no_channel_state(ledger: Ledger, seen: Snapped) -> Judgement:
    """An aligned checkpoint and a savepoint have no channel state."""
    if seen.value is None or seen.value.kind not in (CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT):
        return False
    return _holds(ledger, seen, "aligned")


@rule(steps.snapshot, invariant="I-12", needs=READBACK, after_learning=True)
def pointwise_and_broadcast_edges_have_no_channel_state(ledger: Ledger, seen: Snapped) -> Judgement:
    """Forward, rescale and broadcast edges have no channel state."""
    kinds = {edge.kind for edge in ledger.graph.edges}
    if not kinds & {EdgeKind.FORWARD, EdgeKind.RESCALE, EdgeKind.BROADCAST}:
        return False
    return _holds(ledger, seen, "stateless")


@rule(steps.snapshot, invariant="I-83", needs=READBACK, after_learning=True)
def broadcast_reaches_each_subtask_once(ledger: Ledger, seen: Snapped) -> Judgement:
    """In a completed checkpoint, each subtask with broadcast state has each record of it once."""
    if not ledger.graph.joins:
        return False
    return _holds(ledger, seen, "broadcast lost", "broadcast twice")


@rule(steps.snapshot, invariant="I-105", needs=READBACK, after_learning=True)
def offsets_never_go_back(ledger: Ledger, seen: Snapped) -> Judgement:
    """From one completed checkpoint to the next, and after a restore, no split goes back."""
    return _holds(ledger, seen, "back")


@rule(steps.snapshot, invariant="I-52", needs=READBACK, after_learning=True)
def a_checkpoint_has_the_state_of_every_subtask(ledger: Ledger, seen: Snapped) -> Judgement:
    """A completed checkpoint has the state of each subtask of each vertex."""
    return _holds(ledger, seen, "final")


@rule(steps.snapshot, invariant="I-45")
def only_a_completed_checkpoint_can_be_read(ledger: Ledger, seen: Snapped) -> Judgement:
    """What a completed checkpoint holds can be read as long as the job exists, with its number and kind, and nothing of
    any other checkpoint."""
    one = ledger.checkpoints.known.get(seen.operands[0])
    if one is None:
        return False
    if not one.is_completed:
        return seen.value is None or Broken(
            FailureClass.PROTOCOL, f"checkpoint {one.number} is {one.state}, so it cannot be read", "it was read"
        )
    if seen.value is None:
        return Broken(FailureClass.LOST, f"checkpoint {one.number} is complete, so it can be read", "it is not there")
    if (seen.value.checkpoint, seen.value.kind) != (one.number, one.kind):
        return Broken(FailureClass.PROTOCOL, f"this is the {one.kind} checkpoint {one.number}",
                      f"it says to be the {seen.value.kind} checkpoint {seen.value.checkpoint}")  # fmt: skip
    return True


# ---- how checkpoints end ---------------------------------------------------------------------------------------------
@rule(*steps.HEARS, invariant="I-58", after_learning=True, signals=(CheckpointCompleted,))
def a_checkpoint_completes_when_every_task_has_acknowledged_it(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint completes only once every task that has not finished had a turn, and a message of it has arrived,
    since the checkpoint was triggered."""
    return found(ledger, "acknowledged")


@rule(*steps.HEARS, invariant="I-45", after_learning=True, signals=(CheckpointCompleted, CheckpointFailed))
def a_checkpoint_ends_once(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint that was triggered completes or fails, once."""
    return found(ledger, "end")


@rule(*steps.HEARS, invariant="I-45", after_learning=True, signals=(CheckpointCompleted,))
def no_older_checkpoint_completes_later(ledger: Ledger, seen: Acted) -> Judgement:
    """When a checkpoint has completed that is no savepoint, no older one completes that is none."""
    return found(ledger, "older")


@rule(steps.trigger, steps.stop_with_savepoint, invariant="I-45", after_learning=True)
def ids_of_checkpoints_increase(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint has a larger id than all before it, also over restarts and restores."""
    return found(ledger, "id") if seen.value.checkpoint else False


@rule(*steps.HEARS, invariant="I-57", after_learning=True, signals=(CheckpointFailed,))
def a_checkpoint_fails_for_the_reason_it_gives(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint expires after the timeout, is subsumed by a newer one, is declined by a task that is not ready, or
    fails of what was made to fail. A savepoint is not subsumed."""
    return found(ledger, "reason")


@rule(*steps.ACTS, invariant="I-54", after_learning=True, tickets=("FLINK-39018", "FLINK-38544"),
      needs=PASSES_LOCALLY | PASSES_REMOTELY)  # fmt: skip
def operators_that_stand_still_hold_up_no_checkpoint(ledger: Ledger, seen: Acted) -> Judgement:
    """Once all tasks are ready, an unaligned checkpoint completes although operators stand still, or data that was
    recovered is not taken."""
    if not ledger.throttled or not ledger.is_idle() or not ledger.is_live():
        return False
    judged = False
    for one in ledger.checkpoints.known.values():
        if one.kind is not CheckpointKind.UNALIGNED or not (one.all_ready and one.passes):
            continue
        if one.state == "pending" and one.losses == ledger.failures.losses:
            owed = f"all tasks were ready, so the unaligned checkpoint {one.number} completes"
            return Broken(FailureClass.STUCK, owed, "nothing is left to do, and it is pending")
        judged |= one.is_completed
    return judged
