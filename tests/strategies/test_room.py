"""What holds for every strategy of the room."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, seed, settings

import strategies
from tests.by_default import one_of
from tests.strategies.room import NAMES, ROOM, drawn


@pytest.mark.parametrize("name", ROOM)
def test_what_is_drawn_can_be_pasted_into_a_test(name):
    for value in drawn(ROOM[name]()):
        pasted = eval(repr(value), dict(NAMES))
        assert pasted == value
        assert repr(pasted) == repr(value)
        hash(value)  # frozen


def test_every_strategy_is_in_the_room():
    drawing = {name.partition("(")[0].partition(",")[0].partition(" ")[0] for name in ROOM}
    assert {name for name in strategies.__all__ if name.islower()} - OTHERS == drawing


OTHERS = {"described", "recovered_gate"}
"""What is no strategy."""


def test_every_process_draws_the_same():
    def said(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-m", "tests.strategies.room"],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    one, other = said("1"), said("2")
    assert one == other
    assert one.count("\n") >= 40


PASTED = [*(name for name in ROOM if "(" not in name), "scenarios(gate)", "faults(spill)"]


@pytest.mark.parametrize("name", one_of(4, PASTED))
def test_what_hypothesis_prints_of_a_failure_can_be_pasted(name):
    """It prints how a value was made, if that was with `builds` or `map`; these name functions that no user has."""
    failing: list[object] = []

    @seed(1)
    @settings(
        max_examples=20, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow],
        report_multiple_bugs=False,
    )  # fmt: skip
    @given(ROOM[name]())
    def check(value):
        failing.append(value)
        raise AssertionError

    with pytest.raises(AssertionError) as caught:
        check()
    (note,) = [one for one in caught.value.__notes__ if "value=" in one]
    assert eval(f"dict{note[note.index('(') :]}", dict(NAMES)) == {"value": failing[-1]}
