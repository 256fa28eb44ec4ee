"""The measurement of what is found in an engine that shows less of itself."""

from __future__ import annotations

import pytest

from conformance.engines.works import alone
from conformance.ports import find_known_bug
from tests.hunts.outside import ENGINES, looked, report
from tests.hunts.sought import Seen

FOUND, MISSED = find_known_bug("B-J33"), find_known_bug("B-J72")
"""A sink that commits in its snapshot; and a thread that is woken and does not exist, which shows in steps alone."""


@pytest.fixture(scope="module")
def seen():
    return looked([FOUND, MISSED], alone, scenarios=8)


def test_a_bug_is_looked_for_in_each_engine(seen):
    assert {one.found_by for one in seen[FOUND.id].values()} == {FOUND.property}
    assert seen[MISSED.id] == dict.fromkeys(ENGINES, Seen("", 8))


def test_the_page_names_what_is_missed_and_what_its_property_needs(seen):
    page = report([FOUND, MISSED], seen, {FOUND.id: 3, MISSED.id: 7})
    assert "| shows nothing | 2 | 1 |" in page
    (line,) = (line for line in page.splitlines() if line.startswith(f"| {MISSED.id} "))
    assert f"| {MISSED.property} | job-steps | - | - | - |" in line
    assert f"| {FOUND.id} " not in page


def test_what_an_interruption_left_out_was_not_tried():
    page = report([MISSED], {MISSED.id: {"shows splits": Seen("", 8)}}, {MISSED.id: 7})
    assert "| job-steps | not tried | - | not tried |" in page
