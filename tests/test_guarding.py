"""Commands that have no workers of their own end with the implementation, and say so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HERE = "tests.engines.hostile:"


def conformance(*arguments: str, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from conformance.cli import main; main()", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(path)])}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("explore", "--component", "subpartition"),
            "its process exited with status 0, at step 1, flush",
        ),
        (("shrink", "tests/corpus/B-01.json"), "its process exited with status 0, in the fair drain, at its"),
        (("doctor",), 'its process exited with status 0, at call 6 of a subpartition, ["flush"]\n'),
    ],
)
def test_a_process_that_ends_in_silence_is_not_green(arguments, said):
    done = conformance(*arguments, "--implementation", f"{HERE}exits_in_silence")
    assert done.returncode == 3
    assert said in done.stderr


def test_a_hang_ends_the_command():
    hangs = ("--step-seconds", "1", "--implementation", f"{HERE}swallows_the_alarm")
    done = conformance("explore", "--component", "subpartition", *hangs)
    assert done.returncode == 3
    assert "it did not answer in time, at step 1, flush" in done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("swallows_the_alarm", 'it did not answer in time, at call 6 of a subpartition, ["flush"]\n'),
        ("hangs_when_asked", "it did not answer in time, when it said its name and what it offers\n"),
        ("hangs_when_closed", "it did not answer in time, when it was closed\n"),
    ],
)
def test_a_doctor_does_not_wait_for_ever(name, said):
    done = conformance("doctor", "--step-seconds", "1", "--implementation", f"{HERE}{name}")
    assert done.returncode == 3
    assert said in done.stderr


def test_an_audit_does_not_wait_for_ever(tmp_path):
    done = conformance("audit", str(tmp_path), "--step-seconds", "1", "--implementation", f"{HERE}hangs_when_asked")
    assert done.returncode == 3
    assert "it did not answer in time, when it read the folder\n" in done.stderr


def test_the_status_is_that_of_the_command():
    buggy = ("--implementation", f"{HERE}buggy")
    done = conformance("shrink", "tests/corpus/B-01.json", *buggy)
    assert done.returncode == 1
    assert '"steps"' in done.stdout
    assert conformance("explore", "--component", "nobody", *buggy).returncode == 2


@pytest.mark.parametrize("command", ["bugs", "variants"])
def test_a_known_bug_of_a_module_that_ends_its_process_is_not_green(command, tmp_path):
    (tmp_path / "ending.py").write_text("import os; os._exit(0)\n")
    done = conformance(command, "ending:BUG", path=tmp_path)
    assert done.returncode == 3
    assert "ending:BUG ended the command: its process exited with status 0\n" in done.stderr
