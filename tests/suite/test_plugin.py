"""The suite as an implementer runs it: from another repository, with `pytest --pyargs conformance.suite`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import checkpoint_conformance_pytest
from conformance.suite.run import _limits
from tests.by_default import one_of

SUITE = ("--pyargs", "conformance.suite", "-p", "no:cacheprovider", "-q")
BUG = "known-bug:B-01"
SLUG = "a-blocked-subpartition-announces-priority-events"


def run(folder: Path, *arguments: str, module: bool = False) -> subprocess.CompletedProcess[str]:
    """pytest in another folder, as a command or as `python -m pytest`."""
    program = [sys.executable, "-m", "pytest"] if module else [str(Path(sys.executable).with_name("pytest"))]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [*program, *arguments], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


@pytest.fixture
def foreign(tmp_path):
    """A repository with a file and a folder that have the names of packages of the suite."""
    (tmp_path / "conftest.py").write_text("import pytest\n\n\n@pytest.fixture\ndef answer():\n    return 42\n")
    (tmp_path / "strategies.py").write_text("THEIRS = True\n")
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").write_text("THEIRS = True\n")
    (tmp_path / "test_theirs.py").write_text(
        "import conformance\nimport strategies\n\n\n"
        "def test_theirs(answer):\n    assert answer == 42 and conformance.THEIRS and strategies.THEIRS\n"
    )
    return tmp_path


def test_the_reference_conforms(tmp_path):
    done = run(tmp_path, *SUITE, "--component", "deque", "--conformance-profile", "quick")
    assert done.returncode == 0, done.stdout
    assert re.search(
        r"reference: conforms\. 8 properties: 8 passed; 300 scenarios, 4 of 4 situations seen;", done.stdout
    )
    assert "Page:" not in done.stdout
    assert not (tmp_path / "conformance-reports").exists()


@pytest.mark.parametrize(("seconds", "memory"), [(0.0, None), (float("nan"), None), (None, 0), (None, -1)])
def test_a_limit_must_be_more_than_nothing(seconds, memory):
    option = SimpleNamespace(conformance_step_seconds=seconds, conformance_memory=memory)
    with pytest.raises(pytest.UsageError, match="must be more than 0"):
        _limits(option)


@pytest.mark.slow  # pytest in a process
def test_a_run_in_which_nothing_was_put_to_the_test_fails(tmp_path):
    (tmp_path / "claimless.py").write_text(
        "from reference_impl.design import PUSHED\nfrom reference_impl.implementation import Reference\n\n\n"
        "class Claimless(Reference):\n    capabilities = frozenset()\n\n\n"
        "def made():\n    return Claimless('claimless', PUSHED)\n"
    )
    quick = ("--component", "chain", "--conformance-profile", "quick")
    done = run(tmp_path, *SUITE, "--implementation", "claimless:made", *quick)
    assert done.returncode == 1, done.stdout
    assert "1 failed, " in done.stdout
    assert "claimless:made: nothing of chain was put to the test in 0 scenarios: " in done.stdout


@pytest.mark.slow  # pytest with two workers, a page and a replay, each in a process
def test_a_bug_fails_with_the_command_that_shows_it_again(tmp_path):
    done = run(tmp_path, *SUITE, "--implementation", BUG, "--component", "subpartition", "-n", "2")
    assert done.returncode == 1
    assert f"{BUG}: FAILED." in done.stdout
    assert done.stdout.count(f"FAILED test_conformance.py::test_property[{BUG}-subpartition-{SLUG}]") == 1
    assert "1 failed" in done.stdout, "two shards and Hypothesis have seen it, and it is reported once"
    command = re.search(r"^conformance replay (\S+/scenario\.json) --implementation (\S+)$", done.stdout, re.MULTILINE)
    assert command is not None
    replay = [sys.executable, "-c", "from conformance.cli import main; main()", "replay", command[1]]
    again = subprocess.run([*replay, "--implementation", command[2]], capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "FAILED" in again.stdout
    written = Path(command[1]).parent
    assert (written / "report.md").is_file()
    index = written.parent / "index.html"
    assert done.stdout.split("short test summary")[0].rstrip(" =\n").endswith(f"Page: {index}")
    page = index.read_text(encoding="utf-8")
    assert "Exit status 1 of pytest: tests failed." in page
    assert f'href="{written.name}/report.md"' in page, "the controlling process names the folder that a worker wrote"
    for text in ("Sequence diagram", "Why each step is there", "Exercise by design", "profile <code>default</code>"):
        assert text in page, text


@pytest.mark.slow  # three runs of pytest
def test_known_failures_are_expected_strictly(tmp_path):
    corpus = Path(__file__).parents[1] / "corpus" / "B-D10.json"
    finding = json.loads(corpus.read_text())["finding"]
    (tmp_path / corpus.name).write_bytes(corpus.read_bytes())
    (tmp_path / "known.toml").write_text(
        f'[[failure]]\nproperty = "{finding["property"]}"\ncomponent = "deque"\nclass = "{finding["failure_class"]}"\n'
        f'ticket = "FLINK-1"\nreason = "known"\nscenario = "{corpus.name}"\n'
    )
    options = (*SUITE, "--component", "deque", "--known-failures", "known.toml", "--conformance-profile", "quick")
    done = run(
        tmp_path,
        *options,
        "--implementation",
        "known-bug:B-D10",
        "-rx",
        "--conformance-reports",
        str(tmp_path / "asked"),
    )
    assert done.returncode == 0, done.stdout
    assert "FLINK-1: known" in done.stdout
    assert "Reports:" not in done.stdout
    assert f"Page: {tmp_path / 'asked' / 'index.html'}" in done.stdout
    page = (tmp_path / "asked" / "index.html").read_text(encoding="utf-8")
    assert "FLINK-1" in page
    assert "report.md" not in page, "a known failure has no folder here"
    assert [path.name for path in (tmp_path / "asked").iterdir()] == ["index.html"]
    fixed = run(tmp_path, *options, "--implementation", "reference", "-k", "known_failure")
    assert fixed.returncode == 1
    assert "remove the entry" in fixed.stdout


def test_what_does_not_apply_says_why_and_what_was_not_asked_is_reported(tmp_path):
    options = (*SUITE, "--component", "subpartition", "--conformance-profile", "quick", "-rs")
    done = run(tmp_path, *options, "--implementation", "reference-recover-first", "-k", SLUG)
    assert "not applicable: needs blocked-priority" in done.stdout
    assert re.search(
        r"reference-recover-first: incomplete\. 32 properties: 29 not tested, 3 not applicable;", done.stdout
    )


def test_with_collect_only_there_are_the_names_of_the_tests_and_no_verdicts(tmp_path):
    done = run(tmp_path, *SUITE, "--component", "deque", "--conformance-profile", "quick", "--collect-only")
    assert done.returncode == 0, done.stdout
    assert "::test_property[reference-deque-" in done.stdout
    assert "not-tested" not in done.stdout
    assert "incomplete" not in done.stdout


@pytest.mark.slow  # a run of pytest
def test_a_search_without_its_properties_is_left_out(tmp_path):
    """It would pass although it has found a failure."""
    done = run(tmp_path, *SUITE, "--implementation", BUG, "--component", "subpartition", "-k", "test_search")
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout
    assert f"{BUG}: incomplete. 32 properties: 32 not tested" in done.stdout


@pytest.mark.slow  # pytest twice, once with two workers
def test_however_the_tests_are_distributed_the_result_is_the_same(tmp_path):
    options = (*SUITE, "--implementation", "known-bug:B-D5", "--component", "deque")
    alone, together = run(tmp_path, *options), run(tmp_path, *options, "-n", "2", "--dist", "worksteal")
    assert summary_of(together.stdout) == summary_of(alone.stdout)
    assert "FAILED deque a-poll-takes-the-head" in summary_of(alone.stdout)
    # The report of a failure begins a line. With CI=true, pytest repeats its first line in the summary, uncut.
    assert len(re.findall(r"^deque: a-poll-takes-the-head \(", together.stdout, re.MULTILINE)) == 1


def summary_of(printed: str) -> str:
    return printed.partition("= conformance =")[2].partition("= short test summary")[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--implementation", "jsonl:./nobody"), "The program `./nobody` cannot be started: "),
        pytest.param(("--implementation", "nobody"), "There is no implementation 'nobody'", marks=pytest.mark.slow),
        pytest.param(("--component", "gat"), "There is no component 'gat'", marks=pytest.mark.slow),
        pytest.param(("--assume", "magic"), "There is no capability 'magic'", marks=pytest.mark.slow),
        pytest.param(("--known-failures", "nowhere.toml"), "nowhere.toml", marks=pytest.mark.slow),
        (("--conformance-reports", "foreign"), "was not written by this suite"),
        (("--conformance-reports", "foreign/index.html"), "--conformance-reports: foreign/index.html is a file"),
        pytest.param(
            ("--conformance-ctrf", "foreign"),
            "--conformance-ctrf: foreign is a folder; name a file",
            marks=pytest.mark.slow,
        ),
        (("--conformance-ctrf", "foreign/index.html/below.json", "-n", "2"), "would have to be a folder"),
    ],
)
def test_a_wrong_option_is_a_usage_error(options, words, tmp_path):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "index.html").write_text("mine")
    done = run(tmp_path, *SUITE, *options)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert words in done.stderr


@pytest.mark.slow  # two runs of pytest; the document is tested without them by default
@pytest.mark.parametrize("options", [("-n", "2"), ("--no-summary",)])
def test_verdicts_are_written_for_continuous_integration_as_check_writes_them(options, tmp_path):
    which = ("--implementation", "known-bug:B-D5", "--component", "deque")
    path = tmp_path / "new" / "ctrf.json"
    wanted = (*which, *options, "--conformance-profile", "quick", "--conformance-ctrf", str(path))
    done = run(tmp_path, *SUITE, *wanted)
    assert done.returncode == 1, done.stdout + done.stderr
    program = [sys.executable, "-c", "from conformance.cli import main; main()", "check", *which]
    other = tmp_path / "check.json"
    subprocess.run([*program, "--scenarios", "300", "--ctrf", str(other)], check=False, stdout=subprocess.DEVNULL)
    assert path.read_bytes() == other.read_bytes()
    assert json.loads(path.read_text())["results"]["summary"]["failed"] >= 1
    assert sorted(one.name for one in path.parent.iterdir()) == ["ctrf.json"], "nothing half-written is left"


def test_what_was_deselected_is_pending_for_continuous_integration(tmp_path):
    path = tmp_path / "ctrf.json"
    options = ("--component", "deque", "--conformance-profile", "quick", "-k", "a-poll-takes-the-head")
    assert run(tmp_path, *SUITE, *options, "--conformance-ctrf", str(path)).returncode == 0
    results = json.loads(path.read_text())["results"]
    tested = [one["name"] for one in results["tests"] if one["status"] != "pending"]
    assert tested == ["reference deque a-poll-takes-the-head"]
    assert results["summary"]["pending"] == len(results["tests"]) - 1


@pytest.mark.slow  # a run of pytest
def test_a_file_that_cannot_be_written_any_more_is_reported_and_is_no_success(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "def pytest_runtest_teardown(item):\n    item.config.rootpath.joinpath('ctrf.json').mkdir(exist_ok=True)\n"
    )
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    options = ("--component", "deque", "--conformance-ctrf", "ctrf.json", "-q", "-p", "no:cacheprovider")
    done = run(tmp_path, *options)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert "conformance: " in done.stderr
    assert "ctrf.json" in done.stderr


@pytest.mark.parametrize("module", one_of(2, [False, True]))
def test_a_repository_with_our_names_is_unaffected_without_our_options(module, foreign):
    done = run(foreign, "-q", "-p", "no:cacheprovider", module=module)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.parametrize("module", one_of(2, [False, True]))
def test_with_our_options_both_paths_and_the_cure_are_named(module, foreign):
    options = (*SUITE, "--component", "deque", "--conformance-profile", "quick")
    done = run(foreign, *options, module=module)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    named = re.search(r"needs its own package '(\w+)', (\S+)/\1, but Python finds (\S+) first", done.stderr)
    assert named is not None
    assert Path(named[3]).is_relative_to(foreign)
    assert not Path(named[2]).is_relative_to(foreign)
    assert "--import-mode=importlib" in done.stderr
    cured = run(foreign, "--import-mode=importlib", *options)
    assert cured.returncode == 0, cured.stdout + cured.stderr


REWRITTEN = """\
import sys

import pytest

pytest.register_assert_rewrite("conformance", "reference_impl", "strategies")


@pytest.fixture(autouse=True, scope="session")
def loaders():
    kinds = {
        name: type(module.__loader__).__name__
        for name, module in sys.modules.items()
        if name.partition(".")[0] in ("conformance", "reference_impl", "strategies")
    }
    rewritten = {name for name, kind in kinds.items() if kind == "AssertionRewritingHook"}
    assert "reference_impl" in kinds and "conformance.suite.test_conformance" in rewritten
    assert {name for name in rewritten if not name.startswith("conformance.suite")} == set()
"""


@pytest.mark.parametrize(
    "more", [pytest.param((), id="one process"), pytest.param(("-n", "2"), id="workers", marks=pytest.mark.slow)]
)
def test_pytest_rewrites_only_our_tests_as_when_the_suite_is_installed(more, tmp_path):
    """pytest rewrites the packages of every distribution with a plugin, except those of an editable installation."""
    (tmp_path / "conftest.py").write_text(REWRITTEN)
    options = ("--component", "deque", "--conformance-profile", "quick", "--conformance-ctrf", "ctrf.json")
    done = run(tmp_path, *SUITE, "--implementation", "known-bug:B-D3", *options, *more)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "known-bug:B-D3: FAILED." in done.stdout, "the causes of a failure need the source of the reference"
    counts = json.loads((tmp_path / "ctrf.json").read_text())["results"]["summary"]
    assert counts["failed"] > 0


def test_what_finds_our_packages_is_there_for_one_run_only():
    before = list(sys.meta_path)
    cleanups: list[Any] = []
    config: Any = SimpleNamespace(add_cleanup=cleanups.append)
    checkpoint_conformance_pytest.pytest_load_initial_conftests(config, [])
    assert sys.meta_path[1:] == before
    for one in cleanups:
        one()
    assert sys.meta_path == before


def test_the_plugin_imports_nothing_of_ours_until_it_is_asked(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import sys\n\n\ndef test_mine():\n"
        "    assert not {'conformance', 'hypothesis', 'msgspec', 'rich'} & set(sys.modules)\n"
    )
    done = run(tmp_path, "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    assert done.returncode == 0, done.stdout + done.stderr


HOSTILE = """
import os, sys
from conformance.ports import Capability, Implementation
from reference_impl.design import PUSHED
from reference_impl.network.subpartition import Subpartition

{when_imported}

class Exits(Subpartition):
    def flush(self):
        print("\\x1b[2J last words")
        os._exit(0)

class Hostile(Implementation):
    name = "hostile"
    capabilities = frozenset(Capability)

    def components(self):
        return {{"subpartition": lambda config: Exits(config, PUSHED)}}
"""


FEWER = """
from conformance.engines import check_apart, lasting

lasting.MOST, check_apart.FEW = 2, 4
"""
"""Fewer processes than usual, since each takes half a second."""


def test_an_implementation_that_ends_its_process_fails_and_the_run_goes_on(tmp_path):
    """pytest ended with status 0 and no word."""
    (tmp_path / "hostile.py").write_text(HOSTILE.format(when_imported=""))
    (tmp_path / "conftest.py").write_text(FEWER)
    options = (*SUITE, "--implementation", "hostile:Hostile", "--conformance-profile", "quick")
    done = run(tmp_path, *options)
    assert done.returncode == 1, done.stdout
    assert "observed: its process exited with status 0 (" in done.stdout
    assert "hostile:Hostile: FAILED." in done.stdout
    assert "\x1b[2J" not in done.stdout + done.stderr
    (report,) = (tmp_path / "conformance-reports").glob("*/report.md")
    assert "\x1b" not in report.read_text()


@pytest.mark.slow  # a run of pytest
def test_an_implementation_that_ends_its_process_when_it_is_loaded_is_a_usage_error(tmp_path):
    (tmp_path / "hostile.py").write_text(HOSTILE.format(when_imported="os._exit(0)"))
    done = run(tmp_path, *SUITE, "--implementation", "hostile:Hostile", "--conformance-profile", "quick")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "its process exited with status 0" in done.stderr


@pytest.mark.slow  # a run of pytest that shrinks
def test_a_relation_that_does_not_hold_fails_with_its_example(tmp_path):
    options = ("--component", "assignment", "-k", "test_relation", "--implementation", "known-bug:B-A30")
    done = run(tmp_path, *SUITE, *options)
    assert done.returncode == 1, done.stdout
    assert "assignment: earlier-questions-change-nothing (I-99)" in done.stdout
    assert re.search(r"^example: Question\(job=AssignmentConfig\(", done.stdout, re.MULTILINE)
    told = summary_of(done.stdout).splitlines()
    assert told[-5:-3] == [
        "known-bug:B-A30: relations that do not hold:", "  assignment: earlier-questions-change-nothing"
    ]  # fmt: skip
    assert told[-3].startswith("known-bug:B-A30: FAILED.")
    assert "1 failed, 4 passed" in done.stdout
