"""What the blocks of a campaign show before it has a result. Nothing but the report is written."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from conformance import campaigns, cli
from conformance.campaigns import Advance, Inline, Plan, causes_of, files, load, make_plan, resume, so_far, start
from conformance.campaigns.lock import held
from conformance.reporting.bug_report import report_folder_name
from conformance.reporting.page import PAGE
from tests.campaigns.ended import in_waves_of_one

PLAN = make_plan("so far", ["reference", "known-bug:B-01"], ["deque", "subpartition"], scenarios=32, block=8, budget=50)
STRANGER = """
from pathlib import Path
from conformance.ports import find_implementation
Path(__file__).with_name("ran").touch()
def make():
    return find_implementation("known-bug:B-D10")
"""


class Stopped(Exception):
    """Ends a campaign between two waves."""


def stopped(folder: Path, plan: Plan, blocks: int) -> Path:
    """The folder of a campaign that ended after so many blocks, each of which is a wave."""

    def watch(state: Advance) -> None:
        if state.committed == blocks:
            raise Stopped

    with pytest.MonkeyPatch.context() as patch:
        in_waves_of_one(patch)
        with pytest.raises(Stopped):
            start(folder, plan, Inline(), watch)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A campaign that found its known bug, and was stopped after three of eight blocks."""
    return stopped(tmp_path_factory.mktemp("stopped") / "campaign", PLAN, 3)


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "campaign")
    return tmp_path / "campaign"


@pytest.fixture(scope="module")
def ended(whole, tmp_path_factory):
    """The folder of the campaign in the end."""
    folder = tmp_path_factory.mktemp("ended") / "campaign"
    shutil.copytree(whole, folder)
    resume(folder, Inline())
    return folder


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def content(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_a_campaign_that_goes_on_has_a_page_and_is_not_disturbed(folder, tmp_path, capsys):
    with held(folder):
        before = content(folder)
        assert run("campaign", "report", str(folder), "-o", str(tmp_path / "seen")) == 3
        assert content(folder) == before
    told, page = capsys.readouterr().out, (tmp_path / "seen" / PAGE).read_text(encoding="utf-8")
    for text in (told, page):
        assert "3 of 8 blocks are committed" in text
        assert f"process {os.getpid()} on " in text
        assert f"conformance campaign resume {folder}" in text
        assert "The scenarios are as the search found them" in text
        assert "nothing failed so far" in text
        assert "a-blocked-subpartition-announces-priority-events" in text
    assert "<title>Checkpoint conformance: unfinished" in page
    assert "Sequence diagram" in page
    assert list((tmp_path / "seen").glob("*/report.md"))


def test_nothing_is_reduced_and_each_finding_stands_alone(folder):
    found = so_far(folder)
    assert found.result is not None
    assert (found.blocks, found.planned, found.held_by) == (3, 8, None)
    reference, bug = found.result.implementations
    assert not any(part.findings for part in reference.components)
    named = {
        (of, *signature): failure.steps
        for of, *signature, failure in (
            (one.component, one.property, one.failure_class, one.operation, one)
            for one in campaigns.status(folder).found
        )
    }
    assert {
        (part.component, one.property, one.failure_class.value, one.operation): one.steps
        for part in bug.components
        for one in part.findings
    } == named
    assert bug.causes is not None
    assert [len(cause.findings) for cause in bug.causes] == [1] * len(named)


@pytest.mark.slow  # two reports of a campaign
def test_the_report_of_the_end_replaces_it(folder, ended, capsys):
    assert run("campaign", "report", str(folder)) == 3
    unreduced = {path.name for path in (folder / "report").iterdir()}
    assert unreduced > {PAGE}
    shutil.copytree(ended, folder, dirs_exist_ok=True)
    assert run("campaign", "report", str(folder)) == 0
    assert "has not ended" not in capsys.readouterr().out.partition("Page:")[2]
    assert "unfinished</span>" not in (folder / "report" / PAGE).read_text(encoding="utf-8")
    ended = [report_folder_name(one.name, found) for one in load(folder).implementations
             for cause in causes_of(one) for found in cause.found]  # fmt: skip
    assert sorted(path.name for path in (folder / "report").iterdir()) == sorted([*ended, PAGE])


@pytest.mark.slow  # another report of a campaign
def test_a_campaign_that_ends_meanwhile_leaves_its_result(folder, ended, capsys, monkeypatch):
    """Else the page of three blocks would replace that of all blocks, which the driver has just written."""

    def slow(folder, chosen):
        found = so_far(folder, chosen)
        shutil.copytree(ended, folder, dirs_exist_ok=True)
        return found

    monkeypatch.setattr(campaigns, "so_far", slow)
    assert run("campaign", "report", str(folder)) == 0
    assert "has ended meanwhile" in capsys.readouterr().err
    assert "unfinished</span>" not in (folder / "report" / PAGE).read_text(encoding="utf-8")


def test_without_a_block_there_is_nothing_to_show(tmp_path, capsys):
    folder = tmp_path / "campaign"
    files.make(folder)
    files.write(folder / files.PLAN, PLAN)
    assert run("campaign", "report", str(folder)) == 3
    told = capsys.readouterr().out
    assert "0 of 8 blocks are committed" in told
    assert f"Continue with: conformance campaign resume {folder}" in told
    assert [path.name for path in folder.iterdir()] == [files.PLAN]


def test_a_known_bug_may_still_be_found(tmp_path, capsys):
    plan = make_plan("later", ["known-bug:B-01"], ["deque", "subpartition"], minutes=5, block=5)
    folder = stopped(tmp_path / "campaign", plan, 1)
    assert run("campaign", "report", str(folder)) == 3
    told = capsys.readouterr().out
    assert "1 block is committed" in told
    assert "known-bug:B-01: incomplete" in told, "no block of the other component is there yet"
    assert "The scenarios are as" not in told


def test_a_violation_beats_what_is_missing_and_a_plan_does_not_choose_what_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "stranger_so_far.py").write_text(STRANGER)
    plan = make_plan("v", ["reference", "stranger_so_far:make"], ["deque"], scenarios=80, block=40)
    folder = stopped(tmp_path / "campaign", plan, 1)
    (tmp_path / "ran").unlink()
    assert run("campaign", "report", str(folder)) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "ran").exists()
    assert run(*shlex.split(line)[1:]) == 1
    told = capsys.readouterr().out
    assert "Continue with: conformance campaign resume" in told
    assert "--implementation stranger_so_far:make" in told
