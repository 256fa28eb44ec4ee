"""`check --report` and `check --against` write one page, with the same bytes every time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance import cli
from conformance.components.subpartition import SubpartitionScenarioConfig
from conformance.reporting import scenario_folder
from conformance.scenarios import Scenario, encode_scenario

REPLACED = Scenario(
    "subpartition", SubpartitionScenarioConfig(), (("timeoutable_barrier", 1), ("timeoutable_barrier", 2))
)
KNOWN = """
[[failure]]
property = "a-newer-timeoutable-barrier-fails-the-older-channel-state-future"
component = "subpartition"
class = "orphaned"
ticket = "OURS-1"
reason = "not mended | yet"
scenario = "replaced.json"
"""
CALL = [
    "check", "--component", "subpartition", "--scenarios", "120", "--known-failures", "known.toml",
    "--implementation", "known-bug:B-01", "--implementation", "known-bug:B-88",
    "--implementation", "reference-recover-first", "--report", "new/page.md",
]  # fmt: skip


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def written(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a call with a failure, a known failure, and properties that were not put to the test."""
    here = tmp_path_factory.mktemp("report")
    call_in(here)
    return here


def call_in(here: Path, *more: str) -> None:
    (here / "replaced.json").write_text(encode_scenario(REPLACED))
    (here / "known.toml").write_text(KNOWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        assert run(*CALL, *more) == 1


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "new" / "page.md").read_text(encoding="utf-8")


def section(page: str, title: str) -> str:
    return page.partition(f"\n## {title}")[2].partition("\n## ")[0]


def row(text: str, *begin: str) -> list[str]:
    """The cells of the only row of a table that begins with these."""
    rows = [[one.strip() for one in line.strip("|").split(" | ")] for line in text.splitlines()]
    (found,) = [one for one in rows if one[: len(begin)] == list(begin)]
    return found[len(begin) :]


def test_what_was_tested_stands_first(page):
    text = section(page, "What was tested")
    assert "seed 0; 120 scenarios were asked for" in text
    assert "`blocked-priority-local`" in row(text, "known-bug:B-01")[1]
    assert "`blocked-priority-local`" not in row(text, "reference-recover-first")[1]
    assert all(cell.startswith("120 scenarios, ") for cell in row(text, "subpartition"))
    assert "--known-failures known.toml --report page.md\n```" in text
    assert "\nconformance check --implementation known-bug:B-01 --implementation known-bug:B-88 " in text


def test_the_verdicts_are_counted_and_then_listed(page):
    text = section(page, "Verdicts")
    failed, known, older = row(text, "subpartition")
    assert ", **1 failed**, " in failed
    assert "situations seen" in failed
    assert ", 1 known failure, " in known
    assert "failed" not in known.replace("known failure", "")
    assert "3 not applicable" in older
    slug = "a-newer-timeoutable-barrier-fails-the-older-channel-state-future"
    passed, known, _ = row(text, f"`{slug}`", "must")
    assert passed.startswith("passed (")
    assert known.startswith("known failure (")
    assert row(text, "`a-blocked-subpartition-announces-priority-events`", "must")[2] == "not applicable"
    assert row(text, "`released-while-blocked`", "to be seen")[0].startswith("seen (")


def test_a_failure_is_reported_with_its_minimal_scenario(page):
    text = section(page, "Failures")
    first = text.partition("\n### 2.")[2].partition("\n### ")[0]
    assert "`a-blocked-subpartition-announces-priority-events` on known-bug:B-01" in first
    assert (
        "not a known failure; the property has [FLINK-39018](https://issues.apache.org/jira/browse/FLINK-39018)."
        in first
    )
    steps = '["aligned_barrier", 1]\n["attach_view"]\n["poll"]\n["unaligned_barrier", 2]'
    assert f"```json\n{steps}\n```" in first
    assert "Class **stuck**" in first
    assert "| **observed** | the consumer was not notified of any |" in first
    assert "```mermaid\nsequenceDiagram\n" in first
    assert "**here**" in first


def test_a_known_failure_carries_its_ticket_and_whether_it_still_fails(page):
    assert "browse/OURS-1), known: not mended \\| yet." in section(page, "Failures")
    text = section(page, "Known failures")
    lines = [line for line in text.splitlines() if "OURS-1" in line]
    assert ["known-bug:B-88" in line for line in lines] == [False, True, False]
    assert [line.endswith("| yes |") for line in lines] == [False, True, False]
    assert lines[0].endswith("| **no**: remove it from the list |")


def test_what_was_not_put_to_the_test_says_why(page):
    text = section(page, "What was not put to the test")
    slug = "`a-blocked-subpartition-announces-priority-events`"
    assert row(text, "reference-recover-first", "subpartition", slug) == [
        "not applicable", "needs `blocked-priority-local`, which is not claimed"
    ]  # fmt: skip
    slug = "`a-blocked-subpartition-delivers-priority-events`"
    assert row(text, "known-bug:B-01", "subpartition", slug) == ["not exercised", "it did not come up in 120 scenarios"]
    assert "Divergences" not in page


def test_the_scenario_beside_the_page_replays(folder, page, monkeypatch, capsys):
    monkeypatch.chdir(folder / "new")
    files = sorted(Path("page").iterdir())
    assert len(files) == 3
    for file in files:
        (line,) = [line for line in page.splitlines() if str(file) in line]
        assert line.startswith("conformance replay page/")
        assert run(*line.split()[1:]) == 1
        assert run("replay", str(file)) == 1
    assert "FAILED on known-bug:B-88" in capsys.readouterr().out


def test_the_same_call_writes_the_same_bytes(folder, tmp_path):
    kept, stale = tmp_path / "new" / "page" / "notes.txt", tmp_path / "new" / "page" / "09-old.scenario.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    stale.write_text("{}")
    call_in(tmp_path)
    assert kept.read_text() == "mine"
    kept.unlink()
    assert written(tmp_path) == written(folder)


def test_a_report_without_a_suffix_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("check", "--component", "deque", "--report", "page") == 2
    assert "needs a name such as report.md" in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="has no suffix"):
        scenario_folder(Path("page"))


def test_a_report_beside_a_file_of_its_name_is_refused(tmp_path, capsys):
    (tmp_path / "page").write_text("mine")
    assert run("check", "--component", "deque", "--report", str(tmp_path / "page.md")) == 2
    assert "move the file" in " ".join(capsys.readouterr().err.split())


def test_a_crash_before_the_first_step_has_a_page_too(tmp_path):
    page = tmp_path / "page.md"
    broken = ["--implementation", "tests.implementations:NothingToMake", "--component", "subpartition"]
    assert run("check", *broken, "--scenarios", "10", "--against", "reference", "--report", str(page)) == 3
    text = page.read_text()
    assert "Class **crashed**" in text
    assert "The scenario has no steps" in text
    assert "some of which crashed or hung before they could do so" in text
    assert len(list((tmp_path / "page").iterdir())) == 1


def test_divergences_are_listed_and_change_no_status(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ["--component", "subpartition", "--scenarios", "120", "--implementation", "reference-recover-first"]
    assert run("check", *small, "--against", "reference", "--report", "page.md", "--json", "check.json") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "No violations: either result may be right." in shown
    assert "reference-recover-first: 120 scenarios compared with reference, " in shown
    page = Path("page.md").read_text()
    assert "No property failed." in page
    text = section(page, "Divergences from reference")
    assert row(text, "`unaligned_barrier`", "signals", "priority available", "no signal")[1] == "4 steps"
    assert "\n| reference | added; signals: a priority event with sequence number 1 is available |\n" in text
    assert "\n| reference-recover-first | added; no signal |\n" in text
    assert "--against reference" in page
    found = json.loads(Path("check.json").read_text())["divergences"]
    assert found["against"] == "reference"
    (one,) = found["comparisons"]
    assert (one["component"], one["compared"], one["reason"]) == ("subpartition", 120, None)
    group = one["groups"][0]
    assert (group["operation"], group["field"], group["steps"], group["at"]) == ("unaligned_barrier", "signals", 4, 3)
    assert group["kinds"] == {"against": "priority available", "implementation": "no signal"}
    assert group["broken"] == {"against": None, "implementation": None}
    assert group["outcomes"]["implementation"] == {"value": True}
    Path("scenario.json").write_text(json.dumps(group["scenario"]))
    assert run("replay", "scenario.json", "--implementation", "reference-recover-first") == 0


def test_where_a_property_breaks_the_violation_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ["--component", "subpartition", "--scenarios", "120", "--implementation", "known-bug:B-01"]
    assert run("check", *small, "--against", "reference", "--report", "page.md", "--json", "check.json") == 1
    assert "in which a property is broken" in capsys.readouterr().out
    text = section(Path("page.md").read_text(), "Divergences from reference")
    broken = "`a-blocked-subpartition-announces-priority-events` by known-bug:B-01"
    assert row(text, "`unaligned_barrier`", "signals", "priority available", "no signal")[1] == broken
    assert run("check", *small[:4], "--json", "check.json") == 0
    assert "divergences" not in json.loads(Path("check.json").read_text())


def test_a_baseline_that_does_not_exist_is_reported(capsys):
    assert run("check", "--component", "deque", "--scenarios", "5", "--against", "no-such") == 2
    assert "There is no implementation 'no-such'" in " ".join(capsys.readouterr().err.split())
