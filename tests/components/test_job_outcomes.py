"""What a job commits depends neither on what fails and when, nor on the recovery design."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.components import COMPONENTS
from conformance.driver import Program, Run, run_scenario
from conformance.engines.compare import first_difference, outcomes
from conformance.engines.search import Search, seeds
from conformance.ports import Recovery, find_implementation
from conformance.scenarios import Entry, Scenario
from tests.components.keeping_job import splits_only
from tests.components.little_job import Little
from tests.components.test_little_job import component

PIPELINE = COMPONENTS["pipeline"]
_FAILS = frozenset({"fail", "fault", "lose"})
_LAST = frozenset({"kill", "cancel", "end", "stop_with_savepoint"})
"""The steps that let a job end, or be replaced by one that begins with a cut, which depends on the schedule."""
Other = Callable[[Scenario], Scenario]


def nothing_fails(scenario: Scenario) -> Scenario:
    return replace(scenario, steps=tuple(step for step in scenario.steps if step[0] not in _FAILS))


def later(scenario: Scenario) -> Scenario:
    """All that fails does so at the end."""
    fails = tuple(step for step in scenario.steps if step[0] in _FAILS)
    return replace(scenario, steps=(*nothing_fails(scenario).steps, *fails))


def recovered_by(design: Recovery) -> Other:
    def other(scenario: Scenario) -> Scenario:
        config = scenario.config
        return replace(scenario, config=replace(config, settings=replace(config.settings, recovery=design)))

    return other


def committed(run: Run) -> list[Any]:
    assert PIPELINE.outcome is not None
    return [one.outcome.value for one in PIPELINE.outcome(run.entries).entries if one.outcome is not None]


@pytest.mark.parametrize(
    "other",
    [nothing_fails, later, *map(recovered_by, (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED))],
    ids=["nothing fails", "later", "recover first", "in memory", "pushed"],
)
def test_the_outcome_is_the_same(other: Other):
    program = Program(PIPELINE, find_implementation("reference"))
    search, compared = Search(program), 0
    for seed in seeds("outcome", "pipeline", range(16)):
        drawn, _ = search.run(seed)
        scenario = replace(drawn, steps=tuple(step for step in drawn.steps if step[0] not in _LAST))
        runs = [run_scenario(program, one.config, one.steps, record=True) for one in (scenario, other(scenario))]
        assert [run.violation for run in runs] == [None, None]
        left, right = (committed(run) for run in runs)
        assert left, "the job is not over in the end"
        assert left == right, seed
        compared += any(left)
    assert compared > 7, "in most scenarios, something is committed"


def test_another_engine_comes_to_the_same_outcome():
    """Every step but the last ones differs, and that is no divergence."""
    programs = [Program(component(), one) for one in (Little(), find_implementation("reference-recover-first"))]
    search, compared = Search(programs[0]), 0
    for seed in seeds("engines", "pipeline", range(30)):
        scenario, _ = search.run(seed)
        runs = [run_scenario(one, scenario.config, scenario.steps, record=True) for one in programs]
        if not {step[0] for step in scenario.steps} & {"kill", "end", "cancel"}:
            assert committed(runs[0]) == committed(runs[1])
            assert first_difference(runs[0], runs[1]) is not None
            assert first_difference(*outcomes(PIPELINE, *runs)) is None
            compared += any(committed(runs[0]))
    assert compared > 2, "in some scenarios, something is committed"


def test_another_outcome_is_a_difference():
    program = Program(PIPELINE, find_implementation("reference"))
    config = PIPELINE.configs[0]
    runs = [run_scenario(program, config, (("supply", 0, count),), record=True) for count in (1, 2)]
    assert committed(runs[0]) != committed(runs[1])
    less = copy(runs[1])
    less.entries = (runs[1].entries[0], *runs[0].entries[1:])
    found = first_difference(*outcomes(PIPELINE, runs[1], less))
    assert found is not None
    assert found[1:] == ("output", "value")


def test_what_a_restored_job_commits_depends_on_the_cut():
    """A legal variant reads other splits first, so that its checkpoint is another one: no difference."""
    programs = [Program(PIPELINE, find_implementation(one)) for one in ("reference", "legal-variant:V-J12")]
    search = Search(programs[0])
    others = same = 0
    for seed in seeds("outc", "pipeline", (45, 46, 47, 50, 51)):
        scenario, _ = search.run(seed)
        left, right = (run_scenario(one, scenario.config, scenario.steps, record=True) for one in programs)
        assert [left.violation, right.violation] == [None, None]
        assert first_difference(*outcomes(PIPELINE, left, right)) is None
        is_restored = any(one.step[0] == "restore" and one.outcome is not None for one in left.entries)
        others += committed(left) != committed(right)
        same += bool(is_restored and outcomes(PIPELINE, left, right)[0].entries)
    assert others, "something else is committed"
    assert same, "most restores are compared"


def test_nothing_is_compared_behind_a_restore_of_which_only_splits_are_known():
    """What was in flight is part of the cut, so that equal offsets are not enough."""
    steps = (
        ("settle", "running"), ("supply", 0, 3), ("settle", "idle"), ("trigger", "aligned"),
        ("settle", "no-checkpoint"), ("kill",), ("restore", 1, "same", "recover-first", True),
    )  # fmt: skip
    program = Program(PIPELINE, find_implementation("reference"))
    run = run_scenario(program, PIPELINE.configs[0], steps, record=True)
    assert run.violation is None
    assert committed(run)
    bare = copy(run)
    bare.entries = tuple(_with_splits_only(one) if one.step[0] == "restore" else one for one in run.entries)
    assert committed(bare) == []


def _with_splits_only(entry: Entry) -> Entry:
    assert entry.outcome is not None
    return replace(entry, outcome=replace(entry.outcome, value=splits_only(entry.outcome.value)))
