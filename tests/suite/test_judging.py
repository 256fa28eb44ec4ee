"""`judge` and the state machine in tests of a user, with the habits of Hypothesis: settings, database, seeds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.stateful import run_state_machine_as_test

from conformance.components import COMPONENTS
from conformance.driver import Program, Violation
from conformance.engines.replay import ReplayVerdict, read_scenario
from conformance.ports import Capability, Implementation, find_implementation
from conformance.relations import RELATIONS
from conformance.scenarios import Scenario
from conformance.suite import judge, state_machine
from conformance.suite.machine_test import explain
from conformance.suite.telling import TO_REPLACE, command
from tests.implementations import With

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"
DOCUMENT = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOY = Path(__file__).with_name("toy_engine.py").read_text(encoding="utf-8")
NO_ELEMENTS = "ToySubpartition.poll = lambda self: None"
B88 = Program(COMPONENTS["subpartition"], find_implementation("known-bug:B-88"))


def test_judge_returns_the_verdict_if_every_property_holds():
    scenario = read_scenario(CORPUS / "B-88.json")
    assert judge(scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED


def test_a_class_that_cannot_be_found_by_its_name_is_to_be_replaced_in_the_command():
    """A class that `type` makes has the module of whoever called it, and only the name that it was given."""
    found = read_scenario(CORPUS / "B-88.json")

    def named(implementation: Implementation) -> str:
        return command(found, implementation, ()).partition(" --implementation ")[2]

    assert named(With()) == "tests.implementations:With"
    made = type("made-here", (With,), {"__module__": "abc"})
    assert named(made()) == f"module:object  # {TO_REPLACE}"
    inside = type("With", (With,), {"__module__": "tests.implementations"})  # that name leads to another class
    assert named(inside()) == f"module:object  # {TO_REPLACE}"


def test_judge_refuses_a_component_that_is_not_offered():
    with pytest.raises(ValueError, match="mine does not offer the component deque"):
        judge(Scenario("deque", None, (("poll",),)), With())


def test_judge_says_what_is_broken_and_how_to_replay_it(tmp_path):
    scenario = read_scenario(CORPUS / "B-88.json")
    with pytest.raises(AssertionError) as caught:
        judge(scenario, find_implementation("known-bug:B-88"), assume=[Capability.RESOURCES])
    story, _, command = str(caught.value).partition("\n\n")
    assert "expected: a newer timeoutable barrier was added" in story
    assert "observed: its output state is pending" in story
    assert "1 producer  timeoutable_barrier (checkpoint 1)" in story
    assert "drain, here" in story
    done = in_a_shell(command, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "FAILED on known-bug:B-88" in done.stdout


def in_a_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    assert "\n" not in command  # it can be copied from a message of which each line has something in front
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip


def test_a_failing_machine_shows_the_rule_the_outcomes_and_how_to_replay_it(tmp_path):
    machine = hypothesis.seed(1)(state_machine(B88))
    machine.TestCase.settings = quick(phases=[Phase.generate, Phase.shrink])
    with pytest.raises(Violation) as caught:
        machine.TestCase("runTest").runTest()
    told, *program = caught.value.__notes__
    story, _, command = told.partition("\n\n")
    rule, steps = story[: story.index("\n   1 ")], story[story.index("\n   1 ") + 1 :].splitlines()
    assert rule.split("\n")[0].startswith("rule: subpartition.md#I-59 I-59 A newer timeoutable barrier fails the older")
    assert rule.endswith("It is neither forgotten nor completed.")
    assert steps[0] == "   1 producer  timeoutable_barrier (checkpoint 1)  added; no signal"
    assert steps[-1] == "  12 observer  persisted (checkpoint 1)            pending; no signal  drain, here"
    assert "state.timeoutable_barrier(checkpoint=1)" in "\n".join(program)
    printed = in_a_shell(command, tmp_path)
    assert printed.returncode == 1, printed.stderr
    words = " ".join(printed.stdout.split())
    for line in steps:  # the same steps as `conformance replay` prints, which breaks its lines elsewhere
        number, who, step, outcome, *_ = re.split(" {2,}|(?<=\\d) ", line.strip(), maxsplit=3)
        assert f"{number} {who} " in words
        assert all(word in words for word in (*step.split(), *outcome.split("; ")[0].split()))


def test_each_of_several_failures_is_reported():
    def failed(checkpoint: int) -> Violation:
        state: Any = machine()
        state.configure(config=B88.configs[0])
        state.timeoutable_barrier(checkpoint=1)
        state.timeoutable_barrier(checkpoint=checkpoint)
        with pytest.raises(Violation) as caught:
            state.teardown()
        return caught.value

    machine = state_machine(B88)
    group = ExceptionGroup("two", [failed(2), failed(3)])
    explain(B88, group)
    texts = [one.__notes__[0] for one in group.exceptions]
    assert ["timeoutable_barrier (checkpoint 2)" in one for one in texts] == [True, False]
    assert ["timeoutable_barrier (checkpoint 3)" in one for one in texts] == [False, True]


def readme_snippet() -> str:
    (snippet,) = (one for one in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "state_machine" in one)
    assert "from my_adapter import MyEngine" in snippet
    return str(snippet).replace("from my_adapter import MyEngine", "from toy_engine import Toy as MyEngine")


PROFILES = """import os
from hypothesis import Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

kept = settings(derandomize=False, report_multiple_bugs=False, database=DirectoryBasedExampleDatabase("kept"))
settings.register_profile("kept", kept)
settings.register_profile("brief", kept, report_multiple_bugs=True, phases=[Phase.generate, Phase.shrink])
settings.load_profile(os.environ["HYPOTHESIS_PROFILE"])
"""
"""Hypothesis goes on after a failure in order to find others, and traces every line of all runs in order to explain it.
Both take most of the time."""


def pytest_in(
    folder: Path, *options: str, hash_seed: int = 0, profile: str = "kept"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_engine.py"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "HYPOTHESIS_PROFILE": profile},
    )  # fmt: skip


def explained_by_us(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines of the suite that Hypothesis names as those that only failing examples ran."""
    named = re.findall(r"^E\s+(/\S+\.py):\d+$", done.stdout, re.MULTILINE)
    return [one for one in named if one.startswith((str(ROOT / "conformance"), str(ROOT / "strategies")))]


def test_the_snippet_of_the_readme_finds_a_rare_bug(tmp_path):
    (tmp_path / "toy_engine.py").write_text(TOY, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(PROFILES, encoding="utf-8")
    test = tmp_path / "test_engine.py"
    test.write_text(readme_snippet(), encoding="utf-8")
    first = pytest_in(tmp_path, "--hypothesis-seed=4", "--hypothesis-show-statistics", profile="brief")
    assert first.returncode == 1, first.stdout
    assert "E       rule: subpartition.md#" in first.stdout
    assert "E       printf %s '{" in first.stdout
    assert "state.aligned_timeout(checkpoint=1)" in first.stdout
    assert "    - Events:\n" in first.stdout
    assert re.search(r"%, goal reached: [a-z-]+$", first.stdout, re.MULTILINE)
    assert "Retried draw" not in first.stdout


SEEDED = """from hypothesis import Phase, seed, settings
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.suite import state_machine
from toy_engine import Toy

Machine = seed(1)(state_machine(Program(COMPONENTS["subpartition"], Toy())))
TestMyEngine = Machine.TestCase
TestMyEngine.settings = settings(phases=[Phase.PHASE], deadline=None, stateful_step_count=100)
"""


@pytest.mark.slow  # two runs of pytest
def test_a_failing_example_is_run_again_by_another_process(tmp_path):
    (tmp_path / "toy_engine.py").write_text(f"{TOY}\n{NO_ELEMENTS}", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(PROFILES, encoding="utf-8")
    test = tmp_path / "test_engine.py"
    for hash_seed, phase in enumerate(("generate", "reuse")):  # the second only reads the database
        test.write_text(SEEDED.replace("PHASE", phase), encoding="utf-8")
        done = pytest_in(tmp_path, hash_seed=hash_seed)
        assert done.returncode == 1, done.stdout
        assert "state.fair_drain()" in done.stdout


def quick(**more: object) -> settings:
    chosen = {"max_examples": 60, "deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": False}
    chosen["phases"] = [Phase.reuse, Phase.generate]
    return settings(**{**chosen, "report_multiple_bugs": False, **more})  # type: ignore[arg-type]


def test_another_implementation_has_other_entries_in_the_database(tmp_path):
    database = DirectoryBasedExampleDatabase(tmp_path)
    with pytest.raises(Violation):
        run_state_machine_as_test(hypothesis.seed(1)(state_machine(B88)), settings=quick(database=database))
    reference = Program(COMPONENTS["subpartition"], find_implementation("reference"))
    run_state_machine_as_test(state_machine(reference), settings=quick(database=database, max_examples=5))
    only_again = quick(database=database, phases=[Phase.reuse])
    with pytest.raises(Violation):  # the clean run of another implementation did not remove it
        run_state_machine_as_test(state_machine(B88), settings=only_again)


def test_a_seed_and_derandomize_give_the_same_failure_again():
    def reported(seeded: bool) -> object:
        machine = state_machine(B88)
        one = hypothesis.seed(5)(machine) if seeded else machine
        with pytest.raises(Violation):
            run_state_machine_as_test(one, settings=quick(database=None, derandomize=not seeded))
        return machine.last

    assert reported(True) == reported(True)
    assert reported(False) == reported(False)


def test_the_settings_of_the_profile_are_kept_and_can_be_replaced():
    assert state_machine(B88).TestCase.settings.stateful_step_count == 100
    settings.register_profile("conformance-test", max_examples=7, stateful_step_count=20)
    before = settings.get_current_profile_name()
    settings.load_profile("conformance-test")
    try:
        found = state_machine(B88).TestCase.settings
    finally:
        settings.load_profile(before)
    assert (found.max_examples, found.stateful_step_count) == (7, 20)
    machine = state_machine(B88)
    machine.TestCase.settings = settings(max_examples=3)
    assert machine.TestCase.settings.max_examples == 3


def test_the_printed_program_can_be_run():
    state: Any = state_machine(B88)()
    state.configure(config=B88.configs[0])
    state.timeoutable_barrier(checkpoint=1)
    state.timeoutable_barrier(checkpoint=2)
    with pytest.raises(Violation):
        state.teardown()


SHORT = "TestMyEngine.settings = settings(TestMyEngine.settings, stateful_step_count=2)"
"""To explain a failure, Hypothesis runs hundreds of other examples, and traces their lines."""


def test_the_snippet_with_relations_makes_a_test_for_each_that_applies(monkeypatch):
    (snippet,) = (one for one in re.findall(r"```py\n(.*?)```", DOCUMENT, re.DOTALL) if "relations(" in one)
    mine = SimpleNamespace(MyEngine=lambda: find_implementation("reference"))
    monkeypatch.setitem(cast("dict[str, Any]", sys.modules), "my_adapter", mine)
    made: dict[str, Any] = {}
    exec(snippet, made)
    names = [name for name in dir(made["TestMyFilter"]) if name.startswith("test_")]
    assert len(names) == len(RELATIONS["filter"])


@pytest.mark.slow  # a run of pytest for what documents have
def test_the_tests_of_the_documents_explain_no_line_of_ours(tmp_path):
    (snippet,) = (one for one in re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL) if "judge" in one)
    (tmp_path / "toy_engine.py").write_text(f"{TOY}\n{NO_ELEMENTS}", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(PROFILES, encoding="utf-8")
    snippet = snippet.replace("from my_adapter import MyEngine", "from toy_engine import Toy as MyEngine")
    assert 'scenarios("subpartition")' in snippet
    snippet = snippet.replace('scenarios("subpartition")', 'scenarios("subpartition", most=12)')  # little to shorten
    (tmp_path / "test_engine.py").write_text(f"{snippet}\n\n{readme_snippet()}{SHORT}", encoding="utf-8")
    done = pytest_in(tmp_path, "--hypothesis-seed=1")
    assert "2 failed" in done.stdout, done.stdout
    assert "expected: " in done.stdout
    assert not explained_by_us(done)
    assert "conformance replay failing-scenario.json --implementation toy_engine:Toy\n" in done.stdout
