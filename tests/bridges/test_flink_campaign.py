"""A release of Flink in a campaign, beside the reference of its design and a known bug."""

from __future__ import annotations

import pytest

from conformance.campaigns import Processes, Spark, make_plan, start
from conformance.campaigns.spark_setup import spark_problem
from conformance.driver import Verdict
from tests.bridges.conftest import skip_without

RELEASE = "2.3.0"
FLINK = f"flink-component@{RELEASE}"
BUG = "known-bug:B-01"
pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]


@pytest.mark.spark
@pytest.mark.skipif(spark_problem() is not None, reason=spark_problem() or "")
def test_processes_and_spark_come_to_the_same_bytes(tmp_path):
    skip_without(RELEASE)  # a plan asks the release what it offers
    plan = make_plan("flink", ["reference-in-memory", FLINK, BUG], ["subpartition"], scenarios=12, block=6, budget=40)
    result = start(tmp_path / "processes", plan, Processes(2))
    assert result.lost_blocks == ()
    parts = {one.name: part for one in result.implementations for part in one.components}
    assert parts[FLINK].scenarios == parts["reference-in-memory"].scenarios == 12
    assert any(one.verdict is Verdict.PASSED for one in parts[FLINK].properties)
    exercise = [parts[name].exercise for name in ("reference-in-memory", FLINK)]
    assert exercise[0] is not None
    assert exercise[1] is not None
    assert exercise[0].settings == exercise[1].settings, "counted by recovery design"
    assert {one.property for one in parts[BUG].findings} == {"a-blocked-subpartition-announces-priority-events"}
    start(tmp_path / "spark", plan, Spark(workers=2))
    found, other = ((tmp_path / one / "result.json").read_bytes() for one in ("processes", "spark"))
    assert found == other
