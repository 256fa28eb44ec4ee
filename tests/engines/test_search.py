"""The random search: a scenario is a function of its seed, on every machine and every Python."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from conformance.alphabets import ALPHABETS, alphabet_of
from conformance.alphabets.program import Program
from conformance.engines import Search, replay
from conformance.engines.check import missed_goals, search_range
from conformance.ports import find_implementation
from conformance.properties import Level
from conformance.scenarios import encode_history

GENERATIONS = ("reference", "reference-in-memory", "reference-recover-first")
# What forty histories hash to. They change with the alphabets and the reference, and with nothing else.
HISTORIES = {
    "chain": "215af34c773f33433044b3f6bedc3d3dd69ca6543b83f90fa38de26658d24c6f",
    "deque": "1010229dd54644b75293aebcdbaab72c3fa92a246223eef2b98c8ad2df426b3e",
    "local-channel": "48d4e6525441daba39aab867944ee8f19f3decdef16a338fcd19471d776ccdfa",
    "recovered-channel": "2628ce444ea994648ad00240d9b783057d06ebe7cd6f8c44b07d6913ffa9cb50",
    "union-gate": "15c1af6fa6245bf5286a9d66ab48426bda550f3299bb81d7e9e16a6d71391209",
    "subpartition": "6b30e298114976dc83210fda4308a23555accf1f58bba087f46c0871e48fdd6c",
}


@pytest.mark.parametrize("component", sorted(ALPHABETS))
@pytest.mark.parametrize("name", GENERATIONS)
def test_the_reference_never_fails_and_every_goal_is_reached(name, component):
    ready = Program(alphabet_of(component), find_implementation(name))
    tally = search_range(ready, "tests", range(4000))
    assert tally.failures == {}
    assert [goal.slug for goal in missed_goals(ready, tally)] == []
    idle = [one.slug for one in ready.properties if not tally.exercised.get(one.slug)]
    assert idle == [one.slug for one in ready.properties if one.level is Level.UNTESTABLE]


def history_of(component: str) -> str:
    """The histories of forty scenarios, as text."""
    implementation = find_implementation("reference")
    search = Search(Program(alphabet_of(component), implementation))
    found = [replay(search.run(f"bytes/{number}")[0], implementation) for number in range(40)]
    return "".join(encode_history(one.history, "reference") for one in found)


@pytest.mark.parametrize("component", sorted(ALPHABETS))
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
    search = Search(Program(alphabet_of("subpartition"), implementation))
    for number in range(100):
        scenario, run = search.run(str(number))
        again = replay(scenario, implementation)
        assert [one.step for one in again.history.entries if not one.closing] == run.performed
