"""The scope of an exploration: which runs stand for others, and which are left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines.explore import Explorer
from conformance.engines.scope import Scope, ScopeError, scope_of
from conformance.ports import find_implementation, find_known_bug

COORDINATOR = COMPONENTS["coordinator"]
SMALL = {"checkpoints": "1", "events": "1", "reports": "0", "aborts": "0", "failures": "0", "kinds": "1"}


def explorer(implementation=None, **given):
    program = Program(COORDINATOR, implementation or find_implementation("reference"))
    return Explorer(program, scope_of(COORDINATOR, {**SMALL, **given}))


def test_what_happens_at_once_leaves_runs_out():
    every, some = explorer(most_turns="1").explore(), explorer(at_once="turn").explore()
    assert every.complete
    assert some.complete
    assert 0 < some.states < every.states


def test_a_state_in_which_something_happens_at_once_is_no_state_of_its_own():
    made = explorer(at_once="turn,reply")
    assert made.explore().complete
    assert len(made._parents) > 20
    for at in range(len(made._parents)):
        world = made.expander.reach(made._path(at))
        assert not world.choices("turn")
        assert not world.choices("reply")


def test_what_is_found_with_steps_at_once_replays():
    explored = explorer(find_known_bug("B-O29").build(), at_once="turn", events="0", reports="1", aborts="1")
    result = explored.explore()
    assert result.complete
    assert "an-abort-lets-reports-go" in {one.slug for one in result.found}
    for one in result.found:
        again = run_scenario(explored.program, one.scenario.config, one.scenario.steps).violation
        assert again is not None
        assert again.signature == one.signature


def test_runs_that_are_alike_are_explored_once():
    every = explorer(at_once="turn,reply", parallelism="2")
    once = explorer(at_once="turn,reply", parallelism="2", alike="subtask")
    assert every.explore().complete
    assert once.explore().complete
    assert len(every._parents) / 2 <= len(once._parents) < len(every._parents)
    # Every state that was explored without the exchange is one that was explored, or the exchange of one.
    assert set(every._states) <= set(once._states)


def test_alike_runs_show_the_same_violations():
    given = {"at_once": "turn,reply", "parallelism": "2"}
    every, once = (
        {
            one.signature: len(one.scenario.steps)
            for one in explorer(find_known_bug("B-O1").build(), **scope).explore().found
        }
        for scope in (given, {**given, "alike": "subtask"})
    )
    assert "an-event-sent-after-the-cut-arrives-after-the-snapshot" in {slug for slug, *_ in every}
    assert every == once


def test_values_that_are_not_alike_are_an_error():
    component = replace(COORDINATOR, alike=lambda config: {"attempt": 2})
    program = Program(component, find_implementation("reference"))
    with pytest.raises(ScopeError, match=r"attempt is not alike: .* is not possible"):
        Explorer(program, scope_of(component, {"alike": "attempt"})).explore()


def test_a_step_that_can_always_happen_cannot_happen_at_once():
    with pytest.raises(ScopeError, match="nothing else ever happens: acknowledge_again, turn"):
        explorer(at_once="turn,acknowledge_again", rare="100000").explore()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"at_once": "turn,tunr"}, "it has no step 'tunr'"),
        ({"alike": "attempt"}, "treats alike, which are: subtask"),
    ],
)
def test_a_scope_says_what_is_wrong_with_it(given, words):
    with pytest.raises(ScopeError, match=words):
        scope_of(COORDINATOR, given)


def test_a_component_without_alike_values_says_so():
    with pytest.raises(ScopeError, match="which are: none"):
        scope_of(COMPONENTS["deque"], {"alike": "element"})


def test_a_scope_is_shown_as_it_was_given():
    given = scope_of(COORDINATOR, {"at_once": "turn,reply", "alike": "subtask", "events": "7"})
    shown = given.as_text()
    assert (shown["at_once"], shown["alike"], shown["events"]) == (["turn", "reply"], "subtask", 7)
    assert "at_once" not in Scope(given.config, {}).as_text()
