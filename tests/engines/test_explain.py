"""Why the steps of a minimal scenario are there, and what a fresh process says of it."""

from __future__ import annotations

from pathlib import Path

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.explain import explain
from conformance.engines.fresh import in_fresh_process
from conformance.engines.replay import ReplayVerdict, read_scenario
from conformance.ports import find_known_bug
from conformance.scenarios import Finding, Scenario


def minimal(name: str) -> tuple[Program, Scenario]:
    scenario = read_scenario(Path(__file__).parent.parent / "corpus" / f"{name}.json")
    return Program(COMPONENTS[scenario.component], find_known_bug(name).build()), scenario


def test_every_step_of_a_minimal_scenario_is_necessary():
    program, scenario = minimal("B-01")
    reasons = explain(program, scenario)
    assert len(reasons) == len(scenario.steps)
    assert not any("in the same way" in reason for reason in reasons)
    assert all(reason.endswith("nothing fails") for reason in reasons)


def test_a_step_that_others_need_says_which():
    program, scenario = minimal("B-01")
    finish = next(index for index, step in enumerate(scenario.steps) if step[0] == "poll")
    assert explain(program, scenario)[finish] == "without it, nothing fails"
    attach = next(index for index, step in enumerate(scenario.steps) if step[0] == "attach_view")
    assert explain(program, scenario)[attach].startswith("without it, step")


def test_steps_are_counted_from_one_and_include_the_one_that_is_left_out():
    program, scenario = minimal("B-01")
    assert [step[0] for step in scenario.steps[1:3]] == ["attach_view", "poll"]
    assert explain(program, scenario)[1] == "without it, step 3 would be skipped, and nothing fails"
    idle = Scenario(scenario.component, scenario.config, (("poll",), *scenario.steps))
    assert explain(program, idle)[2] == "without it, steps 1, 4 would be skipped, and nothing fails"


def test_a_step_too_many_is_reported():
    program, scenario = minimal("B-01")
    longer = Scenario(scenario.component, scenario.config, (*scenario.steps[:1], ("flush",), *scenario.steps[1:]))
    assert explain(program, longer)[1] == "without it, the scenario fails in the same way"


def test_a_scenario_that_does_not_fail_has_nothing_to_explain():
    program, scenario = minimal("B-01")
    assert explain(program, Scenario(scenario.component, scenario.config, scenario.steps[:1])) == ()


def test_a_fresh_process_confirms_what_fails_and_only_that():
    _, scenario = minimal("B-01")
    assert in_fresh_process(scenario, "known-bug:B-01").confirms
    opinion = in_fresh_process(scenario, "reference")
    assert not opinion.confirms
    assert opinion.verdict == ReplayVerdict.FIXED.value
    other = Finding("sequence-numbers-have-no-gaps", "protocol", "known-bug:B-01")
    doubt = in_fresh_process(Scenario(scenario.component, scenario.config, scenario.steps, other), "known-bug:B-01")
    assert (doubt.verdict, doubt.confirms) == (ReplayVerdict.FAILED.value, False)
    assert doubt.told == "the scenario failed in another way"


def test_an_implementation_that_ends_its_process_fails_in_a_fresh_one_too():
    _, scenario = minimal("B-D9")
    opinion = in_fresh_process(scenario, "tests.campaigns.dying:in_deque")
    assert opinion.verdict == ReplayVerdict.FAILED.value
    assert opinion.reason.endswith("its process exited with status 9 (at new)")


def test_what_an_implementation_writes_to_stdout_does_not_matter():
    _, scenario = minimal("B-D9")
    assert in_fresh_process(scenario, "tests.campaigns.dying:writes").verdict == ReplayVerdict.FIXED.value


def test_an_implementation_that_cannot_be_made_confirms_nothing():
    _, scenario = minimal("B-D9")
    opinion = in_fresh_process(scenario, "tests.engines.hostile:exits_when_made")
    assert opinion.verdict == "UNKNOWN"
    assert "when it was loaded and made, its process exited with status 0" in opinion.reason
