"""Situations that a campaign must have seen in a barrier handler."""

from __future__ import annotations

from typing import Any

from conformance.components.barrier_handler import steps
from conformance.components.barrier_handler.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.models.barriers import TIMEOUT

RULES = Rules[Ledger]("barrier-handler")
goal = RULES.goal


@goal(steps.advance)
def an_alignment_timed_out_with_barriers_announced_and_taken(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An alignment timed out when a barrier had been taken, another one was announced, and a third was awaited."""
    if not (ledger.alignment.begun and _times_out(ledger, seen) and ledger.left_behind()):
        return False
    announced, current = ledger.upstream.announced, ledger.alignment.current
    return any(announced.get(number, (0, 0))[0] != current for number in ledger.alignment.missing())


@goal(steps.advance)
def an_alignment_timed_out_before_its_first_barrier(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An alignment timed out when barriers had been announced and none was taken."""
    return not ledger.alignment.begun and _times_out(ledger, seen) and bool(ledger.left_behind())


def _times_out(ledger: Ledger, seen: Seen[None, int]) -> bool:
    alignment = ledger.alignment
    if not alignment.pending or alignment.overdue or alignment.is_unaligned():
        return False
    return ledger.upstream.is_overdue(alignment.current, later=seen.operands[0])


@goal(steps.timeoutable_barrier)
def the_last_barrier_of_an_overdue_alignment_came(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """The barrier that completes an alignment came when the alignment was overdue and no time had passed since."""
    channel, checkpoint = seen.operands
    alignment, upstream = ledger.alignment, ledger.upstream
    if checkpoint != alignment.current or alignment.overdue or alignment.missing() != [channel]:
        return False
    return upstream.timestamps.get(checkpoint, upstream.now) + TIMEOUT < upstream.now


@goal(*steps.BARRIERS)
def the_barrier_of_an_aborted_checkpoint_came(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """A barrier arrived whose checkpoint had been declined."""
    return seen.operands[1] in ledger.alignment.declined


@goal(steps.end_of_partition)
def the_end_of_a_channel_completed_a_checkpoint(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A channel ended whose barrier was the last one that was awaited."""
    return ledger.alignment.pending > 0 and ledger.alignment.begun and ledger.alignment.missing() == list(seen.operands)


@goal(*steps.BARRIERS)
def a_newer_barrier_came_during_a_checkpoint(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """A newer barrier came while an unaligned checkpoint was in progress."""
    return (
        ledger.alignment.pending > 0 and ledger.alignment.is_unaligned() and seen.operands[1] > ledger.alignment.current
    )


@goal(steps.aligned_barrier, steps.timeoutable_barrier)
def an_aligned_barrier_came_during_an_unaligned_checkpoint(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """An aligned barrier arrived whose checkpoint had been triggered unaligned."""
    return (
        ledger.alignment.pending > 0
        and ledger.alignment.is_unaligned()
        and seen.operands[1] == ledger.alignment.current
    )


@goal(steps.cancel_marker)
def a_cancel_marker_came_during_an_older_checkpoint(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """The cancel marker of a newer checkpoint came while one was in progress."""
    return ledger.alignment.pending > 0 and seen.operands[1] > ledger.alignment.current


@goal(steps.rpc_barrier)
def a_source_was_the_last_to_be_asked(ledger: Ledger, seen: Seen[None, int, int, str]) -> bool:
    """The checkpoint of other channels was completed by a source that was asked for it by a call."""
    return (
        ledger.alignment.begun
        and ledger.alignment.current == seen.operands[1]
        and ledger.alignment.missing() == [seen.operands[0]]
    )


@goal(steps.announcement)
def an_announcement_came_during_an_unaligned_checkpoint(ledger: Ledger, seen: Seen[None, Any, Any]) -> bool:
    """A barrier was announced after its checkpoint had been triggered unaligned."""
    return (
        ledger.alignment.pending > 0
        and ledger.alignment.is_unaligned()
        and seen.operands[1] == ledger.alignment.current
    )
