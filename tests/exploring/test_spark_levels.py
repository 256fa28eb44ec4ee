"""Levels that are explored with Spark: all of them, so that a level of a few states is one, too."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from conformance.campaigns.spark_setup import spark_problem
from conformance.engines.interruption import OnRequest
from conformance.exploring import Machine, explore_into
from conformance.exploring.spark_levels import Cluster
from tests.exploring.scopes import (
    DEADLOCK,
    DEQUE,
    DRAINS,
    EVERY_PAUSE,
    EXCHANGES,
    SUBPARTITION,
    by_one_process,
    compared,
    explored,
)

pytest.importorskip("pyspark")
pytest.importorskip("pandas", reason="pyspark asks for pandas where Arrow is used")
PROBLEM = spark_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=PROBLEM or ""),
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
]


@pytest.fixture(scope="module")
def connect():
    """One session for all tests."""
    from conformance.campaigns import Spark

    with Spark(workers=2).session() as session:

        @contextmanager
        def again():
            yield session

        yield again


@pytest.mark.parametrize(
    ("what", "depth"),
    [
        # A JVM; processes explore these scopes in test_exploring.py, with the same tables.
        pytest.param(DEQUE, None, id="deque", marks=pytest.mark.slow),
        pytest.param(SUBPARTITION, 4, id="subpartition", marks=pytest.mark.slow),
        pytest.param(EXCHANGES, 4, id="exchanges", marks=pytest.mark.slow),
        pytest.param(EVERY_PAUSE, 4, id="every-pause", marks=pytest.mark.slow),
        pytest.param(DRAINS, 5, id="drains", marks=pytest.mark.slow),
        pytest.param(DEADLOCK, 5, id="deadlock", marks=pytest.mark.slow),
    ],
)
def test_spark_finds_what_one_process_finds(tmp_path, connect, what, depth):
    many = explore_into(tmp_path / "a [b] ü", explored(*what), Cluster(connect, few=0), depth)
    assert compared(many) == compared(by_one_process(*what, depth=depth))


@pytest.mark.slow  # test_exploring.py tries the same with processes
def test_spark_goes_on_where_the_driver_stopped_and_the_driver_where_spark_did(tmp_path, connect):
    what = explored(*DRAINS)
    explore_into(tmp_path, what, Machine(1), depth=6)
    explore_into(tmp_path, what, Cluster(connect, few=0), depth=8)
    assert compared(explore_into(tmp_path, what, Machine(1))) == compared(by_one_process(*DRAINS))


@pytest.mark.slow  # a JVM; test_exploring.py tries the same with processes
def test_only_levels_of_many_states_are_for_spark(tmp_path, connect):
    many = explore_into(tmp_path, explored(*DEQUE), Cluster(connect, few=10_000))
    assert compared(many) == compared(by_one_process(*DEQUE))
    assert not list(tmp_path.glob("levels/*/states/*zstd.parquet"))


@pytest.mark.slow  # test_exploring.py tries the same with processes
def test_an_interrupted_exploration_goes_on(tmp_path, connect):
    interruption = OnRequest()

    def progress(level, states, transitions):
        if level == 2:
            interruption.request()

    what = explored(*SUBPARTITION)
    seen = explore_into(tmp_path, what, Cluster(connect, few=0), progress=progress, interruption=interruption)
    assert seen.interrupted
    assert seen.undrained
    again = explore_into(tmp_path, what, Cluster(connect, few=0), depth=4)
    assert compared(again) == compared(by_one_process(*SUBPARTITION, depth=4))
