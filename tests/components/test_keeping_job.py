"""Of an engine that keeps its checkpoints itself, the ledger remembers what is outside the job over all restores, also
of a checkpoint that is older than the one of the job before."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.components.pipeline.prefixes import FIRST
from conformance.driver import Program, run_scenario
from conformance.engines.search import Search, seeds
from tests.components.keeping_job import BUGS, Keeping, KeepingJob, ShowsNothing

SCENARIOS = 100
"""A ledger that forgot what the jobs before the last one had committed accused the legal engine in the 47th."""


def violations(engine):
    search = Search(Program(COMPONENTS["pipeline"], engine))
    for text in seeds("keeping", "pipeline", range(SCENARIOS)):
        yield search.run(text)[1].violation


@pytest.mark.parametrize("kind", [KeepingJob, ShowsNothing])
def test_an_engine_that_keeps_its_checkpoints_is_accused_of_nothing(kind):
    engine = Keeping(kind=kind)
    assert [one for one in violations(engine) if one is not None] == []
    assert engine.restored["newest"] > 40
    assert engine.restored["older"] > 5


@pytest.mark.parametrize("bug", BUGS)
def test_what_it_does_wrong_is_noticed(bug):
    assert any(one is not None and one.property.slug == BUGS[bug] for one in violations(Keeping(bug=bug)))


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("reference", None),
        ("known-bug:B-59-job", "failures-do-not-change-what-is-committed"),  # without what was in flight
        ("known-bug:B-J47", "nothing-is-committed-twice-or-made-up"),  # with records from behind the barrier
    ],
)
def test_what_nobody_sees_of_a_checkpoint_shows_when_the_drain_lets_the_job_restore_it(name, slug):
    """Nothing fails in the scenario, whose last step reads the checkpoint."""
    program = Program(COMPONENTS["pipeline"], Keeping(name, ShowsNothing))
    run = run_scenario(program, make("keyed"), FIRST[1, 2], record=True)
    assert (run.violation and run.violation.property.slug) == slug
    fails = [one.closing for one in run.entries if one.step[0] == "fail"]
    assert fails == [True]
