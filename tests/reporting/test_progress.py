"""In a pipe, progress is a line for each tenth; on a terminal it is a bar that goes away."""

from __future__ import annotations

import io
import re

import pytest

from conformance.reporting import progress_bar
from conformance.reporting.console import CarefulConsole


def lines(total: int | None, counts: list[int]) -> list[str]:
    out = io.StringIO()
    with progress_bar(CarefulConsole(file=out, width=20), "a name that is longer than a line", total) as advance:
        for count in counts:
            advance(count // 2, count - count // 2)
    assert "\r" not in out.getvalue()
    assert "\x1b" not in out.getvalue()
    return [line.removeprefix("a name that is longer than a line: ") for line in out.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("total", "counts", "said"),
    [
        (1_000, list(range(0, 1_001, 7)), [f"{one} of 1,000" for one in (105, 203, 301, 406, 504, 602, 700, 805, 903)]),
        (3, [0, 1, 2, 3], ["1 of 3", "2 of 3"]),
        (1, [0, 1], []),
        (34_000, [0, 33_999], ["33,999 of 34,000"]),  # far at once: one line
        (100, [50, 20, 60], ["50 of 100", "60 of 100"]),  # back and forth: no line twice
        (None, [0, 999, 1_000, 1_999, 2_500, 4_000, 4_001], ["1,000 so far", "2,500 so far", "4,000 so far"]),
        (10, [], []),
    ],
)
def test_a_line_for_each_tenth(total, counts, said):
    assert lines(total, counts) == said


def test_nothing_is_left_of_the_bar_but_blank_space():
    out = io.StringIO()
    console = CarefulConsole(file=out, width=60, force_terminal=True)
    with progress_bar(console, "mine", 10) as advance:
        advance(0, 5)
    assert "mine" in out.getvalue()
    left = out.getvalue().rpartition("\x1b[2K")[2]
    assert re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", left).strip() == ""
