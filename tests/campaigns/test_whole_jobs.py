"""A campaign of whole jobs draws all that their scenarios can have, and comes to the same bytes with every runner."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.campaigns import Inline, Processes, Spark, make_plan, start
from conformance.components import COMPONENTS
from conformance.components.pipeline import PipelineScenarioConfig
from conformance.components.pipeline.config import CONFIGS
from conformance.components.pipeline.graph import HOW
from conformance.driver import Program
from conformance.engines import Search
from conformance.engines.search import seeds
from conformance.ports import FailurePoint, FailureTarget, Recovery, find_implementation
from tests.campaigns.test_spark import spark_test

PIPELINE = COMPONENTS["pipeline"]
NAMES = ("reference", "reference-recover-first", "known-bug:B-J51")
PLAN = make_plan("jobs", NAMES, ("pipeline",), scenarios=24, budget=600)


@pytest.fixture(scope="module")
def inline(tmp_path_factory):
    """The folder of a campaign of jobs that ran inline."""
    folder = tmp_path_factory.mktemp("jobs") / "campaign"
    start(folder, PLAN, Inline())
    return folder


@pytest.mark.slow  # test_campaign.py tries processes on smaller components
def test_processes_come_to_the_same_bytes(inline, tmp_path):
    result = start(tmp_path / "c", PLAN, Processes(2))
    assert [bool(part.findings) for one in result.implementations for part in one.components] == [False, False, True]
    assert (tmp_path / "c" / "result.json").read_bytes() == (inline / "result.json").read_bytes()


@pytest.mark.slow  # tests/campaigns/test_spark.py tries the same runner on smaller components
@spark_test
def test_spark_comes_to_the_same_bytes(inline, tmp_path):
    start(tmp_path / "c", PLAN, Spark(workers=2))
    assert (tmp_path / "c" / "result.json").read_bytes() == (inline / "result.json").read_bytes()


def topology(config: PipelineScenarioConfig) -> object:
    return tuple(one.kind for one in config.vertices), config.edges


@pytest.mark.slow  # hundreds of whole jobs
def test_a_campaign_draws_every_topology_rescale_plan_design_setting_and_failure():
    """Drawn as in a campaign, without the drains, which need not be run to see what was drawn."""
    search = Search(Program(PIPELINE, find_implementation("reference")))
    drawn: Counter[object] = Counter()
    for text in seeds("jobs", "pipeline", range(250)):
        scenario, run = search.run(text, harmless=lambda config, steps: True)
        assert run.violation is None
        config = scenario.config
        restores = {step[2:] for step in scenario.steps if step[0] == "restore"}
        failures = {step[1:] for step in scenario.steps if step[0] == "fail"}
        drawn.update({
            topology(config), config.settings.recovery, ("faults", config.faults),
            ("unaligned", config.settings.unaligned),
            ("upstream", not config.settings.output_on_downstream), ("regions", config.settings.regions),
            *(how for how, _, _ in restores), *(("to", design) for _, design, _ in restores),
            *(target for target, _, _ in failures), *(point for _, _, point in failures),
        })  # fmt: skip
    topologies = {topology(config) for config in CONFIGS}
    assert len(topologies) > 10
    designs = [design for design in Recovery if design is not Recovery.NONE]
    wanted = [
        *topologies, *HOW, *designs, *(("to", design.value) for design in designs),
        *((name, on) for name in ("faults", "unaligned", "upstream", "regions") for on in (True, False)),
        *(target.value for target in FailureTarget), *(point.value for point in FailurePoint),
    ]  # fmt: skip
    assert [one for one in wanted if not drawn[one]] == []
