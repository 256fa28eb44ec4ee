"""Ctrl-C loses nothing: what was found so far is printed and written, and says that it is not everything."""

from __future__ import annotations

import json
import signal

import pytest

from conformance.cli.interrupting import interruptible
from conformance.engines.replay import read_scenario
from tests.test_cli import run

PRESSING = "tests.interrupting:"
MANY = ["--scenarios", "1000000", "--component", "subpartition", "--component", "persister"]


@pytest.fixture(autouse=True)
def the_usual_handler():
    """Whatever a command does with the signal, it leaves the handler that was there."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("name", "options"), [("once", ["--in-process"]), ("once_from_a_worker", [])])
def test_check_writes_what_it_has_found(name, options, tmp_path, capsys):
    files = tmp_path / "check.json", tmp_path / "report.md", tmp_path / "exercise.md"
    written = ["--json", str(files[0]), "--report", str(files[1]), "--exercise", str(files[2])]
    arguments = [*MANY, *options, *written, "--bug-reports", str(tmp_path / "bugs")]
    assert run("check", "--implementation", f"{PRESSING}{name}", "--implementation", "reference", *arguments) == 130
    document = json.loads(files[0].read_text())
    assert document["interrupted"] is True
    assert document["not_begun"] == [
        {"component": "persister", "implementation": f"{PRESSING}{name}"},
        {"component": "subpartition", "implementation": "reference"},
        {"component": "persister", "implementation": "reference"},
    ]
    mine, other = document["implementations"]
    assert 0 < mine["ran"]["subpartition"] < 1_000_000
    assert other["ran"] == {}
    assert len(mine["findings"]) == len(list((tmp_path / "bugs").iterdir())) > 0
    assert [one["reduced"] for one in mine["findings"]] == [False] * len(mine["findings"])
    for folder in (tmp_path / "bugs").iterdir():
        assert read_scenario(folder / "scenario.json").steps
        assert "The search was interrupted before this scenario was reduced" in (folder / "report.md").read_text()
    assert "**Interrupted: this is a partial result.**" in files[1].read_text()
    said = capsys.readouterr()
    assert "interrupted; what was found so far follows" in said.err
    assert "Interrupted: this is a partial result." in said.out
    assert f"{PRESSING}{name}: nothing was run of persister." in said.out
    assert "conforms" not in said.out
    assert not list(tmp_path.rglob("*.part"))


def test_a_second_time_ends_the_command_at_once(tmp_path, capsys):
    written = ["--json", str(tmp_path / "check.json"), "--bug-reports", str(tmp_path / "bugs")]
    assert run("check", "--implementation", f"{PRESSING}twice", "--in-process", *MANY, *written) == 130
    assert list(tmp_path.iterdir()) == []
    said = capsys.readouterr()
    assert said.out == ""
    assert "no incomplete file was left behind" in said.err


def test_the_third_time_ends_the_process_whatever_runs_in_it():
    with interruptible() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL


def test_a_check_that_nobody_interrupts_says_so(tmp_path):
    path = tmp_path / "check.json"
    assert run("check", "--scenarios", "50", "--component", "deque", "--json", str(path)) == 0
    document = json.loads(path.read_text())
    assert document["interrupted"] is False
    assert document["not_begun"] == []
    assert document["implementations"][0]["ran"] == {"deque": 50}
