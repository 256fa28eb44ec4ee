"""Every known bug is found by the property that must notice it, and its shortest scenario is short."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from warnings import warn

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import read_scenario, replay
from conformance.engines.first_hits import hit, read_first_hits
from conformance.engines.kill import hunt, kill
from conformance.engines.replay import ReplayVerdict
from conformance.ports import KnownBug, find_implementation, known_bugs
from conformance.scenarios import Scenario
from tests.by_default import FIRST_HIT, tried

SEED = "0"
"""The seed of `make corpus`."""
BUDGET = 20_000
"""Scenarios in which a bug must be found with this seed."""
CORPUS = Path(__file__).parent.parent / "corpus"
HITS = read_first_hits(CORPUS)
LONGEST = {
    "chain": (20, 16), "coordinator": (30, 26), "deque": (18, 14), "drainer": (11, 14), "filter": (13, 18),
    "gate": (18, 18), "local-channel": (8, 14), "pipeline": (11, 14), "remote-channel": (8, 14), "spill": (7, 14),
    "subpartition": (7, 14), "task-restore": (9, 14), "writer": (10, 14),
}  # fmt: skip
"""Steps of the shortest scenario at most, run whole and with pauses, where that is more: a chain has to be started, a
gate converted, a deque filled, state fetched before a checkpoint reads it; a coordinator goes through a checkpoint or
two, turn by turn. Of a job, a checkpoint is taken in front of an operator that stands still, restored, and another one
taken at once."""
TURN_BY_TURN = {"B-06-job": 24, "B-J5": 16, "B-J310": 15, "B-J415": 16}
"""Steps of the shortest scenario that shows what no `settle` reaches: each message on its way to and from the job
master is a step. 1,500 fresh drawings of each of the first two found none that is shorter; the third is reduced from
its prefix in a job with two regions, and in the last one a notice of an abort is lost on its way."""


def test_the_first_hit_of_each_known_bug_is_kept_and_no_other():
    missing = [bug.id for bug in known_bugs() if bug.id not in HITS]
    assert not missing, f"conformance bugs --corpus tests/corpus {shlex.join(missing)}"
    assert HITS.keys() == {bug.id for bug in known_bugs()}


@pytest.mark.parametrize("bug", [tried(FIRST_HIT, bug.id, bug) for bug in known_bugs()])
def test_a_known_bug_is_found(bug):
    """In the scenario in which the search found it first. If it is not noticed there any more, the search begins anew;
    `make nightly` fails then, so that the tests do not stay slow."""
    with closing(bug.build()) as implementation:
        program = Program(COMPONENTS[bug.component], implementation).pinned(bug.shape)
        scenario = hit(bug, program, HITS[bug.id])
        if scenario is None:
            seen = hunt(bug, program, SEED, BUDGET, look_on=0)
            assert seen.hits, f"{bug.id} survives: {bug.summary}"
            scenario = seen.shortest
            warn(f"{bug.id} is found in another scenario than before. {refresh(bug)}", stacklevel=1)
    assert replay(scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED


def refresh(bug: KnownBug) -> str:
    return f"Write the first hits anew: conformance bugs --component {bug.component} --corpus tests/corpus"


def test_the_scenarios_of_the_corpus_are_short():
    scenarios = {bug.id: read_scenario(CORPUS / f"{bug.id}.json") for bug in known_bugs()}
    assert [name for name, one in scenarios.items() if len(one.steps) > longest(name, one)] == []


def longest(bug: str, scenario: Scenario) -> int:
    if bug in TURN_BY_TURN:
        return TURN_BY_TURN[bug]
    whole, fine = LONGEST.get(scenario.component, (6, 14))
    return whole if scenario.config.interleaving == "whole" else fine


# Nine tenths of the time that a known bug takes is its reduction. The corpus keeps what all reductions came to.
@pytest.mark.slow  # searches and reduces anew; first hits are tried by default
@pytest.mark.parametrize("bug", known_bugs(), ids=lambda bug: bug.id)
def test_the_whole_hunt_ends_where_it_did_before_with_a_short_scenario(bug):
    result = kill(bug, SEED, BUDGET)
    assert result.first_hit == HITS[bug.id], refresh(bug)
    assert result.shortest is not None
    scenario = result.shortest.scenario
    assert len(scenario.steps) <= longest(bug.id, scenario)
    assert replay(scenario, bug.build()).verdict is ReplayVerdict.FAILED
    assert replay(scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED
