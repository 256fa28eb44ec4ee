"""A finding goes into a corpus as it is, once, and only if it fails now as it did; a refusal writes nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from conformance.campaigns import CampaignError, Inline, found_of, load, make_plan, start
from conformance.components import COMPONENTS
from conformance.engines import load_known_failures
from conformance.engines.replay import read_scenario
from conformance.ports import NotChosen
from conformance.reporting import promote
from conformance.reporting.bug_report import report_folder_name
from conformance.scenarios import SchemaError, encode_scenario, scenario_id
from tests.by_default import one_of
from tests.campaigns.ended import BUG, run
from tests.campaigns.test_so_far import PLAN as STOPPED
from tests.campaigns.test_so_far import stopped

ROOT = Path(__file__).parents[2]


def finding_of(folder: Path) -> tuple[str, str]:
    """The folder of a bug report and the id of its scenario, as a reader of the page sees them."""
    scenario = read_scenario(sorted((folder / "report").glob("*/scenario.json"))[0])
    (report,) = (one.parent for one in (folder / "report").glob("*/scenario.json") if read_scenario(one) == scenario)
    return report.name, scenario_id(scenario)


@pytest.fixture
def reported(folder):
    """A campaign that has ended, with the folders of its bug reports."""
    run("campaign", "report", str(folder))
    return folder


@pytest.mark.parametrize("by", one_of(2, ["folder", "path", "id", "digits"]))
def test_a_finding_is_named_as_a_person_knows_it_and_keeps_its_ticket(by, reported, tmp_path, capsys):
    name, number = finding_of(reported)
    named = {
        "folder": name, "path": f"{reported / 'report' / name}/", "digits": name.rpartition("-")[2], "id": number,
    }[by]  # fmt: skip
    corpus = tmp_path / "mine" / "scenarios"
    capsys.readouterr()
    assert run("campaign", "promote", str(reported), named, "--ticket", "MINE-7", "--corpus", str(corpus)) == 0
    path = corpus / "MINE-7-subpartition.json"
    assert list(corpus.iterdir()) == [path]
    kept = read_scenario(path)
    assert scenario_id(kept) == number
    assert path.read_text() == encode_scenario(kept)
    assert kept.finding is not None
    assert (kept.finding.ticket, kept.finding.implementation) == ("MINE-7", BUG)
    told = capsys.readouterr().out
    assert told.splitlines()[0] == f"Promoted: {path} ({len(kept.steps)} steps)"
    entries = corpus / "known.toml"
    entries.write_text(told[told.index("[[failure]]") :])
    (entry,) = load_known_failures(entries)
    assert (entry.ticket, entry.scenario, entry.implementation) == ("MINE-7", kept, BUG)
    assert tomllib.loads(entries.read_text())["failure"][0]["reason"]
    assert run("replay", str(path)) == 1


def test_the_corpus_of_a_working_copy_is_the_default(reported, tmp_path, monkeypatch, capsys):
    name, _ = finding_of(reported)
    monkeypatch.chdir(tmp_path)
    assert run("campaign", "promote", str(reported), name, "--ticket", "T-1") == 2
    assert "name the folder of your scenarios with --corpus" in capsys.readouterr().err
    (tmp_path / "tests" / "corpus").mkdir(parents=True)
    assert run("campaign", "promote", str(reported), name, "--ticket", "T-1") == 0
    assert [one.name for one in (tmp_path / "tests" / "corpus").iterdir()] == ["T-1-subpartition.json"]


def test_what_is_there_by_content_is_refused_and_another_scenario_of_the_ticket_is_not(whole, tmp_path):
    result = load(whole)
    _, bug, _ = result.implementations
    finding = bug.components[0].findings[0]
    promote(result, finding.id, "T-1", tmp_path)
    (path,) = tmp_path.iterdir()
    content = json.loads(path.read_text())
    path.rename(tmp_path / "renamed.json").write_text(json.dumps({**content, "finding": None}))
    with pytest.raises(CampaignError, match=r"renamed.json has this scenario already"):
        promote(result, finding.id, "T-2", tmp_path)
    (tmp_path / "renamed.json").unlink()
    (tmp_path / "T-1-subpartition.json").write_text(json.dumps({**content, "steps": content["steps"][:-1]}))
    assert promote(result, finding.id, "T-1", tmp_path).path.name == "T-1-subpartition-2.json"


def test_the_corpus_of_the_suite_is_compared_too(whole):
    result = load(whole)
    kept = read_scenario(ROOT / "tests" / "corpus" / "B-01.json")
    shown = json.loads(encode_scenario(kept))
    reference, bug, other = result.implementations
    (part,) = bug.components
    finding = replace(part.findings[0], scenario=replace(part.findings[0].scenario, **shown))
    bug = replace(bug, components=(replace(part, findings=(finding,)),))
    with pytest.raises(CampaignError, match=r"B-01.json has this scenario already"):
        promote(
            replace(result, implementations=(reference, bug, other)),
            scenario_id(kept), "T-1", ROOT / "tests" / "corpus",
        )  # fmt: skip


def test_a_finding_that_does_not_fail_so_now_is_refused(whole, tmp_path):
    """As if the implementation had been mended, or failed otherwise now."""
    result = load(whole)
    mended = replace(result, implementations=tuple(
        replace(one, name="reference") if one.name == BUG else one for one in result.implementations[1:2]
    ))  # fmt: skip
    number = mended.implementations[0].components[0].findings[0].id
    with pytest.raises(CampaignError, match=r"does not fail on reference now .* FIXED, every property"):
        promote(mended, number, "T-1", tmp_path)
    (bug,) = (one for one in result.implementations if one.name == BUG)
    (part,) = bug.components
    other = replace(part.findings[0], operation="poll_many")
    changed = replace(bug, components=(replace(part, findings=(other,)),))
    with pytest.raises(CampaignError, match=r"\(at poll_many\)"):
        promote(replace(result, implementations=(changed,)), number, "T-1", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_finding_and_a_ticket_that_is_no_name_are_refused(reported, tmp_path, capsys):
    name, number = finding_of(reported)
    assert run("campaign", "promote", str(reported), "nothing", "--ticket", "T-1", "--corpus", str(tmp_path)) == 2
    told = capsys.readouterr().err
    assert "There is no finding 'nothing'" in told
    assert name in told
    before = set(tmp_path.iterdir())
    for ticket in ("../T-1", "", "a b", "-x", "T\n1"):
        arguments = [str(reported), number, "--ticket", ticket, "--corpus", str(tmp_path)]
        assert run("campaign", "promote", *arguments) == 2
        assert "cannot begin the name of a file" in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


def test_two_implementations_with_one_scenario_are_told_apart_by_their_folders(whole, tmp_path):
    result = load(whole)
    (bug,) = (one for one in result.implementations if one.name == BUG)
    twice = replace(result, implementations=(bug, replace(bug, name="reference")))
    number = bug.components[0].findings[0].id
    with pytest.raises(CampaignError, match="is the scenario of several findings"):
        promote(twice, number, "T-1", tmp_path)
    folder = report_folder_name(BUG, found_of(bug.components[0].findings[0]))
    assert promote(twice, folder, "T-1", tmp_path).named.implementation == BUG


def test_a_campaign_that_found_nothing_or_has_not_ended_has_nothing_to_promote(whole, tmp_path, capsys):
    result = load(whole)
    with pytest.raises(CampaignError, match="found nothing that failed"):
        promote(replace(result, implementations=result.implementations[:1]), "x", "T-1", tmp_path)
    folder = stopped(tmp_path / "stopped", STOPPED, 3)
    assert run("campaign", "promote", str(folder), "x", "--ticket", "T-1", "--corpus", str(tmp_path / "c")) == 2
    told = capsys.readouterr().err
    assert "not minimal yet" in told
    assert f"conformance campaign resume {folder}" in told
    assert not (tmp_path / "c").exists()


def test_what_is_no_scenario_in_a_corpus_is_named(whole, tmp_path):
    (tmp_path / "notes.json").write_text("{}")
    result = load(whole)
    number = result.implementations[1].components[0].findings[0].id
    with pytest.raises(SchemaError, match=r"notes\.json"):
        promote(result, number, "T-1", tmp_path)


def test_what_is_not_built_in_runs_only_if_it_is_named(whole, tmp_path):
    result = load(whole)
    stranger = replace(result.implementations[1], name="tests.implementations:NothingToMake")
    named = replace(result, implementations=(stranger,))
    number = stranger.components[0].findings[0].id
    with pytest.raises(NotChosen, match="NothingToMake"):
        promote(named, number, "T-1", tmp_path)
    with pytest.raises(CampaignError, match="does not fail on"):
        promote(named, number, "T-1", tmp_path, [stranger.name])


@pytest.mark.slow  # a campaign of its own
def test_a_scenario_that_the_search_alone_has_shortened_is_as_the_result_has_it(tmp_path):
    """What is promoted from a campaign that reduces is a smallest scenario: the corpus of the suite has the same."""
    plan = make_plan("promoted", [BUG], ["subpartition"], scenarios=200, block=200)
    result = start(tmp_path / "campaign", plan, Inline())
    findings = result.implementations[0].components[0].findings
    known = read_scenario(ROOT / "tests" / "corpus" / "B-01.json")
    same = [one for one in findings if one.id == scenario_id(known)]
    assert len(same) == 1, "the reduction ends in the smallest scenario of the corpus"
    path = promote(result, same[0].id, "FLINK-39018", tmp_path / "corpus").path
    kept = read_scenario(path)
    assert (kept.config, kept.steps) == (known.config, known.steps)
    assert kept.component in COMPONENTS
