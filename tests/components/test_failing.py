"""What the specification says of failures, and what reaches it: the list, the chapters and the report agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.ports import UNNOTICED
from tests.components.failing import Struck, failing, listed, never, places, report, search, sentences

REPORT = Path(__file__).parents[2] / "reports" / "faults.md"
SLOW = tuple(kind.value for kind in UNNOTICED)


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_sentence_about_a_failure_is_listed(component):
    """A rule of which this fails has a new sentence: `failing.toml` must say which fault reaches it, or why none."""
    known = {rule: one.sentences for rule, one in listed().get(component, {}).items()}
    found = failing(component)
    assert {rule: len(those) for rule, those in found.items()} == known, found


@pytest.mark.parametrize("component", listed())
def test_what_reaches_a_sentence_is_there(component):
    steps, faults = {step.key for step in COMPONENTS[component].steps}, set(places(COMPONENTS[component]))
    for rule, one in listed()[component].items():
        assert one.faults or one.steps or len(one.reason) > 30, rule
        assert faults >= set(one.faults), rule
        assert steps >= set(one.steps), rule


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_fault_reaches_a_sentence(component):
    reaching = {fault for one in listed().get(component, {}).values() for fault in one.faults}
    assert [one for one in places(COMPONENTS[component]) if one not in reaching and not one.endswith(SLOW)] == []


@pytest.mark.parametrize("component", [name for name, one in COMPONENTS.items() if one.port.can_fail])
def test_faults_are_armed_in_some_configuration(component):
    assert any(getattr(config, "faults", False) for config in COMPONENTS[component].configs)


def test_a_sentence_about_a_failure_is_found_and_a_refusal_is_not():
    rule = (
        "**X1 The writer fails.** *When* [the writer](writer.md#W1) fails: an error of kind *io*. The task goes on. "
        "*If* it is released: an error of kind *state*. Then no error is lost. (Flink: it fails there.)"
    )
    assert list(sentences(rule)) == [
        "**X1 The writer fails.** *When* the writer fails: an error of kind *io*.", "Then no error is lost.",
    ]  # fmt: skip


def test_what_a_search_never_saw_is_named():
    none = {name: Struck(1, {}, {}) for name in listed()}
    assert "gate G33: channel-release throws" in never(none)
    assert len(never(none)) == sum(len(one.faults) + len(one.steps) for by in listed().values() for one in by.values())


def test_a_search_counts_the_scenarios_in_which_a_fault_struck():
    seen = search("persister", 150)
    assert 0 < seen.faults["channel-state-writer throws"] < seen.steps["start"]


def test_the_report_has_every_rule():
    """Written by `make faults`."""
    none = {name: Struck(1, {}, {}) for name in listed()}
    rows = [line.split(" | ")[:3] for line in report(none).splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[:3] for line in REPORT.read_text("utf-8").splitlines() if line.startswith("| ")] == rows
