"""Goals of the chain: situations that a campaign must have seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.components.chain import steps
from conformance.components.chain.answers import acknowledged, declines, is_unaligned
from conformance.components.chain.ledger import Ledger
from conformance.components.chain.rules import Took
from conformance.driver import Rules, Seen
from conformance.models.designs import IN_MEMORY, PASSES_LOCALLY, PUSHED, STEPPING, recovers
from conformance.ports import Barrier, ChainCheckpoint, CheckpointStatus, EndOfPartition, Recovery

RULES = Rules[Ledger]("chain")
goal = RULES.goal
Restored = Seen[ChainCheckpoint | None, int, str]


# ---- restores --------------------------------------------------------------------------------------------------------
def _restored(taken_in: Recovery, design: Recovery) -> Callable[[Ledger, Seen[Any]], bool]:
    """Returns the check that a checkpoint of a chain with one recovery design was restored with another one."""

    def check(ledger: Ledger, seen: Seen[Any]) -> bool:
        return ledger.history.completed[ledger.history.reading].design == taken_in and ledger.history.design == design

    return check


_DESIGNS = {
    Recovery.RECOVER_FIRST: "recovering first",
    Recovery.IN_MEMORY: "recovering in memory",
    Recovery.PUSHED: "recovering by pushing",
}
_TAKEN = {
    Recovery.NONE: ("a fresh start", "a chain that had recovered nothing"),
    **{design: (how, f"a chain with the recovery design {design.value}") for design, how in _DESIGNS.items()},
}
for _before, (_start, _chain) in _TAKEN.items():
    for _behind, _how in _DESIGNS.items():
        RULES.sight(
            f"from {_start} to {_how}".replace(" ", "-"),
            f"A checkpoint of {_chain} was restored with the recovery design {_behind.value}.",
            steps.restore, _restored(_before, _behind), recovers(_before) | recovers(_behind),
        )  # fmt: skip


@goal(steps.restore, needs=IN_MEMORY)
def a_checkpoint_taken_during_recovery_was_restored(ledger: Ledger, seen: Restored) -> bool:
    """A checkpoint was restored that had started while recovered data was not consumed."""
    return ledger.history.completed[ledger.history.reading].during_recovery


@goal(steps.restore)
def a_checkpoint_was_restored_twice(ledger: Ledger, seen: Restored) -> bool:
    """The same checkpoint was restored again."""
    return ledger.history.reading in ledger.history.saved


@goal(steps.restore)
def an_older_checkpoint_was_restored(ledger: Ledger, seen: Restored) -> bool:
    """A checkpoint was restored that was not the newest."""
    return 0 < ledger.history.reading < max(ledger.history.completed)


@goal(steps.restore)
def a_chain_started_from_nothing_again(ledger: Ledger, seen: Restored) -> bool:
    """After a restore, a chain was started without any checkpoint."""
    return ledger.history.reading == 0 and ledger.history.generation > 0


@goal(steps.restore)
def three_restores_in_a_row(ledger: Ledger, seen: Restored) -> bool:
    """A checkpoint was restored that a chain had taken after two restores in a row."""
    return ledger.history.completed[ledger.history.reading].depth >= 2


def _has_both_states(value: ChainCheckpoint) -> bool:
    return any(before and behind for before, behind in zip(value.input_state, value.output_state, strict=False))


@goal(steps.restore)
def both_kinds_of_channel_state_were_restored(ledger: Ledger, seen: Restored) -> bool:
    """Input and output state of one channel were restored together."""
    return seen.value is not None and _has_both_states(seen.value)


# ---- failures --------------------------------------------------------------------------------------------------------
@goal(steps.fail)
def a_chain_failed_before_it_requested(ledger: Ledger, seen: Seen[None]) -> bool:
    """A chain failed before it requested partitions, while recovered records were not counted."""
    return not ledger.is_connected() and ledger.recovering()


@goal(steps.fail)
def a_chain_failed_while_recovering(ledger: Ledger, seen: Seen[None]) -> bool:
    """A chain failed after it requested partitions, while recovered records were not counted."""
    return ledger.phase in steps.CONNECTED and ledger.recovering()


@goal(steps.fail)
def a_chain_failed_with_a_checkpoint_pending(ledger: Ledger, seen: Seen[None]) -> bool:
    """A chain failed while a checkpoint was pending."""
    return ledger.alignment.pending > 0


@goal(steps.fail)
def a_chain_failed_with_data_in_flight(ledger: Ledger, seen: Seen[None]) -> bool:
    """A chain failed after its recovery, while records were sent and not counted and no checkpoint was pending."""
    if ledger.phase != "live" or ledger.alignment.pending:
        return False
    return any(lane.counted < lane.sent for lane in ledger.lanes)


@goal(steps.fail, needs=STEPPING)
def a_chain_failed_in_the_middle_of_an_operation(ledger: Ledger, seen: Seen[None]) -> bool:
    """A chain failed while an operation was in flight."""
    return ledger.flying > 0


# ---- checkpoints -----------------------------------------------------------------------------------------------------
@goal(steps.consume, needs=IN_MEMORY)
def a_checkpoint_completed_before_anything_recovered_was_consumed(ledger: Ledger, seen: Took) -> bool:
    """A checkpoint completed before any recovered record of some channel was counted."""
    if not seen.signals or not acknowledged(seen.signals):
        return False
    return any(lane.counted == lane.begun < lane.input_end for lane in ledger.lanes)


@goal(steps.consume, needs=PUSHED)
def a_checkpoint_completed_with_recovered_data_not_pushed(ledger: Ledger, seen: Took) -> bool:
    """A checkpoint completed while recovered records were not pushed into their channel."""
    if not seen.signals or not acknowledged(seen.signals) or not ledger.recovering():
        return False
    return any(lane.input_next < lane.input_end for lane in ledger.lanes)


@goal(steps.consume)
def an_aligned_checkpoint_completed(ledger: Ledger, seen: Took) -> bool:
    """An aligned checkpoint completed."""
    done = acknowledged(seen.signals) if seen.signals else []
    return bool(done) and any(
        one in ledger.history.cuts and ledger.history.cuts[one].alignment == "aligned" for one in done
    )


@goal(steps.consume)
def a_checkpoint_completed_after_a_declined_one(ledger: Ledger, seen: Took) -> bool:
    """A checkpoint completed after another was declined."""
    declined = seen.signals and (ledger.alignment.declined or declines(seen.signals))
    return bool(declined and acknowledged(seen.signals))


@goal(steps.consume)
def a_checkpoint_completed_by_the_end_of_a_channel(ledger: Ledger, seen: Took) -> bool:
    """A checkpoint completed because a channel ended without sending its barrier."""
    ended = seen.value is not None and type(seen.value.element) is EndOfPartition
    return ended and acknowledged(seen.signals) != []


@goal(steps.consume, needs=PASSES_LOCALLY)
def a_barrier_passed_a_blocked_producer(ledger: Ledger, seen: Took) -> bool:
    """A barrier was taken from a channel whose producer was blocked."""
    if (value := seen.value) is None or not 0 <= value.channel < len(ledger.lanes):  # the rules notice it afterwards
        return False
    return is_unaligned(value.element) and ledger.lanes[value.channel].blocked


@goal(steps.consume)
def an_obsolete_barrier_was_consumed(ledger: Ledger, seen: Took) -> bool:
    """A barrier of a checkpoint that was over was consumed."""
    element = None if seen.value is None else seen.value.element
    return type(element) is Barrier and ledger.alignment.is_obsolete(element.checkpoint)


@goal(steps.snapshot)
def a_checkpoint_held_both_kinds_of_channel_state(ledger: Ledger, seen: Seen[ChainCheckpoint, int]) -> bool:
    """A completed checkpoint contained input and output state of the same channel."""
    return seen.value.status is CheckpointStatus.COMPLETED and _has_both_states(seen.value)
