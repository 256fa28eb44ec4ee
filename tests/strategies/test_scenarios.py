"""`enabled_scenarios` draws steps that are enabled, finds what is planted, and shrinks to what fails."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings

from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines import read_scenario
from conformance.engines.replay import ReplayVerdict, replay
from conformance.ports import DataAvailable, Implementation, find_implementation
from conformance.suite import judge
from strategies import enabled_scenarios, scenarios
from tests.by_default import one_of
from tests.pages import ROOT
from tests.suite.toy_engine import ToySubpartition


def quick(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_every_step_is_enabled(component):
    ready = Program(COMPONENTS[component], find_implementation("reference"))
    names: set[str] = set()

    @seed(1)
    @quick(20)
    @given(enabled_scenarios(component))
    def check(scenario):
        run = run_scenario(ready, scenario.config, scenario.steps)
        assert tuple(run.performed) == scenario.steps
        names.update(step[0] for step in scenario.steps)

    check()
    assert len(names) > 4
    if ready.threads:
        assert {"run", "finish"} <= names


class Unsorted(ToySubpartition):
    """Its `put` takes no notice of priority."""

    def put(self, element):
        self.queue.append(element)
        if self.view and not self.blocked and not self.flushed and self.finished() == 1:
            self.emit(DataAvailable())


class Engine(Implementation):
    name, version, capabilities = "unsorted", "1", frozenset()

    def components(self):
        return {"subpartition": Unsorted}


def failing(strategy, number: int, implementation: Implementation | None = None):
    """The scenario to which 100 examples shrink, or None."""
    judged_on = Engine() if implementation is None else implementation
    judged = []

    @seed(number)
    @quick(100)
    @given(strategy)
    def check(scenario):
        judged.append(scenario)
        judge(scenario, judged_on)

    try:
        check()
    except AssertionError:
        return judged[-1]
    return None


@pytest.mark.parametrize("number", one_of(3, [0, 1, 2]))
@pytest.mark.parametrize("drawn_on", [None, Engine()], ids=["reference", "itself"])
def test_a_broken_put_of_a_queue_is_found_and_shrinks(drawn_on, number):
    scenario = failing(enabled_scenarios("subpartition", drawn_on), number)
    assert scenario is not None
    assert len(scenario.steps) == 2
    assert replay(scenario, Engine()).verdict is ReplayVerdict.FAILED


def test_steps_that_need_not_be_enabled_pass_over_it():
    assert failing(scenarios("subpartition"), 1) is None


@pytest.mark.parametrize("bug", one_of(3, ["B-06", "B-01", "B-37"]))
def test_a_known_bug_shrinks_to_as_few_steps_as_in_the_corpus(bug):
    """Most seeds do. Some end one or two steps longer, since Hypothesis draws the steps and not the reducer."""
    kept = read_scenario(ROOT / "tests" / "corpus" / f"{bug}.json")
    broken = find_implementation(f"known-bug:{bug}")
    found = [failing(enabled_scenarios(kept.component, broken), number, broken) for number in range(3)]
    lengths = [len(one.steps) for one in found if one is not None]
    assert min(lengths) == len(kept.steps)
    assert max(lengths) <= len(kept.steps) + 2


def test_a_scenario_of_full_length_can_be_shortened():
    found = find(
        enabled_scenarios("subpartition", most=4), lambda one: len(one.steps) > 1 and one.steps[-1] == ("poll",),
        settings=quick(500), random=None,
    )  # fmt: skip
    assert found.steps == (("attach_view",), ("poll",))


def test_a_scenario_has_no_more_steps_than_wanted():
    lengths = set()

    @seed(1)
    @quick(60)
    @given(enabled_scenarios("subpartition", most=7))
    def check(scenario):
        lengths.add(len(scenario.steps))

    check()
    assert max(lengths) == 7
    assert len(lengths) > 2
