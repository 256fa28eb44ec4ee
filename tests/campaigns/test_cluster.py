"""A campaign on a cluster whose executors do not have the project, and come and go."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.campaigns import Inline, Spark, files, make_plan, reduce, start
from conformance.campaigns.kept_outcomes import Kept
from conformance.campaigns.outcomes import FindingRecord
from conformance.campaigns.spark_setup import spark_problem
from tests.campaigns.cluster import LOCAL, cluster, connect_server

ROOT = Path(__file__).parents[2]
PROBLEM = spark_problem()
CHOSEN = ("tests.campaigns.dying:at_a_late_checkpoint",)
NAMES = ("reference", "known-bug:B-01", "known-bug:B-S21", "known-bug:B-D8", *CHOSEN)
COMPONENTS = ("deque", "persister", "recovered-channel", "subpartition")
LARGER = 600
"""A budget for reductions that is larger than that of the plans."""

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,  # six Java machines take more CPU time than any other test
    pytest.mark.skipif(PROBLEM is not None, reason=PROBLEM or ""),
    pytest.mark.xdist_group("spark"),
]


def outcomes(folder: Path) -> dict[str, bytes]:
    """The result of a campaign, and each finding that it was made of."""
    paths = [folder / files.RESULT, *(folder / files.FINDINGS).rglob("*.json")]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    assert len(found) > len(NAMES) + 8, "there is too little to reduce"
    return found


def test_executors_that_come_and_go_lead_to_the_same_bytes(tmp_path, monkeypatch):
    """The corpus counts too: executors found none, so that their counts differed and its failures were lost."""
    plan = make_plan("cluster", NAMES, COMPONENTS, scenarios=90, block=30, budget=300)
    start(tmp_path / "inline", plan, Inline())
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as there:
        first = there.add_worker()
        imported = subprocess.run(
            [there.python, "-c", "import conformance"], cwd="/", capture_output=True, text=True, check=False
        )
        assert "No module named 'conformance'" in imported.stderr
        for name, value in {**LOCAL, "PYSPARK_PYTHON": str(there.python)}.items():
            monkeypatch.setenv(name, value)

        seen: list[int] = []

        def watch(state):
            if state.committed == 8 and not seen:
                there.add_worker()
            elif state.committed > 8 and len(seen) == 1:
                first.kill()
            seen.append(state.committed)

        start(tmp_path / "spark", plan, Spark(there.url), watch)
        assert outcomes(tmp_path / "spark") == outcomes(tmp_path / "inline")

        last = there.add_worker()
        kept: list[FindingRecord] = []
        keep = Kept.keep_finding

        def losing(self: Kept, record: FindingRecord) -> None:
            if not kept:
                last.kill()
            kept.append(record)
            keep(self, record)

        monkeypatch.setattr(Kept, "keep_finding", losing)
        reduce(tmp_path / "spark", Spark(there.url), LARGER, chosen=CHOSEN)
        monkeypatch.undo()
    assert len(kept) > 4
    reduce(tmp_path / "inline", Inline(), LARGER, chosen=CHOSEN)
    assert outcomes(tmp_path / "spark") == outcomes(tmp_path / "inline")


@pytest.mark.skipif(spark_problem(connects=True) is not None, reason=spark_problem(connects=True) or "")
def test_a_connect_server_comes_to_the_same_bytes(tmp_path):
    """The driver is a process of its own, since pyspark cannot have a classic session and one of Connect in one."""
    plan = make_plan("connect", NAMES, COMPONENTS, scenarios=90, block=30, budget=300)
    start(tmp_path / "inline", plan, Inline())
    (tmp_path / "server").mkdir()
    with connect_server(tmp_path / "server") as server:
        code = (
            "import pickle, sys\nfrom conformance.campaigns import Spark, reduce, start\n"
            "folder, address, budget, *chosen = sys.argv[1:]\n"
            "if budget == '0':\n    start(folder, pickle.load(sys.stdin.buffer), Spark(address))\n"
            "else:\n    reduce(folder, Spark(address), int(budget), chosen=chosen)"
        )

        def run(budget: int) -> None:
            subprocess.run(
                [sys.executable, "-c", code, str(tmp_path / "spark"), server.address, str(budget), *CHOSEN],
                input=pickle.dumps(plan), check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip

        run(0)
        assert outcomes(tmp_path / "spark") == outcomes(tmp_path / "inline")
        run(LARGER)
    reduce(tmp_path / "inline", Inline(), LARGER, chosen=CHOSEN)
    assert outcomes(tmp_path / "spark") == outcomes(tmp_path / "inline")


def test_spark_submit_starts_a_campaign_that_comes_to_the_same_bytes(tmp_path):
    import pyspark

    plan = make_plan("submit", NAMES[:2], COMPONENTS, scenarios=30)
    start(tmp_path / "inline", plan, Inline())
    (tmp_path / "campaign.py").write_text("from conformance.cli import main\nmain()\n")
    names = [word for name in plan.implementations for word in ("--implementation", name)]
    names += [word for name in plan.components for word in ("--component", name)]
    goal = ["--scenarios", "30", "--seed", "submit", "--runner", "spark"]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    campaign = ["campaign", "start", str(tmp_path / "spark"), *names, *goal]
    done = subprocess.run(
        [str(submit), "--master", "local[2,4]", str(tmp_path / "campaign.py"), *campaign], cwd=ROOT,
        env={**os.environ, **LOCAL, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "spark" / "result.json").read_bytes() == (tmp_path / "inline" / "result.json").read_bytes()
