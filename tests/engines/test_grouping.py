"""A small fixed sample of what `tests.engines.grouping` measures, in a component that is searched quickly."""

from __future__ import annotations

from itertools import islice

import pytest

from conformance.ports import find_known_bug, known_bugs
from tests.engines.grouping import SIGNS, Measured, are_disjoint, drawn_pairs, measured, page


@pytest.mark.parametrize("bug", ["B-S9", "B-S21"])
def test_a_known_bug_is_one_group(bug):
    found = measured((bug,), scenarios=300)
    assert found.properties >= 3
    assert found.groups == 1


@pytest.mark.parametrize("pair", [("B-88", "B-S35"), ("B-88", "B-S18"), ("B-S1", "B-S18")])
def test_two_known_bugs_are_two_groups(pair):
    found = measured(pair, scenarios=300)
    assert found.groups == 2
    assert found.separate


def test_pairs_are_drawn_by_the_seed_and_do_not_overlap():
    drawn = list(islice(drawn_pairs(known_bugs(), "s"), 5))
    assert drawn == list(islice(drawn_pairs(known_bugs(), "s"), 5))
    assert drawn != list(islice(drawn_pairs(known_bugs(), "t"), 5))
    for one, other in drawn:
        assert find_known_bug(one).component == find_known_bug(other).component
        assert are_disjoint(find_known_bug(one), find_known_bug(other))
    assert not are_disjoint(find_known_bug("B-01"), find_known_bug("B-01"))


def test_the_report_says_what_is_wrong_and_what_was_masked():
    signs = dict.fromkeys(SIGNS, 2)
    single = Measured(("B-01",), "gate", 3, 3, 2, without=signs)
    pairs = [Measured((one, "B-03"), "gate", 2, 2, 2, without=signs) for one in ("B-01", "B-02")]
    masked = Measured(("B-05", "B-06"), "gate", 1, 1, 0, unseen=("B-06",))
    text = page([single], pairs, [masked], 119, 119, "grouping")
    assert "| one known bug: one group | 0 of 1 (0 %) |" in text
    assert "| two known bugs: two groups | 2 of 2 (100 %) |" in text
    assert "| B-01 | gate | 3 | 2 |" in text
    assert "| B-05 and B-06 | gate | B-06 |" in text
