"""Works that a runner does and a folder keeps: nothing is lost, nothing is done twice, and the results are the same."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.campaigns import (
    CampaignError,
    Inline,
    Processes,
    Runner,
    Spark,
    checks,
    files,
    kept_works,
    works_worker,
)
from conformance.campaigns.code import Code
from conformance.campaigns.kept_works import Agenda, Given, into
from conformance.campaigns.lock import held
from conformance.campaigns.spark_setup import spark_problem
from conformance.cli import cli
from conformance.engines.interruption import NEVER, OnRequest
from conformance.scenarios import SchemaError
from tests.campaigns.killed_works import NAMES, SCENARIOS, Squaring, at_once, tried

ROOT = Path(__file__).parents[2]


class Refusing(Inline):
    """A runner that nobody should need."""

    def doing(self):
        raise AssertionError("everything was done before")


def results(folder: Path) -> dict[str, int]:
    """The files of results, and when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / files.RESULTS).iterdir()}


@pytest.fixture(scope="module")
def trials():
    return at_once()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "works"
    tried(folder, Inline())
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "works")


def killed(folder: Path, runner: str, kept: int) -> Path:
    """The folder of a driver that was killed when it had kept so many results."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed_works.py")), str(folder), runner, str(kept)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    return folder


def test_results_are_read_as_they_were_made_and_nothing_is_done_twice(folder, trials):
    before = results(folder)
    counts: list[int] = []
    assert len(before) > 3 * len(NAMES), "the corpus, a part, a difference, and a reduction"
    assert tried(folder, Refusing(), counts.append) == trials
    assert counts[-1] == len(before)
    assert results(folder) == before


def test_a_trial_in_several_parts_comes_to_the_same(tmp_path, trials, monkeypatch):
    monkeypatch.setattr(checks, "VARIANT_PART", 13)
    assert tried(tmp_path / "works", Inline()) == trials


@pytest.mark.slow  # a driver of works that is killed; those of campaigns are by default
def test_a_driver_that_is_killed_loses_what_was_in_flight(tmp_path, trials, whole):
    folder = killed(tmp_path / "works", "processes", 1)
    before = results(folder)
    assert len(before) == 1
    assert tried(folder, Processes(2)) == trials
    assert {name: results(folder)[name] for name in before} == before
    assert set(results(folder)) == set(results(whole))


def without_seconds(folder: Path) -> list[dict[str, object]]:
    """What the files have, but for what is different each time."""
    found = [json.loads(path.read_bytes()) for path in sorted((folder / files.RESULTS).iterdir())]
    return [{key: value for key, value in one.items() if key not in ("seconds", "checksum")} for one in found]


@pytest.mark.slow  # it starts Java twice
@pytest.mark.spark
@pytest.mark.skipif(spark_problem() is not None, reason=str(spark_problem()))
@pytest.mark.xdist_group("spark")
def test_spark_comes_to_the_same_results_also_after_its_driver_was_killed(tmp_path, trials, whole):
    folder = killed(tmp_path / "works", "spark", 2)
    before = results(folder)
    assert len(before) == 2
    assert tried(folder, Spark(workers=2)) == trials
    assert {name: results(folder)[name] for name in before} == before
    assert without_seconds(folder) == without_seconds(whole)


def squares(folder: Path, runner: Runner, numbers: list[int], said: list[str], interruption=NEVER):
    with into(folder, "squares", runner, lambda done: None, said.append, interruption) as over:
        return list(over([Squaring(number) for number in numbers]))


@pytest.mark.parametrize("runner", [Inline(), Processes(2)], ids=["inline", "processes"])
def test_a_work_that_fails_has_no_result_and_is_done_again_next_time(tmp_path, runner):
    said: list[str] = []
    for _ in range(2):
        assert squares(tmp_path / "works", runner, [3, 13, 2], said) == [9, None, 4]
        assert len(results(tmp_path / "works")) == 2
    assert said == ["squaring (number 13) has no result: ValueError: an unlucky number"] * 2


def test_a_work_whose_process_dies_each_time_has_no_result(tmp_path, monkeypatch):
    monkeypatch.setattr(works_worker, "ATTEMPTS", 2)
    said: list[str] = []
    assert squares(tmp_path / "works", Processes(1), [666, 5], said) == [None, 25]
    assert said == [f"squaring (number 666) has no result: {kept_works.DIED}"]


def test_after_an_interruption_nothing_more_is_begun(tmp_path):
    interruption = OnRequest()

    def told(done: int) -> None:
        if done == 2:
            interruption.request()

    with into(tmp_path / "works", "squares", Inline(), told, print, interruption) as over:
        found = list(over([Squaring(number) for number in range(5)]))
    assert sum(one is not None for one in found) == 2
    assert squares(tmp_path / "works", Inline(), list(range(5)), []) == [0, 1, 4, 9, 16]


def test_those_that_take_longest_come_first_by_what_is_measured_meanwhile():
    agenda, works = Agenda(), {name: Given(name, {}) for name in ("a1", "a2", "b1", "b2", "c1")}
    for name, given in works.items():
        agenda.add(given, (name[0], "letters"))
    agenda.measure(("b", "letters"), 3.0)
    agenda.measure(("c", "letters"), 1.0)
    order = []
    for given in agenda:
        order.append(given.kind)
        if given.kind == "a1":
            agenda.measure(("a", "letters"), 0.5)
    assert order == ["b1", "b2", "a1", "c1", "a2"]


def edited(folder: Path, old: bytes, new: bytes) -> Path:
    path = next(one for one in (folder / files.RESULTS).iterdir() if old in one.read_bytes())
    path.write_bytes(path.read_bytes().replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new"), [(b'"scenarios":30', b'"scenarios":31'), (b'"result":{', b'"result":'), (b"V-", b"W-")]
)
def test_a_result_that_somebody_has_changed_is_refused_with_the_cure(folder, old, new):
    if old == b"V-":
        one, other, *_ = (folder / files.RESULTS).iterdir()
        one.write_bytes(other.read_bytes())
    else:
        edited(folder, old, new)
    with pytest.raises(SchemaError, match=r"results/.*Delete this file, and run the same command again\."):
        tried(folder, Refusing())


def test_a_folder_is_for_one_kind_of_works_and_one_code(folder, monkeypatch):
    with pytest.raises(CampaignError, match="has results about legal variants, and not about squares"):
        squares(folder, Refusing(), [1], [])
    with held(folder), pytest.raises(CampaignError, match="is being run by"):
        tried(folder, Refusing())
    monkeypatch.setattr(kept_works, "code_by_names", lambda *more: Code({}, {}))
    with pytest.raises(CampaignError, match=r"was written by other code: .*\. Delete it, or name another"):
        tried(folder, Refusing())


def test_a_folder_of_other_files_stays_as_it_is(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(CampaignError, match="is not empty"):
        tried(tmp_path, Refusing())
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]


# ---- commands --------------------------------------------------------------------------------------------------------
def run(*arguments: object) -> int:
    return called(*arguments)[0]


def called(*arguments: object) -> tuple[int, str]:
    """The status of a command, and what it says."""
    done = CliRunner().invoke(cli, [str(one) for one in arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, done.output


def test_the_kill_matrix_of_a_folder_is_that_of_the_command_and_grows(tmp_path, capfd):
    folder, page, again = tmp_path / "works", tmp_path / "page.md", tmp_path / "again.md"
    asked = ("bugs", "B-D1", "B-D5", "--scenarios", 200)
    assert run(*asked, "--into", folder, "--runner", "inline", "--report", page) == 0
    assert len(results(folder)) == 2
    more = (*asked, "--optimal", "--confirm", "--into", folder, "--runner", "inline")
    assert run(*more, "--report", again) == 0
    assert len(results(folder)) == 6
    assert "Every minimal scenario fails in a fresh process too." in again.read_text()
    before = results(folder)
    assert run(*asked, "--into", folder, "--runner", "inline", "--report", again) == 0
    assert (again.read_text(), results(folder)) == (page.read_text(), before)
    assert run(*asked, "--report", again) == 0

    def same(text: str) -> list[list[str]]:
        """The rows of bugs, without their CPU seconds."""
        rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| B-")]
        return [[*row[:6], *row[7:]] for row in rows]

    assert same(page.read_text()) == same(again.read_text())
    assert len(same(page.read_text())) == 2


def test_the_page_of_legal_variants_is_the_same_bytes(tmp_path, capfd):
    pages = [tmp_path / "one.md", tmp_path / "other.md"]
    asked = ("variants", "V-H1", "--scenarios", SCENARIOS)
    assert run(*asked, "--report", pages[0]) == 0
    assert run(*asked, "--report", pages[1], "--into", tmp_path / "works", "--runner", "inline") == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_check_in_parts_comes_to_the_same_bytes(tmp_path, capfd):
    """Some scenarios of the bug fail, and those of the corpus, too. 501 scenarios are two parts."""
    asked = ("check", "--implementation", "reference", "--implementation", "known-bug:B-D1", "--component", "deque")
    kept = ("--into", tmp_path / "works", "--runner", "inline")
    for name, options in (("one", ()), ("other", kept), ("again", kept)):
        home = tmp_path / name
        home.mkdir()
        files_of = ("--exercise", home / "exercise.md", "--json", home / "result.json", "--report", home / "page.md")
        assert run(*asked, "--scenarios", 501, *files_of, *options) == 1
        assert len((tmp_path / "one" / "exercise.md").read_text().splitlines()) > 10
        for path in (tmp_path / "one").iterdir():
            assert path.is_dir() or path.read_bytes() == (home / path.name).read_bytes(), path.name
    found = json.loads((tmp_path / "again" / "result.json").read_text())["implementations"][1]["findings"]
    assert found
    assert len(results(tmp_path / "works")) == 2 * 3 + len(found)


def test_a_check_whose_parts_fail_is_inconclusive(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(checks, "search_range", lambda *more: 1 / 0)
    asked = ("check", "--component", "deque", "--scenarios", 20, "--into", tmp_path / "works", "--runner", "inline")
    status, said = called(*asked)
    assert status == 3
    assert "has no result: ZeroDivisionError" in said
    assert "the same command goes on from there" in said
    monkeypatch.undo()
    assert run(*asked) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--runner", "spark"), "go with --into"),
        (("--into", "DIR", "--master", "local"), "go with --runner spark"),
        (("--into", "DIR", "tests.ports.foreign_bugs:AS_A_CHANGE"), "has no guard for tests.ports.foreign_bugs"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, options, said):
    with pytest.raises(Exception, match=said):
        run("bugs", *(tmp_path / "works" if one == "DIR" else one for one in options))
    assert not (tmp_path / "works").exists()
