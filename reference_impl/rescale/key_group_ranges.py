"""Which key groups a subtask owns. Specification: assignment.md."""

from __future__ import annotations


def key_groups_of(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """A11. The key groups that a subtask owns, one after the other (Flink:
    `KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex`)."""
    first = -(-subtask * max_parallelism // parallelism)
    last = ((subtask + 1) * max_parallelism - 1) // parallelism
    return range(first, last + 1)
