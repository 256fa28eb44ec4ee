"""The random search: a scenario is a function of its seed, on every machine and every Python."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Level, Program
from conformance.engines import Search, replay
from conformance.engines.check import missed_goals, search_range
from conformance.ports import find_implementation
from conformance.scenarios import encode_history

GENERATIONS = ("reference", "reference-in-memory", "reference-recover-first")
# What forty histories hash to. They change with the components and the reference, and with nothing else.
HISTORIES = {
    "chain": "215af34c773f33433044b3f6bedc3d3dd69ca6543b83f90fa38de26658d24c6f",
    "deque": "2a8234514f5315765c432b233b0da17372af6531ea763f2e9e54a25b1aa8d580",
    "gate": "06de8d06f88b8108021fd509e4b85b7a5a193c4fde875b4719888d1cea884a42",
    "local-channel": "fded1d9d6a730d1c43104d403a0bc229b6cd4fdf107de0dc1ce3f7ed4ee71413",
    "persister": "7a87e6b3db1ac4813cbd9517cdcdd0b135c0c391074bf915ad63356a634b8034",
    "recovered-channel": "01a9f427468c9ec9eed5f5b7b13cd5d8c82867d3e57b9a3ab2d753dcbf41abf7",
    "remote-channel": "2c83b80fff5291c4ba0a4816ab1beb5c1f7d33ebb8176e2de00c031b413d4c50",
    "subpartition": "925bd03c38469399c852479e43621763cdec90fa3899f2d859fe521cac627ee4",
    "union-gate": "602d2411c3205744fc57cff6fb70fe0bc46422116c29d3faedc3bcb26bd01812",
}


@pytest.mark.parametrize("component", sorted(COMPONENTS))
@pytest.mark.parametrize("name", GENERATIONS)
def test_the_reference_never_fails_and_every_goal_is_reached(name, component):
    ready = Program(COMPONENTS[component], find_implementation(name))
    tally = search_range(ready, "tests", range(4000))
    assert tally.failures == {}
    assert [goal.slug for goal in missed_goals(ready, tally)] == []
    idle = [one.slug for one in ready.properties if not tally.exercised.get(one.slug)]
    assert idle == [one.slug for one in ready.properties if one.level is Level.UNTESTABLE]


def history_of(component: str) -> str:
    """The histories of forty scenarios, as text."""
    implementation = find_implementation("reference")
    search = Search(Program(COMPONENTS[component], implementation))
    found = [replay(search.run(f"bytes/{number}")[0], implementation) for number in range(40)]
    return "".join(encode_history(one.history, "reference") for one in found)


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_histories_are_the_same_bytes_everywhere(component):
    assert hashlib.sha256(history_of(component).encode()).hexdigest() == HISTORIES[component]


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_histories_do_not_depend_on_the_hash_seed(hash_seed):
    program = (
        "import hashlib; from tests.engines.test_search import history_of;"
        "print(hashlib.sha256(history_of('subpartition').encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == HISTORIES["subpartition"]


def test_a_scenario_found_by_the_search_replays_alike():
    implementation = find_implementation("reference")
    search = Search(Program(COMPONENTS["subpartition"], implementation))
    for number in range(100):
        scenario, run = search.run(str(number))
        again = replay(scenario, implementation)
        assert [one.step for one in again.history.entries if not one.closing] == run.performed
