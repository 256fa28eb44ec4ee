"""A component that is in no map of the suite goes everywhere: it takes a folder, a port and a line in two maps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conformance.bridges.jsonl import JsonLinesImplementation
from conformance.campaigns import Inline, Names, make_plan, start
from conformance.driver import Program, Verdict
from conformance.engines import Search, check, check_with_hypothesis, read_scenario, reduce, replay
from conformance.engines.doctor import examine
from conformance.engines.explore import Explorer
from conformance.engines.fresh import in_fresh_process
from conformance.engines.kill import kill
from conformance.engines.optimum import optimum
from conformance.engines.replay import ReplayVerdict
from conformance.engines.scope import scope_of
from conformance.engines.search import seeds
from conformance.ports import Implementation
from conformance.reporting import conclude_campaign, properties_document, story_table, write_json
from conformance.reporting.console import CarefulConsole
from conformance.scenarios import Scenario, encode_scenario
from tests.components.counter import BUG, COMPONENTS, COUNTER, INTERFACES, counting, forgetful

ROOT = Path(__file__).resolve().parents[2]
SUM = BUG.property
BROKEN = "tests.components.counter:forgetful"


def failing() -> Scenario:
    search = Search(Program(COUNTER, forgetful()))
    for text in seeds(0, "counter", range(1000)):
        scenario, run = search.run(text)
        if run.violation is not None:
            assert run.violation.property.slug == SUM
            return scenario
    raise AssertionError("no scenario failed")


def test_search_and_reduction():
    reduced = reduce(Program(COUNTER, forgetful()), failing())
    assert reduced.signature == (SUM, "protocol", "total")
    assert len(reduced.scenario.steps) == 3  # the drain asks for the total
    checked = check(Program(COUNTER, counting()), 300, 0)
    assert {checked.verdict(one) for one in COUNTER.properties} == {Verdict.PASSED}


def test_hypothesis():
    assert check_with_hypothesis(Program(COUNTER, counting()), 30, "0").clean
    assert not check_with_hypothesis(Program(COUNTER, forgetful()), 300, "0").clean


def test_replay_from_a_file(tmp_path: Path):
    file = tmp_path / "scenario.json"
    file.write_text(encode_scenario(failing()), encoding="utf-8")
    scenario = read_scenario(file, COMPONENTS)
    seen = replay(scenario, forgetful(), components=COMPONENTS)
    assert seen.verdict is ReplayVerdict.FAILED
    assert replay(scenario, counting(), components=COMPONENTS).verdict is ReplayVerdict.FIXED
    assert story_table(seen).row_count == len(seen.history.entries)


def test_exploration():
    def explored(implementation: Implementation) -> Explorer:
        return Explorer(Program(COUNTER, implementation), scope_of(COUNTER, {}))

    assert explored(counting()).explore().complete
    found = {one.slug: len(one.scenario.steps) for one in explored(forgetful()).explore().found}
    assert found[SUM] == 3
    assert optimum(BUG, failing(), components=COMPONENTS).steps == 3


def test_a_known_bug_of_it():
    killed = kill(BUG, 1, components=COMPONENTS)
    assert killed.killed
    assert killed.shortest is not None
    assert in_fresh_process(killed.shortest.scenario, BROKEN, (), COMPONENTS).confirms


_SERVE = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from conformance.bridges.jsonl.serve import serve; "
    "from tests.components.counter import INTERFACES, {0}; "
    "serve({0}(), sys.stdin.buffer, sys.stdout.buffer, INTERFACES)"
)


@pytest.fixture
def remote(request: pytest.FixtureRequest) -> Iterator[Implementation]:
    with closing(
        JsonLinesImplementation([sys.executable, "-c", _SERVE.format(request.param)], interfaces=INTERFACES)
    ) as implementation:
        yield implementation


@pytest.mark.parametrize("remote", ["counting"], indirect=True)
def test_the_wire(remote: Implementation):
    assert check(Program(COUNTER, remote), 100, 0).clean
    assert [one for one in examine(counting, COMPONENTS) if one.wrong] == []


@pytest.mark.parametrize("remote", ["forgetful"], indirect=True)
def test_the_wire_carries_a_bug(remote: Implementation):
    assert SUM in {found.slug for found in check(Program(COUNTER, remote), 300, 0).found}


def test_a_campaign_and_its_reports(tmp_path: Path):
    names = Names(components=COMPONENTS)
    plan = make_plan(
        "1", ["tests.components.counter:counting", BROKEN], ["counter"], scenarios=200, block=100, names=names
    )  # fmt: skip
    result = start(tmp_path / "campaign", plan, Inline(names))
    found = {
        one.name: [finding.property for one in one.components for finding in one.findings]
        for one in result.implementations
    }
    assert found["tests.components.counter:counting"] == []
    assert SUM in found[BROKEN]
    console = CarefulConsole(file=(tmp_path / "out.txt").open("w", encoding="utf-8"))
    assert conclude_campaign(console, result, tmp_path / "report", (), COMPONENTS, plan.implementations) == 1
    assert list((tmp_path / "report").glob("*/scenario.json"))
    write_json(tmp_path / "properties.json", properties_document([COUNTER]))
