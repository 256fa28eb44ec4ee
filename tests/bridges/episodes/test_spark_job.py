"""The example on Spark: its job passes two lives, and each bug to try is found in the same ones."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from conformance.bridges.episodes import Episodes as Engine
from conformance.campaigns.spark_setup import spark_problem
from conformance.episodes import steps
from conformance.episodes.drawing import Episode, plainest
from conformance.episodes.running import ASKED, Episodes, Result
from conformance.scenarios import Step

ROOT = Path(__file__).resolve().parents[3]
ADAPTER = ROOT / "examples" / "spark" / "adapter.py"
PROBLEM = spark_problem() or (
    None if shutil.which("javac") else "the example on Spark needs a JDK, but there is no javac"
)
TWO_LIVES = (
    steps.supply(0, 34), steps.supply(1, 21), steps.fault("sink-after", "ends", 2), steps.settle("idle"), steps.kill(),
    steps.start_again(2, 0), steps.supply(0, 5),
)  # fmt: skip
"""User code dies when the second batch has been written and is not committed, so that it is written again."""
BUGS = [
    ("", ""),
    ("skips", "a-replayed-batch-is-the-same"),
    ("reads again", "a-replayed-batch-is-the-same"),
    ("forgets", "the-state-is-the-recount"),
    ("keeps output", "a-replayed-batch-is-the-same"),
]

pytestmark = [
    pytest.mark.slow,  # a JVM of its own, which takes 15 CPU seconds to start, and a few for each bug
    pytest.mark.skipif(PROBLEM is not None, reason=PROBLEM or ""),
    pytest.mark.xdist_group("spark"),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Episodes]:
    """Spark, whose JVM is started once, and has run a plain episode: the first query takes long to begin."""
    engine = Engine((sys.executable, "-B", str(ADAPTER)))
    try:
        made = Episodes(engine, tmp_path_factory.mktemp("spark"))
        made.check()
        yield made
    finally:
        engine.close()


def _run(spark: Episodes, made: tuple[Step, ...] = TWO_LIVES) -> Result:
    return spark.run(Episode(replace(plainest(spark.description), splits=2, keys=3), made))


@pytest.mark.parametrize(("bug", "slug"), BUGS, ids=[bug or "none" for bug, _ in BUGS])
def test_a_bug_in_the_job_is_found_and_nothing_else(
    bug: str, slug: str, spark: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPISODE_BUG", bug)
    found = _run(spark)
    assert found.kind[0] == slug
    assert bug or found.restores


def test_a_query_that_was_stopped_goes_on_in_another_life(spark: Episodes) -> None:
    stopped = (
        steps.supply(0, 34), steps.settle("idle"), steps.supply(1, 144), steps.advance(100), steps.stop(), steps.kill(),
        steps.start_again(2, 0), steps.supply(0, 5),
    )  # fmt: skip
    found = _run(spark, stopped)
    assert (found.kind, found.deaths[ASKED], found.restores) == (("", ""), 1, 1)


def test_a_client_that_is_killed_before_it_says_what_is_to_run_leaves_the_host_as_it_is(spark: Episodes) -> None:
    assert isinstance(spark.implementation, Engine)
    host, meeting = spark.implementation._host.running()
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(meeting / "socket"))
    assert _run(spark).kind == ("", "")
    assert spark.implementation._host.running() == (host, meeting)


@pytest.mark.parametrize("name", ["retained", "half_offset"])
@pytest.mark.parametrize(("control", "status"), [((), 1), (("control",), 0)], ids=["as it is", "control"])
def test_a_finding_in_spark_is_still_there(name: str, control: tuple[str, ...], status: int) -> None:
    """A release that has mended it lets the test fail: then the page says so."""
    program = ROOT / "reports" / "spark-findings" / f"{name}.py"
    done = subprocess.run([sys.executable, "-B", program, *control], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
