"""Differential checks: the same scenarios on two implementations, and where they part ways."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_struct

from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines import Comparison, Differ, check, check_with_hypothesis
from conformance.engines.audit import is_audited
from conformance.engines.compare import first_difference
from conformance.engines.corpus import corpus
from conformance.engines.divergence import MOST_CRASHES
from conformance.engines.kinds import kinds_of
from conformance.engines.search import seeds
from conformance.engines.tally import Tally
from conformance.ports import (
    Alignment,
    Availability,
    Barrier,
    BufferAndBacklog,
    CheckpointReason,
    CreditAnnounced,
    DataAvailable,
    Error,
    ErrorKind,
    Implementation,
    Next,
    Outcome,
    PriorityAvailable,
    Resources,
    find_implementation,
)
from conformance.scenarios import Entry
from tests.engines.far import FarAway
from tests.implementations import NothingToMake, With

ANNOUNCED = ("priority available", "no signal")


def compared(
    name: str | Implementation, against: str | Implementation = "reference", component="subpartition", scenarios=120
) -> tuple[Comparison, Tally]:
    tested, baseline = (find_implementation(one) if isinstance(one, str) else one for one in (name, against))
    program = Program(COMPONENTS[component], tested)
    checked = check(program, scenarios, 0, budget=1, differ=Differ(baseline.name, baseline, program))
    assert checked.comparison is not None
    return checked.comparison, checked.tally


def test_a_known_bug_parts_from_the_reference_where_its_property_breaks():
    comparison, _ = compared("known-bug:B-01")
    assert comparison.divergences == ()
    first = comparison.at_violations[0]
    assert (first.group.operation, first.group.field, first.group.kinds) == ("unaligned_barrier", "signals", ANNOUNCED)
    assert first.group.broken == "a-blocked-subpartition-announces-priority-events"
    assert first.group.broken_by_baseline == ""


def test_a_violation_of_the_baseline_is_set_apart_too():
    comparison, tally = compared("reference", "known-bug:B-01")
    assert not tally.failures
    assert comparison.divergences == ()
    group = comparison.at_violations[0].group
    assert (group.kinds, group.broken) == (ANNOUNCED[::-1], "")
    assert group.broken_by_baseline == "a-blocked-subpartition-announces-priority-events"


def test_the_older_design_parts_from_the_newer_one_where_neither_is_wrong():
    comparison, tally = compared("reference-recover-first")
    assert not tally.failures
    assert comparison.at_violations == ()
    assert comparison.compared == 120
    assert {one.group.operation for one in comparison.divergences} == {"unaligned_barrier", "aligned_timeout"}
    assert {one.group.kinds for one in comparison.divergences} == {ANNOUNCED}
    for one in comparison.divergences:
        left, right = (
            run_scenario(
                Program(COMPONENTS["subpartition"], find_implementation(name)),
                one.scenario.config,
                one.scenario.steps,
                record=True,
            )
            for name in ("reference", "reference-recover-first")
        )
        assert first_difference(left, right) == (one.at, one.group.operation, one.group.field)
        assert [run.entries[one.at].outcome for run in (left, right)] == [one.baseline, one.other]
        assert [left.violation, right.violation] == [None, None]
    assert len(comparison.divergences[0].scenario.steps) == 4
    assert compared("reference-recover-first")[0] == comparison


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_reference_never_parts_from_itself(component):
    comparison, _ = compared("reference", component=component, scenarios=20)
    assert (comparison.divergences, comparison.at_violations, comparison.reason) == ((), (), "")
    assert comparison.compared > 0


def test_only_whole_scenarios_are_compared():
    comparison, tally = compared("reference", component="gate", scenarios=60)
    assert 0 < comparison.compared < tally.scenarios == 60


def test_a_comparison_changes_nothing_of_the_check():
    program = Program(COMPONENTS["subpartition"], find_implementation("reference-recover-first"))
    assert check(program, 120, 0).tally == compared("reference-recover-first")[1]


def test_a_baseline_without_the_component_is_reported():
    comparison, _ = compared("reference", With(name="mine"), component="deque", scenarios=5)
    assert (comparison.compared, comparison.reason) == (0, "mine does not offer the component deque")


def test_a_baseline_that_crashes_is_given_up():
    comparison, tally = compared("reference", NothingToMake(), scenarios=20)
    assert (comparison.compared, comparison.divergences) == (0, ())
    assert comparison.reason == f"broken crashed or hung {MOST_CRASHES} times"
    assert tally.scenarios == 20


def test_hypothesis_can_choose_the_scenarios():
    tested, baseline = find_implementation("reference-recover-first"), find_implementation("reference")
    program = Program(COMPONENTS["deque"], tested)
    checked = check_with_hypothesis(program, 20, 0, differ=Differ("reference", baseline, program))
    comparison = checked.comparison
    assert comparison is not None
    assert comparison.compared == checked.tally.scenarios >= 20
    assert comparison.divergences == ()


def test_far_away_a_scenario_is_one_message():
    far = FarAway("reference")
    comparison, tally = compared(far, scenarios=60)
    assert (comparison.compared, comparison.divergences) == (60, ())
    audited = sum(map(is_audited, seeds(0, "subpartition", range(60))))
    assert far.messages == tally.scenarios + audited  # what is audited step by step is compared in a message more
    far = FarAway("reference")
    assert compared("reference", far, scenarios=60)[0] == replace(comparison, against="far-away")
    assert (far.messages, far.ports) == (60, 0)


@pytest.mark.slow  # two searches
def test_far_away_the_same_divergences_are_found():
    near, _ = compared("reference-recover-first")
    far, _ = compared(FarAway("reference-recover-first"))
    assert {one.group: one.count for one in far.divergences} == {one.group: one.count for one in near.divergences}
    assert len(far.divergences[0].scenario.steps) <= 5


TAKEN = BufferAndBacklog(Barrier(1, Alignment.ALIGNED), 0, Next.NONE, 0)
POLL = ("poll",)


@pytest.mark.parametrize(
    ("left", "right", "field", "words"),
    [
        (Outcome(True), Outcome(False), "value", ("true", "false")),
        (Outcome(1), Outcome(3), "value", ("a smaller number", "a larger number")),
        (Outcome(None), Outcome(TAKEN), "value", ("nothing", "buffer and backlog, barrier")),
        (
            Outcome(Availability(True, 2)),
            Outcome(Availability(True, 1)),
            "value",
            ("backlog: a larger number", "backlog: a smaller number"),
        ),
        (Outcome((1,)), Outcome(()), "value", ("a longer list", "an empty list")),
        (
            Outcome(Resources(segments=None, files=0)),
            Outcome(Resources(segments=3, files=1)),
            "value",
            ("files: a smaller number", "files: a larger number"),
        ),
        (Outcome(object()), Outcome("x"), "value", ("object", "str")),
        (
            Outcome(None, (DataAvailable(), DataAvailable())),
            Outcome(None, (PriorityAvailable(1), DataAvailable())),
            "signals",
            ("data available, several times", "priority available, then data available"),
        ),
        (
            Outcome(None, (DataAvailable(), DataAvailable(), DataAvailable())),
            Outcome(None, (DataAvailable(), DataAvailable())),
            "signals",
            ("data available, several times, more", "data available, several times, fewer"),
        ),
        (
            Outcome(None, (CreditAnnounced(2),)),
            Outcome(None, (CreditAnnounced(1),)),
            "signals",
            ("credit: a larger number", "credit: a smaller number"),
        ),
        (
            Outcome(error=Error(ErrorKind.CHECKPOINT, "late", CheckpointReason.EXPIRED)),
            Outcome(),
            "error",
            ("error checkpoint (expired)", "no error"),
        ),
    ],
)
def test_the_kinds_of_a_difference(left, right, field, words):
    assert kinds_of(Entry(POLL, left), Entry(POLL, right), field) == words
    assert kinds_of(Entry(POLL, right), Entry(POLL, left), field) == words[::-1]


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (Entry(POLL, Outcome()), Entry(POLL, None), ("enabled", "not enabled")),
        (Entry(POLL, Outcome()), None, ("goes on with poll", "the run is over")),
        (Entry(POLL, Outcome()), Entry(("fail",), Outcome()), ("goes on with poll", "goes on with fail")),
    ],
)
def test_the_kinds_of_steps_that_differ(left, right, words):
    assert kinds_of(left, right, "enabled") == words


def test_each_divergence_shows_what_either_side_returned():
    comparison, _ = compared("reference-recover-first", scenarios=60)
    assert comparison.divergences
    for one in comparison.divergences:
        assert one.baseline != one.other
        assert one.step[0] == one.group.operation


def test_a_run_that_could_not_begin_has_performed_nothing():
    reference, program = find_implementation("reference"), Program(COMPONENTS["subpartition"], NothingToMake())
    _, scenario = corpus(program.component)[0]
    judged = Differ(reference.name, reference, program)._judge(scenario)
    assert (
        judged.performed
        == run_scenario(Program(program.component, reference), scenario.config, scenario.steps).performed
    )


def test_a_side_that_ends_early_has_performed_no_later_step():
    """The last step of a scenario shows the violation, and a step behind it is of neither run."""
    program = Program(COMPONENTS["subpartition"], find_implementation("known-bug:B-01"))
    scenario = next(one for name, one in corpus(program.component) if name == "B-01")
    differ = Differ("itself", program.implementation, program)
    performed = differ._judge(scenario).performed
    longer = replace_struct(scenario, steps=(*scenario.steps, *[("poll",)] * 3))
    assert differ._judge(longer).performed == performed
    assert tuple(performed) == scenario.steps
