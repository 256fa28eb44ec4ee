"""The command line: exit statuses, stable JSON, and one clear paragraph for each error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import cli
from conformance.cli.campaigning import campaign
from conformance.components import COMPONENTS

SMALL = ["--scenarios", "200", "--component", "subpartition"]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_check_of_the_reference_conforms(tmp_path, capsys):
    assert run("check", *SMALL, "--json", str(tmp_path / "check.json")) == 0
    document = json.loads((tmp_path / "check.json").read_text())
    assert document["schema"] == 1
    (one,) = document["implementations"]
    assert one["name"] == "reference"
    assert one["findings"] == []
    verdicts = {judged["slug"]: judged["verdict"] for judged in one["properties"]}
    assert verdicts["sequence-numbers-have-no-gaps"] == "passed"
    assert "conforms" in capsys.readouterr().out


def test_check_of_a_known_bug_finds_it_and_its_report_replays(tmp_path, capsys):
    reports, document = tmp_path / "reports", tmp_path / "check.json"
    arguments = ["--implementation", "known-bug:B-88", "--bug-reports", str(reports), "--json", str(document)]
    assert run("check", *SMALL, *arguments) == 1
    (finding,) = json.loads(document.read_text())["implementations"][0]["findings"]
    assert finding["property"] == "a-newer-timeoutable-barrier-fails-the-older-channel-state-future"
    assert (finding["class"], finding["steps"]) == ("orphaned", 2)
    assert capsys.readouterr().out.splitlines()[-1] == f"Page: {reports / 'index.html'}"
    (folder,) = (path for path in reports.iterdir() if path.is_dir())
    assert f'href="{folder.name}/report.md"' in (reports / "index.html").read_text(encoding="utf-8")
    scenario = str(folder / "scenario.json")
    assert run("replay", scenario) == 1
    assert run("replay", scenario, "--implementation", "reference", "--json", str(tmp_path / "replay.json")) == 0
    assert json.loads((tmp_path / "replay.json").read_text())["verdict"] == "FIXED"
    assert run("shrink", scenario, "-o", str(tmp_path / "short.json")) == 1
    assert (tmp_path / "short.json").exists()
    assert "FIXED on reference" in capsys.readouterr().out


def test_what_is_shrunk_says_what_it_shows_and_not_what_the_file_said(tmp_path):
    short = tmp_path / "short.json"
    assert run("shrink", "tests/corpus/B-S204.json", "--implementation", "known-bug:B-S9", "-o", str(short)) == 1
    assert json.loads(short.read_text())["finding"] == {
        "property": "sequence-numbers-have-no-gaps",
        "failure_class": "protocol",
        "implementation": "known-bug:B-S9",
    }


def test_two_implementations_stand_side_by_side(capsys):
    names = ["--implementation", "reference", "--implementation", "reference-recover-first"]
    assert run("check", *SMALL, *names) == 0
    assert "not applicable" in capsys.readouterr().out


def test_assume_holds_the_older_design_to_what_it_does_not_claim():
    name = ["--implementation", "reference-recover-first"]
    assert run("check", *SMALL, *name, "--assume", "blocked-priority-local") == 1


def test_hypothesis_can_choose_the_steps():
    assert run("check", "--component", "deque", "--scenarios", "30", "--engine", "hypothesis") == 0


def test_a_crash_alone_is_inconclusive(capsys):
    assert run("check", *SMALL, "--implementation", "tests.implementations:NothingToMake") == 3
    assert "shortest scenario: no steps: the constructor of the port shows it" in capsys.readouterr().out


def test_a_task_that_fails_of_nothing_is_a_violation(capsys):
    assert run("check", "--component", "task-restore", "--scenarios", "20", "--implementation", "known-bug:B-E38") == 1
    assert "FAILED" in capsys.readouterr().out


def test_bugs_reports_kills_and_survivors(tmp_path):
    document = tmp_path / "bugs.json"
    assert run("bugs", "B-01", "B-D4", "--json", str(document)) == 0
    rows = {row["id"]: row for row in json.loads(document.read_text())["bugs"]}
    assert rows["B-01"]["killed"]
    assert rows["B-01"]["ticket"] == "FLINK-39018"
    assert rows["B-D4"]["minimal_steps"] == 2


def test_a_survivor_is_a_violation():
    assert run("bugs", "tests.test_cli:HARMLESS", "--scenarios", "50") == 1


def _harmless():
    from conformance.ports import KnownBug
    from tests.implementations import With

    return KnownBug("X-1", "own", "subpartition", "sequence-numbers-have-no-gaps", "Nothing is wrong.", With)


HARMLESS = _harmless()


def test_a_line_about_each_command_fits_a_screen():
    for group in (cli.cli, campaign):
        room = 80 - 2 - 6 - max(map(len, group.commands))  # as click shares 80 columns out
        lines = {name: command.get_short_help_str(room) for name, command in group.commands.items()}
        assert [name for name, line in lines.items() if line.endswith("...")] == []


def test_the_catalogues(tmp_path):
    assert run("properties", "--json", str(tmp_path / "properties.json")) == 0
    assert run("implementations", "--json", str(tmp_path / "implementations.json")) == 0
    found = [json.loads((tmp_path / f"{one}.json").read_text())[one] for one in ("properties", "implementations")]
    assert {row["slug"] for row in found[0]} == {one.slug for some in COMPONENTS.values() for one in some.properties}
    assert "reference" in [row["name"] for row in found[1]]


def test_a_campaign_from_start_to_report(tmp_path, capsys):
    folder = tmp_path / "campaign"
    names = ["--implementation", "reference", "--implementation", "known-bug:B-01"]
    assert run("campaign", "start", str(folder), *names, *SMALL, "--runner", "inline") == 0
    assert (folder / "result.json").exists()
    assert list((folder / "report").iterdir())
    assert run("campaign", "report", str(folder), "-o", str(tmp_path / "again")) == 0
    assert run("campaign", "start", str(folder), *names, *SMALL, "--runner", "inline") == 2
    assert "known-bug:B-01" in capsys.readouterr().out


def test_a_canary_that_is_not_found_is_a_violation(tmp_path):
    arguments = ["--implementation", "reference", "--implementation", "known-bug:B-01", "--component", "deque"]
    assert run("campaign", "start", str(tmp_path / "c"), *arguments, "--scenarios", "50", "--runner", "inline") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "--implementation", "no-such"], "There is no implementation 'no-such'"),
        (["check", "--component", "no-such"], "there is no component 'no-such'"),
        (["check", "--assume", "no-such"], "there is no capability 'no-such'"),
        (["check", "--scenarios", "0"], "0 is not in the range"),
        (["check", "--step-seconds", "nan"], "nan is no amount of time"),
        (["campaign", "start", "anywhere", "--minutes", "nan"], "nan is no amount of time"),
        (["check", "--implementation", "tests.implementations:With", "--component", "deque"], "does not offer deque"),
        (["check", "--implementation", "tests.implementations:SaysNonsense"], "must return a mapping"),
        (["check", "--implementation", "tests.implementations:ClaimsNonsense"], "must be a frozenset"),
        (["check", "--implementation", "tests.implementations:CannotSay"], "RuntimeError: ask me later"),
        (["check", "--implementation", "tests.implementations:Incomplete"], "every abstract method"),
        (["bugs", "B-00"], "There is no known bug 'B-00'"),
        (["replay", "no-such.json"], "no-such.json"),
        (["campaign", "start", "x", "--scenarios", "1", "--steps", "1"], "exclude each other"),
        (["campaign", "start", "x", "--runner", "inline", "--master", "local[2]"], "--master goes with"),
        (["campaign", "report", "no-such-folder"], "no-such-folder"),
        (["nonsense"], "No such command"),
    ],
)
def test_a_wrong_call_is_reported_in_words(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "Traceback" not in told
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.parametrize("text", ["", '{"schema": 1, "component": "subp', '{"schema": 9}', "\x00"])
def test_a_damaged_scenario_is_reported_with_its_name_and_line(text, tmp_path, capsys):
    file = tmp_path / "damaged.json"
    file.write_text(text)
    assert run("replay", str(file)) == 2
    assert "damaged.json, line 1" in capsys.readouterr().err


def test_a_reduction_that_was_cut_off_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario = tmp_path / "long.json"
    steps = [["attach_view"], ["add_buffer", 1], ["poll"], *[["add_buffer", 0], ["poll"]] * 6,
             ["aligned_barrier", 1], ["poll"], ["unaligned_barrier", 2], ["poll"]]  # fmt: skip
    scenario.write_text(
        json.dumps(
            {
                "schema": 1,
                "component": "subpartition",
                "config": {},
                "steps": steps,
                "finding": {
                    "property": "a-blocked-subpartition-announces-priority-events",
                    "failure_class": "stuck",
                    "implementation": "known-bug:B-01",
                },
            }
        )
    )
    assert run("shrink", str(scenario), "-o", "short.json", "--budget", "40") == 1
    assert (tmp_path / ".short.json.reduction").exists()
    between = len(json.loads((tmp_path / "short.json").read_text())["steps"])
    assert 4 <= between < len(steps)
    for _ in range(60):
        if not (tmp_path / ".short.json.reduction").exists():
            break
        assert run("shrink", "short.json", "-o", "short.json", "--budget", "400") == 1
    assert not (tmp_path / ".short.json.reduction").exists()
    assert len(json.loads((tmp_path / "short.json").read_text())["steps"]) == 4


def test_a_command_starts_without_what_takes_long_to_load():
    """Bug reports, checks and tests start many processes. Those that need one of these import it when they need it."""
    script = "import sys; import conformance.cli, conformance.engines.worker_main, conformance.campaigns.apart_main\n"
    script += "print([name for name in ('hypothesis', 'pyarrow', 'pyspark', 'pytest') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_implementation_that_is_named_twice_is_checked_once(tmp_path, capsys):
    names = ["--implementation", "reference", "--implementation", "reference"]
    check = ["check", "--component", "deque", "--scenarios", "20"]
    assert run(*check, *names, "--ctrf", str(tmp_path / "ctrf.json")) == 0
    tests = [one["name"] for one in json.loads((tmp_path / "ctrf.json").read_text())["results"]["tests"]]
    assert len(set(tests)) == len(tests) > 0
    assert capsys.readouterr().out.count("reference: conforms.") == 1


def test_a_command_without_a_standard_input_says_so(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert run("judge", "-") == 2
    assert "There is no standard input" in capsys.readouterr().err
