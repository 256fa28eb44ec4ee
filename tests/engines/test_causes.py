"""Findings are grouped by likely cause: what groups them, and in which order they come."""

from __future__ import annotations

from dataclasses import replace as replace_found

from msgspec.structs import replace

from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Program, run_scenario
from conformance.engines import Check, Found, check, likely_causes, related
from conformance.engines.apart import Apart
from conformance.engines.causes import _with_inner
from conformance.engines.corpus import corpus
from conformance.engines.origins import Difference, Origin
from conformance.engines.related import Relations, _is_costly
from conformance.engines.resembling import resembling
from conformance.engines.tally import Tally
from conformance.ports import Port, find_implementation, find_known_bug
from conformance.scenarios import Scenario, Step
from tests.engines import hostile
from tests.engines.far import FarAway

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


def test_no_findings_have_no_cause():
    assert likely_causes([]) == ()
    assert likely_causes([checked(program_of("reference", "subpartition"))]) == ()


def test_a_finding_alone_is_a_group():
    one = checked(program_of("known-bug:B-01", "subpartition"), minimal("B-01", "subpartition"))
    (cause,) = likely_causes([one])
    assert cause.found == one.found
    assert cause.shortest is one.found[0]
    assert cause.why == ()


def test_the_first_is_the_shortest_and_the_others_come_by_name():
    """All findings of a known bug, given in any order; each has its reason."""
    program = program_of("known-bug:B-S17", "subpartition")
    short = minimal("B-S17", "subpartition")
    found = checked(program, short).found[0]
    longer = [
        Found((slug, "stuck", "available"), "", "", replace(short, steps=(*short.steps, ("poll",))), 1)
        for slug in ("z", "a")
    ]  # fmt: skip
    (cause,) = likely_causes([Check(program, Tally(), (longer[0], found, longer[1]))])
    assert cause.found == (found, longer[1], longer[0])
    assert cause.why == ("Both scenarios have the same steps, except at most the last.",) * 2


def test_two_defects_are_two_groups():
    """Each finding of one component comes from another known bug."""
    bugs = ("B-S24", "B-S17")
    checks = [
        checked(program_of(f"known-bug:{bug}", "subpartition"), minimal(bug, "subpartition")) for bug in bugs
    ]  # fmt: skip
    causes = likely_causes(checks)
    assert [cause.found for cause in causes] == [checks[0].found, checks[1].found], "the shortest scenario first"
    assert likely_causes(checks[::-1]) == causes


def test_a_failure_of_a_component_belongs_to_the_one_inside():
    name = "known-bug:B-01"
    inner = checked(program_of(name, "subpartition"), minimal("B-01", "subpartition"))
    scenario = minimal("B-01-chain", "chain")
    outer = checked(program_of("known-bug:B-01-chain", "chain"), scenario)
    (cause,) = likely_causes([outer, inner])
    assert cause.shortest is inner.found[0]
    assert cause.why == (f"chain is made of subpartition, in which {inner.found[0].slug} fails.",)


def test_what_stands_between_two_components_need_not_be_checked():
    """A gate has local channels, and these have the subpartition."""
    name, steps = "known-bug:B-01", (("request_partitions",), ("aligned_barrier", 0, 1), ("poll",))
    gate, inner = program_of(name, "gate"), checked(program_of(name, "subpartition"), minimal("B-01", "subpartition"))
    found = Found(("another", "stuck", "poll"), "", "", Scenario("gate", gate.component.configs[0], steps), 1)
    (cause,) = likely_causes([Check(gate, Tally(), (found,)), inner])
    assert {one.scenario.component for one in cause.found} == {"gate", "subpartition"}


def test_a_component_is_made_of_known_ones_and_never_of_itself():
    for component in COMPONENTS.values():
        reached = [component.name]
        for name in reached:
            reached += COMPONENTS[name].contains
            assert component.name not in COMPONENTS[name].contains
            assert len(reached) < 100


def test_a_group_names_the_known_bugs_that_it_resembles():
    one = checked(program_of("known-bug:B-01", "subpartition"), minimal("B-01", "subpartition"))
    (cause,) = likely_causes([one])
    assert "B-01" in cause.resembles
    assert len(cause.resembles) <= 3


def test_a_worker_groups_as_this_process_does():
    there, here = Apart("tests.engines.hostile:buggy"), Program(SUBPARTITION, hostile.buggy())
    try:
        found = check(here, 150, "0").found
        groups = likely_causes([Check(here, Tally(), found)])
        assert groups
        assert likely_causes([Check(Program(SUBPARTITION, there), Tally(), found)]) == groups
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


def test_a_known_bug_resembles_findings_if_it_fails_alike_in_half_of_them():
    found = [
        *checked(program_of("known-bug:B-01", "subpartition"), minimal("B-01", "subpartition")).found,
        *checked(program_of("known-bug:B-S6", "subpartition"), minimal("B-S6", "subpartition")).found,
        *checked(program_of("known-bug:B-S23", "subpartition"), minimal("B-S23", "subpartition")).found,
    ]
    known = {"B-01": find_known_bug("B-01")}
    assert resembling(found[:1], COMPONENTS, known) == ("B-01",)
    assert resembling(found[:2], COMPONENTS, known) == ("B-01",)
    assert resembling(found, COMPONENTS, known) == ()
    assert resembling(found[1:], COMPONENTS, known) == ()


def test_the_first_difference_is_the_trigger_unless_everything_differs():
    program, scenario = program_of("known-bug:B-01", "subpartition"), minimal("B-01", "subpartition")
    (one,) = checked(program, scenario).found
    idle = replace_found(one, scenario=Scenario(scenario.component, scenario.config, ()))

    def trigger(*found: Found, always: bool, differs: bool = True) -> tuple[int, Step | None]:
        relations = Relations(program, found)
        differences = frozenset({Difference("poll", "value", "")} if differs else ())
        relations.__dict__["origins"] = [Origin(2, ("poll",), differences, always)] * len(found)
        return relations.trigger(0)

    assert trigger(one, always=False, differs=False) == (0, None)
    assert trigger(one, always=False) == (2, ("poll",))
    assert trigger(one, always=True) == (0, ())
    assert trigger(one, idle, always=True) == (2, ("poll",)), "every scenario differs, so it explains nothing"
    assert trigger(one, idle, always=False) == (2, ("poll",))


def test_runs_that_hang_are_costly_and_those_that_crash_if_they_cost_a_process():
    near = program_of("known-bug:B-01", "subpartition")
    far = Program(SUBPARTITION, FarAway("reference"))
    (one,) = checked(near, minimal("B-01", "subpartition")).found

    def costly(program: Program, failure_class: str) -> bool:
        return _is_costly(program, replace_found(one, signature=(ANSWERS, failure_class, "poll")))

    assert [costly(near, one) for one in ("hung", "crashed", "lost")] == [True, False, False]
    assert [costly(far, one) for one in ("hung", "crashed", "lost")] == [True, True, False]


def test_a_component_of_which_nobody_knows_is_not_looked_for():
    gate = COMPONENTS["gate"]
    assert gate.contains
    outer = replace_found(gate, contains=(*gate.contains, "nowhere"))
    assert {"gate", *gate.contains} <= set(_with_inner([outer], {}))
    assert "nowhere" not in _with_inner([outer], {})
    mine = replace_found(COMPONENTS["deque"], contains=())
    assert _with_inner([mine], {}) == {"deque": mine}


def test_each_end_of_a_scenario_is_tried_once_behind_the_beginning_of_the_other_one(monkeypatch):
    program = program_of("known-bug:B-01", "subpartition")
    (one,) = checked(program, minimal("B-01", "subpartition")).found
    config, steps = one.scenario.config, (("a",), ("b",), ("c",))
    left, right = (
        replace_found(one, scenario=Scenario("subpartition", config, found)) for found in (steps, (("d",), ("e",)))
    )
    relations = Relations(program, (left, right))
    origins = [Origin(number, ("poll",), frozenset({Difference("poll", "value", "")})) for number in (1, 2)]
    relations.__dict__["origins"] = origins
    tried: list[tuple[Step, ...]] = []

    def fails(program: Program, scenario: Scenario, signature: object) -> bool:
        tried.append(scenario.steps)
        return scenario.steps == (("d",), ("e",), ("c",))

    monkeypatch.setattr(related, "_fails", fails)
    assert relations.fails_behind(0, 1)
    whole = [(("d",), ("e",), *steps[1:]), (("d",), ("e",), ("c",))]
    assert tried == [*whole, (("d",), ("c",))], "the last one is the same without the step that makes the difference"
    tried.clear()
    monkeypatch.setattr(related, "_fails", lambda program, scenario, signature: tried.append(scenario.steps))
    relations._behind.clear()
    assert not relations.fails_behind(0, 1)
    assert tried == [*whole, (("d",), ("e",))]
