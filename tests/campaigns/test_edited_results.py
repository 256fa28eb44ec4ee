"""A result, and what it was made of, may be edited by somebody who knows how checksums are computed: it is noticed."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.campaigns import CampaignError, CampaignResult, Names, reducing
from conformance.campaigns.block import decode
from conformance.campaigns.campaign import finish
from conformance.campaigns.outcomes import FindingRecord, ImplementationRecord
from conformance.campaigns.seal import sealed
from conformance.components import COMPONENTS
from conformance.engines.check import reduce_failures
from conformance.scenarios import scenario_id
from tests.campaigns.ended import BUG, CHECKSUM, PLAN, run


def component(result: Any, number: int = 1) -> Any:
    return result["implementations"][number]["components"][0]


def judged(result: Any, verdict: str, number: int = 1) -> Any:
    return next(one for one in component(result, number)["properties"] if one["verdict"] == verdict)


def grouped(result: Any) -> Any:
    """The first group with several findings."""
    (one, *_) = (cause for cause in result["implementations"][1]["causes"] if cause["why"])
    return one


EDITS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a verdict": (lambda one: judged(one, "failed").update(verdict="passed"), "has the verdict passed, and the blocks"),
    "a verdict that does not apply": (
        lambda one: judged(one, "failed").update(verdict="not applicable"),
        "has the verdict not applicable, and the blocks have failed",
    ),
    "a passed property that does not apply": (
        lambda one: judged(one, "passed").update(verdict="not applicable"), "the blocks have passed",
    ),
    "a property that was not exercised": (
        lambda one: judged(one, "not exercised").update(verdict="passed"), "the blocks have not exercised",
    ),
    "a property": (lambda one: component(one)["properties"].remove(judged(one, "failed")), "is missing"),
    "a property twice": (
        lambda one: component(one)["properties"].append(judged(one, "failed")), "a property is there twice",
    ),
    "findings": (
        lambda one: (component(one)["findings"].clear(), one["implementations"][1]["causes"].clear()),
        "and the blocks have",
    ),
    "a count": (lambda one: component(one)["findings"][0].update(count=3), "3, first number"),
    "the first scenario": (lambda one: component(one)["findings"][0].update(first=59), "first number 59"),
    "no first scenario": (lambda one: component(one)["findings"][0].update(first=None), "and the blocks have"),
    "scenarios": (lambda one: component(one, 0).update(scenarios=59), "was exercised in 60 of 59 scenarios"),
    "10¹⁸ scenarios": (
        lambda one: component(one, 0).update(scenarios=10**18), "1000000000000000000 scenarios of subpartition, and",
    ),
    "10¹⁸ steps": (lambda one: component(one, 0).update(steps=10**18), "steps: 1000000000000000000, and the blocks"),
    "scenarios of a property": (lambda one: judged(one, "passed").update(scenarios=1), ": 1, and the blocks have "),
    "too many of a property": (lambda one: judged(one, "passed").update(scenarios=61), "was exercised in 61 of 60"),
    "what was exercised": (lambda one: component(one).pop("exercise"), "what was exercised"),
    "a component": (
        lambda one: (one["implementations"][1]["components"].clear(), one["implementations"][1]["causes"].clear()),
        "was run with subpartition, which is missing",
    ),
    "a component twice": (
        lambda one: one["implementations"][0]["components"].append(component(one, 0)), "has a component twice",
    ),
    "differences": (lambda one: one["differences"].clear(), "differences: 0, and the blocks have"),
    "a difference": (lambda one: one["differences"][0].update(count=3), "differences: "),
    "a lost block": (
        lambda one: one["lost_blocks"].append(
            {"component": "subpartition", "number": 0, "first": 0, "count": 30, "reason": "x", "class": "crashed"}
        ),
        "lost blocks: 1, and the blocks have 0",
    ),
    "the seed": (lambda one: one.update(seed="other"), "another plan than plan.json has"),
    "the plan": (lambda one: one["plan"].update(budget=1), "another plan than plan.json has"),
    "words without a checksum that fits": (
        lambda one: component(one)["findings"][0].update(observed="nothing"), CHECKSUM,
    ),
    "words": (
        lambda one: component(one)["findings"][0].update(observed="nothing"),
        "the files in findings come to: implementations[1].components[0].findings[0].observed is another",
    ),
    "what was owed": (lambda one: component(one)["findings"][0].update(owed="x"), "findings[0].owed is another"),
    "an id": (lambda one: component(one)["findings"][0].update(id="0"), "findings[0].id is another"),
    "a step of a reduced scenario": (
        lambda one: component(one)["findings"][0]["scenario"]["steps"].__setitem__(0, ["flush"]),
        "findings[0].scenario.steps[0]",
    ),
    "a shorter scenario": (
        lambda one: (
            component(one)["findings"][0]["scenario"]["steps"].pop(),
            component(one)["findings"][0].update(steps=component(one)["findings"][0]["steps"] - 1),
        ),
        "findings[0].scenario.steps is another",
    ),
    "a capability to claim": (
        lambda one: component(one)["findings"][0].update(unclaimed=["faults"]), "findings[0].unclaimed is there",
    ),
    "a version": (lambda one: one["implementations"][0].update(version="9"), "implementations[0].version is another"),
    "a claim": (lambda one: one["implementations"][0]["claims"].pop(), "implementations[0].claims is another"),
    "a property that does not apply": (
        lambda one: judged(one, "not exercised").update(verdict="not applicable"), "verdict is another",
    ),
    "a level": (lambda one: judged(one, "passed").update(level="untestable"), "and the blocks have not exercised"),
    "the reason of a group": (lambda one: grouped(one)["why"].__setitem__(0, "x"), "causes[0].why[0] is another"),
    "a known bug that it resembles": (
        lambda one: one["implementations"][1]["causes"][0]["resembles"].append("B-02"), "causes[0].resembles is",
    ),
    "groups": (
        lambda one: one["implementations"][1].update(
            causes=[
                {"findings": [name], "why": [], "resembles": []}
                for cause in one["implementations"][1]["causes"]
                for name in cause["findings"]
            ]
        ),
        "implementations[1].causes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_result_that_somebody_edited_is_reported(folder, edit, capsys):
    """Seen: edited verdicts, deleted findings and 10¹⁸ scenarios were accepted and printed."""
    change, said = EDITS[edit]
    path = folder / "result.json"
    result = json.loads(path.read_bytes())
    change(result)
    # An editor who knows how the checksum is computed can compute another one; then only what is added up can be
    # compared.
    seal = said != CHECKSUM
    path.write_bytes(sealed(msgspec.convert(result, CampaignResult)) if seal else json.dumps(result).encode())
    assert run("campaign", "report", str(folder)) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
    assert f"{path}: this " in told.err or f"{path}: the checksum" in told.err


def test_the_cure_of_an_edited_result_works(folder, capsys):
    path = folder / "result.json"
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"verdict":"failed"', b'"verdict":"passed"', 1))
    assert run("campaign", "report", str(folder)) == 2
    told = capsys.readouterr().err
    assert "Delete this file, and add up the blocks again with: " in told
    path.unlink()
    run(*shlex.split(told.rpartition("again with: conformance ")[2]), "--runner", "inline")
    assert path.read_bytes() == before


# ---- what was found out when the blocks were done --------------------------------------------------------------------
def finding(folder: Path) -> Path:
    """A finding of the known bug."""
    return sorted(path for path in (folder / "findings" / "1").iterdir() if path.name != "implementation.json")[0]


def implementation(folder: Path) -> Path:
    return folder / "findings" / "1" / "implementation.json"


def changed(path: Path, change: Callable[[Any], object]) -> None:
    """Change an outcome as somebody does who knows how the checksum and the id are computed."""
    record = json.loads(path.read_bytes())
    change(record)
    if path.name == "implementation.json":
        path.write_bytes(sealed(msgspec.convert(record, ImplementationRecord)))
        return
    found = msgspec.convert(record, FindingRecord)
    if record["id"] != "0":
        with contextlib.suppress(msgspec.ValidationError):
            found = msgspec.structs.replace(found, id=scenario_id(decode(found.scenario, COMPONENTS)))
    path.write_bytes(sealed(found))


OUTCOMES: dict[str, tuple[Callable[[Path], Path], Callable[[Any], object], str]] = {
    "words": (finding, lambda one: one.update(observed="nothing"), ".observed is another"),
    "a longer scenario": (
        finding, lambda one: one["scenario"]["steps"].extend([["flush"]] * 200), "steps, and that in the blocks",
    ),
    "a scenario that does not read": (
        finding, lambda one: one["scenario"].update(config={"x": 1}), "unknown field `x`",
    ),
    "a step that is none": (finding, lambda one: one["scenario"].update(steps=[["x"]]), "has no step 'x'"),
    "a scenario of another component": (
        finding, lambda one: one["scenario"].update(component="deque"), "a scenario of 'deque'",
    ),
    "a scenario of another failure": (
        finding, lambda one: one["scenario"]["finding"].update(failure_class="lost"), "the scenario is not one of",
    ),
    "another failure in the blocks": (finding, lambda one: one.update(of="0"), "it comes from the scenario 0, and the"),
    "another id": (finding, lambda one: one.update(id="0"), "the id is not that of the scenario"),
    "another finding": (finding, lambda one: one.update(operation="poll"), "another finding than its name says"),
    "another plan": (finding, lambda one: one.update(plan="0" * 16), "of another plan than plan.json has"),
    "an implementation": (finding, lambda one: one.update(implementation="x"), "the plan has no implementation 'x'"),
    "a version": (implementation, lambda one: one.update(version="9"), "implementations[1].version is another"),
    "another implementation": (
        implementation, lambda one: one.update(name="reference"), "this is about 'reference', and not 'known-bug:B-01'",
    ),
    "what applies": (
        implementation, lambda one: one["offered"][0]["properties"][0].update(applies=False), ".verdict is another",
    ),
    "a component": (
        implementation, lambda one: one["offered"][0].update(component="gate"), "the plan has no component 'gate'",
    ),
    "causes": (implementation, lambda one: one["causes"][0]["why"].append("x"), "causes[0].why is another"),
}  # fmt: skip


@pytest.mark.parametrize("what", OUTCOMES)
def test_an_outcome_that_somebody_edited_is_reported(folder, what, capsys):
    """Seen: the words, the scenario and the group of a finding could be changed in the result, and were printed."""
    file, change, said = OUTCOMES[what]
    changed(file(folder), change)
    assert run("campaign", "report", str(folder)) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


@pytest.mark.parametrize("file", [finding, implementation])
def test_the_cure_of_a_damaged_outcome_works(file, folder, capsys):
    before = {path: path.read_bytes() for path in (folder / "result.json", *folder.rglob("findings/*/*.json"))}
    path = file(folder)
    told = []
    for spoil in (lambda: path.write_bytes(path.read_bytes()[:100]), lambda: path.write_bytes(before[path] + b" ")):
        spoil()
        assert run("campaign", "report", str(folder)) == 2
        told.append(capsys.readouterr().err)
        assert f"Delete this file and {folder / 'result.json'}, and make it again with: " in told[-1]
    path.unlink()
    assert run("campaign", "report", str(folder)) == 2
    told.append(capsys.readouterr().err)
    assert f"{path} is missing, from which result.json was made. Delete {folder / 'result.json'}, and make" in told[-1]
    (folder / "result.json").unlink()
    run(*shlex.split(told[-1].rpartition("again with: conformance ")[2]), "--runner", "inline")
    assert {path: path.read_bytes() for path in before} == before


def test_what_was_reduced_before_the_stop_is_not_reduced_again(folder, monkeypatch):
    """A finding that was made from another scenario than the blocks have now is reduced again."""
    before = {path: path.read_bytes() for path in (folder / "result.json", *folder.rglob("findings/*/*.json"))}
    (folder / "result.json").unlink()
    mine = sorted(path for path in (folder / "findings" / "1").iterdir() if path.name != "implementation.json")
    mine[0].unlink()
    changed(mine[1], lambda one: one.update(of="0"))
    reduced: list[Any] = []

    def counting(program, tally, budget):
        reduced.extend(tally.failures)
        return reduce_failures(program, tally, budget)

    monkeypatch.setattr(reducing, "reduce_failures", counting)
    finish(folder, PLAN, Names())
    assert len(reduced) == 2
    (folder / "result.json").unlink()
    finish(folder, PLAN, Names())
    assert len(reduced) == 2
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.slow  # two reports, which run the scenarios again
def test_a_change_of_all_files_is_shown_by_the_scenario(folder, capsys):
    """Files that agree cannot be distinguished from those of a campaign, but a report runs each scenario again."""
    assert run("campaign", "report", str(folder)) == 0
    assert "Not as recorded" not in capsys.readouterr().out
    changed(finding(folder), lambda one: one.update(observed="nothing"))
    record = json.loads(finding(folder).read_bytes())
    result = json.loads((folder / "result.json").read_bytes())
    for one in component(result)["findings"]:
        if one["id"] == record["id"] and one["property"] == record["property"]:
            one["observed"] = "nothing"
    (folder / "result.json").write_bytes(sealed(msgspec.convert(result, CampaignResult)))
    assert run("campaign", "report", str(folder)) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Not as recorded: 1 finding. Run just now, the scenario shows something else" in told
    assert f"{BUG}, subpartition: {record['property']}" in told


def test_nothing_is_kept_through_a_link(folder, tmp_path):
    (folder / "result.json").unlink()
    (folder / "findings").rename(tmp_path / "elsewhere")
    (folder / "findings").symlink_to(tmp_path / "elsewhere")
    finding(folder).unlink()
    with pytest.raises(CampaignError, match="is a link out of the folder of the campaign"):
        finish(folder, PLAN, Names())
