"""Reads the steps of scenarios of older schemas: they have other names, or say less.

Schema 2 uses the names of the ports and of Flink. The event that ends recovered output state is a recovery completion
in every component, data is called a buffer, a channel requests its subpartition, and a gate requests its partitions.
In schema 3, a method of a port is one step, also where it must fail, and a fault says which call it strikes.
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
"""For each component: the step names of schema 1 that schema 2 changed, and the names that these steps have there."""

_OF_A_GATE: Mapping[str, tuple[Any, ...]] = {
    "recover_after_release": ("recover",),
    "convert_again": ("convert",),
    "request_partitions_too_early": ("request_partitions",),
    "poll_the_error": ("poll",),
    "poll_for_the_error": ("poll",),
    "poll_after_release": ("poll",),
    "end_of_output_state_again": ("end_of_output_state",),
    "convert_unknown_to_priority": ("convert_to_priority", 1000),
}
STEPS_OF_SCHEMA_2: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "subpartition": {
        "add_after_end": ("add_buffer", 1),
        "finish_again": ("finish",),
        "attach_view_again": ("attach_view",),
        "resume_unblocked": ("resume",),
    },
    "remote-channel": {
        "request_subpartition_again": ("request_subpartition",),
        "buffer_in_recovery": ("buffer", -1),
        "buffer_after_release": ("buffer", -1),
        "push_after_end": ("push_recovered",),
        "push_after_release": ("push_recovered",),
        "take_the_error": ("take",),
        "resume_after_release": ("resume",),
        "convert_unknown_to_priority": ("convert_to_priority", 1000),
        "convert_outdated_to_priority": ("convert_to_priority",),
    },
    "gate": _OF_A_GATE,
    "union-gate": {**_OF_A_GATE, "convert_early": ("convert",)},
    "recovered-channel": {"push_after_end": ("push_recovered", 1)},
    "local-channel": {"add_after_end": ("add_buffer",), "push_after_end": ("push_recovered",)},
    "coordinator": {
        "trigger_again": ("trigger", "checkpoint"),
        "acknowledge_unknown": ("acknowledge_again",),
    },
    "spill": {
        "append_to_unknown_channel": ("append", 1),
        "append_too_late": ("append", 0, 0, 1),
        "read_uncommitted": ("read", 1),
        "read_after_close": ("read", 1),
        "read_after_the_end": ("read", 1),
        "snapshot_after_close": ("snapshot", 4),
        "read_snapshot_again": ("read_snapshot", 1),
        "read_snapshot_after_the_end": ("read_snapshot", 1),
    },
}
"""For each component: the step names of schema 2 that schema 3 changed, each with the name that the step has now, and
with the operands that it has now behind those that it had."""
_FAULT = "fault", 2
"""A fault of schema 2 has two operands, place and kind, and strikes the next call."""
_LATE_BARRIER = "barrier_after_end", 2
"""A barrier of schema 2 that a subpartition rejects has a second operand: whether it is timeoutable."""


def step_as_of_today(schema: int, component: str, step: Sequence[Any]) -> tuple[Any, ...]:
    """Returns a step of an older schema with its present name and operands. A step in no table has kept its name."""
    found = tuple(step)
    if not found:
        return found
    if schema == OLDEST:
        found = (STEPS_OF_SCHEMA_1.get(component, {}).get(found[0], found[0]), *found[1:])
    if schema <= OLDEST + 1:
        if (found[0], len(found) - 1) == _FAULT:
            return (*found, 1)
        if component == "subpartition" and (found[0], len(found) - 1) == _LATE_BARRIER:
            return "timeoutable_barrier" if found[2] else "unaligned_barrier", found[1]
        name, *more = STEPS_OF_SCHEMA_2.get(component, {}).get(found[0], (found[0],))
        found = (name, *found[1:], *more)
    return found
