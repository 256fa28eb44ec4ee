"""`campaign resume` uses the kind of runner with which the campaign was started; where code runs, no file decides."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from conformance import campaigns
from conformance.campaigns.campaign import Remembered, remembered
from conformance.campaigns.runners import Inline, Processes
from tests.test_cli import run

SMALL = ["--component", "deque", "--scenarios", "8"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a campaign that was interrupted at once."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Inline, "opened", interrupted)
        assert run("campaign", "start", str(tmp_path / "c"), *SMALL, "--runner", "inline") == 130
    return tmp_path / "c"


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """The runners that were asked for. All of them are inline."""
    asked: list[tuple[str, str | None]] = []

    def choose(name: str = "auto", master: str | None = None, **more: object) -> tuple[Inline, None]:
        asked.append((name, master))
        return Inline(), None

    monkeypatch.setattr(campaigns, "choose", choose)
    return asked


def test_the_folder_keeps_the_kind_of_the_runner_and_the_result_does_not(folder, chosen):
    assert remembered(folder) == Remembered("inline")
    assert run("campaign", "resume", str(folder)) == 0
    assert chosen == [("inline", None)]
    assert "inline" not in (folder / "plan.json").read_text() + (folder / "result.json").read_text()


def test_the_call_decides_if_it_names_a_runner_or_a_master(folder, chosen):
    (folder / "runner.json").write_text(json.dumps({"runner": "spark", "master": "spark://there:7077"}))
    assert run("campaign", "resume", str(folder), "--runner", "processes") == 0
    (folder / "result.json").unlink()
    assert run("campaign", "resume", str(folder), "--master", "spark://here:7077") == 0
    assert chosen == [("processes", None), ("auto", "spark://here:7077")]


def test_a_master_is_shown_as_a_line_to_paste_and_not_used(folder, chosen, capsys):
    (folder / "runner.json").write_text(json.dumps({"runner": "spark", "master": "spark://there:7077"}))
    capsys.readouterr()
    assert run("campaign", "resume", str(folder)) == 2
    assert chosen == []
    (line,) = [one for one in capsys.readouterr().err.splitlines() if one.startswith("  conformance ")]
    assert shlex.split(line)[1:] == ["campaign", "resume", str(folder), "--master", "spark://there:7077"]


def test_a_master_that_cannot_be_seen_is_not_shown(folder, chosen, capsys):
    (folder / "runner.json").write_text(json.dumps({"runner": "spark", "master": "spark://\u001b[2J"}))
    assert run("campaign", "resume", str(folder)) == 2
    assert "pass --master" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, '{"runner":"a-later-one"}'])
def test_a_folder_that_names_no_runner_of_this_suite_is_resumed_with_any(folder, chosen, content):
    (folder / "runner.json").unlink()
    if content is not None:
        (folder / "runner.json").write_text(content)
    assert run("campaign", "resume", str(folder)) == 0
    assert chosen == [("auto", None)]


def test_a_damaged_file_is_an_error_that_names_it(folder, capsys):
    (folder / "runner.json").write_text("[]")
    assert run("campaign", "resume", str(folder)) == 2
    assert "runner.json" in capsys.readouterr().err


def test_processes_are_remembered_too(tmp_path, monkeypatch):
    monkeypatch.setattr(Processes, "opened", Inline().opened)
    monkeypatch.setattr(Processes, "__init__", lambda self, *_: setattr(self, "names", Inline().names))
    assert run("campaign", "start", str(tmp_path / "c"), *SMALL, "--runner", "processes") == 0
    assert remembered(tmp_path / "c") == Remembered("processes")
