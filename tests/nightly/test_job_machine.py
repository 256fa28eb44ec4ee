"""Hypothesis finds known bugs of whole jobs, and shrinks what it finds to what a person reads."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import check_with_hypothesis, replay
from conformance.engines.replay import ReplayVerdict
from conformance.ports import find_implementation, find_known_bug

pytestmark = pytest.mark.slow
BUGS = ("B-43-job", "B-47-job", "B-59-job", "B-60-job", "B-J2")
EXAMPLES = 300
MOST_STEPS = 10


@pytest.mark.parametrize("bug", BUGS)
def test_hypothesis_finds_a_known_bug_of_jobs(bug: str):
    broken = find_implementation(f"known-bug:{bug}")
    (found,) = check_with_hypothesis(Program(COMPONENTS["pipeline"], broken), EXAMPLES, "jobs").found
    assert found.slug in {find_known_bug(bug).property, "nothing-is-committed-twice-or-made-up"}
    assert len(found.scenario.steps) <= MOST_STEPS
    assert "work" not in {step[0] for step in found.scenario.steps}  # nobody reads turns
    assert replay(found.scenario, broken).verdict is ReplayVerdict.FAILED
    assert replay(found.scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED
