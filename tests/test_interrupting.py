"""Ctrl-C loses nothing: what was found so far is printed and written, and says that it is not everything."""

from __future__ import annotations

import json
import signal

import pytest

from conformance.cli.interrupting import interruptible
from conformance.engines.explain import explain
from conformance.engines.replay import read_scenario
from conformance.reporting import conclusion
from tests.test_cli import run
from tests.test_guarding import conformance

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
    assert len(mine["findings"]) == len(list((tmp_path / "bugs").glob("*/report.md"))) > 0
    assert [one["reduced"] for one in mine["findings"]] == [False] * len(mine["findings"])
    assert (tmp_path / "bugs" / "index.html").is_file()
    for folder in (path.parent for path in (tmp_path / "bugs").glob("*/report.md")):
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


def test_bugs_prints_and_writes_what_is_known_by_then(tmp_path):
    """The bugs of a module run in a child, to which the command passes Ctrl-C on."""
    files = ["--json", str(tmp_path / "bugs.json"), "--report", str(tmp_path / "bugs.md")]
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "first_hits.toml").write_text('"B-D4" = "kept/deque/3"\n')
    names = ["B-D1", f"{PRESSING}PRESSES_WHEN_BUILT", "B-D5"]
    done = conformance("bugs", *names, *files, "--corpus", str(tmp_path / "corpus"))
    assert (done.returncode, done.stdout.count("2 known bugs not tried: X-CTRL, B-D5.")) == (130, 1), done
    document = json.loads((tmp_path / "bugs.json").read_text())
    assert ([one["id"] for one in document["bugs"]], document["interrupted"]) == (["B-D1"], True)
    assert "**2 known bugs not tried: X-CTRL, B-D5.**" in (tmp_path / "bugs.md").read_text()
    assert sorted(one.name for one in (tmp_path / "corpus").iterdir()) == ["B-D1.json", "first_hits.toml"]
    assert 'B-D4" = "kept/deque/3"' in (tmp_path / "corpus" / "first_hits.toml").read_text()


def test_variants_says_nothing_of_those_that_were_not_tried(tmp_path):
    files = ["--json", str(tmp_path / "variants.json"), "--report", str(tmp_path / "variants.md")]
    done = conformance("variants", f"{PRESSING}VARIANT", *files)
    assert (done.returncode, done.stdout.count("1 legal variant not tried: X-CTRL.")) == (130, 1), done
    document = json.loads((tmp_path / "variants.json").read_text())
    assert (document["variants"], document["interrupted"]) == ([], True)
    assert "**1 legal variant not tried: X-CTRL.**" in (tmp_path / "variants.md").read_text()


def test_explore_prints_the_steps_that_it_found_and_what_is_missing(tmp_path, capsys):
    options = ["--component", "subpartition", "--implementation", f"{PRESSING}late", "--in-process"]
    written = ["--json", str(tmp_path / "explore.json"), "--bug-reports", str(tmp_path / "bugs")]
    assert run("explore", *options, *written) == 130
    document = json.loads((tmp_path / "explore.json").read_text())
    assert document["interrupted"] is True
    assert document["complete"] is False
    assert len(document["findings"]) == len(list((tmp_path / "bugs").iterdir())) == 1
    said = capsys.readouterr().out
    assert "Interrupted: this is a partial result." in said
    assert "timeoutable_barrier" in said
    assert f"The fair drain was not judged from {document['undrained']:,} of {document['states']:,} states." in said


def test_explore_in_a_child_ends_early_too(tmp_path):
    options = ["--component", "subpartition", "--implementation", f"{PRESSING}once_from_a_worker"]
    done = conformance("explore", *options, "--json", str(tmp_path / "explore.json"))
    assert done.returncode == 130, done
    assert json.loads((tmp_path / "explore.json").read_text())["interrupted"] is True
    assert "Ctrl-C again ends the command at once" in done.stderr


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted") / "campaign"
    options = ["--scenarios", "24", "--runner", "inline", "--component", "barrier-handler"]
    assert run("campaign", "start", str(folder), *options, "--implementation", "known-bug:B-45") == 0
    return folder


def pressed_at(monkeypatch, which: int, times: int) -> None:
    """Press Ctrl-C when the reasons for the steps of this finding are looked for."""
    calls: list[object] = []

    def pressing(*arguments):
        calls.append(arguments)
        if len(calls) == which:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return explain(*arguments)

    monkeypatch.setattr(conclusion, "explain", pressing)


def files_of(folder) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_the_report_of_a_campaign_has_every_violation_without_what_takes_long(campaign, tmp_path, capsys, monkeypatch):
    assert run("campaign", "report", str(campaign), "-o", str(tmp_path / "whole")) == 0
    whole = files_of(tmp_path / "whole")
    number = sum(name.endswith("report.md") for name in whole)
    assert number > 1
    capsys.readouterr()
    pressed_at(monkeypatch, 2, 1)
    arguments = [
        "campaign",
        "report",
        str(campaign),
        "-o",
        str(tmp_path / "cut"),
        "--ctrf",
        str(tmp_path / "ctrf.json"),
    ]
    assert run(*arguments) == 130
    said = capsys.readouterr()
    assert "interrupted; what was found so far follows" in said.err
    assert f"Interrupted: {number - 1} of {number} bug reports may lack the reason for each step" in said.out
    assert "Exit status 130: interrupted" in said.out
    cut = files_of(tmp_path / "cut")
    assert set(cut) == set(whole), "every file is there, and none beside them"
    same = {name.partition("/")[0] for name in whole if name.endswith("report.md") and cut[name] == whole[name]}
    assert len(same) == 2, "that of before, and the one whose reasons were being looked for"
    assert b"Interrupted: " in cut["index.html"]
    assert json.loads((tmp_path / "ctrf.json").read_text())["results"]["summary"]["failed"] > 0
    assert run("campaign", "report", str(campaign), "-o", str(tmp_path / "cut")) == 0
    assert files_of(tmp_path / "cut") == whole


def test_a_second_time_leaves_the_earlier_report_of_a_campaign(campaign, tmp_path, capsys, monkeypatch):
    assert run("campaign", "report", str(campaign), "-o", str(tmp_path)) == 0
    before = files_of(tmp_path)
    capsys.readouterr()
    pressed_at(monkeypatch, 1, 2)
    assert run("campaign", "report", str(campaign), "-o", str(tmp_path)) == 130
    assert files_of(tmp_path) == before
    said = capsys.readouterr()
    assert said.out == ""
    assert "no incomplete file was left behind" in said.err
