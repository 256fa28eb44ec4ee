"""What is said of an exploration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance import reporting
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.explore import Explorer
from conformance.engines.recognition import Recognition, collision_odds
from conformance.engines.scope import scope_of
from conformance.ports import find_implementation


def explored(component, depth, **scope):
    program = Program(COMPONENTS[component], find_implementation("reference"))
    given = {key: str(value) for key, value in scope.items()}
    return Explorer(program, scope_of(program.component, given), recognition=Recognition.HASH).explore(depth)


def test_of_drains_that_were_not_judged_it_is_not_said_that_nothing_failed():
    whole = explored("deque", 2)
    assert reporting.exploration_lines(whole)[0].startswith("Nothing failed in any run of at most 2 steps.")
    lines = reporting.exploration_lines(replace(whole, interrupted=True, undrained=3))
    assert lines[1].startswith("No step failed in any run of at most 2 steps.")
    assert lines[2] == f"The fair drain was not judged from 3 of {whole.states} states."


def test_the_odds_count_the_hashes_of_states_with_values_exchanged():
    scope = {"parallelism": 3, "alike": "subtask"}
    result = explored("coordinator", 2, **scope)
    odds = collision_odds(Recognition.HASH, 6 * result.states)
    assert reporting.exploration_document(result)["collision_odds"] == pytest.approx(odds)
    assert f"{odds:.0e}" in reporting.exploration_lines(result)[-1]
