"""What a reader finds in the morning: the matrix, what differs, what has changed since last night, and a summary."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from msgspec.structs import replace

from conformance.campaigns import CampaignError, CampaignResult, Plan, load, make_plan, read_earlier
from conformance.components import COMPONENTS
from conformance.driver import FailureClass, Setting, Verdict
from conformance.engines.exercise import Exercise
from conformance.reporting.differences import SHORT, differences
from conformance.reporting.page import PAGE
from conformance.reporting.page_sections import by_design
from conformance.reporting.severity import RANKS, severity, worst_of
from conformance.reporting.since import NOT_RUN, since
from conformance.scenarios import decode_scenario
from tests.campaigns.ended import BUG, NAMES, run
from tests.campaigns.test_so_far import PLAN as STOPPED
from tests.campaigns.test_so_far import stopped


@pytest.fixture(scope="module")
def result(whole) -> CampaignResult:
    return load(whole)


def changed(result: CampaignResult, name: str = BUG, **fields: object) -> CampaignResult:
    """The result with other fields in the component of an implementation."""
    return replace(result, implementations=tuple(
        replace(one, components=tuple(replace(part, **fields) for part in one.components)) if one.name == name else one
        for one in result.implementations
    ))  # fmt: skip


def part_of(result: CampaignResult, name: str = BUG):
    (one,) = (one for one in result.implementations if one.name == name)
    return one.components[0]


# ---- severity --------------------------------------------------------------------------------------------------------
def test_every_class_has_a_place_and_wrong_data_comes_before_what_stands_still():
    assert sorted(one.value for _, classes in RANKS for one in classes) == sorted(one.value for one in FailureClass)
    wrong, still, protocol = (max(map(severity, classes)) for _, classes in RANKS)
    assert wrong < min(map(severity, RANKS[1][1]))
    assert still < min(map(severity, RANKS[2][1]))
    assert protocol < severity("a class of another version")
    assert worst_of(["protocol", "stuck", "duplicated"]) == "duplicated"


# ---- since -----------------------------------------------------------------------------------------------------------
def test_nothing_has_changed_since_the_same_campaign(result):
    seen = since(result, result, "before")
    assert (seen.new, seen.gone, seen.exercised, seen.no_more) == ((), (), (), ())
    assert len(seen.same) == sum(len(part.findings) for one in result.implementations for part in one.components)
    assert any("have the seed" in one for one in seen.remarks)
    for change in ({"seed": "another"}, {"manners": ("uniform",)}, {"implementations": (BUG,)}):
        other = replace(result, plan=replace(result.plan, **change))
        assert since(other, result, "before").remarks == (), "their scenarios are others"


def test_findings_are_compared_by_signature_and_not_by_scenario(result):
    findings = part_of(result).findings
    fewer = changed(result, findings=findings[1:])
    assert [one.signature for one in since(result, fewer, "before").new] == [
        (findings[0].property, findings[0].failure_class.value, findings[0].operation)
    ]
    assert [one.before for one in since(fewer, result, "before").gone] == [findings[0].count]
    elsewhere = changed(result, findings=tuple(replace(one, id="0", count=one.count + 1) for one in findings))
    seen = since(elsewhere, result, "before")
    assert (seen.new, seen.gone) == ((), ())
    assert all(one.now == (one.before or 0) + 1 for one in seen.same)
    otherwise = changed(result, findings=tuple(replace(one, operation="poll_many") for one in findings[:1]))
    assert len(since(otherwise, result, "before").new) == 1


def test_what_was_not_run_is_not_called_gone_without_a_word(result):
    alone = replace(result, implementations=tuple(one for one in result.implementations if one.name != BUG))
    assert {one.remark for one in since(alone, result, "before").gone} == {NOT_RUN}
    assert {one.remark for one in since(result, alone, "before").new} == {"not run before"}
    assert since(alone, result, "before").no_more == ()
    assert since(result, alone, "before").exercised == ()


def test_a_property_is_newly_exercised_or_no_longer(result):
    properties = part_of(result).properties
    (slug, *_) = (one.slug for one in properties if one.scenarios and one.verdict is Verdict.PASSED)
    idle = changed(result, properties=tuple(
        replace(one, scenarios=0, verdict=Verdict.NOT_EXERCISED) if one.slug == slug else one for one in properties
    ))  # fmt: skip
    assert [one.slug for one in since(result, idle, "before").exercised] == [slug]
    assert [one.slug for one in since(idle, result, "before").no_more] == [slug]
    claimed = changed(result, properties=tuple(
        replace(one, scenarios=0, verdict=Verdict.NOT_APPLICABLE) if one.slug == slug else one for one in properties
    ))  # fmt: skip
    assert since(claimed, result, "before").no_more == (), "it does not apply any more"
    unknown = changed(result, properties=tuple(one for one in properties if one.slug != slug))
    assert [one.slug for one in since(result, unknown, "before").exercised] == [slug], "a property of a later suite"
    assert since(unknown, result, "before").no_more == (), "a property of an earlier suite"


def test_new_findings_are_sorted_by_severity(result):
    findings = part_of(result).findings
    classes = (FailureClass.PROTOCOL, FailureClass.LOST, FailureClass.STUCK)
    several = changed(result, findings=tuple(
        replace(findings[0], failure_class=one, operation=f"operation_{number}") for number, one in enumerate(classes)
    ))  # fmt: skip
    seen = since(several, changed(result, findings=()), "before")
    assert [one.signature[1] for one in seen.new] == ["lost", "stuck", "protocol"]


def test_a_campaign_that_was_stopped_can_be_compared_with(tmp_path, folder, capsys):
    before = stopped(tmp_path / "before", STOPPED, 3)
    earlier = read_earlier(before)
    assert not earlier.ended
    assert any(part.findings for one in earlier.result.implementations for part in one.components)
    assert run("campaign", "report", str(folder), "--since", str(before)) == 0
    told = capsys.readouterr().out
    assert f"Since {before}: " in told
    assert "has not ended: this is what it had found so far" in (folder / "report" / PAGE).read_text(encoding="utf-8")
    shutil.rmtree(before / "waves")
    with pytest.raises(CampaignError, match="nothing of it is committed"):
        read_earlier(before)


def test_what_is_no_other_campaign_is_refused_before_anything_is_run(folder, tmp_path, capsys):
    assert run("campaign", "report", str(folder), "--since", str(folder)) == 2
    assert "is this campaign itself" in capsys.readouterr().err
    new = tmp_path / "new"
    assert run("campaign", "start", str(new), "--scenarios", "10", "--since", str(tmp_path / "nothing")) == 2
    assert "the folder of a campaign" in capsys.readouterr().err
    assert not new.exists()


# ---- where they differ -----------------------------------------------------------------------------------------------
def test_a_legal_difference_is_shown_with_both_results_and_one_of_a_bug_stands_apart(result):
    seen = differences(result)
    assert seen.baseline == "reference"
    assert {one.implementation for one in seen.legal} == {"reference-recover-first"}
    assert {one.implementation for one in seen.others} <= {BUG}
    assert len(seen.legal) + len(seen.others) == len(result.differences)
    found = {(one.operation, one.field): one.steps for one in result.differences if one.implementation != BUG}
    assert min(found.values()) > SHORT
    assert all(len(one.steps) < found[one.operation, one.field] for one in seen.legal), "they are reduced"
    for one in seen.legal:
        assert one.sides is not None, one.why
        assert one.sides.told[0] != one.sides.told[1]
        assert one.steps
        assert len(decode_scenario(one.text, COMPONENTS).steps) == len(one.steps)


def test_an_implementation_that_breaks_a_property_there_is_not_legal(result):
    findings = part_of(result).findings
    broken = changed(result, "reference-recover-first", findings=findings)
    assert differences(broken).legal == ()
    assert len(differences(broken).others) == len(result.differences)
    assert differences(changed(result, "reference", findings=findings)).legal == (), "the baseline is wrong"


def test_what_does_not_differ_now_or_was_not_named_says_so(result):
    itself = replace(result, differences=tuple(
        replace(one, implementation="reference") for one in result.differences if one.implementation != BUG
    ))  # fmt: skip
    assert {one.why for one in differences(itself).legal} == {"the sides did not differ when it was run again"}
    stranger = replace(result, differences=tuple(
        replace(one, implementation="some:Stranger") for one in result.differences if one.implementation != BUG
    ))  # fmt: skip
    assert len(differences(stranger).legal) == len(stranger.differences) > 0
    assert all("was not named" in one.why for one in differences(stranger).legal)


# ---- by recovery design ----------------------------------------------------------------------------------------------
def test_a_property_that_was_never_judged_in_a_design_says_so():
    gate = COMPONENTS["gate"]
    judged = next(one for one in gate.properties if one.on and not one.needs)
    (step, *_) = sorted(judged.on)
    settings = Setting("in-memory", interleaving="whole"), Setting("pushed", interleaving="whole")
    exercise = Exercise(settings, (3, 2), {step: (5, 4)}, {judged.slug: (2, 0)}, {})
    assert by_design("gate", exercise, COMPONENTS)[judged.slug] == [("in-memory", 2), ("pushed", 0)]
    alone = Exercise(exercise.settings[:1], (3,), {step: (5,)}, {judged.slug: (2,)}, {})
    assert by_design("gate", alone, COMPONENTS) == {}
    assert by_design("gate", None, COMPONENTS) == {}


# ---- the page and the summary ----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def reported(whole, tmp_path_factory):
    """What a report writes that is compared with a campaign in which nothing had been found."""
    folder = tmp_path_factory.mktemp("reported")
    before = folder / "before"
    arguments = ["--component", "subpartition", "--scenarios", "4", "--runner", "inline", "--seed", "before"]
    names = [word for name in ("reference", BUG) for word in ("--implementation", name)]
    run("campaign", "start", str(before), *arguments, *names)
    told = folder / "told"
    assert run("campaign", "report", str(whole), "-o", str(folder / "page"), "--since", str(before),
               "--summary", str(folder / "summary.md"), "--ctrf", str(folder / "ctrf.json")) == 0  # fmt: skip
    return folder, told


def test_the_page_has_the_matrix_the_differences_and_what_has_changed(reported):
    folder, _ = reported
    page = (folder / "page" / PAGE).read_text(encoding="utf-8")
    for text in (
        "What has changed since", "The worst first: wrong data (lost, duplicated", "Where implementations differ from",
        "Matrix", "As a file, for <code>conformance replay</code>", "a priority event with sequence number",
    ):  # fmt: skip
        assert text in page, text
    assert "Differences from reference, which are no violations" not in page, "it has a section"
    order = [page.index(f'<section id="{name}"') for name in ("since", "matrix", "failures", "differences")]
    assert order == sorted(order)
    assert set(re.findall(r'href="#([\w-]+)"', page)) <= set(re.findall(r'id="([\w-]+)"', page))


def test_the_summary_and_the_tests_say_the_same_as_the_page(reported):
    folder, _ = reported
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    tests = json.loads((folder / "ctrf.json").read_text())["results"]["tests"]
    failed = {one["name"] for one in tests if one["status"] == "failed"}
    assert failed
    for name in failed:
        assert f"`{name.rpartition(' ')[2]}`" in summary
    for text in ("Exit status 0", "### What failed, by likely cause", "must fail", "### Since", "| reference |"):
        assert text in summary, text
    assert len(summary) < 10_000
    assert "### Where implementations differ from reference" in summary


def test_a_check_has_a_summary_too(tmp_path):
    path = tmp_path / "summary.md"
    assert run("check", "--component", "deque", "--scenarios", "30", "--summary", str(path)) == 0
    text = path.read_text(encoding="utf-8")
    assert "No property failed. What was not exercised has not passed." in text
    assert "### Since" not in text


@pytest.mark.slow  # another campaign; one that has ended is tried by default
def test_a_stopped_campaign_has_its_page_with_all_of_this(tmp_path, whole):
    folder = stopped(tmp_path / "stopped", other_goal(), 2)
    summary, ctrf = tmp_path / "summary.md", tmp_path / "ctrf.json"
    arguments = ["--since", str(whole), "--summary", str(summary), "--ctrf", str(ctrf)]
    assert run("campaign", "report", str(folder), *arguments) == 3
    page = (folder / "report" / PAGE).read_text(encoding="utf-8")
    for text in ("unfinished", "What has changed since", "Matrix", "Where implementations differ from reference"):
        assert text in page, text
    assert "> The campaign has not ended: 2 of" in summary.read_text(encoding="utf-8")
    assert {one["status"] for one in json.loads(ctrf.read_text())["results"]["tests"]} >= {"passed", "failed"}


def other_goal() -> Plan:
    """The campaign of the fixture `whole`, with another component, so that it can be stopped before that."""
    return make_plan("h", NAMES, ["subpartition", "deque"], scenarios=60, block=30, budget=0)
