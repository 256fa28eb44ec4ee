"""The kill matrix over seeds and processes, and operator mutants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from conformance.engines.fair_order import in_fair_order
from conformance.engines.interruption import NEVER
from conformance.engines.matrix import Asked, matrix
from conformance.engines.operators import Point, Subject, changed_text, points, run_apart, try_operators
from conformance.engines.optimum import Optimum
from conformance.engines.position import unfollowed
from conformance.engines.works import Work, in_processes
from conformance.ports import find_known_bug
from conformance.ports.changed import Package
from conformance.ports.changes import CATALOGUES
from conformance.reporting import bug_row, matrix_text

NAMES = ["B-D1", "B-D5"]


def test_more_processes_find_the_same():
    asked = Asked(("a", "b"), 500)
    alone = matrix(NAMES, asked)
    with in_processes(2) as over:
        together = matrix(NAMES, asked, over)
    assert [line.bug for line in alone] == NAMES
    for one, other in zip(alone, together, strict=True):
        assert one.forms == other.forms
        assert [kill.scenarios for kill in one.kills] == [kill.scenarios for kill in other.kills]


def test_what_an_interruption_leaves_is_a_fair_sample():
    """Bug after bug, with all its seeds, in an order that neither names nor durations decide."""
    names = in_fair_order((f"B-D{number}" for number in range(1, 7)), str)
    assert names != sorted(names) == sorted(f"B-D{number}" for number in range(1, 7))
    asked: list[Any] = []

    def over(works: Sequence[Work[Any]]) -> Iterator[Any]:
        asked.extend(works)
        return (work.do(NEVER, unfollowed) if at < 5 else None for at, work in enumerate(works))

    lines = matrix(names, Asked(("a", "b"), 500), over)
    assert [work.bug for work in asked] == [name for name in names for _ in range(2)]
    assert [line.bug for line in lines] == names[:2]
    assert len({work.topics for work in asked}) == 1, "a runner that does the longest first leaves the shortest"


def test_only_what_some_seeds_find_is_reduced():
    whole, one, none = (matrix(["B-D1"], Asked(("a", "b"), 500, reduced=number))[0] for number in (None, 1, 0))
    hits = [[(kill.killed, kill.scenarios, kill.first_hit) for kill in line.kills] for line in (whole, one, none)]
    assert hits[0] == hits[1] == hits[2]
    reduced = [[kill.shortest is not None for kill in line.kills] for line in (whole, one, none)]
    assert reduced == [[True, True], [True, False], [False, False]]
    assert (one.forms, none.forms) == (whole.forms[:1], [])
    pages = [matrix_text([bug_row(find_known_bug("B-D1"), line)]) for line in (whole, one, none)]
    assert all("1 of 1 known bugs were found with each of 2 seeds" in page for page in pages)
    assert ["same minimal scenario for all seeds" in page for page in pages] == [True, False, False]
    assert "Only what 1 of the seeds found was reduced" in pages[1]
    assert "Nothing was reduced" in pages[2]


def test_a_line_knows_the_optimum_and_a_second_opinion():
    seen: list[int] = []
    (line,) = matrix(["B-01"], Asked(("a", "b"), 2000, optimal=True, confirmed=True), watch=seen.append)
    assert seen == [1, 2]
    assert line.optimum == Optimum(4, proved=True)
    assert [len(form.steps) for form in line.forms] == [4]
    assert line.opinion is not None
    assert line.opinion.confirms


def test_a_bug_that_survives_is_a_hole_on_the_page():
    (line,) = matrix(["B-D1"], Asked(("a",), 1))
    page = matrix_text([bug_row(find_known_bug("B-D1"), line)])
    if line.kills[0].killed:  # one scenario may do
        assert "1 of 1 known bugs were found" in page
    else:
        assert "These bugs survived" in page
    (empty,) = matrix(["B-D1"], Asked(("a",), 0))
    assert "SURVIVED" in matrix_text([bug_row(find_known_bug("B-D1"), empty)])


def test_the_page_says_what_is_proved_and_which_steps_are_the_drains():
    """A minimal scenario is never shorter than the optimum, because both have one configuration."""
    names = ["B-01", "B-S24", "B-D1"]
    lines = matrix(names, Asked(("a",), 2000, optimal=True))
    rows = [bug_row(find_known_bug(name), line) for name, line in zip(names, lines, strict=True)]
    for row in rows:
        assert row.optimal_steps is not None
        assert row.minimal_steps is not None
        assert row.optimal_steps <= row.minimal_steps
    page = matrix_text(rows)
    assert "known for 3 of 3 bugs. The minimal scenario has as few for 3 of them" in page
    drained = rows[1]
    assert (drained.minimal_steps, drained.drain_steps) == (0, 7)
    assert "| 0 + 7 of the drain |" in page
    assert "| 4 (proved) |" in page
    unknown = replace(rows[0], optimal_steps=None, optimal_at_least=3)
    assert "| 4 (at least 3) |" in matrix_text([unknown])
    assert "exploration ended before" in matrix_text([unknown])


SOURCE = '''
"""A module."""
LIMIT = 3
class Box:
    size = 1
    def add(self, one: int) -> bool:
        """Words."""
        if self.full() and not self.closed:
            raise ValueError(f"too many: {self.size + 1}")
        self.held.append(one)
        self.size += 1
        return self.size < 10
'''


@pytest.fixture
def box(tmp_path, monkeypatch) -> Package:
    """A package of one module."""
    (tmp_path / "box_package").mkdir()
    (tmp_path / "box_package" / "__init__.py").write_text("")
    (tmp_path / "box_package" / "box.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    return Package("box_package")


def test_the_changes_of_a_module_are_those_inside_its_functions(box):
    changes = [(one.where, one.before, one.after) for one in points(box)]
    assert changes == [
        ("Box.add", "self.full() and (not self.closed)", "self.full() or not self.closed"),
        ("Box.add", "not self.closed", "self.closed"),
        ("Box.add", "self.held.append(one)", "pass"),
        ("Box.add", "self.size += 1", "pass"),
        ("Box.add", "1", "2"),
        ("Box.add", "self.size < 10", "self.size <= 10"),
        ("Box.add", "10", "11"),
    ]


def test_a_change_leaves_everything_else_as_it_stands(box):
    texts = [changed_text(SOURCE, one.number).splitlines() for one in points(box)]
    whole = SOURCE.splitlines()
    differing = [[now for was, now in zip(whole, text, strict=True) if was != now] for text in texts]
    assert [line.strip() for (line,) in differing] == [
        "if (self.full() or not self.closed):",
        "if self.full() and (self.closed):",
        "pass",
        "pass",
        "self.size += (2)",
        "return (self.size <= 10)",
        "return self.size < (11)",
    ]


REFERENCE = Subject("reference_impl", "reference", CATALOGUES)


def test_changes_that_read_alike_have_names_of_their_own():
    names = [one.name for one in points(Package("reference_impl"))]
    assert len(set(names)) == len(names) > 900


@pytest.mark.slow  # it compiles every mutant of two large files
def test_every_change_of_the_reference_is_a_program_still():
    package = Package("reference_impl", CATALOGUES)
    for file in ("network/gate.py", "network/remote_channel.py"):
        text, count = package.text(file), sum(one.file == file for one in points(package))
        assert count > 100
        for number in range(count):
            compile(changed_text(text, number), file, "exec")


def point(module: str, before: str) -> Point:
    return next(one for one in points(Package("reference_impl")) if one.module == module and before in one.before)


def test_a_change_is_noticed_in_a_process_of_its_own():
    trial = run_apart(REFERENCE, point("reference_impl.network.prioritized_deque", "priority += 1"), ["deque"], 200)
    assert trial.killed
    assert trial.component == "deque"


def test_a_change_that_breaks_everything_is_noticed_too():
    assert run_apart(REFERENCE, point("reference_impl.implementation", "self.design = design"), ["deque"], 200).killed


def test_the_process_of_a_change_finds_packages_where_this_one_does(tmp_path, monkeypatch):
    """An executor of Spark has the project on its `sys.path` alone. What cannot be loaded counts as noticed."""
    text = "from reference_impl import reference as make\ndef idle(): return 1\n"
    (tmp_path / "there_package").mkdir()
    (tmp_path / "there_package" / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    (change,) = points(Package("there_package"))
    assert not run_apart(Subject("there_package", "make"), change, ["deque"], 10).killed


@pytest.mark.slow  # operator mutants in two processes
def test_changes_are_spread_evenly_and_known_bugs_are_left_out():
    assert not any(
        "known_bugs" in one.module or "legal_variants" in one.module
        for one in points(Package("reference_impl", CATALOGUES))
    )
    with in_processes(2) as over:
        tried = try_operators(REFERENCE, ["deque"], 3, 50, over)
    assert len({one.name.partition(":")[0] for one in tried}) == 3
