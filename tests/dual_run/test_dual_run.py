"""The dual run itself: it finds nothing between a version and itself, and each kind of difference is seen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dual_run.__main__ import JUDGE, Case, compared, told
from tests.dual_run.comparing import Comparison, Difference, Names, Total, Understood
from tests.versions import Version

REPLY: dict[str, Any] = {"history": "a", "steps": 3, "violation": ["old", "lost", 3], "exercised": ["old", "kept"]}
AFTER = {**REPLY, "violation": ["new", "lost", 3], "exercised": ["kept", "new"]}
NAMES = Names({"deque": {"new": ["old"], "kept": []}})


def test_a_version_does_not_differ_from_itself() -> None:
    case = Case("known-bug", "known-bug:B-D1", "deque", ("dual/1", "dual/2", "dual/3"), ())
    with Version(JUDGE) as one, Version(JUDGE) as two:
        comparison = compared(case, one, two, Names(two.ask({})["components"]), both_draw=True)
    assert comparison.scenarios == 3
    assert comparison.steps > 0
    assert not comparison.differences


def test_a_slug_that_was_renamed_is_no_difference() -> None:
    comparison = Comparison()
    comparison.see(
        NAMES, "deque", "{}", REPLY, {**REPLY, "violation": ["new", "lost", 3], "exercised": ["kept", "new"]}
    )
    assert not comparison.differences
    assert (comparison.scenarios, comparison.steps, comparison.violations) == (1, 3, 1)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"history": "b"}, Difference("history", "deque", "")),
        ({"violation": ["kept", "lost", 3]}, Difference("verdict", "deque", "new -> kept")),
        ({"violation": ["new", "lost", 2]}, Difference("verdict", "deque", "new -> new")),
        ({"violation": None}, Difference("verdict", "deque", "new -> none")),
        ({"exercised": ["new"]}, Difference("before", "deque", "kept")),
        ({"exercised": ["new", "kept", "more"]}, Difference("after", "deque", "more")),
        ({"unreadable": "no such step"}, Difference("reading", "deque", "")),
    ],
)
def test_each_difference_is_seen(other: dict[str, Any], expected: Difference) -> None:
    comparison = Comparison()
    comparison.see(NAMES, "deque", "{}", REPLY, {**AFTER, **other})
    assert dict(comparison.differences) == {expected: 1}


def test_only_what_is_explained_is_understood() -> None:
    total, comparison = Total(), Comparison()
    comparison.see(NAMES, "deque", "{}", REPLY, {**AFTER, "exercised": ["new"], "history": "b"})
    total.add("reference", "deque", comparison)
    assert told(total, [])[1] == 2
    assert told(total, [Understood("it went", "before", slug="kept")])[1] == 1
    assert told(total, [Understood("it went", "before", slug="other")])[1] == 2
    assert told(total, [Understood("it went", "before", slug="kept", kind="reference")])[1] == 1
    assert told(total, [Understood("it went", "before", slug="kept", kind="known-bug")])[1] == 2
