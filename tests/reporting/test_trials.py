"""What became of known bugs and legal variants fits a screen, and in a pipe each has a line."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from conformance.components import COMPONENTS
from conformance.reporting import BugRow, VariantRow, print_bugs, print_variants
from conformance.reporting.console import CarefulConsole
from conformance.reporting.screen import LINES

FOUND = BugRow(
    "B-1", "FLINK-1", "deque", True, "a-poll-takes-the-head", "a-poll-takes-the-head", 1234, 0.5, 3, 2, "It is wrong.",
    drain_steps=4,
)  # fmt: skip
ALIVE = BugRow("B-2", "own", "deque", False, "of-two", None, 20_000, 9.0, None, None, "It [is] wrong.")
LEGAL = VariantRow(
    "V-1", "gate", "gate.md#FG1", "It may.", "It does.", False, None, None, 20_000, True, "poll: value: 1 / 2"
)
ACCUSED = replace(LEGAL, id="V-2", accused=True, property="a-false-alarm", observed="owed 1; returned 2")
NOWHERE = replace(LEGAL, id="V-3", differs=False, difference=None)


def printed(show, rows, everything: bool = False, terminal: bool = True) -> str:
    out = io.StringIO()
    show(
        CarefulConsole(file=out, width=80, color_system=None, force_terminal=terminal, highlight=False),
        rows,
        everything,
    )
    return out.getvalue()


def spread(row, count: int):
    return [replace(row, id=f"{row.id}.{number}", component=name) for name in COMPONENTS for number in range(count)]


def test_survivors_come_first_and_the_others_are_counted():
    text = printed(print_bugs, [FOUND, ALIVE])
    assert " ".join(text.split()).startswith(
        "B-2 SURVIVED in 20,000 scenarios of deque; of-two must notice it. It [is] wrong."
    )
    assert ["deque", "2", "1", "1,234", "1,234", "3", "3", "10"] in [line.split() for line in text.splitlines()]
    assert text.endswith("Known bugs: 1 of 2 found. Scenarios until then: median 1,234, at most 1,234.\n")
    assert "B-1" not in text


def test_who_is_accused_or_differs_nowhere_comes_first():
    text = printed(print_variants, [LEGAL, ACCUSED, NOWHERE])
    first, second = text.splitlines()[:2]
    assert first == "V-2 is ACCUSED by a-false-alarm of gate: owed 1; returned 2"
    assert second.startswith("V-3 differs NOWHERE from its original in 20,000 scenarios of gate.")
    assert ["gate", "3", "1", "2", "60,000"] in [line.split() for line in text.splitlines()]
    assert "Legal variants: 1 of 3 accused, 1 differ NOWHERE." in text
    assert "owed 1; returned 2" in printed(print_variants, [ACCUSED], everything=True)


@pytest.mark.parametrize(
    ("show", "rows"),
    [
        (print_bugs, [*spread(FOUND, 50), ALIVE]),
        (print_bugs, spread(ALIVE, 20)),
        (print_variants, [*spread(LEGAL, 12), ACCUSED]),
        (print_variants, spread(NOWHERE, 12)),
        (print_bugs, []),
        (print_variants, []),
    ],
)
def test_it_fits_a_screen(show, rows):
    lines = printed(show, rows).splitlines()
    assert len(lines) <= LINES  # those that went wrong take two lines each
    assert max(map(len, lines)) <= 80


def test_in_a_pipe_each_of_them_has_a_line_and_no_name_is_broken():
    assert printed(print_bugs, [FOUND, ALIVE], terminal=False).splitlines() == [
        "SURVIVED deque of-two B-2 (20,000 scenarios): It [is] wrong.",
        "Known bugs: 1 of 2 found. Scenarios until then: median 1,234, at most 1,234.",
    ]
    first, *_ = printed(print_bugs, [FOUND], everything=True, terminal=False).splitlines()
    assert first == "found deque a-poll-takes-the-head B-1 (1,234 scenarios, 3+4 steps, 0.50 cpu s): It is wrong."
    lines = printed(print_variants, [LEGAL, ACCUSED, NOWHERE], everything=True, terminal=False).splitlines()
    assert [line.split()[:4] for line in lines[:3]] == [
        ["differs", "gate", "-", "V-1"], ["ACCUSED", "gate", "a-false-alarm", "V-2"], ["NOWHERE", "gate", "-", "V-3"],
    ]  # fmt: skip
    assert len(printed(print_variants, [LEGAL, ACCUSED], terminal=False).splitlines()) == 2
