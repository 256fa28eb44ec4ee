"""Every known bug is found by the property that must notice it, and its shortest scenario is short."""

from __future__ import annotations

import pytest

from conformance.engines import replay
from conformance.engines.kill import kill
from conformance.engines.replay import ReplayVerdict
from conformance.ports import find_implementation, known_bugs

BUDGET = 10_000
"""Scenarios in which a bug must be found, with the one seed of the default tests."""
LONGEST = {
    "chain": (20, 16), "deque": (18, 14), "gate": (14, 14), "local-channel": (8, 14), "remote-channel": (8, 14),
    "subpartition": (7, 14),
    "union-gate": (6, 18), "coordinator": (26, 26),
}  # fmt: skip
"""Steps of the shortest scenario at most, run whole and with pauses, where that is more: a chain has to be started, a
gate converted, a deque filled; a coordinator goes through a checkpoint or two, turn by turn."""


@pytest.mark.parametrize("bug", known_bugs(), ids=lambda bug: bug.id)
def test_a_known_bug_is_found(bug):
    result = kill(bug, "tests", BUDGET)
    assert result.killed, f"{bug.id} survives: {bug.summary}"
    assert result.shortest is not None
    scenario = result.shortest.scenario
    whole, fine = LONGEST.get(bug.component, (6, 14))
    assert len(scenario.steps) <= (whole if scenario.config.interleaving == "whole" else fine)
    assert replay(scenario, bug.build()).verdict is ReplayVerdict.FAILED
    assert replay(scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED
