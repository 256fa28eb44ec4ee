"""Explorations on a cluster whose executors do not have the project, and on a Spark Connect server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.campaigns.spark_setup import spark_problem
from conformance.exploring import Machine, explore_into
from tests.campaigns.cluster import LOCAL, cluster, connect_server
from tests.exploring.scopes import EXCHANGES, by_one_process, compared, explored

ROOT = Path(__file__).parents[2]
PROBLEM = spark_problem(connects=True) or spark_problem()
BY_SPARK = """
import sys
from pathlib import Path
from conformance.campaigns import Spark
from conformance.exploring import explore_into
from conformance.exploring.spark_levels import Cluster
from tests.exploring.scopes import EXCHANGES, explored
folder, address = sys.argv[1:]
explore_into(Path(folder), explored(*EXCHANGES), Cluster(Spark(address).session, few=0), depth=3)
"""

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,  # several Java machines take more CPU time than any other test
    pytest.mark.skipif(PROBLEM is not None, reason=PROBLEM or ""),
    pytest.mark.xdist_group("spark"),
]


def explore_by_spark(folder, address, **variables):
    command = [sys.executable, "-c", BY_SPARK, str(folder), address]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **variables})
    assert len(list(folder.glob("levels/*/level.json"))) == 4
    goes_on = explore_into(folder, explored(*EXCHANGES), Machine(1))
    assert compared(goes_on) == compared(by_one_process(*EXCHANGES))


def test_a_connect_server_finds_what_one_process_finds(tmp_path):
    (tmp_path / "server").mkdir()
    with connect_server(tmp_path / "server") as server:
        explore_by_spark(tmp_path / "explored", server.address)


def test_a_cluster_finds_what_one_process_finds(tmp_path):
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as there:
        there.add_worker()
        explore_by_spark(tmp_path / "explored", there.url, **LOCAL, PYSPARK_PYTHON=str(there.python))
