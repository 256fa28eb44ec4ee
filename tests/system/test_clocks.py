"""A clock that jumps changes no limit: what is measured is measured with the monotonic clock."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    str(path.relative_to(ROOT)) for room in ("conformance", "reference_impl") for path in (ROOT / room).rglob("*.py")
)
JUMPING = {
    ("time", "time"), ("time", "time_ns"), ("time", "clock_gettime"), ("time", "localtime"), ("time", "gmtime"),
    ("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today"),
}  # fmt: skip
"""What reads the clock that people and time servers set."""


def jumping(source: str) -> list[int]:
    """Returns the lines that read a clock that may jump, or import such a function by its name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            if (name, node.attr) in JUMPING:
                found.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            found += [node.lineno for one in node.names if ("time", one.name) in JUMPING]
    return found


def test_no_limit_depends_on_a_clock_that_jumps():
    found = {name: jumping((ROOT / name).read_text(encoding="utf-8")) for name in SOURCES}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    ["import time\ntime.time()", "from time import time", "import datetime\ndatetime.datetime.now()",
     "from datetime import date\ndate.today()", "import time\nclock = time.time"],
)  # fmt: skip
def test_a_clock_that_jumps_is_found(source):
    assert jumping(source) != []


def test_the_monotonic_clock_is_not_one():
    assert (
        jumping("import time\nfrom time import monotonic\ntime.monotonic(), time.sleep(1), time.perf_counter()") == []
    )
