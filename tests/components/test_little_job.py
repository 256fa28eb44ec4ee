"""The judge of jobs accuses an honest little job of nothing, and each dishonest one of what it does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from conformance.components.pipeline import COMPONENT
from conformance.components.pipeline.config import make
from conformance.driver import Component, Program, Run
from conformance.engines import Search
from conformance.engines.search import seeds
from conformance.ports import JobSettings, Recovery
from tests.components.little_job import BUGS, Little

_SETTINGS = JobSettings(recovery=Recovery.RECOVER_FIRST)


@cache
def component() -> Component:
    """The component with the graphs that the little job knows."""
    configs = tuple(make("one edge", many, _SETTINGS) for many in ((1, 1), (2, 1), (1, 2), (2, 2)))
    return replace(COMPONENT, configs=configs)


def first_failure(bug: str, most: int, slug: str = "") -> Run | None:
    """Returns the first run that fails, or the first in which this property does."""
    search = Search(Program(component(), Little(bug)))
    for text in seeds(0, "pipeline", range(most)):
        _, run = search.run(text)
        if run.violation is not None and slug in ("", run.violation.property.slug):
            return run
    return None


def test_an_honest_job_is_accused_of_nothing():
    run = first_failure("", 300)
    assert run is None, run.violation


@pytest.mark.parametrize("bug", BUGS)
def test_a_dishonest_job_is_found_out(bug: str):
    assert first_failure(bug, 300, BUGS[bug]) is not None, f"{bug}: not noticed as {BUGS[bug]}"
