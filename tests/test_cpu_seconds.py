"""The table of the tests by kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.by_default import one_of
from tests.cpu_seconds import KINDS, kind_of, table

ROOT = Path(__file__).parents[1]


def test_every_pattern_fits_a_file_and_every_file_has_a_kind():
    files = [str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")]
    assert {kind_of(f"{file}::test_it[x]") for file in files} == set(KINDS)
    assert [one for patterns in KINDS.values() for one in patterns if not list(ROOT.glob(one))] == []


def test_the_kind_that_takes_longest_comes_first_and_the_sum_last():
    seconds = {
        "tests/campaigns/test_spark.py::a": 2.4,
        "tests/engines/test_kill.py::b[1]": 3.4,
        "tests/test_x.py::c": 1,
    }
    seconds["tests/engines/test_kill.py::b[2]"] = 0.7
    assert table(seconds)[2:] == [
        "| known bugs are found, and fail as in the corpus | 2 | 4 |",
        "| Spark | 1 | 2 |",
        "| commands, documents, rooms | 1 | 1 |",
        "| all | 4 | 8 |",
    ]


@pytest.mark.parametrize("workers", one_of(2, [1, 0]))
def test_what_a_worker_has_counted_comes_into_the_table(tmp_path: Path, workers: int):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text("def test_it(): sum(range(10))\n", encoding="utf-8")
    here = ("--rootdir", str(tmp_path), "-c", str(tmp_path / "none.ini"), str(tmp_path / "tests"))
    (tmp_path / "none.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", str(workers), "-p", "tests.cpu_seconds", *here],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "| commands, documents, rooms | 1 | 0 |" in done.stdout
    assert "| all | 1 | 0 |" in done.stdout
