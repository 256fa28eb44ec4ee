"""Jobs that nobody steps, behind the wire: an engine at the level *job* is judged by the same rules and scenarios."""

from __future__ import annotations

import sys

import pytest

from conformance.bridges.jsonl import JsonLinesImplementation
from conformance.bridges.jsonl.unstepped import Unstepped
from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.driver import Program, run_scenario
from conformance.engines.search import Search, seeds
from conformance.ports import (
    Capability,
    CheckpointCompleted,
    Committed,
    ErrorKind,
    JobOver,
    JobStatus,
    PortError,
    Run,
    ThreadWoken,
    Until,
    find_implementation,
)
from tests.components.keeping_job import Keeping, ShowsNothing

SCENARIOS = 12
JOB = COMPONENTS["pipeline"]


@pytest.fixture
def served():
    """Serves the jobs of an implementation; ends the programs behind the test."""
    running = []

    def serve(name: str) -> JsonLinesImplementation:
        command = [sys.executable, "-m", "conformance.bridges.jsonl", "serve", "--unstepped", name]
        running.append(JsonLinesImplementation(command))
        return running[-1]

    yield serve
    for one in running:
        one.close()


def violations(implementation, scenarios=SCENARIOS):
    search = Search(Program(JOB, implementation))
    return [search.run(text)[1].violation for text in seeds("unstepped", "pipeline", range(scenarios))]


def test_the_reference_is_not_accused_although_nobody_steps_it(served):
    assert violations(served("reference")) == [None] * SCENARIOS


@pytest.mark.parametrize("bug", ["B-J33", "B-J38"])
def test_known_bugs_are_found_without_steps(served, bug):
    assert any(violations(served(f"known-bug:{bug}")))


def test_a_scenario_with_steps_runs_and_its_turns_are_skipped(served):
    """`settle` waits for the engine."""
    steps = (
        ("supply", 0, 3), ("work", "master"), ("work", "enumerator 0"), ("advance", 10), ("settle", "running"),
        ("settle", "idle"), ("trigger", "aligned"), ("work", "master"), ("settle", "no-checkpoint"), ("settle", "idle"),
        ("output", 2),
    )  # fmt: skip
    run = run_scenario(Program(JOB, served("reference")), make("keyed"), steps, record=True)
    assert run.violation is None
    assert [one.step for one in run.entries if not one.closing and one.outcome is None] == [
        one for one in steps if one[0] in ("work", "advance")
    ]
    signals = [signal for one in run.entries if one.outcome for signal in one.outcome.signals]
    assert not any(type(one) is ThreadWoken for one in signals)
    assert sum(type(one) is CheckpointCompleted for one in signals) >= 1
    assert [one.records for one in signals if type(one) is Committed] == [(Run(0, 2),)]


def test_it_claims_no_steps_and_refuses_them():
    reference = find_implementation("reference")
    unstepped = Unstepped(reference)
    assert reference.capabilities - unstepped.capabilities == {Capability.JOB_STEPS, Capability.STEPPING}
    assert set(unstepped.components()) == {"pipeline"}
    job = unstepped.components()["pipeline"](make("keyed").job())
    for operation, operands in (("threads", ()), ("work", ("master",)), ("lose", ("to 0/0",)), ("advance", (1,))):
        with pytest.raises(PortError) as caught:
            getattr(job, operation)(*operands)
        assert caught.value.kind is ErrorKind.ARGUMENT


class _NeverIdle(ShowsNothing):
    """Never says that nothing is left to do."""

    async def settle(self, until):
        return await super().settle(until) and until is not Until.IDLE


FAILS_BETWEEN_CUTS = (
    ("settle", "running"), ("fail", "task", 0, "between-cuts"), ("supply", 0, 3), ("trigger", "aligned"),
    ("settle", "idle"),
)  # fmt: skip
"""An operator coordinator that goes on with a checkpoint that was never complete has splits then that nobody reads."""


@pytest.mark.parametrize(
    ("name", "slug"), [("reference", None), ("known-bug:B-J117", "a-job-finishes-when-all-is-committed")]
)
def test_what_a_job_has_lost_that_does_not_come_to_rest_shows_at_its_end(name, slug):
    """As released Flink does not once it has lost a split."""
    engine = Keeping(name, _NeverIdle)
    run = run_scenario(Program(JOB, engine), make("keyed"), FAILS_BETWEEN_CUTS, record=True)
    assert (run.violation and run.violation.property.slug) == slug
    ends = [signal for one in run.entries if one.outcome for signal in one.outcome.signals if type(signal) is JobOver]
    assert [one.status for one in ends] == [JobStatus.FINISHED]


def shown(name, *steps):
    """Returns what is broken in an engine that shows only where splits are, and what was judged."""
    program = Program(JOB, Keeping(name))
    run = run_scenario(program, make("keyed"), steps)
    return run.violation and run.violation.property.slug, program.exercised(run.exercised)


@pytest.mark.parametrize(("name", "slug"), [("reference", None), ("known-bug:B-J117", "each-split-is-in-one-place")])
def test_a_split_that_is_nowhere_is_noticed_if_only_splits_are_shown(name, slug):
    broken, judged = shown(name, *FAILS_BETWEEN_CUTS, ("trigger", "aligned"), ("settle", "no-checkpoint"))
    assert broken == slug
    assert ("each-split-is-in-one-place" in judged) is (slug is None)
    assert "no-record-is-missing-in-a-checkpoint" not in judged


def test_what_a_savepoint_must_have_committed_is_known_from_its_splits():
    stops = (("settle", "running"), ("supply", 0, 3), ("stop_with_savepoint",), ("settle", "over"), ("snapshot", 1))
    broken, judged = shown("reference", *stops)
    assert broken is None
    assert "a-job-is-stopped-when-its-savepoint-is-committed" in judged
