"""A user's own two-phase sink in whole jobs on released Flink."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.bridges.flink.implementation import SINK_VARIABLE, flink_pipeline
from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.driver import Program, run_scenario
from conformance.ports import Limits
from tests.bridges.conftest import skip_without

EXAMPLE = Path(__file__).parents[2] / "examples/flink-sink/TwoPhaseSink.java"
RELEASE = "2.3.0"
TRIES = 3
SETTLED, RUNNING, DONE = (("settle", one) for one in ("idle", "running", "no-checkpoint"))
ALIGNED, SUPPLIED = ("trigger", "aligned"), (("supply", 0, 8), ("supply", 1, 8))
SINKS = (4, 5)
"""The tasks that write, of a job with two subtasks of each vertex."""
FAILED = (
    RUNNING, *SUPPLIED, SETTLED, ("fail", "task", SINKS[1], "in-snapshot"), ALIGNED, DONE, RUNNING, SETTLED, ALIGNED,
    DONE, SETTLED, ("output", 2), *SUPPLIED, ALIGNED, DONE, ("fail", "task", 0, "now"), SETTLED,
)  # fmt: skip
RESTORED = (
    RUNNING, *SUPPLIED, SETTLED, ALIGNED, DONE, *SUPPLIED, ("trigger", "unaligned"), DONE, ("snapshot", 2), ("kill",),
    ("restore", 2, "mixed", "recover-first", True), RUNNING, *SUPPLIED, SETTLED, ALIGNED, DONE, *SUPPLIED, ("end", 0),
    ("settle", "over"), ("output", 2),
)  # fmt: skip


@pytest.fixture
def own(own_class):
    own_class(EXAMPLE, SINK_VARIABLE, RELEASE)


def performed(scenario):
    """Runs it. On a busy machine, a cluster takes its time to start, and a job refuses a checkpoint: then once more."""
    for _ in range(TRIES):
        found = performed_once(scenario)
        if found.violation is not None or outputs(found):
            break
    return found


def outputs(found):
    return [one.outcome.value for one in found.entries if one.step == ("output", 2) and one.outcome is not None]


def performed_once(scenario):
    implementation = flink_pipeline(RELEASE)
    implementation.limit(Limits(120.0))
    try:
        program = Program(COMPONENTS["pipeline"], implementation)
        return run_scenario(program, make("keyed", 2), scenario, record=True)
    finally:
        implementation.close()


@pytest.mark.flink
@pytest.mark.parametrize("scenario", [FAILED, RESTORED], ids=["failed", "restored"])
def test_a_sink_that_commits_what_is_complete_is_accused_of_nothing(own, scenario):
    found = performed(scenario)
    assert found.violation is None
    assert sum(map(len, outputs(found)[-1])) >= 16  # what was supplied to the last job, at least


@pytest.mark.flink
def test_a_sink_that_commits_what_is_only_prepared_is_noticed(own, monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dearly=true")
    found = performed(FAILED).violation
    assert found is not None
    assert found.property.slug == "only-a-completed-checkpoint-is-committed"


@pytest.mark.flink
def test_a_name_in_the_environment_goes_to_the_jvm(monkeypatch):
    skip_without(RELEASE)
    monkeypatch.setenv(SINK_VARIABLE, "my.Sink")
    assert "-Dconformance.sink=my.Sink" in flink_pipeline(RELEASE).command()  # type: ignore[attr-defined]
