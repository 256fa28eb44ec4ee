"""Phrases for the results and the messages of a channel state writer."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.models.answers import each_of, listed
from conformance.models.records import in_words
from conformance.ports import ChannelState

subtasks = listed("subtask")
"""Describes subtasks: `subtasks 0, 1`."""


executors_of = each_of("executor", "subtask")
"""Describes executors by the subtasks that use them."""


def executor_of(users: Sequence[int]) -> str:
    """Describes an executor by the subtasks that use it."""
    return f"executor of {subtasks(users)}"


def channel_state(states: Sequence[ChannelState] | None) -> str:
    """Describes the channel state of a checkpoint; None: nothing is stored."""
    if states is None:
        return "nothing is stored"
    channels = [
        f"{'output' if one.output else 'input'} channel {one.channel}: {in_words(one.records)}" for one in states
    ]
    return "; ".join(channels) or "no channel state"
