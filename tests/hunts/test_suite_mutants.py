"""Operator mutants of the suite's own engines."""

from __future__ import annotations

import pytest

from conformance.engines.interruption import NEVER
from conformance.engines.operators import points
from conformance.engines.position import unfollowed
from conformance.ports.changed import Package
from tests.hunts.suite_mutants import PACKAGE, Mutated, Sampled, context_of, copied, report, touching


def test_a_test_is_found_again_in_what_was_covered():
    assert context_of("tests/driver/test_run.py::test_it") == "tests.driver.test_run.test_it"
    assert context_of("tests/driver/test_run.py::TestRun::test_it") == "tests.driver.test_run.TestRun.test_it"


def test_the_shortest_tests_come_first_and_as_many_as_the_time_allows():
    seconds = {"a": 50.0, "b": 3.0, "c": 20.0, "d": 500.0}
    assert touching(7, {7: ["a", "b", "c"]}, seconds) == ("b", "c")
    assert touching(7, {7: ["d"]}, seconds) == ("d",)
    assert touching(9, {7: ["b"]}, seconds) == ("b",)  # a statement of three lines
    assert touching(7, {8: ["b"]}, seconds) == ()


def test_the_page_counts_what_was_noticed():
    one, two, *_ = (point for point in points(Package(PACKAGE)) if point.file.startswith("driver/"))
    work = Mutated(one.file, one.number, ("some test",), 1.0)
    page = report([(Sampled("driver", one, work), "a test"), (Sampled("driver", two, work), "")],
                  {"driver": (9, 5)}, 3, {})  # fmt: skip
    assert "| driver | 9 | 5 | 2 | 1 | 50 % |" in page
    assert "3 more of the sample were not tried" in page
    assert f"| {two.line} | 1 | open |" in page


@pytest.mark.slow(reason="copies the tree and starts pytest in it twice")
def test_a_mutant_is_judged_by_tests_in_a_copy_of_the_tree(tmp_path):
    tests = ("tests/scheduling",)
    point = next(point for point in points(Package(PACKAGE)) if point.file == "scheduling/kernel.py")
    noticed = Mutated(point.file, point.number, tests, 20.0).do(NEVER, unfollowed)
    assert noticed
    with copied() as tree:
        assert (tree / "tests" / "scheduling").is_dir()
    assert not tree.exists()
