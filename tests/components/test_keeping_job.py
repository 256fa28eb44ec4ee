"""Of an engine that keeps its checkpoints itself, the ledger remembers what is outside the job over all restores, also
of a checkpoint that is older than the one of the job before."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.search import Search, seeds
from tests.components.keeping_job import BUGS, Keeping, KeepingJob, ShowsNothing

SCENARIOS = 100
"""In the 47th, a ledger accused the honest engine once that forgot what jobs before the last one had committed."""


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
