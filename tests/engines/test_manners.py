"""Manners of searching: each is a function of the seed, and performs nothing that is not enabled."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from conformance.components import COMPONENTS
from conformance.driver import RUN, Program
from conformance.engines import Search, manners, replay
from conformance.engines.corpus import corpus
from conformance.engines.manners import MANNERS
from conformance.ports import find_implementation

REFERENCE = find_implementation("reference")
SCHEDULING = ("pct-2", "pct-3", "pct-4", "partial-order")


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("component", ["deque", "gate", "pipeline"])
def test_a_scenario_is_the_same_again_and_the_reference_does_not_fail(component, manner):
    program = Program(COMPONENTS[component], REFERENCE)
    one, other = Search(program), Search(program)
    steps = set()
    for number in range(4):
        scenario, run = one.run(f"m/{number}", by=MANNERS[manner])
        assert run.violation is None
        assert other.run(f"m/{number}", by=MANNERS[manner])[0] == scenario
        entries = replay(scenario, REFERENCE).history.entries
        assert [entry.step for entry in entries if not entry.closing] == list(scenario.steps), "each step was enabled"
        steps.add(scenario.steps)
    assert len(steps) > 2


@pytest.mark.parametrize("manner", SCHEDULING)
def test_threads_go_on_pause_by_pause(manner):
    """Where operations pause, and several threads are in the middle of one."""
    search = Search(Program(COMPONENTS["chain"], REFERENCE))
    found = [search.run(f"t/{number}", by=MANNERS[manner])[0].steps for number in range(16)]
    turns = sum(step[0] == RUN for steps in found for step in steps)
    assert turns > sum(map(len, found)) / 5
    pairs = [pair for steps in found for pair in pairwise(steps)]
    assert sum(one[0] == other[0] == RUN and one[1] != other[1] for one, other in pairs) >= 4


def test_a_mutation_begins_like_a_scenario_of_the_corpus_and_is_none():
    stored = {one.steps for _, one in corpus(COMPONENTS["deque"])}
    search = Search(Program(COMPONENTS["deque"], REFERENCE))
    found = [search.run(f"m/{number}", by=MANNERS["mutation"])[0].steps for number in range(20)]
    assert sum(any(one[:2] == steps[:2] for one in stored) for steps in found) > 10
    assert sum(steps in stored for steps in found) < 5


def test_the_turns_of_a_bout_are_counted_from_the_first(monkeypatch):
    original = manners._bout
    bouts: list[list[int]] = []

    def bout(world, by_phase, length, draw, change):
        bouts.append([])

        def noted(at, *more):
            bouts[-1].append(at)
            change(at, *more)

        return original(world, by_phase, length, draw, noted)

    monkeypatch.setattr(manners, "_bout", bout)
    Search(Program(COMPONENTS["chain"], REFERENCE)).run("t/0", by=MANNERS["pct-3"])
    assert max(map(len, bouts)) > 1
    assert all(turns == list(range(len(turns))) for turns in bouts)


def test_two_scenarios_are_spliced_at_each_place_with_the_same_probability():
    steps, other = [("a",), ("b",)], [("c",), ("d",)]
    draws = [0.3, 0.5, 0.9]  # one from each third: there are three places in each
    found = [manners._splice(steps, other, iter((one, two)).__next__) for one in draws for two in draws]
    assert found == [steps[:one] + other[two:] for one in range(3) for two in range(3)]


def test_a_scenario_of_the_corpus_is_stored_with_its_shape():
    search = Search(Program(COMPONENTS["gate"], REFERENCE))
    assert len(search._shapes) > 1
    for shaped in search._shapes:
        manners._stored_config(search.program, shaped, Random(1).random)
        stored = shaped.kept["stored"]
        assert stored
        assert {search.program.component.settings.shape(one.config) for one in stored} == {shaped.shape.name}
