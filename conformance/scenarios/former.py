"""How scenarios of an older schema are read: one table of names, and nothing else changed.

Schema 2 took over the names of the ports and of Flink: the event that ends recovered output state is a recovery
completion everywhere, what was called data is a buffer, a channel requests its subpartition and a gate its partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

OLDEST = 1
"""The oldest schema that is read."""

STEPS_OF_SCHEMA_1: Mapping[str, Mapping[str, str]] = {
    "subpartition": {
        "add": "add_buffer",
        "open": "open_buffer",
        "attach": "attach_view",
        "attach_again": "attach_view_again",
        "abort": "abort_checkpoint",
    },
    "persister": {"data": "buffer", "announce": "announcement"},
    "remote-channel": {
        "data": "buffer",
        "completion": "recovery_completion",
        "data_in_recovery": "buffer_in_recovery",
        "request": "request_subpartition",
        "request_again": "request_subpartition_again",
    },
    "local-channel": {
        "add": "add_buffer",
        "end_of_output_state": "recovery_completion",
        "request": "request_subpartition",
    },
    "gate": {
        "data": "buffer",
        "completion": "recovery_completion",
        "request": "request_partitions",
        "request_too_early": "request_partitions_too_early",
    },
    "union-gate": {"data": "buffer", "completion": "recovery_completion", "request": "request_partitions"},
    "chain": {"end": "end_of_partition"},
}
"""By component: the names of its steps in schema 1 that were changed, and what they are called since schema 2."""


def step_as_of_today(schema: int, component: str, step: Sequence[Any]) -> tuple[Any, ...]:
    """A step of an older schema in the words of this one. What is not in the table has kept its name."""
    if schema > OLDEST or not step:
        return tuple(step)
    renamed = STEPS_OF_SCHEMA_1.get(component, {})
    return (renamed.get(step[0], step[0]), *step[1:])
