"""The Hypothesis machine comes from the same declaration, and what it prints reads like a program."""

from __future__ import annotations

import pytest
from hypothesis import Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from conformance.alphabets import ALPHABETS, Violation, alphabet_of
from conformance.alphabets.program import Program
from conformance.engines import check_with_hypothesis, replay, state_machine
from conformance.engines.hypothesis_check import machine_settings
from conformance.engines.replay import ReplayVerdict
from conformance.ports import find_implementation


@pytest.mark.parametrize("component", sorted(ALPHABETS))
def test_the_machine_holds_on_the_reference(component):
    result = check_with_hypothesis(Program(alphabet_of(component), find_implementation("reference")), 60, "tests")
    assert result.clean
    assert result.tally.steps > 1000


def test_a_failing_example_reads_like_a_program():
    machine = state_machine(Program(alphabet_of("subpartition"), find_implementation("known-bug:B-88")))
    loud = settings(machine_settings(300), verbosity=Verbosity.normal)
    with pytest.raises(Violation) as caught:
        run_state_machine_as_test(seed(1)(machine), settings=loud)
    told = "\n".join(caught.value.__notes__)
    assert "state = SubpartitionMachine()" in told
    assert "state.timeoutable_barrier(checkpoint=1)" in told
    assert "state.teardown()" in told


def test_what_hypothesis_finds_is_a_scenario_like_any_other():
    broken = find_implementation("known-bug:B-88")
    result = check_with_hypothesis(Program(alphabet_of("subpartition"), broken), 300, "tests")
    (found,) = result.found
    assert len(found.scenario.steps) == 2
    assert replay(found.scenario, broken).verdict is ReplayVerdict.FAILED
    assert replay(found.scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED
