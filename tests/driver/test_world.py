"""The driver: total semantics, a fair end to every run, and implementations that misbehave."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from conformance.components import COMPONENTS
from conformance.components.subpartition import SubpartitionScenarioConfig
from conformance.driver import ANSWERS, FailureClass, Program, run_scenario
from strategies import scenarios
from tests import implementations as made

CONFIG = SubpartitionScenarioConfig()


def program(implementation=None) -> Program:
    return Program(COMPONENTS["subpartition"], implementation or made.reference())


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_any_list_of_steps_is_a_scenario(component):
    ready = Program(COMPONENTS[component], made.reference())

    @settings(max_examples=40, deadline=None)
    @given(scenarios(component))
    def check(scenario):
        run = run_scenario(ready, scenario.config, scenario.steps, record=True)
        assert run.violation is None
        again = run_scenario(ready, scenario.config, run.performed, record=True)
        assert again.performed == run.performed
        assert [one for one in run.entries if one.outcome is not None] == list(again.entries)

    check()


def test_a_step_outside_the_domain_is_skipped():
    steps = [("restore", 3), ("persisted", 9), ("add_buffer", 99), ("poll",), ("aligned_timeout", 1)]
    run = run_scenario(program(), CONFIG, steps, record=True)
    assert run.performed == []
    assert [entry.outcome for entry in run.entries[:5]] == [None] * 5
    assert all(entry.closing for entry in run.entries[5:])


def test_the_drain_delivers_everything_and_releases():
    run = run_scenario(program(), CONFIG, [("open_buffer", 1), ("append",)], record=True)
    names = [entry.step[0] for entry in run.entries if entry.closing]
    assert names[0] == "attach_view"
    assert "poll" in names
    assert names[-2:] == ["fail", "resources"]


def test_an_asynchronous_implementation_is_judged_like_any_other():
    steps = [("add_buffer", 2), ("attach_view",), ("poll",), ("aligned_barrier", 1), ("poll",), ("resume",)]
    run = run_scenario(program(made.With(made.Asynchronous)), CONFIG, steps, record=True)
    assert run.violation is None
    assert run.entries == run_scenario(program(), CONFIG, steps, record=True).entries


@pytest.mark.parametrize(
    ("part", "failure_class", "said"),
    [
        (made.Raising, FailureClass.CRASHED, "it did not keep to the interface: ZeroDivisionError: one over nothing"),
        (made.Refusing, FailureClass.PROTOCOL, "it failed with an error of kind state"),
        (made.Nonsense, FailureClass.CRASHED, 'BufferAndBacklog | null`, got `str` - at `$`, found "a buffer"'),
        (made.NestedNonsense, FailureClass.CRASHED, 'got `str` - at `$.element`, found {"element":"element",'),
        (made.Pausing, FailureClass.PROTOCOL, "the operation paused"),
    ],
)
def test_misbehaviour_is_a_finding_with_the_history_so_far(part, failure_class, said):
    run = run_scenario(
        program(made.With(part)), CONFIG, [("open_buffer", 1), ("finish_buffer",), ("attach_view",)], record=True
    )
    assert run.violation is not None
    assert run.violation.property.slug == ANSWERS
    assert run.violation.broken.failure_class is failure_class
    assert said in str(run.violation)
    assert run.entries


def test_an_implementation_that_cannot_make_its_port_is_a_finding():
    run = run_scenario(program(made.NothingToMake()), CONFIG, [("add_buffer", 1)])
    assert run.violation is not None
    assert run.violation.broken.failure_class is FailureClass.CRASHED
    assert "no parts today" in str(run.violation)


def test_a_mistake_of_a_judge_is_not_blamed_on_the_implementation(monkeypatch):
    ready = program()
    move = ready.moves_in(CONFIG)["poll"]

    def stumble(ledger, seen):
        raise IndexError("our own mistake")

    move.judges.without_signals = (), ((0, stumble),), ()
    with pytest.raises(IndexError, match="our own mistake"):
        run_scenario(ready, CONFIG, [("add_buffer", 1), ("attach_view",), ("poll",)])
