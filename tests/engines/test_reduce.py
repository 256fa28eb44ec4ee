"""Reduction keeps the signature, ends within its budget, and ends alike every time."""

from __future__ import annotations

import pytest

from conformance.alphabets import alphabet_of, run_scenario
from conformance.alphabets.program import Program
from conformance.engines import Search, reduce
from conformance.ports import find_implementation


def failing(name: str):
    ready = Program(alphabet_of("subpartition"), find_implementation(name))
    search = Search(ready)
    for number in range(1000):
        scenario, run = search.run(f"reduce/{number}")
        if run.violation is not None and len(run.performed) > 12:
            return ready, scenario, run.violation
    raise AssertionError("nothing to reduce")


@pytest.mark.parametrize("name", ["known-bug:B-01", "known-bug:B-S6", "known-bug:B-S23"])
def test_the_signature_is_kept_and_the_result_is_locally_minimal(name):
    ready, scenario, violation = failing(name)
    reduced = reduce(ready, scenario)
    assert reduced.signature == violation.signature
    assert len(reduced.scenario.steps) < len(scenario.steps)
    for index in range(len(reduced.scenario.steps)):
        shorter = reduced.scenario.steps[:index] + reduced.scenario.steps[index + 1 :]
        run = run_scenario(ready, reduced.scenario.config, shorter)
        assert run.violation is None or run.violation.signature != violation.signature


def test_a_reduction_is_repeatable_and_keeps_its_budget():
    ready, scenario, _ = failing("known-bug:B-S6")
    assert reduce(ready, scenario) == reduce(ready, scenario)
    assert reduce(ready, scenario, budget=10).runs <= 10


def test_a_scenario_that_does_not_fail_is_refused():
    _, scenario, _ = failing("known-bug:B-S6")
    fixed = Program(alphabet_of("subpartition"), find_implementation("reference"))
    with pytest.raises(ValueError, match="does not fail"):
        reduce(fixed, scenario)
