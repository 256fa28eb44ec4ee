"""Scenarios are aimed at what was never judged."""

from __future__ import annotations

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import Search
from conformance.engines.aiming import Aim, aiming, aims_of, is_aimed
from conformance.engines.check import search_range
from conformance.engines.tally import Counter
from conformance.ports import find_implementation

COMPONENT = COMPONENTS["remote-channel"]
PROGRAM = Program(COMPONENT, find_implementation("reference"))


def test_what_is_missing_was_never_judged_where_its_steps_were_performed():
    tally = search_range(PROGRAM, "aims", range(30))
    aims = aims_of(COMPONENT, tally)
    assert len(aims) > 30
    judged = {one.slug: one for one in COMPONENT.properties}
    for slug, where in aims:
        cases = tally.settings[where]
        assert not cases.judged.get(slug)
        assert sum(cases.steps.get(name, 0) for name in judged[slug].on)
        assert judged[slug].can_be_judged(where)
    assert set(aims_of(COMPONENT, search_range(PROGRAM, "aims", range(120)))) != set(aims)


def test_an_aimed_scenario_is_in_the_setting_and_is_the_same_again():
    aims = aims_of(COMPONENT, search_range(PROGRAM, "aims", range(30)))
    (first,) = aims[7:8]
    manner, again = aiming([first]), aiming([first])
    one, other = Search(PROGRAM), Search(PROGRAM)
    counter = Counter(PROGRAM)
    for number in range(10):
        scenario, run = one.run(f"a/{number}", by=manner)
        assert run.violation is None
        assert scenario == other.run(f"a/{number}", by=again)[0]
        assert COMPONENT.settings.can_have(scenario.config, first.where)
        counter.add(scenario, run)
    assert first.where in counter.tally().settings


def test_what_no_configuration_can_have_is_not_aimed_at():
    where = aims_of(COMPONENT, search_range(PROGRAM, "aims", range(30)))[0].where
    aims = [Aim(COMPONENT.properties[0].slug, where._replace(shape="no such shape")), Aim("no-such-property", where)]
    scenario, run = Search(PROGRAM).run("a/1", by=aiming(aims))
    assert scenario.steps
    assert run.violation is None


def test_two_of_three_scenarios_are_aimed():
    assert 0.6 < sum(is_aimed(f"s/{number}") for number in range(1000)) / 1000 < 0.7
