"""A replay says FAILED, FIXED or NOT APPLICABLE, and says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.components.subpartition import SubpartitionScenarioConfig
from conformance.driver import ANSWERS, Program
from conformance.engines import check, replay
from conformance.engines.replay import ReplayVerdict
from conformance.ports import Capability, find_implementation
from conformance.scenarios import Finding, Scenario, decode_scenario, encode_history
from tests.by_default import MINIMAL, tried
from tests.engines.far import FarAway
from tests.engines.test_audit import Counts, without_resources
from tests.engines.test_batch import Distorting
from tests.implementations import With
from tests.reporting.test_plain_words import PYTHON, RIDDLE, texts

CORPUS = sorted((Path(__file__).parent.parent / "corpus").glob("*.json"))
PRIORITY = Scenario(
    "subpartition",
    SubpartitionScenarioConfig(),
    (("aligned_barrier", 1), ("attach_view",), ("poll",), ("unaligned_barrier", 2)),
    Finding("a-blocked-subpartition-announces-priority-events", "stuck", "known-bug:B-01"),
)


@pytest.mark.parametrize(
    ("name", "verdict", "why"),
    [
        ("known-bug:B-01", ReplayVerdict.FAILED, "was not notified of any"),
        ("reference", ReplayVerdict.FIXED, "every property that applies held"),
        ("reference-recover-first", ReplayVerdict.NOT_APPLICABLE, "does not claim blocked-priority-local"),
    ],
)
def test_the_verdict_and_its_reason(name, verdict, why):
    result = replay(PRIORITY, find_implementation(name))
    assert result.verdict is verdict
    assert why in result.reason


def test_assuming_a_capability_makes_its_properties_apply():
    result = replay(PRIORITY, find_implementation("reference-recover-first"), [Capability.BLOCKED_PRIORITY_LOCAL])
    assert result.verdict is ReplayVerdict.FAILED


def test_a_component_that_is_not_offered_or_a_property_nobody_knows_is_not_applicable():
    deque = Scenario("deque", None, (("add", 0),))
    assert replay(deque, With()).verdict is ReplayVerdict.NOT_APPLICABLE
    unknown = Scenario(PRIORITY.component, PRIORITY.config, PRIORITY.steps, Finding("no-such-thing", "lost"))
    assert replay(unknown, find_implementation("reference")).verdict is ReplayVerdict.NOT_APPLICABLE


def test_nothing_enabled_is_not_applicable_but_an_empty_scenario_is_a_run():
    idle = Scenario(PRIORITY.component, PRIORITY.config, (("append",), ("resume",)))
    assert replay(idle, find_implementation("reference")).verdict is ReplayVerdict.NOT_APPLICABLE
    empty = Scenario(PRIORITY.component, PRIORITY.config, ())
    assert replay(empty, find_implementation("reference")).verdict is ReplayVerdict.FIXED


def test_evidence_of_outcomes_that_are_not_the_same_every_time_is_run_twice():
    found = next(
        one for one in check(Program(COMPONENTS["subpartition"], without_resources(Counts)), 40, "audit").found
    )
    seen = replay(found.scenario, without_resources(Counts))
    assert seen.violation is not None
    assert seen.violation.signature == found.signature == (ANSWERS, "protocol", "replay")
    assert seen.reason.endswith("(resources) differs in value")
    assert replay(found.scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED


def test_evidence_that_only_one_message_shows_is_sent_in_one_message():
    far = Distorting("reference", "deque")
    found = check(Program(COMPONENTS["deque"], far), 1, "0").found[0]
    assert replay(found.scenario, far).verdict is ReplayVerdict.FAILED
    assert replay(found.scenario, FarAway("reference", "deque")).verdict is ReplayVerdict.FIXED


@pytest.mark.parametrize("path", [tried(MINIMAL, path.stem, path) for path in CORPUS])
def test_the_corpus_fails_on_its_bug_in_plain_words_and_holds_on_the_reference(path):
    scenario = decode_scenario(path.read_text(), COMPONENTS, path.name)
    assert scenario.finding is not None
    bug = find_implementation(scenario.finding.implementation)
    first, second = replay(scenario, bug), replay(scenario, bug)
    assert first.verdict is ReplayVerdict.FAILED
    assert first.violation is not None
    assert first.violation.property.slug == scenario.finding.property
    assert [text for text in texts(first) if PYTHON.search(text)] == []
    broken = first.violation.broken
    assert [text for text in (broken.owed, broken.observed) if RIDDLE.search(text)] == []
    assert encode_history(first.history, "x") == encode_history(second.history, "x")
    assert replay(scenario, find_implementation("reference")).verdict is ReplayVerdict.FIXED
