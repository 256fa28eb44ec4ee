"""A user's own enumerator in the sources of whole jobs on released Flink."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from conformance.bridges.flink.implementation import CLASS_PATH_VARIABLE, ENUMERATOR_VARIABLE, flink_pipeline
from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.driver import Program, run_scenario
from conformance.ports import JobSettings, Recovery
from tests.bridges.conftest import skip_without

EXAMPLE = Path(__file__).parents[2] / "examples/flink-enumerator/PullEnumerator.java"
RELEASE = "2.3.0"
SETTLED, RUNNING, DONE = (("settle", one) for one in ("idle", "running", "no-checkpoint"))
FAILED = (
    RUNNING, ("supply", 0, 3), ("supply", 1, 3), SETTLED, ("fail", "task", 0, "now"), SETTLED, ("trigger", "aligned"),
    DONE, ("supply", 0, 3), ("fail", "task", 0, "now"), SETTLED,
)  # fmt: skip
RESTORED = (
    RUNNING, ("supply", 0, 3), ("supply", 1, 3), SETTLED, ("trigger", "aligned"), DONE, ("trigger", "aligned"), DONE,
    ("snapshot", 2), ("kill",), ("restore", 2, "same", "recover-first", True), RUNNING, SETTLED, ("trigger", "aligned"),
    DONE, SETTLED, ("output", 2),
)  # fmt: skip


UNALIGNED = ("trigger", "unaligned")
MANY = 90
"""So many splits: a reader opens one as slowly as the next one comes, so that there is always one on the way."""
ON_THE_WAY = (
    *(("supply", split, 1) for split in range(MANY)), RUNNING, *(UNALIGNED, DONE) * 3, ("snapshot", 3), ("kill",),
    ("restore", 3, "same", "recover-first", True), RUNNING, SETTLED,
)  # fmt: skip


@pytest.fixture
def own(own_class):
    own_class(EXAMPLE, ENUMERATOR_VARIABLE, RELEASE)


def violation(scenario):
    return violations(RELEASE, make("keyed", 2), scenario)[0]


def violations(release, config, scenario, runs=1):
    implementation = flink_pipeline(release)
    try:
        program = Program(COMPONENTS["pipeline"], implementation)
        return [run_scenario(program, config, scenario).violation for _ in range(runs)]
    finally:
        implementation.close()


@pytest.mark.flink
@pytest.mark.parametrize("scenario", [FAILED, RESTORED], ids=["failed", "restored"])
def test_an_enumerator_that_assigns_each_split_once_is_accused_of_nothing(own, scenario):
    assert violation(scenario) is None


@pytest.mark.flink
def test_an_enumerator_that_forgets_what_it_has_assigned_is_noticed(own, monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dforgets=true")
    found = violation(RESTORED)
    assert found is not None
    assert found.property.slug == "each-split-is-in-one-place"


@pytest.mark.flink
@pytest.mark.parametrize(("release", "loses"), [("2.3.0", True), ("2.2.1", True), ("1.20.5", False)])
def test_an_unaligned_checkpoint_loses_the_split_that_is_on_its_way(own_class, release, loses):
    """reports/coordinator-jobs.md, 1: the trigger overtakes the split in the mailbox, and nobody reads it any more."""
    own_class(EXAMPLE, ENUMERATOR_VARIABLE, release)
    config = replace(make("keyed", 1, JobSettings(recovery=Recovery.RECOVER_FIRST, alignment_timeout=0), MANY),
                     portions=(1,))  # fmt: skip
    found = {one.property.slug for one in violations(release, config, ON_THE_WAY, 3) if one is not None}
    assert found == ({"each-split-is-in-one-place"} if loses else set())


@pytest.mark.flink
def test_the_class_path_of_the_user_comes_last(monkeypatch):
    skip_without(RELEASE)
    monkeypatch.setenv(CLASS_PATH_VARIABLE, "own/classes")
    monkeypatch.setenv(ENUMERATOR_VARIABLE, "my.Enumerator")
    words = flink_pipeline(RELEASE).command()  # type: ignore[attr-defined]
    assert words[words.index("-cp") + 1].endswith(f"{os.pathsep}own/classes")
    assert "-Dconformance.enumerator=my.Enumerator" in words
