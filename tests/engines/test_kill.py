"""Every known bug is found by the property that must notice it, and its shortest scenario is short."""

from __future__ import annotations

from contextlib import closing

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import replay
from conformance.engines.kill import hunt, kill
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
FIRST = {bug.component: bug.id for bug in reversed(known_bugs())}
"""The bug of each component that is reduced in the default tests."""


@pytest.mark.parametrize("bug", known_bugs(), ids=lambda bug: bug.id)
def test_a_known_bug_is_found(bug):
    with closing(bug.build()) as implementation:
        seen = hunt(bug, Program(COMPONENTS[bug.component], implementation), "tests", BUDGET)
    assert seen.hits, f"{bug.id} survives: {bug.summary}"
    assert replay(seen.shortest, find_implementation("reference")).verdict is ReplayVerdict.FIXED


# Nine tenths of the time that a known bug takes is its reduction. The corpus keeps what all reductions came to.
@pytest.mark.parametrize(
    "bug",
    [pytest.param(bug, id=bug.id, marks=[] if bug.id in FIRST.values() else pytest.mark.slow) for bug in known_bugs()],
)
def test_the_shortest_scenario_of_a_known_bug_is_short(bug):
    result = kill(bug, "tests", BUDGET)
    assert result.shortest is not None
    scenario = result.shortest.scenario
    whole, fine = LONGEST.get(bug.component, (6, 14))
    assert len(scenario.steps) <= (whole if scenario.config.interleaving == "whole" else fine)
    assert replay(scenario, bug.build()).verdict is ReplayVerdict.FAILED
    assert replay(scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED
