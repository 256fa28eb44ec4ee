import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import Found, Replay, check, read_scenario, replay
from conformance.ports import Capability, Implementation, find_implementation
from conformance.reporting import Report, report_folder_name, write_bug_report
from conformance.scenarios import decode_scenario, encode_history
from conformance.system.writing import NotWritten

BUG = "known-bug:B-01"
ENVIRONMENT = {"implementation": BUG}


@pytest.fixture(scope="module")
def found() -> Found:
    checked = check(Program(COMPONENTS["subpartition"], find_implementation(BUG)), 60, 0, budget=400)
    return min(checked.found, key=lambda one: len(one.scenario.steps))


@pytest.fixture(scope="module")
def failing(found: Found) -> Replay:
    return replay(found.scenario, find_implementation(BUG))


@pytest.fixture
def folder(tmp_path: Path, found: Found, failing: Replay) -> Path:
    reference = replay(found.scenario, find_implementation("reference"))
    return write_bug_report(tmp_path, Report(found, failing, BUG, reference, environment=ENVIRONMENT))


def run_test(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_reproduce.py"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    clean["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # no plugin is needed, and loading plugins is slow
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=clean, check=False)


def test_the_folder_holds_four_files_under_the_name_of_the_finding(folder: Path, found: Found, tmp_path: Path):
    assert folder == tmp_path / report_folder_name(BUG, found)
    assert re.fullmatch(rf"subpartition-{found.slug}-[0-9a-f]{{16}}", folder.name)
    names = sorted(file.name for file in folder.iterdir())
    assert names == ["history.json", "report.md", "scenario.json", "test_reproduce.py"]
    assert list(tmp_path.iterdir()) == [folder]


def test_two_implementations_that_fail_in_the_same_scenario_have_a_folder_each(found: Found):
    assert report_folder_name("one", found) != report_folder_name("other", found)
    assert report_folder_name("one", found) == report_folder_name("one", found)


def test_scenario_and_history_are_what_was_replayed(folder: Path, found: Found, failing: Replay):
    scenario = decode_scenario((folder / "scenario.json").read_text(), COMPONENTS)
    assert (scenario.config, scenario.steps) == (found.scenario.config, found.scenario.steps)
    assert scenario.finding is not None
    assert scenario.finding.implementation == BUG
    assert (folder / "history.json").read_text() == encode_history(failing.history, BUG)


def test_the_report_says_what_where_why_and_how(folder: Path, found: Found, failing: Replay):
    text = (folder / "report.md").read_text()
    assert failing.violation is not None
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[0].startswith("# subpartition: “a blocked subpartition ")
    assert headings[1:] == [
        "## Expected and observed", "## The shortest scenario known", "## As a diagram", "## The property",
        "## How to reproduce", "## Environment",
    ]  # fmt: skip
    assert f"> {failing.violation.property.statement}" in text
    assert f"| **expected** | {failing.violation.broken.owed} |" in text
    assert f"| **observed** | {failing.violation.broken.observed} |" in text
    assert "| **the reference's result** | " in text
    assert "[FLINK-39018](https://issues.apache.org/jira/browse/FLINK-39018)" in text
    assert "- Specification, `subpartition.md#I-13`: **I-13 " in text
    assert f"**{found.failure_class}**" in text
    assert f"conformance replay scenario.json --implementation {BUG}\n" in text
    assert "python -m pytest test_reproduce.py\n" in text
    assert text.count("```mermaid\nsequenceDiagram\n") == 1


def test_the_report_of_a_failure_in_the_drain_shows_the_steps_of_the_drain(tmp_path: Path):
    bug = "known-bug:B-S24"
    scenario = read_scenario(Path(__file__).parent.parent / "corpus" / "B-S24.json")
    assert scenario.steps == ()
    shown = replay(scenario, find_implementation(bug))
    assert shown.violation is not None
    broken = shown.violation.broken
    found = Found(shown.violation.signature, broken.owed, broken.observed, scenario, 1)
    folder = write_bug_report(tmp_path, Report(found, shown, bug, environment=ENVIRONMENT))
    text = (folder / "report.md").read_text()
    assert "The scenario has no steps of its own: a new subpartition fails in the fair drain" in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "drain" in line]
    assert len(rows) == sum(entry.closing for entry in shown.history.entries) == 7
    assert rows[0] == "| 1 | recovery | `recover` | done |  | drain |"
    assert rows[-1].endswith("**drain, here** |")
    assert run_test(folder).returncode == 1


def test_the_same_finding_is_the_same_text_everywhere(found: Found, failing: Replay, tmp_path: Path):
    first, second = (
        write_bug_report(tmp_path / name, Report(found, failing, BUG, environment=ENVIRONMENT))
        for name in ("one", "two")
    )
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes()
        assert str(tmp_path) not in file.read_text()


def test_the_generated_test_fails_while_the_bug_is_there_and_passes_without(folder: Path, failing: Replay):
    broken = run_test(folder)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert failing.reason[:60] in broken.stdout
    file = folder / "test_reproduce.py"
    file.write_text(file.read_text().replace(repr(BUG), repr("reference")))
    fixed = run_test(folder)
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr


def test_an_older_report_of_the_same_finding_is_replaced(folder: Path, found: Found, failing: Replay, tmp_path: Path):
    (folder / "left-over.txt").write_text("old")
    again = write_bug_report(tmp_path, Report(found, failing, BUG))
    assert again == folder
    assert not (folder / "left-over.txt").exists()
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("there_before", [False, True])
def test_a_failure_while_writing_leaves_everything_as_it_was(
    there_before, found: Found, failing: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if there_before:
        write_bug_report(tmp_path, Report(found, failing, BUG))
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    write_bytes = Path.write_bytes

    def full_disk(self, data):
        if self.name == "test_reproduce.py":
            raise OSError(28, "No space left on device", str(self))
        return write_bytes(self, data)

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_bug_report(tmp_path, Report(found, failing, BUG))
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert len(list(tmp_path.iterdir())) == len({file.parent for file in before})


def test_if_the_new_folder_cannot_follow_the_old_one_comes_back(
    folder: Path, found: Found, failing: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    rename = os.rename

    def refuse_new(source, target):
        if Path(target) == folder and not (Path(source) / "mark").exists():
            raise PermissionError(13, "Permission denied", str(target))
        rename(source, target)

    (folder / "mark").touch()
    monkeypatch.setattr(os, "rename", refuse_new)
    with pytest.raises(NotWritten, match="Permission denied"):
        write_bug_report(tmp_path, Report(found, failing, BUG))
    assert (folder / "mark").exists()
    assert list(tmp_path.iterdir()) == [folder]


def test_a_finding_that_does_not_fail_again_is_reported_as_such(found: Found, tmp_path: Path):
    passing = replay(found.scenario, find_implementation("reference"))
    text = (write_bug_report(tmp_path, Report(found, passing, "x:y")) / "report.md").read_text()
    assert "did **not** fail when the scenario was run again (FIXED" in text
    assert "until the environment variable names it" in text


def test_assumed_capabilities_go_into_command_and_test(found: Found, failing: Replay, tmp_path: Path):
    path = write_bug_report(
        tmp_path, Report(found, failing, "jsonl:node a.js", assume=[Capability.BLOCKED_PRIORITY_LOCAL.value])
    )
    text = (path / "report.md").read_text()
    assert "--implementation 'jsonl:node a.js' --assume blocked-priority-local\n" in text
    text = (path / "test_reproduce.py").read_text()
    assert "IMPLEMENTATION = 'jsonl:node a.js'\n" in text
    assert "ASSUMED = ('blocked-priority-local',)\n" in text


class Nonsense(Implementation):
    """Returns from the polls of a deque an object that JSON cannot represent."""

    name = "nonsense"
    capabilities = frozenset()

    def components(self):
        factory = find_implementation("reference").components()["deque"]

        def broken(config):
            port = factory(config)
            setattr(port, "poll", object)  # noqa: B010 - a port is not known to have one
            return port

        return {"deque": broken}


def test_nonsense_is_reported_like_anything_else(tmp_path: Path):
    checked = check(Program(COMPONENTS["deque"], Nonsense()), 20, 0, budget=100)
    found = checked.found[0]
    failing = replay(found.scenario, Nonsense())
    path = write_bug_report(tmp_path, Report(found, failing, "my:Nonsense"))
    error = json.loads((path / "history.json").read_text())["history"][-1]["outcome"]["error"]
    assert error["kind"] == "crashed"
    assert error["reason"].endswith("got `object` - at `$`, found a value of type object")
    assert "0x" not in (path / "report.md").read_text()


class Unborn(Implementation):
    """Cannot even make a port."""

    name = "unborn"
    capabilities = frozenset()

    def components(self):
        def refuse(config):
            raise FileNotFoundError("/elsewhere/lib/engine.so")

        return {"deque": refuse}


def test_a_failure_before_the_first_step_is_reported_too(tmp_path: Path):
    found = check(Program(COMPONENTS["deque"], Unborn()), 3, 0, budget=10).found[0]
    path = write_bug_report(tmp_path, Report(found, replay(found.scenario, Unborn()), "my:Unborn"))
    text = (path / "report.md").read_text()
    assert "before the first step" in text
    assert "FileNotFoundError: engine.so" in text
    assert "/elsewhere" not in text
