"""The table of branch coverage."""

from __future__ import annotations

import pytest

from building.branches import Covered, Summary, by_room, main, page, room_of


@pytest.mark.parametrize(
    ("file", "room"),
    [
        ("conformance/engines/search.py", "conformance/engines"),
        ("conformance/components/gate/rules.py", "conformance/components"),
        ("conformance/__init__.py", "conformance"),
        ("reference_impl/network/gate.py", "reference_impl"),
    ],
)
def test_a_file_belongs_to_a_room(file, room):
    assert room_of(file) == room


def test_the_counts_of_a_room_are_added_and_rounded_down():
    rooms = by_room({
        "strategies/a.py": Summary(10, 10, 4, 4),
        "conformance/engines/b.py": Summary(1000, 999, 2, 1),
        "conformance/engines/c.py": Summary(1000, 1000, 0, 0),
    })  # fmt: skip
    assert rooms == {"conformance/engines": Covered(2000, 1999, 2, 1), "strategies": Covered(10, 10, 4, 4)}
    assert page(rooms).splitlines()[-3:] == [
        "| conformance/engines | 2,000 | 99.9 % | 2 | 50.0 % |",
        "| strategies | 10 | 100.0 % | 4 | 100.0 % |",
        "| all | 2,010 | 99.9 % | 6 | 83.3 % |",
    ]


def test_nothing_measured_is_no_share():
    assert page({}).splitlines()[-1] == "| all | 0 |  | 0 |  |"


def test_it_reads_what_coverage_writes(tmp_path):
    summary = (
        b'{"num_statements": 2, "covered_lines": 1, "num_branches": 2, "covered_branches": 1, "excluded_lines": 0}'
    )
    (tmp_path / "m.json").write_bytes(b'{"meta": {}, "files": {"strategies/a.py": {"summary": %s}}}' % summary)
    main(str(tmp_path / "m.json"), str(tmp_path / "coverage.md"))
    assert "| strategies | 2 | 50.0 % | 2 | 50.0 % |" in (tmp_path / "coverage.md").read_text()
