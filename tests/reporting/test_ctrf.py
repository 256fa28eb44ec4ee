"""The Common Test Report Format: what it asks for is there, and nothing that did not pass has passed."""

from __future__ import annotations

import json

import pytest

from conformance.cli import main
from conformance.reporting.columns import Word
from conformance.reporting.ctrf import STATUSES


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("ci") / "ctrf.json"
    with pytest.raises(SystemExit) as ended:
        main(["check", "--implementation", "known-bug:B-37", "--component", "persister", "--component", "deque",
              "--scenarios", "200", "--ctrf", str(path)])  # fmt: skip
    assert ended.value.code == 1
    return json.loads(path.read_text())


def test_it_has_what_the_format_requires(document):
    assert (document["reportFormat"], document["specVersion"]) == ("CTRF", "0.0.0")
    results = document["results"]
    assert results["tool"]["name"] == "checkpoint-conformance"
    assert set(results["summary"]) == {"tests", "passed", "failed", "pending", "skipped", "other", "start", "stop"}
    assert all(isinstance(one["name"], str) and isinstance(one["duration"], int) for one in results["tests"])


def test_every_property_is_one_test_and_the_summary_adds_up(document):
    tests, summary = document["results"]["tests"], document["results"]["summary"]
    assert len({one["name"] for one in tests}) == len(tests) == summary["tests"]
    assert summary["tests"] == sum(summary[status] for status in ("passed", "failed", "pending", "skipped", "other"))


def test_a_failure_says_what_was_expected_and_observed(document):
    failed = [one for one in document["results"]["tests"] if one["status"] == "failed"]
    assert "known-bug:B-37 persister a-late-stop-loses-nothing" in {one["name"] for one in failed}
    assert all("; " in one["message"] for one in failed)


def test_only_what_passed_has_passed():
    assert [word for word, status in STATUSES.items() if status == "passed"] == [Word.PASSED]
    assert [word for word, status in STATUSES.items() if status == "failed"] == [Word.FAILED]
    assert set(STATUSES) == set(Word)
