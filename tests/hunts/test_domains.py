"""Which values a search draws, and which it never draws together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from conformance.engines.interruption import NEVER
from conformance.engines.position import unfollowed
from conformance.scenarios import Scenario
from tests.hunts.domains import Drawing, Noted, never_held, never_together, only_one_value, report


class Config(Struct):
    size: int
    gates: tuple[int, ...]
    fine: bool = False


OPERANDS = {"send": ("channel", "checkpoint")}


def noted(*scenarios):
    found = Noted()
    for config, steps in scenarios:
        found.note(Scenario("some", config, steps), OPERANDS)
    return found.drawn(len(scenarios))


def test_two_values_that_never_meet_are_named():
    drawn = noted((Config(1, (2, 1)), []), (Config(2, (1, 2), fine=True), []))
    assert ("configuration: size and configuration: fine", "1, True") in never_together(drawn)
    assert ("configuration: size and configuration: fine", "1, False") not in never_together(drawn)
    assert only_one_value(drawn) == ["configuration: gates, length = 2"]


def test_gates_that_never_have_one_size_are_named():
    drawn = noted((Config(1, (2, 1)), []), (Config(1, (1, 2)), []))
    assert ("configuration: gates and the next", "equal") in never_held(drawn)
    drawn = noted((Config(1, (2, 1)), []), (Config(1, (1, 1, 2)), []))
    assert "configuration: gates and the next" not in dict(never_held(drawn))


def test_operands_are_compared_with_those_of_the_step_before():
    drawn = noted((Config(1, ()), [("send", 0, 5), ("other",), ("send", 1, 6), ("send", 1, 6)]))
    assert dict(never_held(drawn))["send: checkpoint and before"] == "smaller"
    assert dict(never_held(drawn))["send: channel and send: checkpoint"] == "equal or larger"
    assert ("send: channel and send: checkpoint", "0, 6") in never_together(drawn)


def test_the_scenarios_of_a_component_are_noted_and_shown():
    drawn = Drawing("deque", 30).do(NEVER, unfollowed)
    assert drawn.values["configuration: interleaving"] == ["'whole'"]
    assert dict(never_held(drawn))["remove: handle and before"] == "equal"
    page = report({"deque": drawn}, {"deque": "An element is removed once."})
    assert "An element is removed once." in page
    assert "| remove: handle and before | equal |" in page


def test_the_command_draws_in_processes_that_know_no_main(tmp_path):
    command = [sys.executable, "-m", "tests.hunts.domains", "page.md", "--into", "kept", "--component", "deque"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [*command, "--scenarios", "5"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "| deque | 5 |" in (tmp_path / "page.md").read_text(encoding="utf-8")
