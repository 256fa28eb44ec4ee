"""Scenarios in which a property once accused the reference, or a legal variant of it, although nothing was wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engines.replay import ReplayVerdict, read_scenario, replay
from conformance.ports import find_implementation

FOLDER = Path(__file__).resolve().parents[1] / "corpus" / "false_alarms"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_nobody_is_accused(name):
    scenario = read_scenario(FOLDER / f"{name}.json")
    assert scenario.finding is not None
    assert scenario.finding.implementation is not None
    seen = replay(scenario, find_implementation(scenario.finding.implementation))
    assert seen.verdict is ReplayVerdict.FIXED, seen.reason
