"""What an implementation has and does not claim is named, and what it claims and never used."""

from __future__ import annotations

import json

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from conformance.campaigns import Inline, found_of, make_plan, start
from conformance.cli import cli
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import check
from conformance.engines.claims import never_used, unclaimed
from conformance.engines.doctor import examine
from conformance.ports import Capability, find_implementation
from conformance.reporting import campaign_verdicts
from tests.claiming import Modest, modest, refusing
from tests.implementations import With, reference
from tests.suite.test_plugin import SUITE, run

LOCAL = Capability.BLOCKED_PRIORITY_LOCAL
SUBPARTITION = COMPONENTS["subpartition"]
CLAIM = "claim: you seem to have `blocked-priority-local`: claim it, and nothing is wrong in this scenario"


def checked(implementation: With, scenarios: int = 150):
    return check(Program(SUBPARTITION, implementation), scenarios, "0")


def test_a_capability_that_is_there_and_not_claimed_is_named():
    found = checked(modest()).found
    assert {one.slug for one in found} >= {"availability-agrees-with-the-next-poll"}
    assert {one.unclaimed for one in found} == {(LOCAL,)}


@pytest.mark.parametrize("hidden", sorted(Capability))
def test_hiding_a_capability_conforms_or_names_it(hidden):
    found = checked(Modest(hidden)).found
    assert all(one.unclaimed == (hidden,) for one in found)


def test_a_bug_is_no_capability():
    found = checked(find_implementation("known-bug:B-01")).found  # type: ignore[arg-type]
    assert found
    assert all(one.unclaimed == () for one in found)


def test_a_crash_is_wrong_with_any_capability():
    found = checked(modest()).found[0]
    program = Program(SUBPARTITION, modest())
    assert unclaimed(program, found.scenario, found.failure_class) == (LOCAL,)
    assert unclaimed(program, found.scenario, "crashed") == ()


def test_a_scenario_whose_steps_are_skipped_with_the_capability_says_nothing():
    found = checked(modest()).found[0]
    longer = replace(found.scenario, steps=(*found.scenario.steps, ("append",), ("resume",), ("resume",)))
    program = Program(SUBPARTITION, modest())
    assert unclaimed(program, longer, found.failure_class) == ()


def test_a_worker_names_it_too_and_so_do_what_is_printed_and_the_bug_report(tmp_path, capsys):
    arguments = ["check", "--component", "subpartition", "--scenarios", "150", "--bug-reports", str(tmp_path)]
    assert cli.main([*arguments, "--implementation", "tests.claiming:modest"], standalone_mode=False) == 1
    assert CLAIM in " ".join(capsys.readouterr().out.split())
    reports = [one.read_text() for one in tmp_path.glob("*/report.md")]
    assert reports
    assert all("| **claim** | you seem to have 'blocked-priority-local': claim it" in one for one in reports)
    assert "you seem to have `blocked-priority-local`" in (tmp_path / "index.html").read_text()


@pytest.mark.slow  # a campaign of its own
def test_the_result_of_a_campaign_names_it(tmp_path):
    plan = make_plan("0", ["tests.claiming:modest", "reference"], ["subpartition"], scenarios=60, block=60, budget=500)
    result = start(tmp_path / "campaign", plan, Inline())
    findings = [one for each in result.implementations for part in each.components for one in part.findings]
    assert findings
    assert {found_of(one).unclaimed for one in findings} == {(LOCAL,)}


def test_the_doctor_names_both():
    found = [(one.found, one.cure) for one in examine(modest) if one.wrong]
    assert [cure for _, cure in found] == ["Claim `blocked-priority-local`, if it has it."]
    (one,) = (one for one in examine(refusing) if one.wrong)
    assert one.found.startswith("It claims `faults`, but `fault` returned false to each of ")


def test_a_capability_that_was_claimed_and_never_used_is_reported(capsys):
    arguments = ["check", "--component", "subpartition", "--scenarios", "150"]
    cli.main([*arguments, "--implementation", "tests.claiming:refusing"], standalone_mode=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "tests.claiming:refusing: claimed and never used: `faults`." in said
    cli.main([*arguments, "--implementation", "reference"], standalone_mode=False)
    assert "never used" not in capsys.readouterr().out


NEVER_USED = "tests.claiming:refusing: claimed and never used: `faults`."
REFUSING = make_plan("0", ["reference", "tests.claiming:refusing"], ["subpartition"], scenarios=300, block=150)


@pytest.mark.slow  # a campaign of its own
def test_a_campaign_reports_it_when_it_has_ended(tmp_path, capsys):
    folder, chosen = tmp_path / "campaign", ["--implementation", "tests.claiming:refusing"]
    start(folder, REFUSING, Inline())

    def report() -> str:
        cli.main(["campaign", "report", str(folder), *chosen, "--ctrf", str(tmp_path / "ci")], standalone_mode=False)
        return " ".join(capsys.readouterr().out.split())

    said = report()
    assert NEVER_USED in said
    assert said.count("never used") == 1, "the reference has used all that it claims"
    assert json.loads((tmp_path / "ci").read_text())["results"]["extra"] == EXTRA
    (folder / "result.json").unlink()
    assert "never used" not in report(), "it may still be used"


def test_the_result_of_an_earlier_version_does_not_say_what_is_claimed(tmp_path):
    result = start(tmp_path / "campaign", REFUSING, Inline())
    now, earlier = (
        campaign_verdicts(
            replace(result, implementations=tuple(replace(one, **more) for one in result.implementations))
        )
        for more in ({}, {"claims": UNSET})
    )
    assert [one.never_used for one in now.tried] == [(), (Capability.FAULTS,)]
    assert [one.never_used for one in earlier.tried] == [(), ()]


EXTRA = {"claimed and never used": [{"implementation": "tests.claiming:refusing", "capabilities": ["faults"]}]}


@pytest.mark.parametrize("name", [pytest.param("modest", marks=pytest.mark.slow), "refusing"])
def test_pytest_and_continuous_integration_say_what_check_says(name, tmp_path, capsys):
    which = ["--component", "subpartition", "--implementation", f"tests.claiming:{name}"]
    by_check, by_pytest = tmp_path / "check.json", tmp_path / "pytest.json"
    cli.main(["check", *which, "--scenarios", "300", "--ctrf", str(by_check)], standalone_mode=False)
    more = ("--conformance-profile", "quick", "--conformance-ctrf", str(by_pytest))
    done = run(tmp_path, *SUITE, *which, *more)
    hint = CLAIM if name == "modest" else NEVER_USED
    assert hint in " ".join(capsys.readouterr().out.split())
    assert hint in " ".join(done.stdout.split()), done.stdout + done.stderr
    assert by_pytest.read_bytes() == by_check.read_bytes()
    results = json.loads(by_check.read_text())["results"]
    failed = [one for one in results["tests"] if one["status"] == "failed"]
    assert results.get("extra", {}) == ({} if name == "modest" else EXTRA)
    assert bool(failed) == (name == "modest")
    assert all(one["extra"] == {"unclaimed": ["blocked-priority-local"]} for one in failed)
    assert all(one["message"].endswith(f"; {CLAIM}") for one in failed)
    assert all("extra" not in one for one in results["tests"] if one not in failed)


def test_without_the_capability_nothing_is_never_used():
    tally = checked(reference(), 10).tally  # type: ignore[arg-type]
    assert never_used((), SUBPARTITION.properties, tally.exercised) == ()
    assert Capability.DOWN_GATE not in never_used(Capability, SUBPARTITION.properties, ())
    assert Capability.FAULTS in never_used(Capability, SUBPARTITION.properties, ())


def test_without_output_recovered_upstream_no_scenario_recovers_output_state():
    program = Program(SUBPARTITION, Modest(Capability.OUTPUT_RECOVERED_UPSTREAM))
    assert all(one.recovered is None for one in program.configs)
    assert any(one.recovered is not None for one in Program(SUBPARTITION, With()).configs)
