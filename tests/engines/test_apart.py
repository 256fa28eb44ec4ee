"""Whatever an implementation does to its process, the search says where it happened, and goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conformance.cli import cli
from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Program
from conformance.engines import Differ, check, check_apart, check_with_hypothesis, lasting, replay, state_machine
from conformance.engines.apart import Apart, find, is_ours
from conformance.engines.check_apart import ApartCheck
from conformance.engines.checking import check_any, check_any_with_hypothesis
from conformance.engines.hypothesis_check import reproducible_settings
from conformance.engines.replay import ReplayVerdict
from conformance.ports import Limits, UnusableImplementation, find_implementation
from conformance.reporting.status import INCONCLUSIVE
from conformance.scenarios import Scenario, encode_scenario
from tests.engines import hostile
from tests.implementations import reference
from tests.system.test_processes import bearing

HERE = "tests.engines.hostile:"
LIMITS = Limits(4, 500)
FLUSH = (ANSWERS, "crashed", "flush")
SUBPARTITION = COMPONENTS["subpartition"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Fewer processes than usual, since each takes half a second."""
    monkeypatch.setattr(lasting, "MOST", 2)
    monkeypatch.setattr(check_apart, "FEW", 48)


@pytest.fixture
def apart():
    made: list[Apart] = []

    def make(name: str, limits: Limits = LIMITS, against: str | None = None) -> Apart:
        made.append(Apart(f"{HERE}{name}", limits, against))
        return made[-1]

    yield make
    for one in made:
        one.close()


def checked(implementation: Apart, scenarios: int = 60):
    return check_any(Program(SUBPARTITION, implementation), "0", range(scenarios))


def test_the_results_are_those_of_this_process(apart):
    there = checked(apart("buggy"), 150)
    here = check(Program(SUBPARTITION, hostile.buggy()), 150, "0")
    assert there.tally == here.tally
    assert [one.scenario.steps for one in there.found] == [one.scenario.steps for one in here.found]
    assert [(one.signature, one.owed, one.observed) for one in there.found] == [
        (one.signature, one.owed, one.observed) for one in here.found
    ]


@pytest.mark.parametrize(
    ("name", "signature", "said"),
    [
        pytest.param("exits_in_silence", FLUSH, "its process exited with status 0 (in the fair drain, at its step ",
                     marks=pytest.mark.slow),
        pytest.param("exits", FLUSH, "it did not keep to the interface: SystemExit: 0", marks=pytest.mark.slow),
        ("aborts", FLUSH, "its process was ended by SIGABRT (in the fair drain, at its step "),
        ("hangs", (ANSWERS, "hung", "flush"), "it did not return in time (in the fair drain, at its step "),
        pytest.param("swallows_the_alarm", (ANSWERS, "hung", "flush"), "it did not return in time (in the fair drain",
                     marks=pytest.mark.slow),
        pytest.param("leaks", FLUSH, "its process used too much memory (", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_harm_is_a_finding_with_its_scenario_and_step(apart, name, signature, said):
    found = checked(apart(name)).found
    assert [one.signature for one in found if one.signature[2] == "flush"] == [signature]
    (one,) = (one for one in found if one.signature == signature)
    assert one.observed.startswith(said)
    assert one.count <= 50
    assert "\x1b" not in one.observed


@pytest.mark.parametrize(
    ("name", "failure_class"),
    [pytest.param("exits_in_finish", "crashed", marks=pytest.mark.slow), ("hangs_in_finish", "hung")],
)
def test_an_operation_with_the_name_of_a_turn_is_an_operation(apart, name, failure_class):
    (one,) = (one for one in checked(apart(name)).found if one.signature[2] == "finish")
    assert one.signature == (ANSWERS, failure_class, "finish")
    assert one.scenario.steps == (("finish",),)
    assert "(at step 1, finish)" in one.observed


@pytest.mark.slow  # many processes
def test_the_scenario_that_ends_its_process_is_shortened_and_ends_it_again(apart, monkeypatch):
    monkeypatch.setattr(check_apart, "FEW", 48)
    implementation = apart("exits_late")
    (found,) = checked(implementation, 400).found
    assert found.signature == FLUSH
    assert found.count == lasting.MOST
    assert len(found.scenario.steps) < 20
    seen = replay(found.scenario, implementation)
    assert seen.verdict is ReplayVerdict.FAILED
    assert seen.violation is not None
    assert seen.violation.signature == FLUSH
    assert len(seen.history.entries) >= hostile.OFTEN
    assert all(one.outcome is not None for one in seen.history.entries)


@pytest.mark.slow  # many processes
def test_the_scenarios_before_and_after_it_count(apart):
    """One scenario ends its process now and then; the counts of the others are those of a harmless implementation."""
    rare = check_any(Program(SUBPARTITION, apart("exits_rarely")), "0", range(135))
    usual = check(Program(SUBPARTITION, hostile.harmless()), 135, "0")
    assert rare.tally.scenarios == usual.tally.scenarios
    ended = sum(failure.count for failure in rare.tally.failures.values())
    assert 0 < ended < lasting.MOST
    assert usual.tally.exercised[ANSWERS] - rare.tally.exercised[ANSWERS] == ended


def test_what_failed_before_the_last_end_is_counted(apart, monkeypatch):
    monkeypatch.setattr(lasting, "MOST", 1)
    implementation = apart("loses_and_exits")
    checking = ApartCheck(Program(SUBPARTITION, implementation), implementation, 0, None)
    monkeypatch.setattr(checking, "reduced", lambda tally: ())
    tally = checking.at_random("0", range(20), False, None).tally
    assert [(one.count, one.first) for one in (tally.failures.pop(FLUSH),)] == [(1, 13)]
    assert tally.scenarios == 14
    assert sorted(one.first or 0 for one in tally.failures.values()) == [5, 10]


def test_a_replay_shows_what_happened_before_the_end(apart):
    steps = (("attach_view",), ("open_buffer", 1), ("flush",), ("poll",))
    scenario = Scenario("subpartition", SUBPARTITION.configs[0], steps)
    seen = replay(scenario, apart("exits_in_silence"))
    assert seen.verdict is ReplayVerdict.FAILED
    assert [entry.step for entry in seen.history.entries] == [*steps[:2]]
    assert "its process exited with status 0 (at step 3, flush)" in seen.reason


def test_hypothesis_finds_the_end_of_its_process(apart):
    found = check_any_with_hypothesis(Program(SUBPARTITION, apart("exits_in_silence")), 20, "0").found
    assert [one.signature for one in found] == [FLUSH]


@pytest.mark.slow  # Hypothesis in another process; the end of its process is found by default
def test_hypothesis_finds_a_bug_apart(apart):
    """Hypothesis may draw other scenarios there: it takes constants from the modules that are loaded."""
    there = check_any_with_hypothesis(Program(SUBPARTITION, apart("buggy")), 60, "0")
    here = check_with_hypothesis(Program(SUBPARTITION, hostile.buggy()), 60, "0")
    assert [one.signature[:2] for one in there.found] == [one.signature[:2] for one in here.found]


@pytest.mark.slow  # two searches
def test_a_comparison_is_the_same_apart(apart):
    implementation = apart("buggy", against="reference")
    program = Program(SUBPARTITION, implementation)
    there = check_any(program, "0", range(120), differ=Differ("reference", reference(), program)).comparison
    mine = Program(SUBPARTITION, hostile.buggy())
    assert there == check(mine, 120, "0", differ=Differ("reference", reference(), mine)).comparison


@pytest.mark.parametrize("engine", ["random", "hypothesis"])
def test_a_baseline_that_ends_the_process_ends_the_comparison_only(apart, engine):
    against = f"{HERE}exits_in_silence"
    program = Program(SUBPARTITION, apart("harmless", against=against))
    differ = Differ(against, apart("exits_in_silence"), program)
    if engine == "random":
        result = check_any(program, "0", range(30), differ=differ)
    else:
        result = check_any_with_hypothesis(program, 30, "0", differ=differ)
    assert result.tally.scenarios >= 30
    assert result.clean
    assert result.comparison is not None
    assert "its process exited with status 0" in result.comparison.reason


def test_it_leaves_nobody_behind(apart):
    implementation = apart("leaves_a_program")
    marks = [implementation._worker._worker._started.mark]
    checked(implementation, 5)
    marks.append(implementation._worker._worker._started.mark)
    implementation.close()
    assert [pid for mark in marks for pid in bearing(mark)] == []


def test_what_ends_its_process_when_it_is_made_is_unusable():
    with pytest.raises(UnusableImplementation, match="when it was loaded and made, its process exited with status 0"):
        find(f"{HERE}exits_when_made")
    with pytest.raises(UnusableImplementation, match="has no object 'nobody'"):
        find(f"{HERE}nobody")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reference", True),
        ("reference-in-memory", True),
        ("known-bug:B-01", True),
        ("jsonl:node adapter.mjs", True),
        ("flink-component@2.2.1", True),
        ("known-bug:tests.engines.hostile:exits", False),
        ("reference_impl:reference", False),
        ("tests.engines.hostile:exits", False),
        ("known-bug:B-0", False),
    ],
)
def test_what_is_not_the_suites_own_runs_apart(name, expected):
    assert is_ours(name) is expected


def test_what_is_built_in_runs_in_this_process():
    assert type(find("reference")) is type(find_implementation("reference"))
    assert not isinstance(find(f"{HERE}harmless", in_process=True), Apart)
    assert isinstance(find("reference", against=f"{HERE}harmless"), Apart)


def test_a_state_machine_of_a_user_is_not_wrapped():
    from hypothesis.stateful import run_state_machine_as_test

    pids = set()

    class Notes(hostile.Harmless):
        def harm(self) -> None:
            pids.add(os.getpid())

    program = Program(SUBPARTITION, hostile.made(Notes)())
    run_state_machine_as_test(state_machine(program), settings=reproducible_settings(5))
    assert pids == {os.getpid()}


def test_the_command_line_is_not_green(capsys):
    arguments = ["check", "--component", "subpartition", "--scenarios", "20", "--implementation"]
    assert cli.main([*arguments, f"{HERE}exits_in_silence"], standalone_mode=False) == INCONCLUSIVE
    assert f"{HERE}exits_in_silence: FAILED" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "replay"])
def test_a_folder_named_like_a_package_of_the_suite_is_not_in_the_way(tmp_path, command):
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").write_text("raise AssertionError('theirs')\n")
    (tmp_path / "mine.py").write_text("from reference_impl import reference\n")
    (tmp_path / "scenario.json").write_text(encode_scenario(Scenario("deque", {}, (("poll",),))))
    of_command = {"check": ("--component", "deque", "--scenarios", "2"), "replay": ("scenario.json",)}[command]
    # As the console script does, which has its own folder in front, not the current one.
    started = [sys.executable, "-P", "-c", "from conformance.cli import main; main()"]
    done = subprocess.run(
        [*started, command, *of_command, "--implementation", "mine:reference"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert "theirs" not in done.stderr
