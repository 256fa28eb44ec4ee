"""A search that is interrupted is a search of fewer scenarios: what it has counted and found is complete and right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import Differ, check_with_hypothesis, replay
from conformance.engines.apart import Apart
from conformance.engines.check import Check, check_part, search_range
from conformance.engines.checking import check_any, check_any_with_hypothesis
from conformance.engines.interruption import OnRequest, until
from conformance.engines.replay import ReplayVerdict
from conformance.ports import Implementation, find_implementation
from tests.implementations import reference

SUBPARTITION = COMPONENTS["subpartition"]
FOREVER = range(10_000_000)
BUG = "known-bug:B-01"


class AfterLooks:
    """Requested when an engine has looked so many times."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    @property
    def requested(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.fixture
def apart() -> Iterator[Apart]:
    made = Apart("tests.engines.hostile:buggy")
    yield made
    made.close()


def program(implementation: Implementation) -> Program:
    return Program(SUBPARTITION, implementation)


def fails(checked: Check) -> bool:
    """Whether every scenario fails in a replay, as the check says."""
    bug = find_implementation(BUG)
    return bool(checked.found) and all(
        (seen := replay(one.scenario, bug)).violation is not None and seen.violation.signature == one.signature
        for one in checked.found
    )


def test_nothing_is_begun_after_the_request():
    asked = OnRequest()
    seen = []
    for number in until(asked, count()):
        seen.append(number)
        if number == 2:
            asked.request()
    assert seen == [0, 1, 2]
    assert list(until(asked, range(3))) == []


def test_the_counts_are_those_of_a_shorter_search():
    checked = check_part(program(reference()), "0", FOREVER, corpus=False, interruption=AfterLooks(30))
    assert checked.interrupted
    assert checked.tally == search_range(program(reference()), "0", range(30))


def test_a_search_that_nobody_interrupts_says_so():
    checked = check_part(program(reference()), "0", range(20), corpus=False, interruption=AfterLooks(1000))
    assert not checked.interrupted
    assert checked.tally.scenarios == 20


def test_what_was_found_is_kept_and_says_that_it_is_not_reduced():
    checked = check_part(program(find_implementation(BUG)), "0", FOREVER, corpus=False, interruption=AfterLooks(150))
    assert [one.reduced for one in checked.found] == [False] * len(checked.found)
    assert fails(checked)


def test_a_reduction_that_is_interrupted_keeps_what_it_has_reached():
    whole = check_part(program(find_implementation(BUG)), "0", range(150), corpus=False)
    part = check_part(program(find_implementation(BUG)), "0", range(150), corpus=False, interruption=AfterLooks(180))
    assert [one.signature for one in part.found] == [one.signature for one in whole.found]
    assert all(one.reduced for one in whole.found)
    assert not any(one.reduced for one in part.found)
    assert len(part.found[0].scenario.steps) < 45  # thirty runs delete the larger half of its steps
    assert fails(part)


def test_the_corpus_is_replayed_until_the_request():
    checked = check_part(program(find_implementation(BUG)), "0", FOREVER, interruption=AfterLooks(0))
    assert (checked.interrupted, checked.tally.scenarios, checked.found) == (True, 0, ())


def test_a_worker_ends_early_and_sends_what_it_has_counted(apart):
    asked = OnRequest()
    checked = check_any(program(apart), "0", FOREVER, lambda number: asked.request(), interruption=asked)
    assert checked.interrupted
    there = search_range(program(find_implementation(BUG)), "0", range(checked.tally.scenarios))
    assert (checked.tally.steps, checked.tally.exercised) == (there.steps, there.exercised)
    assert fails(checked)


def test_a_worker_that_was_interrupted_serves_the_next_request(apart):
    asked = OnRequest()
    asked.request()
    assert check_any(program(apart), "0", FOREVER, interruption=asked).tally.scenarios == 0
    assert check_any(program(apart), "0", range(20)).tally.scenarios == 20


def test_hypothesis_ends_after_an_example():
    checked = check_with_hypothesis(program(reference()), 100_000, "0", interruption=AfterLooks(5))
    assert checked.interrupted
    assert checked.tally.scenarios == 6


def test_hypothesis_keeps_the_failing_example_that_it_was_shrinking():
    bug = find_implementation("known-bug:B-88")
    whole = check_with_hypothesis(program(bug), 500, "0")
    looks = whole.tally.scenarios + 3
    checked = check_with_hypothesis(program(bug), 500, "0", interruption=AfterLooks(looks))
    assert checked.interrupted
    assert [one.signature for one in checked.found] == [one.signature for one in whole.found]
    assert len(whole.found) == 1
    assert checked.tally.scenarios == whole.tally.scenarios
    assert replay(checked.found[0].scenario, bug).verdict is ReplayVerdict.FAILED


def test_hypothesis_ends_in_a_worker(apart):
    asked = OnRequest()
    checked = check_any_with_hypothesis(program(apart), 100_000, "0", lambda number: asked.request(), None, asked)
    assert checked.interrupted
    assert not checked.found or fails(checked)


def test_divergences_are_reported_as_far_as_they_came():
    broken = program(find_implementation(BUG))
    differ = Differ("reference", reference(), broken)
    checked = check_part(broken, "0", FOREVER, differ=differ, corpus=False, interruption=AfterLooks(150))
    assert checked.comparison is not None
    assert checked.comparison.compared > 0
    assert checked.comparison.at_violations
