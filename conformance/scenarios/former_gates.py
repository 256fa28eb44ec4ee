"""Reads scenarios of gates as they were before a gate and a union of gates were one component.

The channels of a gate were not in a list of gates, and two of its steps did not say which gate is meant. A union was a
component of its own: its steps had other names where a gate has them too, and its barriers had no checkpoint, because
each channel counted its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

UNION = "union-gate"
"""The component that unions were."""
GATE = "gate"
_OF_ONE_GATE = frozenset({"convert", "request_partitions"})
"""Steps that name the gate now, which was the only one."""
_BARRIERS = frozenset({"aligned_barrier", "unaligned_barrier"})
_MOST_RECOVERED = 3
"""How many recovered records each channel of a union got at most."""

Read = tuple[str, dict[str, Any], tuple[tuple[Any, ...], ...]]
"""A component, a configuration and steps."""


def component_as_of_today(component: str) -> str:
    """Returns the present name of a component."""
    return GATE if component == UNION else component


def as_of_today(component: str, config: Mapping[str, Any], steps: Sequence[tuple[Any, ...]]) -> Read:
    """Returns the scenario with what it is called now. Every step stays where it was."""
    if component == UNION:
        return GATE, {"recovered": _MOST_RECOVERED, **config}, tuple(_steps_of_a_union(steps))
    if component != GATE:
        return component, dict(config), tuple(steps)
    now = dict(config)
    if "channels" in now:
        now["gates"] = [now.pop("channels")]
    return (
        component,
        now,
        tuple((*step, 0) if step and step[0] in _OF_ONE_GATE and not step[1:] else step for step in steps),
    )


def _steps_of_a_union(steps: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yields the steps of a union as those of a gate. Barriers get the newest checkpoint, if none of it was sent into
    their channel yet, or else the next one."""
    newest, last = 0, dict[Any, int]()
    for step in steps:
        name, operands = (step[0], step[1:]) if step else ("", ())
        if name in _BARRIERS and len(operands) == 1:
            (channel,) = operands
            checkpoint = newest if last.get(channel, 0) < newest else newest + 1
            newest = last[channel] = max(newest, checkpoint)
            yield name, channel, checkpoint
            continue
        if name == "restore":
            last.clear()
        yield ("cancel",) if name == "release" else step
