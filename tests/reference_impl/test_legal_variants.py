"""The legal variants of the reference: each can be made, is one small change, and differs from the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.driver import Program, run_scenario
from conformance.engines.compare import first_difference
from conformance.engines.replay import read_scenario
from conformance.ports import CheckpointFailed, CheckpointReason, legal_variants
from conformance.ports.changed import Package
from conformance.ports.changes import CATALOGUES

VARIANTS = legal_variants()
FOLDER = Path(__file__).resolve().parents[1] / "corpus" / "legal_variants"
each = pytest.mark.parametrize("variant", VARIANTS, ids=[one.id for one in VARIANTS])


def test_there_are_at_least_two_for_each_component_and_their_names_are_unique():
    assert len({one.id for one in VARIANTS}) == len(VARIANTS) >= 30
    counts = {name: sum(one.component == name for one in VARIANTS) for name in COMPONENTS}
    assert min(counts.values()) >= 2, counts


def test_the_folder_holds_a_scenario_for_each_of_them_and_nothing_else():
    """Written by `conformance variants --corpus tests/corpus/legal_variants`."""
    assert sorted(file.stem for file in FOLDER.glob("*")) == sorted(one.id for one in VARIANTS)


@each
def test_a_legal_variant_is_a_small_change_and_one_sentence(variant):
    assert variant.summary.endswith(".")
    assert ". " not in variant.summary
    lines = [line for line in variant.change.splitlines() if line[:1] in "-+" and not line.startswith("--- ")]
    assert 1 <= len(lines) <= 40, "this is not a small change"
    assert Package("reference_impl", CATALOGUES).changed_texts(variant.change)


@each
def test_its_history_differs_in_the_scenario_of_the_corpus_and_nobody_accuses_it(variant):
    scenario = read_scenario(FOLDER / f"{variant.id}.json")
    assert scenario.component == variant.component
    original, changed = (
        run_scenario(Program(COMPONENTS[scenario.component], one()), scenario.config, scenario.steps, record=True)
        for one in (variant.original, variant.build)
    )
    assert (original.violation, changed.violation) == (None, None)
    assert first_difference(original, changed) is not None


def test_a_source_that_is_not_ready_declines_a_checkpoint_of_a_job():
    """V-J20. The sources of the reference run before a trigger can come, so that no job of it declines as not ready."""
    (variant,) = [one for one in VARIANTS if one.id == "V-J20"]
    early = (("supply", 0, 1), ("work", "task 0/0"), ("work", "task 1/0"), ("trigger", "aligned"))
    steps = (*early, *[("work", "master")] * 4, ("work", "to 0/0"), *[("work", "task 0/0")] * 3, ("settle", "idle"))
    run = run_scenario(Program(COMPONENTS["pipeline"], variant.build()), make("one edge"), steps, record=True)
    said = [one for entry in run.entries if entry.outcome for one in entry.outcome.signals]
    reasons = [one.reason for one in said if type(one) is CheckpointFailed]
    assert reasons == [CheckpointReason.DECLINED_TASK_NOT_READY]
    assert run.violation is None
