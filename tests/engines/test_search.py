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
    "assignment", "barrier-handler", "consumer-loop", "deque", "persister", "spill", "subtask-checkpoint",
    "task-restore", "writer",
)  # fmt: skip
"""The components that are the same in all generations."""
ONLY_NEWEST = ("drainer",)
"""The components that older generations do not have."""
MANY = {"pipeline": 800}
"""How many scenarios are enough for all goals, where 2,200 take half a minute: the nightly tests have many more."""
# What forty histories hash to. They change with the components and the reference, and with nothing else.
HISTORIES = {
    "barrier-handler": "9e34c78c783f5418dbe01969015c155c94c14fb4145cc4e1d2332b925637c63a",
    "chain": "07cceb0ca20d0bb0529f1ce09fbf0a941d2e6e0d5a88b1e25f881d32f1c847e1",
    "consumer-loop": "6f1fd24e35e7b9e7a6a536df5f77cb0a6fdc8c406f333552748991c49b15e570",
    "coordinator": "9d6fc90304bfd2295aedd5d1ae1780862737fdf82fedd7310708a3bc8dda92ca",
    "deque": "74fe077199ddfbce4de2a4a507f40de505097d912a5619563b60c60c6df78f77",
    "gate": "63594380af7f1b026468250ff19fc6be5ae1245f47747835726a859393f41734",
    "local-channel": "10f1c9b36aa49bddf08c7a0ed62bbc453e2ee2b517d2fad4c4699e4a7a3a3a33",
    "persister": "43c8894d140cced13c056e8768a723feb85639777e626bf60a0a47257cb3882d",
    "pipeline": "cac66ffefcc327ba2dd0bbcb1e6c76337080e61beab30798b58224c8b8653e0e",
    "recovered-channel": "1ade3be91677020682e627454c9262be182515fcfa32e1f960ae8e63be3a2e8e",
    "remote-channel": "77b951e68f506cd5e1bbe4928c20433d9ca40068d5902bcdd945262ea216f048",
    "subpartition": "f43f6fc6718517abdc7ef1d325561f9bd9a0c635979d62052ba15ee3645a6480",
    "writer": "ed1f231de6c57b90cf3723229e1edb01c18e8a426140849caa649ff45da26712",
    "subtask-checkpoint": "d2fc2f19e511feb36d7a4751d8994934adf519b33d1bb0b7217dd7a078684de2",
    "drainer": "bd21dd222a932060634322c339ba50d776615ec3902ee10fb67b970e85efc490",
    "spill": "9073b0f3c79f418a996efb92a419f95ab80afc1a0d774a938f61815fc3363d9c",
    "assignment": "6cb56b6c70f72c4628cd06c4f198121d448365b577bd375eecb70a9c610fab0f",
    "task-restore": "aab53c2b7c248097748657e8c8074f4a12b95c2e0ecbdb54f166f72290256e04",
    "filter": "11feb64a896f4ef186c5a76d63b782f0975e162bf704fad2a476f1137930ec43",
}


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_the_reference_never_fails_and_every_goal_is_reached(component):
    ready = Program(COMPONENTS[component], find_implementation("reference"))
    tally = search_range(ready, "tests", range(MANY.get(component, 2200) * ready.shares()))
    assert tally.failures == {}
    assert [goal.slug for goal in missed_goals(ready, tally)] == []
    idle = [one.slug for one in ready.properties if not tally.exercised.get(one.slug)]
    assert idle == [one.slug for one in ready.properties if one.level is Level.UNTESTABLE]


@pytest.mark.parametrize(
    "component",
    [
        # A thousand jobs take ten seconds; the scenarios of a campaign of jobs have all designs by default, too.
        pytest.param(one, marks=[pytest.mark.slow] if one in MANY else [])
        for one in sorted(COMPONENTS.keys() - {*THE_SAME, *ONLY_NEWEST})
    ],
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
@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
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
