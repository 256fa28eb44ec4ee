"""Reduction keeps the signature, ends within its budget, and ends alike every time."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from conformance.components import COMPONENTS
from conformance.driver import Broken, FailureClass, Program, Run, Violation, run_scenario
from conformance.engines import Search, reduce, replay
from conformance.engines.explore import Explorer
from conformance.engines.kill import kill
from conformance.engines.reduce import AGAIN, IN_VAIN, Reduction
from conformance.engines.replay import ReplayVerdict
from conformance.engines.scope import Scope
from conformance.engines.simpler import Ranking, changes, with_exchanged_numbers, without_one_number
from conformance.ports import find_implementation
from conformance.scenarios import Scenario
from tests.engines import toy, toy_gate


def failing(name: str):
    ready = Program(COMPONENTS["subpartition"], find_implementation(name))
    search = Search(ready)
    for number in range(1000):
        scenario, run = search.run(f"reduce/{number}")
        if run.violation is not None and len(run.performed) > 12:
            return ready, scenario, run.violation
    raise AssertionError("nothing to reduce")


def failing_race(name: str):
    """A long scenario that shows a bug of the toy."""
    ready = toy.broken(name)
    search = Search(ready)
    for number in range(8000):
        scenario, run = search.run(f"race/{number}")
        found = run.violation
        if found is not None and found.property.slug == toy.BUGS[name].property and len(scenario.steps) > 12:
            return ready, scenario, found
    raise AssertionError("nothing to reduce")


def test_without_threads_a_step_with_the_name_of_a_turn_stays_what_it_is():
    component = COMPONENTS["coordinator"]
    program = Program(component, find_implementation("reference"))
    steps = (("run", 0, 1), ("finish", 0, 1), ("run", 1, 0))
    changed = {step for change in changes(program, steps) for step in change(steps)}
    assert ("run", 0, 0) in changed
    assert [step for step in changed if step[0] in ("run", "finish") and component.complaint(step)] == []
    ranking = Ranking(program)
    declared = [kind.name for kind in component.steps]
    assert sorted(declared, key=lambda name: ranking.of((name, 0, 0))) == declared


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


def test_nothing_is_run_twice():
    ready, scenario, _ = failing("known-bug:B-S23")
    seen: Counter[Scenario] = Counter()

    def judge(one: Scenario) -> Run:
        seen[one] += 1
        return run_scenario(ready, one.config, one.steps)

    reduced = reduce(ready, scenario, budget=150, judge=judge)
    assert sum(seen.values()) >= 150
    assert {one for one, count in seen.items() if count > 1} <= {scenario, reduced.scenario}


def test_drawing_again_ends_when_it_has_failed_alike_in_vain():
    ready, scenario, _ = failing("known-bug:B-S6")
    whole = Reduction(ready, scenario)
    assert whole.go_on(20_000)
    assert whole.vain == IN_VAIN
    assert whole.drawn < AGAIN // 5
    resumed = Reduction(ready, whole.best, whole.drawn, IN_VAIN - 1)
    assert resumed.go_on(20_000)
    assert (resumed.best, resumed.vain) == (whole.best, IN_VAIN)
    assert resumed.drawn > whole.drawn


def test_a_scenario_that_does_not_fail_is_refused():
    _, scenario, _ = failing("known-bug:B-S6")
    fixed = Program(COMPONENTS["subpartition"], find_implementation("reference"))
    with pytest.raises(ValueError, match="does not fail"):
        reduce(fixed, scenario)


@pytest.mark.parametrize("name", ["deadlock", "lost-wake-up"])
def test_a_race_becomes_as_short_as_exploration_says_it_can_be(name):
    ready, scenario, violation = failing_race(name)
    reduced = reduce(ready, scenario)
    assert reduced.signature == violation.signature
    most = {"arrivals": 2, "barriers": 1, "takes": 2, "other": 0}
    explorer = Explorer(ready, Scope(toy_gate.ToyConfig(1, "fine"), most), turns=("run", "finish"))
    exploration = explorer.explore(depth=8, until=violation.property.slug)
    (shortest,) = [one for one in exploration.found if one.slug == violation.property.slug]
    # The first one that is found may show at another operation than ours.
    assert len(reduced.scenario.steps) <= len(shortest.scenario.steps) + 1
    assert reduced.scenario.config == toy_gate.ToyConfig(1, "fine")


def test_two_sections_in_place_of_one_are_thirteen_steps():
    ready, scenario, _ = failing_race("two-sections")
    reduced = reduce(ready, scenario).scenario
    assert len(reduced.steps) == 13  # as exploration with two channels says; it takes too long here
    assert [step[0] for step in reduced.steps].count("run") == 1
    assert run_scenario(toy.program(), reduced.config, reduced.steps).violation is None


def test_what_needs_no_interleaving_is_reported_without():
    steps = (("push", 1), ("run", "recovery", ""), ("take",), ("run", "task", ""), ("finish", "task"))
    reduced = reduce(toy.broken("lock-order"), Scenario("toy-gate", toy_gate.ToyConfig(2, "fine"), steps)).scenario
    assert reduced == Scenario("toy-gate", toy_gate.ToyConfig(1), (("push", 0), ("take",)))


def test_channels_change_places_together_with_the_locks_named_after_them():
    ready = toy.broken("deadlock").within((toy_gate.ToyConfig(2, "fine"),))
    steps = (
        ("push", 1), ("take",), ("finish", "recovery"), ("convert", 1), ("run", "recovery", "channel 1 lock"),
        ("run", "recovery", "gate lock"), ("run", "task", "channel 1 lock"),
    )  # fmt: skip
    run = run_scenario(ready, ready.configs[0], steps)
    assert run.violation is not None
    reduced = reduce(ready, Scenario("toy-gate", ready.configs[0], steps), budget=300).scenario
    assert {operand for step in reduced.steps for operand in step[1:]} == {
        0, "task", "recovery", "gate lock", "channel 0 lock",
    }  # fmt: skip


def test_a_channel_that_is_not_needed_goes_with_all_its_steps_and_the_others_move_up():
    ready = Program(COMPONENTS["chain"], find_implementation("reference"))
    steps = (("barrier", 0, 1, "aligned"), ("barrier", 1, 1, "aligned"), ("request_partitions",), ("transfer", 1))
    found = list(without_one_number(ready, steps))
    assert found[0] == steps
    assert (("barrier", 0, 1, "aligned"), ("request_partitions",), ("transfer", 0)) in found
    assert (("barrier", 0, 1, "aligned"), ("request_partitions",)) in found
    assert list(without_one_number(ready, steps[:1])) == [steps[:1]]


def test_a_channel_changes_places_with_one_that_no_step_names():
    """In a simpler configuration, channel 1 may be the remote one."""
    ready = Program(COMPONENTS["chain"], find_implementation("reference"))
    steps = (("request_partitions",), ("transfer", 0))
    assert (("request_partitions",), ("transfer", 1)) in list(with_exchanged_numbers(ready, steps))


def test_lock_order_and_deadlock_are_never_mixed():
    ready, scenario, violation = failing_race("deadlock")
    reduced = reduce(ready, scenario)
    assert reduced.signature[0] == violation.property.slug == "threads-do-not-deadlock"
    found = run_scenario(ready, reduced.scenario.config, reduced.scenario.steps).violation
    assert found is not None
    assert found.signature == reduced.signature


def test_a_known_bug_of_a_component_with_threads_is_killed():
    killed = kill(toy.BUGS["deadlock"], "tests", 2000, components=toy.COMPONENTS)
    assert killed.shortest is not None
    assert killed.shortest.slug == "threads-do-not-deadlock"
    assert killed.shortest.scenario.finding is not None
    scenario, known = killed.shortest.scenario, toy.COMPONENTS
    assert replay(scenario, toy.BUGS["deadlock"].build(), components=known).verdict is ReplayVerdict.FAILED
    assert replay(scenario, toy_gate.Toy(), components=known).verdict is ReplayVerdict.FIXED


def test_only_a_fresh_scenario_that_fails_alike_is_drawn_in_vain(monkeypatch):
    """One that fails in another way is not run again, as one that does not fail."""
    ready, scenario, violation = failing("known-bug:B-S6")
    for signature, drawn, vain in (
        ((*violation.signature[:2], "another"), AGAIN, 0),
        (violation.signature, IN_VAIN, IN_VAIN),
    ):
        reduction = Reduction(ready, scenario)
        reduction._left = 20_000

        broken = Broken(FailureClass(signature[1]), "", "")
        run = Run(None, 0, Violation(violation.property, broken, (signature[2],)))
        run.performed = [*scenario.steps, *scenario.steps]
        fails = SimpleNamespace(run=lambda seed, harmless, run=run: (replace(scenario, steps=((seed,),)), run))
        monkeypatch.setattr(reduction, "_searches", lambda fails=fails: [fails])
        monkeypatch.setattr(reduction, "_deleted", lambda found: found)
        assert reduction._draw_again()
        assert (reduction.drawn, reduction.vain) == (drawn, vain)
