"""What Flink's integration tests of recovered state do holds for the reference, in each recovery design."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.components.pipeline import steps
from conformance.components.pipeline.config import make
from conformance.driver import Program, Run, run_scenario
from conformance.ports import (
    CheckpointCompleted,
    FailurePoint,
    FailureTarget,
    JobCheckpoint,
    JobSettings,
    JobTaskChanged,
    Recovery,
    TaskState,
    find_implementation,
)
from reference_impl.job.task import JobTask
from tests.scenarios.named_jobs import NAMED, TOPOLOGIES

PIPELINE = COMPONENTS["pipeline"]


def run_of(name: str, implementation: str) -> Run:
    scenario = NAMED[name]
    return run_scenario(
        Program(PIPELINE, find_implementation(implementation)), scenario.config, scenario.steps, record=True
    )


def completes_in_recovery(run: Run) -> bool:
    """Whether a checkpoint completes while a task restores."""
    states: dict[int, TaskState] = {}
    for signal in (one for entry in run.entries if entry.outcome is not None for one in entry.outcome.signals):
        if isinstance(signal, JobTaskChanged):
            states[signal.task] = signal.state
        elif isinstance(signal, CheckpointCompleted) and TaskState.INITIALIZING in states.values():
            return True
    return False


@pytest.mark.parametrize("name", NAMED)
def test_a_named_scenario_does_all_it_says_and_breaks_nothing(name: str):
    run = run_of(name, "reference")
    assert run.violation is None, run.violation
    assert [entry.step for entry in run.entries if entry.outcome is None] == []
    stored = [
        entry.outcome.value
        for entry in run.entries
        if entry.step[0] == "snapshot" and entry.outcome is not None and not entry.closing
    ]
    assert stored
    assert all(isinstance(one, JobCheckpoint) and one.in_flight for one in stored)
    # With the other designs, tasks take part in checkpoints only once they do not restore any more.
    assert completes_in_recovery(run) == ("three phases" in name and "pushed" in name)


def test_each_topology_is_restored_with_fewer_more_and_as_many_subtasks():
    for topology in TOPOLOGIES:
        parallelism = {name.split(", ")[-2]: NAMED[name] for name in NAMED if name.startswith(f"{topology}, ")}
        assert {"down", "up", "unchanged"} <= parallelism.keys()


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("keyed with broadcast, 7 to 2, pushed", "B-70-job"),
        ("pipeline, down, recover-first", "B-47-job"),
        ("three phases, up and down, pushed", "B-59-job"),
    ],
)
def test_a_named_scenario_finds_a_bug_that_released_flink_had(name: str, bug: str):
    run = run_of(name, f"known-bug:{bug}")
    assert run.violation is not None


def test_a_task_that_fails_keeps_no_promise_open_on_which_another_region_waits(monkeypatch: pytest.MonkeyPatch):
    """pipeline.md J11, subpartition.md S26. The tasks of two regions share a channel state file, and one fails behind
    its timeoutable barrier. It leaves the file only once nothing of it waits for output state that was promised."""
    settings = JobSettings(workers=2, recovery=Recovery.IN_MEMORY, sharing=2, regions=True, alignment_timeout=10)
    config = make("separate", 1, settings, faults=True)
    moves = [
        steps.supply(0, 1),
        steps.supply(0, 1),
        steps.fail(FailureTarget.TASK.value, 0, FailurePoint.BETWEEN_CUTS.value),
    ]
    program = Program(PIPELINE, find_implementation("reference"))
    assert run_scenario(program, config, moves).violation is None
    monkeypatch.delattr(JobTask, "end")
    violation = run_scenario(program, config, moves).violation
    assert violation is not None
    assert violation.property.slug == "every-checkpoint-ends"
