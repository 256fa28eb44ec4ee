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
from tests.by_default import one_of

OLDER = ("reference-in-memory", "reference-recover-first")
THE_SAME = (
    "assignment", "barrier-handler", "consumer-loop", "deque", "persister", "spill", "subtask-checkpoint",
    "task-restore", "writer",
)  # fmt: skip
"""The components that are the same in all generations."""
ONLY_NEWEST = ("drainer",)
"""The components that older generations do not have."""
ENOUGH = {
    "assignment": 400, "barrier-handler": 400, "chain": 2400, "consumer-loop": 400, "coordinator": 1200, "deque": 400,
    "drainer": 800, "filter": 1500, "local-channel": 500, "persister": 400, "pipeline": 800, "recovered-channel": 1500,
    "spill": 400, "subpartition": 2000, "subtask-checkpoint": 600,
}  # fmt: skip
"""By component, how many scenarios reach all goals, and a third more. Otherwise 2,200; at night there are many more."""
# What forty histories hash to. They change with the components and the reference, and with nothing else.
HISTORIES = {
    "barrier-handler": "c6071a6b3caf7ea735dd41d318a9c36427c863449499ca836632ec49170bb734",
    "chain": "6f3e1c6ba0d5d1c41c6f8ab0963fa0fee5e5f7bcc0f25eb6b30db2ae78cd7d78",
    "consumer-loop": "f0fe46ddaac66caa91615a520074fe05fe6f89115761e95eb1400b8ee31be5c4",
    "coordinator": "49b54a4bcd508806017f6ed5ef1933548f4cbf81081bf69b21ec2291fe01f8fb",
    "deque": "8ed198bbf68614ffb7476a27e886d27857862697d3d4240d7b38b9de6a902ec8",
    "gate": "e39ed347e54df654e7b268d5eb74f68d6a6d87f8300e4e024d0d678826771e8a",
    "local-channel": "95862505a0084dfdba973b6911898e28bcb7ac4a4393fc5cc2bee0857d9f9dcc",
    "persister": "312d72185e00ca21e36f9f2fa43221cca26bfdb72872b6b7eec44227d5c22f3e",
    "pipeline": "96ea28411a341d5e402785eb5f426491007a3fd3af2998516a677fe17e92ccfe",
    "recovered-channel": "aa6b461bd0c873e143ce951a9a13933d47a6b54e97d865aa6264d75f6efd7fae",
    "remote-channel": "96bcfaa43f4aeba0bd1a60f94f5bf8d98713e2e05cc2ee4872b4555ea5fa5a8c",
    "subpartition": "92fbe7d7fc8774713d95585ed49602ef1227c400accb02c514c8a3bdd5c25d0e",
    "writer": "8f86943fc22f335689c071757ffd411895f1b9bd84684bc733309e3ee0b2cd83",
    "subtask-checkpoint": "21ab833d1cff08470545c4744a7ea0dc27ad8f0efe64a421dc008740d29c6390",
    "drainer": "4568885fe4c5d48783afd8adb6fcd2edc38d51dceb5e0ed77cd52af9803c3e1b",
    "spill": "a446380fe09b5f3e28b758509656f04ac0f9bd250b8d5d8ecba8e350e538a573",
    "assignment": "e21e6a4be6fe2a72c4009fc713015b1f319cc86941aa030a4446ae25a5ac095f",
    "task-restore": "a442f411b16c75a3fcdf57b6b10d76dbbc8693903196ccd94c7476c453aadc66",
    "filter": "7d164d5baf5b667945be423b32bbaa5c3d7235577b1ebeb40ed227e0d309b780",
}


@pytest.mark.parametrize(
    "component",
    [pytest.param(one, marks=[pytest.mark.slow] if one == "pipeline" else []) for one in sorted(COMPONENTS)],
)
def test_the_reference_never_fails_and_every_goal_is_reached(component):
    ready = Program(COMPONENTS[component], find_implementation("reference"))
    tally = search_range(ready, "tests", range(ENOUGH.get(component, 2200) * ready.shares()))
    assert tally.failures == {}
    assert [goal.slug for goal in missed_goals(ready, tally)] == []
    idle = [one.slug for one in ready.properties if not tally.exercised.get(one.slug)]
    assert idle == [one.slug for one in ready.properties if one.level is Level.UNTESTABLE]


@pytest.mark.slow  # the newest reference is tried by default, in more scenarios
@pytest.mark.parametrize(
    "component",
    sorted(COMPONENTS.keys() - {*THE_SAME, *ONLY_NEWEST}),
)
@pytest.mark.parametrize("name", OLDER)
def test_the_older_generations_never_fail_and_exercise_every_property(name, component):
    """They reach the rarest goals in 3,000 scenarios only; the nightly tests look for all goals in many more."""
    ready = Program(COMPONENTS[component], find_implementation(name))
    tally = search_range(ready, "tests", range(1000 * ready.shares()))
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


@pytest.mark.parametrize("component", ["subpartition", "pipeline"])
@pytest.mark.parametrize("hash_seed", one_of(3, ["4711", "0", "1"]))
def test_histories_do_not_depend_on_the_hash_seed(hash_seed, component):
    program = (
        "import hashlib; from tests.engines.test_search import history_of;"
        f"print(hashlib.sha256(history_of({component!r}).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == HISTORIES[component]


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_long_scenarios_are_long(component):
    """Three of ten scenarios are meant to end earlier, as always. The others do not run out of steps or lives. A fault
    ends a life before anything can be restored, so the configurations with faults are left out."""
    implementation = find_implementation("reference")
    ready = Program(COMPONENTS[component], implementation)
    ready = ready.within(one for one in ready.configs if not getattr(one, "faults", False))
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
