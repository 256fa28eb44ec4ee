"""The Hypothesis machine comes from the same declaration, and what it prints reads like a program."""

from __future__ import annotations

import sys

import pytest
from hypothesis import Verbosity, seed, settings
from hypothesis.internal.scrutineer import Tracer
from hypothesis.stateful import run_state_machine_as_test

from conformance.components import COMPONENTS
from conformance.driver import Broken, FailureClass, Program, Violation, run_scenario
from conformance.engines import check_with_hypothesis, replay, state_machine
from conformance.engines.corpus import corpus
from conformance.engines.guides import Guides
from conformance.engines.hypothesis_check import reproducible_settings, seed_of
from conformance.engines.replay import ReplayVerdict
from conformance.ports import find_implementation
from tests.engines.toy import BUGS, broken, program
from tests.engines.toy_gate import ToyConfig


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_the_machine_holds_on_the_reference(component):
    result = check_with_hypothesis(Program(COMPONENTS[component], find_implementation("reference")), 10, "tests")
    assert result.clean
    assert result.tally.steps > 150


@pytest.mark.slow  # as many examples again, with a watch on each step
@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_every_step_that_is_done_was_enabled(component, monkeypatch):
    ready = Program(COMPONENTS[component], find_implementation("reference"))
    machine = state_machine(ready)
    done = machine.do
    names = set()

    def do(self, step):
        assert self.world.enabled(step), step
        names.add(step[0])
        done(self, step)

    monkeypatch.setattr(machine, "do", do)
    run_state_machine_as_test(seed(1)(machine), settings=reproducible_settings(30))
    assert len(names) > 4
    if ready.threads:
        assert {"run", "finish"} <= names


def told(machine, number: int) -> str:
    """What Hypothesis prints of a failure."""
    loud = settings(reproducible_settings(600), verbosity=Verbosity.normal)
    with pytest.raises(Violation) as caught:
        run_state_machine_as_test(seed(number)(machine), settings=loud)
    return "\n".join(caught.value.__notes__)


def test_a_failing_example_reads_like_a_program():
    text = told(state_machine(Program(COMPONENTS["subpartition"], find_implementation("known-bug:B-88"))), 1)
    assert "state = KnownBugB88SubpartitionMachine()" in text
    assert "state.timeoutable_barrier(checkpoint=1)" in text
    assert "state.fair_drain()\nstate.teardown()" in text


@pytest.mark.slow  # it shrinks for seconds
def test_shrinking_gets_from_a_failing_step_to_a_failing_drain():
    machine = state_machine(Program(COMPONENTS["local-channel"], find_implementation("known-bug:B-06")))
    with pytest.raises(Violation) as caught:  # the example that fails first has seven steps, the last of them at fault
        run_state_machine_as_test(seed(0)(machine), settings=reproducible_settings(20))
    assert machine.last is not None
    assert machine.last.steps == (("checkpoint_started", 1),)
    assert caught.value.scenario == machine.last


def test_what_a_drain_violates_is_known_with_its_scenario():
    program = Program(COMPONENTS["local-channel"], find_implementation("known-bug:B-06"))
    minimal = next(scenario for name, scenario in corpus(program.component) if name == "B-06")
    machine = state_machine(program)()
    machine.begin(minimal.config)
    for step in minimal.steps:
        machine.do(step)
    with pytest.raises(Violation) as caught:
        machine.fair_drain()
    machine.teardown()
    assert machine.violation is caught.value
    assert caught.value.scenario == machine.last
    assert machine.last is not None
    assert machine.last.steps == minimal.steps


def test_turns_read_like_a_program(monkeypatch):
    ready = program().within((ToyConfig(1, "fine"),))
    machine = state_machine(ready)
    done = machine.do

    def do(self, step):
        done(self, step)
        if step[0] == "run":
            raise Violation(ready.answers, Broken(FailureClass.STUCK, "nobody may run", "somebody did"), step)

    monkeypatch.setattr(machine, "do", do)
    text = told(machine, 1)
    assert "state = ToyToyGateMachine()" in text
    assert "state.push(channel=0)\nstate.run(thread='recovery')" in text or "state.take()\nstate.run(thread=" in text


def test_what_hypothesis_finds_is_a_scenario_like_any_other():
    broken = find_implementation("known-bug:B-88")
    result = check_with_hypothesis(Program(COMPONENTS["subpartition"], broken), 1000, "tests")
    (found,) = result.found
    assert len(found.scenario.steps) == 2
    assert replay(found.scenario, broken).verdict is ReplayVerdict.FAILED
    assert replay(found.scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED


def test_hypothesis_finds_a_race_that_replays():
    ready = broken("lock-order")
    (found,) = check_with_hypothesis(ready, 300, "tests").found
    assert found.slug == BUGS["lock-order"].property
    again = run_scenario(ready, found.scenario.config, found.scenario.steps)
    assert again.violation is not None
    assert again.violation.signature == found.signature
    assert run_scenario(program(), found.scenario.config, found.scenario.steps).violation is None


@pytest.mark.skipif(
    not Tracer.can_trace() or hasattr(sys, "monitoring"), reason="Hypothesis sets no trace function here"
)
def test_hypothesis_does_not_trace_the_runs_that_make_a_guide():
    ready, tracers = program(), []

    def factory(config):
        tracers.append(sys.gettrace())
        return ready.factory(config)

    with Tracer(should_trace=True) as tracer:
        Guides(ready.made_by(factory)).scenario(1, 20)
        after = sys.gettrace()
    assert set(tracers) == {None}
    assert after == tracer.trace


def test_the_seed_for_hypothesis_depends_on_the_text_alone():
    """A search that is run again with a later version draws the same."""
    assert seed_of("0/deque") == 101799977712911400
