"""Findings are grouped by likely cause: what groups them, and in which order they come."""

from __future__ import annotations

from msgspec.structs import replace

from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Program, run_scenario
from conformance.engines import Check, Found, check, likely_causes
from conformance.engines.apart import Apart
from conformance.engines.corpus import corpus
from conformance.engines.symptoms import symptoms
from conformance.engines.tally import Tally
from conformance.ports import Port, find_implementation
from conformance.scenarios import Scenario
from tests.engines import hostile

SUBPARTITION = COMPONENTS["subpartition"]
WITH_AND_WITHOUT_CREDIT = "priority-events-leave-with-and-without-credit"
ANNOUNCES = "a-blocked-subpartition-announces-priority-events"


def minimal(bug: str, component: str) -> Scenario:
    """The scenario of a known bug in the corpus."""
    return next(scenario for name, scenario in corpus(COMPONENTS[component]) if name == bug)


def program_of(name: str, component: str) -> Program:
    return Program(COMPONENTS[component], find_implementation(name))


def checked(program: Program, *scenarios: Scenario) -> Check:
    """A check that found what these scenarios show first."""
    found = []
    for scenario in scenarios:
        violation = run_scenario(program, scenario.config, scenario.steps).violation
        assert violation is not None
        found.append(Found(violation.signature, violation.broken.owed, violation.broken.observed, scenario, 1))
    return Check(program, Tally(), tuple(found))


def test_without_a_property_a_run_goes_on_to_the_next_failure():
    program, scenario = program_of("known-bug:B-01", "subpartition"), minimal("B-01", "subpartition")
    first = run_scenario(program, scenario.config, scenario.steps).violation
    assert first is not None
    assert first.signature[0] == ANNOUNCES
    second = run_scenario(program.without([ANNOUNCES]), scenario.config, scenario.steps).violation
    assert second is not None
    assert second.signature[0] == WITH_AND_WITHOUT_CREDIT
    again = run_scenario(program, scenario.config, scenario.steps).violation
    assert again is not None
    assert again.signature == first.signature, "the program itself judges as before"


def test_a_scenario_shows_its_failures_in_their_order():
    program = program_of("known-bug:B-01", "subpartition")
    shown = [slug for slug, _, _ in symptoms(program, minimal("B-01", "subpartition"))]
    assert shown == [ANNOUNCES, WITH_AND_WITHOUT_CREDIT, "nothing-due-waits-for-ever"]
    assert symptoms(program_of("reference", "subpartition"), minimal("B-01", "subpartition")) == ()


def test_nothing_follows_an_operation_that_never_ends():
    """A run cannot go on behind it, whatever is not judged."""
    shown = symptoms(program_of("known-bug:B-L2", "local-channel"), minimal("B-L2", "local-channel"))
    assert [slug for slug, _, _ in shown] == ["threads-do-not-wait-in-a-circle", "what-was-begun-comes-to-an-end"]


def test_no_findings_have_no_cause():
    assert likely_causes([]) == ()
    assert likely_causes([checked(program_of("reference", "subpartition"))]) == ()


def test_a_finding_alone_is_a_group():
    one = checked(program_of("known-bug:B-01", "subpartition"), minimal("B-01", "subpartition"))
    (cause,) = likely_causes([one])
    assert cause.found == one.found
    assert cause.shortest is one.found[0]
    assert cause.why == ()


def test_what_a_scenario_shows_as_well_belongs_to_it():
    """The second finding is longer, and comes second, though its signature comes first."""
    program = program_of("known-bug:B-01a", "subpartition")
    short = minimal("B-01a", "subpartition")
    shown = symptoms(program, short)
    judged_late = program.without([shown[0][0]])
    late = checked(judged_late, short).found[0]
    longer = Found(late.signature, late.owed, late.observed, replace(short, steps=(*short.steps, ("poll",))), 1)
    check = Check(program, Tally(), (longer, *checked(program, short).found))
    (cause,) = likely_causes([check])
    assert [one.signature for one in cause.found] == [shown[0], shown[1]]
    assert cause.why == (
        f"The shortest scenario of {shown[0][0]} breaks {shown[1][0]} as well, at {shown[1][2]}.",
    )  # fmt: skip


def test_what_no_scenario_connects_stays_apart():
    """Two defects in one implementation; the findings of a component come from two known bugs."""
    bugs = ("B-S24", "B-S17")
    checks = [
        checked(program_of(f"known-bug:{bug}", "subpartition"), minimal(bug, "subpartition")) for bug in bugs
    ]  # fmt: skip
    causes = likely_causes(checks)
    assert [cause.found for cause in causes] == [checks[0].found, checks[1].found], "the shortest scenario first"
    assert likely_causes(checks[::-1]) == causes


def test_a_worker_groups_as_this_process_does():
    there, here = Apart("tests.engines.hostile:buggy"), Program(SUBPARTITION, hostile.buggy())
    try:
        found = check(here, 150, "0").found
        groups = likely_causes([Check(here, Tally(), found)])
        assert groups
        assert likely_causes([Check(Program(SUBPARTITION, there), Tally(), found)]) == groups
        for one in found:
            assert symptoms(Program(SUBPARTITION, there), one.scenario) == symptoms(here, one.scenario) != ()
    finally:
        there.close()


def test_a_scenario_that_ends_its_process_is_not_run_again():
    """A crash that was found costs a process for each run."""
    program = program_of("reference", "subpartition")
    scenario = minimal("B-01", "subpartition")
    crash = Found((ANSWERS, "crashed", "poll"), "", "", scenario, 1)

    def fails(config: object) -> Port:
        raise AssertionError("it was run again")

    (cause,) = likely_causes([Check(program.made_by(fails), Tally(), (crash,))])
    assert cause.found == (crash,)
