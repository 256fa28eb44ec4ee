"""The command that compares the speed of two versions: what it measures and where it writes. No time is asserted."""

from __future__ import annotations

import pytest

from tests.benchmarks.paces import BEGIN, END, PACE, paces, placed, told
from tests.versions import Version


def test_every_interleaving_that_a_component_has_is_measured_in_every_round() -> None:
    with Version(PACE) as before, Version(PACE) as after:
        found = list(paces(before, after, ["deque", "local-channel"], scenarios=2, rounds=3))
    assert [(one.component, one.interleaving) for one in found] == [
        ("deque", "whole"), ("local-channel", "whole"), ("local-channel", "fine"),
    ]  # fmt: skip
    for one in found:
        assert [len(figures) for figures in (one.speeds, one.turns, one.ratios)] == [3, 3, 3]
        assert min(*one.speeds, *one.turns, *one.ratios) > 0
    assert told(found, "HEAD").count("\n| ") == 4


def test_the_table_replaces_the_one_before() -> None:
    page = f"# Performance\n\n{BEGIN}\nold \\1\n{END}\n\nmore\n"
    assert placed(page, "new \\1") == f"# Performance\n\n{BEGIN}\nnew \\1\n{END}\n\nmore\n"


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="has no lines"):
        placed("# Performance\n", "new")
