"""A component that has a channel and an alignment is short, judges what it says, and accuses no right engine."""

from __future__ import annotations

import pytest

from conformance.driver import Program, Verdict
from conformance.engines import Search, check, reduce
from conformance.engines.explore import Explorer
from conformance.engines.scope import scope_of
from conformance.engines.search import seeds
from tests.components.aligner import ALIGNER, Aligner, Aligning, Forgets, ReadsOn, Twice

EARLY = "nothing-behind-an-aligned-barrier-is-taken-early"


def test_it_is_right_and_every_rule_and_goal_was_exercised():
    checked = check(Program(ALIGNER, Aligning()), 300, 0)
    assert {checked.verdict(one) for one in ALIGNER.properties} == {Verdict.PASSED}
    assert Explorer(Program(ALIGNER, Aligning()), scope_of(ALIGNER, {})).explore().complete


@pytest.mark.parametrize(
    ("wrong", "slug", "steps"),
    [
        (ReadsOn, EARLY, 3),
        (Forgets, "an-aligned-checkpoint-is-triggered", 4),
        (Twice, "a-checkpoint-is-triggered-once-and-in-order", 4),
    ],
)
def test_what_is_wrong_is_found_and_reduced(wrong: type[Aligner], slug: str, steps: int):
    search = Search(Program(ALIGNER, Aligning(wrong)))
    runs = (search.run(text) for text in seeds(0, "aligner", range(200)))
    scenario = next(scenario for scenario, run in runs if run.violation and run.violation.property.slug == slug)
    reduced = reduce(Program(ALIGNER, Aligning(wrong)), scenario)
    assert reduced.signature[0] == slug
    assert len(reduced.scenario.steps) <= steps
