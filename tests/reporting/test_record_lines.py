"""A report says what the records of a scenario say."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace
from rich.console import Console

from conformance.components import COMPONENTS as KNOWN
from conformance.components.filter import COMPONENT
from conformance.components.filter.state import FilterScenarioConfig, port_config
from conformance.driver import Components, Program
from conformance.engines import Found, Replay, check, replay
from conformance.ports import Implementation
from conformance.ports.framing import Record
from conformance.reporting import Report, tell
from conformance.reporting.markdown import report_text
from conformance.reporting.record_lines import MOST, record_lines
from conformance.scenarios import Scenario
from strategies import described
from tests import implementations as made

COMPONENTS = Components(f"{__name__}:COMPONENTS", (COMPONENT,))


class Keeping(Implementation):
    """Its filter keeps every record."""

    name, version = "keeping", "1"

    @property
    def capabilities(self):
        return made.reference().capabilities

    def components(self):
        def make(config):
            unambiguous = [replace(one, mapping=replace(one.mapping, ambiguous=())) for one in config.gates]
            return made.reference().components()["filter"](replace(config, gates=tuple(unambiguous)))

        return {"filter": make}


@pytest.fixture(scope="module")
def found() -> Found:
    return min(check(Program(COMPONENT, Keeping()), 200, 1, budget=200).found, key=lambda one: len(one.scenario.steps))


@pytest.fixture(scope="module")
def failed(found) -> Replay:
    return replay(found.scenario, Keeping(), components=COMPONENTS)


def test_a_story_says_what_the_records_say(failed):
    told = tell(failed)
    assert told.records
    assert all("; key " in line or line.startswith("and ") for line in told.records)
    shown = io.StringIO()
    Console(file=shown, width=160).print(told)
    assert f"records   {described(0)}; key " in shown.getvalue()


def test_so_does_a_bug_report(found, failed):
    text = report_text(Report(found, failed, "keeping"))
    assert f"Its records:\n\n- {described(0)}; key " in text


def test_records_are_shown_as_people_write_them_and_not_too_many():
    config = FilterScenarioConfig(scale=(3, 2), records=8, producers=(4, 4))
    given = [one for virtual in port_config(config).state for one in virtual.elements if isinstance(one, Record)]
    lines = record_lines(COMPONENT, Scenario("filter", config, ()))
    assert lines[0] == f"{described(given[0].id)}; key {given[0].key}, {given[0].size} bytes"
    assert len(lines) == MOST + 1
    assert lines[-1] == f"and {len(given) - MOST} more"


def test_a_scenario_without_such_records_has_no_lines():
    for component in KNOWN.values():
        if component.name != "filter":
            assert record_lines(component, Scenario(component.name, component.configs[0], ())) == ()
