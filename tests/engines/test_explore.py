"""Exhaustive exploration of small scopes."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines.digest import Recogniser
from conformance.engines.explore import Explorer, ScopeError, scope_of
from conformance.engines.optimum import optimal_steps
from conformance.ports import find_implementation, find_known_bug


def explorer(component, implementation="reference", drain=True, **scope):
    program = Program(COMPONENTS[component], find_implementation(implementation))
    given = {key: str(value) for key, value in scope.items()}
    return Explorer(program, scope_of(program.component, given), drain=drain)


SMALL = [
    ("deque", {"elements": 2}),
    ("subpartition", {"elements": 2, "checkpoints": 1}),
    ("recovered-channel", {}),
    ("gate", {"channels": '["remote"]', "elements": 1, "recovery": "recover-first", "interleaving": "whole"}),
    ("gate", {"channels": '["local"]', "elements": 1, "recovery": "in-memory", "barriers": 0, "checkpoints": 0}),
    ("gate", {"channels": '["remote"]', "elements": 1, "recovery": "pushed", "interleaving": "whole"}),
]


@pytest.mark.parametrize(("component", "scope"), SMALL)
def test_the_reference_holds_in_every_run_of_a_small_scope(component, scope):
    result = explorer(component, **scope).explore()
    assert result.complete
    assert not result.found
    assert result.states > 20


def test_an_exploration_says_when_it_is_not_complete():
    assert not explorer("deque").explore(depth=2).complete
    assert not explorer("deque").explore(most_states=10).complete


def test_a_scope_without_anything_to_do_is_complete():
    result = explorer("deque", elements=0, failures=0).explore()
    assert result.complete
    assert result.states == 1


@pytest.mark.parametrize(
    ("component", "bug", "steps"), [("subpartition", "B-01", 4), ("gate", "B-G13", 1), ("deque", "B-D1", None)]
)
def test_the_first_violation_is_a_shortest_one(component, bug, steps):
    try:
        known = find_known_bug(bug)
    except Exception:
        pytest.skip(f"{bug} is not in the catalogue")
    optimum = optimal_steps(known, {})
    assert optimum is not None
    assert steps is None or optimum <= steps


def test_what_is_found_replays():
    bug = find_known_bug("B-01")
    program = Program(COMPONENTS["subpartition"], bug.build())
    scope = scope_of(program.component, {"elements": "2", "checkpoints": "1", "recovered": "0"})
    result = Explorer(program, scope).explore(until=bug.property)
    (found,) = [one for one in result.found if one.slug == bug.property]
    again = run_scenario(program, found.scenario.config, found.scenario.steps)
    assert again.violation is not None
    assert again.violation.signature == found.signature


def test_a_deadlock_is_found_by_exploration():
    bug = find_known_bug("B-02")
    program = Program(COMPONENTS["gate"], bug.build())
    scope = scope_of(program.component, {"channels": '["remote"]', "elements": "1"})
    found = Explorer(program, scope).explore(most_states=3000).found
    slugs = {one.slug for one in found}
    assert "threads-do-not-wait-in-a-circle" in slugs
    assert "locks-are-taken-in-one-order" in slugs


def test_recognising_states_loses_nothing():
    """The states reached within a depth are the same if every path is followed to its end."""
    depth = 4
    recognised = explorer("deque", drain=False, elements=2)
    recognised.explore(depth=depth)
    program, states = recognised.program, set()
    recogniser = Recogniser()

    def follow(path):
        from conformance.driver import World

        world = World(program, recognised.scope.config)
        counts = {"elements": 0, "failures": 0}
        for step in path:
            world.perform(step)
            counts["elements"] += step[0] in ("add", "add_priority")
            counts["failures"] += step[0] == "fail"
        if counts["elements"] > 2 or counts["failures"] > 1:
            return
        states.add((*counts.values(), recogniser.digest(world)))
        if len(path) < depth:
            for kind in program.component.steps:
                for operands in list(world.choices(kind.name)):
                    follow((*path, (kind.name, *operands)))

    follow(())
    assert len(states) == len(recognised._parents)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"wheels": "4"}, "has no scope key wheels; it has"),
        ({"elements": "many"}, "'many' is not a number"),
        ({"exclusive_buffers": "-3"}, "does not allow this configuration"),
    ],
)
def test_a_scope_that_makes_no_sense_is_told_in_words(given, words):
    with pytest.raises(ScopeError, match=words):
        scope_of(COMPONENTS["subpartition"], given)
