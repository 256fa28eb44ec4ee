"""Tests of a group share what is dear (decision 32), and pytest 9.2 took the groups away without a word."""

from __future__ import annotations

import subprocess
import sys

import pytest

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(8))
@pytest.mark.xdist_group("one")
def test_something(number, worker_id):
    with open(worker_id, "a") as file:
        file.write(str(number))
"""


@pytest.mark.slow  # a run of pytest in two processes
def test_one_process_runs_the_tests_of_a_group(tmp_path):
    (tmp_path / "test_grouped.py").write_text(TESTS)
    words = ["-q", "-n", "2", "--dist", "loadgroup", "-p", "no:checkpoint-conformance"]
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.read_text() for path in tmp_path.glob("gw*")] == ["01234567"]
