"""Describes the results of steps that are plain numbers, truth values or lists: what they mean stands in no type.

A step names one of these functions, `in_words=records`, and reports show the result so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.models.records import in_words
from conformance.models.words import many

records = in_words
"""Describes record ids: `records 1, 2`."""


def records_by_channel(state: Sequence[Sequence[int]]) -> str:
    """Describes record ids by channel: `channel 0: record 1; channel 1: no record`."""
    return "; ".join(f"channel {channel}: {in_words(ids)}" for channel, ids in enumerate(state)) or "no record"


def buffers(count: int) -> str:
    """Describes a number of buffers."""
    return many(count, "buffer")


def checkpoint(number: int) -> str:
    """Describes a checkpoint by its id, which is at least 1."""
    return f"checkpoint {number}" if number > 0 else "no checkpoint"


def listed(noun: str) -> Callable[[Sequence[int]], str]:
    """Returns the description of numbers of such things: `items 1, 2`, or `no item`."""

    def describe(numbers: Sequence[int]) -> str:
        if not numbers:
            return f"no {noun}"
        return f"{noun}{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"

    return describe


checkpoints = listed("checkpoint")
"""Describes checkpoints by their ids: `checkpoints 1, 2`, or `no checkpoint`."""


def each_of(noun: str, owner: str) -> Callable[[Sequence[int | Sequence[int]]], str]:
    """Returns the description of things by whom each belongs to: `executor of subtasks 0, 1; executor of subtask 2`."""
    owners = listed(owner)

    def describe(things: Sequence[int | Sequence[int]]) -> str:
        each = [owners((one,) if isinstance(one, int) else one) for one in things]
        return "; ".join(f"{noun} of {one}" for one in each) or f"no {noun}"

    return describe


def whether(yes: str, no: str) -> Callable[[bool], str]:
    """Returns the description of a truth value."""
    return lambda value: yes if value else no


ADDED = whether("added", "not added")
IN_RECOVERY = whether("in recovery", "not in recovery")
INSERTED = whether("inserted", "not inserted")
AVAILABLE = whether("available", "not available")
FINISHED = whether("finished", "not finished")
