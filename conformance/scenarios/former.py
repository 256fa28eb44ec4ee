"""Reads the steps of scenarios of schema 1. They differ from those of schema 2 only in the names in one table.

Schema 2 uses the names of the ports and of Flink. The event that ends recovered output state is a recovery completion
in every component, data is called a buffer, a channel requests its subpartition, and a gate requests its partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

OLDEST = 1
"""The oldest schema that the suite reads."""

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
"""For each component: the step names of schema 1 that schema 2 changed, and the names that these steps have now."""


def step_as_of_today(schema: int, component: str, step: Sequence[Any]) -> tuple[Any, ...]:
    """Returns a step of an older schema with its present name. A step that is not in the table has kept its name."""
    if schema > OLDEST or not step:
        return tuple(step)
    renamed = STEPS_OF_SCHEMA_1.get(component, {})
    return (renamed.get(step[0], step[0]), *step[1:])
