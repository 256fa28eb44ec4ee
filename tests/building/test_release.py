"""What speaks against a release."""

from __future__ import annotations

import pytest

from building.release import complaints

READY = "# Changelog\n\n## [0.2.0] - 2026-11-25\n\n- New.\n\n## [0.1.0] - 2026-01-31\n"


def test_nothing_speaks_against_it():
    assert complaints("0.2.0", READY, [], ["v0.1.0"]) == []


@pytest.mark.parametrize(
    ("version", "changelog", "changed", "tags", "said"),
    [
        ("0.2.0", READY, ["README.md"], [], "The tree is not clean: README.md"),
        ("0.2.0", READY, [], ["v0.2.0"], "The tag v0.2.0 exists"),
        ("0.3.0", READY, [], [], "begins with '## [0.2.0] - 2026-11-25', not with '## [0.3.0]"),
        ("0.2.0", READY.replace(" - 2026-11-25", ""), [], [], "not with '## [0.2.0] - YYYY-MM-DD'"),
        ("0.2.0", f"## [Unreleased]\n\n{READY}", [], [], "begins with '## [Unreleased]'"),
        ("0.2.0", "# Changelog\n", [], [], "has no section"),
    ],
)
def test_each_thing_that_speaks_against_it_is_said(version, changelog, changed, tags, said):
    (complaint,) = complaints(version, changelog, changed, tags)
    assert said in complaint


def test_all_of_them_are_said_at_once():
    assert len(complaints("0.3.0", READY, ["x"], ["v0.3.0"])) == 3
