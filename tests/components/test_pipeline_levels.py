"""Scenarios of jobs are reduced by levels: smaller jobs, parts, kinds of steps, stretches of turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.components.pipeline import COMPONENT
from conformance.components.pipeline.config import make
from conformance.driver import Program
from conformance.engines import Search, reduce
from conformance.engines.levels import stretches_of, without_half_stretches, without_parts
from conformance.engines.search import seeds
from conformance.scenarios import Scenario
from tests.components.little_job import BUGS, Little
from tests.components.test_little_job import component

assert COMPONENT.levels is not None
LEVELS = COMPONENT.levels


def failing(bug: str) -> tuple[Program, Scenario]:
    """The longest of the first failing scenarios."""
    program = Program(component(), Little(bug))
    search = Search(program)
    found = [scenario for scenario, run in map(search.run, seeds(0, "levels", range(60))) if run.violation is not None]
    return program, max(found, key=lambda scenario: len(scenario.steps))


@pytest.mark.parametrize("bug", ["forgets what is in flight", "restores the beginning", "finishes early"])
def test_a_long_scenario_becomes_a_few_steps_of_the_smallest_job(bug: str):
    program, scenario = failing(bug)
    assert len(scenario.steps) > 40
    reduced = reduce(program, scenario)
    assert reduced.signature[0] == BUGS[bug]
    assert len(reduced.scenario.steps) <= 6
    assert "work" not in {step[0] for step in reduced.scenario.steps}
    assert reduced.scenario.config == program.configs[0]


def test_each_run_of_a_job_counts_for_several():
    program, scenario = failing("restores the beginning")
    reduced = reduce(program, scenario, budget=30 * LEVELS.cost(scenario.config))
    assert not reduced.finished
    assert 30 <= reduced.runs <= 61  # two tasks cost half as much as four


def test_a_step_goes_to_the_task_the_split_and_the_thread_that_stand_for_its_own():
    old, new = make("two inputs", 2), make("keyed", 1)
    steps = (
        ("supply", 3, 8), ("throttle", 9, True), ("throttle", 4, True), ("fail", "task", 7, "now"),
        ("fail", "worker", 1, "now"), ("work", "task 3/1"), ("work", "link 2/1/0"),
        ("work", "link 0/1/0"), ("work", "enumerator 1"),
        ("work", "writer 1/0"), ("output", 4), ("state", 2), ("advance", 100),
    )  # fmt: skip
    assert LEVELS.moved(old, steps, new) == (
        ("supply", 1, 8), ("throttle", 2, True), ("throttle", 1, True), ("fail", "task", 1, "now"),
        ("fail", "worker", 1, "now"), ("work", "task 1/0"), ("work", "link 0/0/0"), ("work", "enumerator 0"),
        ("work", "writer 1/0"), ("output", 2), ("state", 1), ("advance", 100),
    )  # fmt: skip


def test_behind_a_restore_tasks_have_the_numbers_of_the_other_parallelism():
    old, new = make("keyed", 2), make("keyed", 1)
    steps = (("throttle", 5, True), ("restore", 1, "up", "pushed", True), ("throttle", 5, True), ("throttle", 8, True))
    assert LEVELS.moved(old, steps, new) == (
        ("throttle", 2, True), ("restore", 1, "up", "pushed", True), ("throttle", 3, True), ("throttle", 5, True),
    )  # fmt: skip


def test_smaller_worlds_have_no_settings_of_others():
    config = make("union", 2)
    found = list(LEVELS.worlds(config, COMPONENT.configs))
    assert make("one edge", 1) in found
    assert all(len(one.vertices) <= len(config.vertices) for one in found)
    assert {one.settings for one in found if one.vertices != config.vertices} == {config.settings}


def test_stretches_are_turns_in_a_row():
    steps = (("work", "a"), ("supply", 0, 1), *[("work", "a")] * 4, ("trigger", "aligned"), *[("work", "b")] * 2)
    assert stretches_of(LEVELS, steps) == [(2, 6), (7, 9)]
    halves = list(without_half_stretches(LEVELS, steps))
    assert (*steps[:2], ("settle", "idle"), *steps[4:]) in halves
    assert (*steps[:4], ("settle", "idle"), *steps[6:]) in halves
    assert next(without_parts(LEVELS, steps)) == steps[6:]


def test_a_level_names_steps_of_its_component():
    with pytest.raises(ValueError, match="a level names 'sleep'"):
        replace(COMPONENT, levels=replace(LEVELS, turns=("sleep",)))
