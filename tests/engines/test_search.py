"""The random search: a scenario is a function of its seed, on every machine and every Python."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Kind, Level, Program
from conformance.engines import Search, replay
from conformance.engines.check import missed_goals, search_range
from conformance.ports import find_implementation, find_known_bug
from conformance.scenarios import Step, encode_history

OLDER = ("reference-in-memory", "reference-recover-first")
THE_SAME = (
    "barrier-handler", "consumer-loop", "deque", "persister", "spill", "subtask-checkpoint", "task-restore", "writer",
)  # fmt: skip
"""The components that are the same in all generations."""
ONLY_NEWEST = ("drainer",)
"""The components that older generations do not have."""
# What forty histories hash to. They change with the components and the reference, and with nothing else.
HISTORIES = {
    "barrier-handler": "c2a7b440a1e016346e60b8631e30a9e8f45e58c0bdb0184f25b379d2ee936407",
    "chain": "138e03447984040b965ee154c62f2fef2b32216df202ee4d6aaf5aeb4766184c",
    "consumer-loop": "10548ef7df7727d0cda6ed0480bc5082f51b46d7cc38814ce178778ac4d2ec29",
    "coordinator": "dba2c8bd964df3317119fffa0164e40db729e3a533228569ca8bb102222b3acd",
    "deque": "2acdbfe1228e25cec577aa099bdd9cdd1734fd4a70e89300caf6c3aa36c9c4d2",
    "gate": "fa3174c7579c6eb70c9b9ccc91e7cd24dbfccef5e812f79197b9d85a798d72ac",
    "local-channel": "af83a757d147f4b21d99365aa9cd2281258c53f1001e002060eeac069bfe4b39",
    "persister": "90168107ef34a06887ca3bd0cdb0f07f2f49a6388c42b25cda0fcf62c514cf3b",
    "recovered-channel": "28a855ccee8c803fd8c6d5e1cb3d9625367252803bba5e6a966d30f24321fde8",
    "remote-channel": "97243a4a16e0c506b30d8653717cd33db1464737df40b783f491d70d9145b741",
    "subpartition": "83cc063364da58463ead6d397f4c583c140e9cc2015d292ffba8a36b94eaec7b",
    "writer": "9f57acae978b41b13c669bdb9ac2b88eb8203e29b7c39fb5a30b9f76a8e8f7c3",
    "subtask-checkpoint": "83a4c29a54404cbc1064a673e92e16df6e5d3cdbb6d85480f5f046d67aa14178",
    "drainer": "3e4bfabc611d6987488d7a659131e354f03f219364b2b8a685afd4b3c3f4cd69",
    "spill": "7c3ac334f10f75ee5cd4e0a8deb101f1f2956f6f21852b044ec2ca27f4cccbed",
    "task-restore": "2cea2a955926e2f0902528b9dbbd0dfbf982e1641dbdad26c80e4bc2be45f34a",
    "union-gate": "239b690ec14e1b515b7035e345739301813789c6a3fb65d5fb5a7206f56ad301",
}


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_the_reference_never_fails_and_every_goal_is_reached(component):
    ready = Program(COMPONENTS[component], find_implementation("reference"))
    tally = search_range(ready, "tests", range(2200))
    assert tally.failures == {}
    assert [goal.slug for goal in missed_goals(ready, tally)] == []
    idle = [one.slug for one in ready.properties if not tally.exercised.get(one.slug)]
    assert idle == [one.slug for one in ready.properties if one.level is Level.UNTESTABLE]


@pytest.mark.parametrize("component", sorted(COMPONENTS.keys() - {*THE_SAME, *ONLY_NEWEST}))
@pytest.mark.parametrize("name", OLDER)
def test_the_older_generations_never_fail_and_exercise_every_property(name, component):
    """They reach the rarest goals in 3,000 scenarios only; the nightly tests look for all goals in many more."""
    ready = Program(COMPONENTS[component], find_implementation(name))
    tally = search_range(ready, "tests", range(1000))
    assert tally.failures == {}
    idle = [
        one.slug for one in ready.properties if one.kind is not Kind.SOMETIMES and not tally.exercised.get(one.slug)
    ]
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


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_long_scenarios_are_long(component):
    """Three of ten scenarios are meant to end earlier, as always. The others do not run out of steps or lives. A fault
    ends a life before anything can be restored, so the configurations with faults are left out."""
    implementation = find_implementation("reference")
    ready = Program(COMPONENTS[component], implementation)
    ready.configs = tuple(one for one in ready.configs if not getattr(one, "faults", False))
    found = [Search(ready, 2000).run(f"long/{number}") for number in range(10)]
    lengths = sorted(len(run.performed) for _, run in found)
    acting = [len(run.performed) - sum(watches(component, step) for step in run.performed) for _, run in found]
    print(component, "steps:", lengths, "without those that only observe:", sorted(acting))
    assert not any(run.violation for _, run in found)
    assert sum(length >= 1000 for length in lengths) >= 7
    assert sum(acting) > sum(lengths) / 3
    if any(kind.fresh_port for kind in COMPONENTS[component].steps):
        assert sum(step[0] == "restore" for _, run in found for step in run.performed) >= 10
    again = replay(found[0][0], implementation)
    assert [one.step for one in again.history.entries if not one.closing] == found[0][1].performed


def watches(component: str, step: Step) -> bool:
    """Whether this step only observes."""
    kind = COMPONENTS[component].step(step[0])
    return kind is not None and kind.by == "observer"


def test_a_long_scenario_fails_where_a_short_one_does():
    """The lives of a long scenario reach what the short scenarios reach."""
    for bug in ("B-01", "B-S4", "B-37", "B-L5", "B-V1"):
        known = find_known_bug(bug)
        search = Search(Program(COMPONENTS[known.component], known.build()), 1000)
        runs = [search.run(f"long/{number}")[1] for number in range(40)]
        assert any(run.violation is not None and run.violation.property.slug == known.property for run in runs), bug


def test_a_scenario_found_by_the_search_replays_alike():
    implementation = find_implementation("reference")
    search = Search(Program(COMPONENTS["subpartition"], implementation))
    for number in range(100):
        scenario, run = search.run(str(number))
        again = replay(scenario, implementation)
        assert [one.step for one in again.history.entries if not one.closing] == run.performed
