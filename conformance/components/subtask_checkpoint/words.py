"""Phrases for the messages of a subtask checkpoint coordinator's rules."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.models.signal_words import SUBTASK_CALLS
from conformance.ports import CheckpointReason, SubtaskCall


def happens(calls: Sequence[SubtaskCall], checkpoint: int) -> str:
    """Describes calls for a checkpoint in clauses, in the order in which they are made."""
    return "; ".join(SUBTASK_CALLS[call].format(checkpoint) for call in calls) or "nothing is called"


def weighed(reason: CheckpointReason) -> str:
    """Describes a reason, and whether the checkpoint coordinator counts it."""
    return f"{reason} (which {'counts' if reason.counts else 'does not count'} as a failure)"
