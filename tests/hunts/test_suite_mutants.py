"""Operator mutants of the suite's own engines."""

from __future__ import annotations

import msgspec
import pytest

from conformance.engines.interruption import NEVER
from conformance.engines.position import unfollowed
from conformance.scenarios import read_toml
from conformance.system.writing import write_text
from tests.hunts.suite_mutants import (
    ROOT,
    SURVIVORS,
    Covered,
    Mutated,
    Sampled,
    Survivors,
    changes,
    context_of,
    copied,
    first_lines,
    report,
    sample,
    touching,
)


def test_a_test_is_found_again_in_what_was_covered():
    assert context_of("tests/driver/test_run.py::test_it") == "tests.driver.test_run.test_it"
    assert context_of("tests/driver/test_run.py::TestRun::test_it") == "tests.driver.test_run.TestRun.test_it"


def test_the_shortest_tests_come_first_and_as_many_as_the_time_allows():
    seconds = {"a": 50.0, "b": 3.0, "c": 9.0, "d": 500.0}
    assert touching(7, 7, {7: ["a", "b", "c"]}, seconds) == ("b",)
    assert touching(7, 7, {7: ["d"]}, seconds) == ("d",)
    assert touching(9, 7, {7: ["b"]}, seconds) == ("b",)  # a statement of three lines
    assert touching(7, 7, {8: ["b"]}, seconds) == ()


def test_a_line_belongs_to_the_innermost_statement():
    text = "def f(a):\n    if (\n        a\n    ):\n        return (\n            a\n        )\n    return 0\n"
    assert first_lines(text) == {1: 1, 2: 2, 3: 2, 4: 2, 5: 5, 6: 5, 7: 5, 8: 8}


def test_the_page_counts_what_was_noticed_at_first_and_what_is_now():
    one, two, three, *_ = changes(["driver"])
    work = Mutated(one.file, one.number, ("some test",), 1.0)
    tried = [
        (Sampled("driver", one, work), "a"),
        (Sampled("driver", two, work), ""),
        (Sampled("driver", three, work), "b"),
    ]
    page = report(tried, {"driver": (9, 5)}, 3, Survivors({three.name: "b"}, {}))
    assert "At the first try, tests noticed 1 of 3 mutants (33 %)" in page
    assert "| driver | 9 | 5 | 3 | 1 | 33 % | 2 | 67 % |" in page
    assert "3 more of the sample were not tried" in page
    assert "| 1 | open |" in page
    assert "| 1 | it is so |" in report(tried, {"driver": (9, 5)}, 3, Survivors({}, {two.name: "it is so"}))


def test_a_sample_hardly_changes_with_the_code_and_a_survivor_is_judged_by_its_own_test(tmp_path):
    reached = [point for point in changes(["driver"]) if point.file == "driver/ledger.py"]
    lines = {point.line: ["some test"] for point in reached}
    write_text(
        tmp_path / "driver.json", msgspec.json.encode(Covered({"some test": 1.0}, {"driver/ledger.py": lines})).decode()
    )
    some, _ = sample(["driver"], 20, tmp_path, {})
    every, sizes = sample(["driver"], 10_000, tmp_path, {})
    assert sizes["driver"][1] == len(every)
    assert 0 < len(some) < len(every)
    assert {one.point.name for one in some} < {one.point.name for one in every}
    since, _ = sample(["driver"], 20, tmp_path, {some[0].point.name: "another test"})
    assert [one.work.tests for one in since] == [("another test",), *(("some test",) for _ in some[1:])]


def test_what_is_known_of_survivors_can_be_read():
    known = read_toml(SURVIVORS, Survivors, "")
    assert not known.noticed_since.keys() & known.reasons.keys()
    for test in known.noticed_since.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.slow(reason="copies the tree and starts pytest in it twice")
def test_a_mutant_is_judged_by_tests_in_a_copy_of_the_tree(tmp_path):
    tests = ("tests/scheduling",)
    point = next(point for point in changes(["scheduling"]) if point.file == "scheduling/kernel.py")
    noticed = Mutated(point.file, point.number, tests, 20.0).do(NEVER, unfollowed)
    assert noticed.startswith("tests/scheduling/")
    assert "::" in noticed
    with copied() as tree:
        assert (tree / "tests" / "scheduling").is_dir()
    assert not tree.exists()
