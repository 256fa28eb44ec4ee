"""An error of the suite itself is no violation: it has its own status, one message, and a file with the traceback."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conformance import cli
from conformance.cli import searching


class NoText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text either")


def run_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> object:
    def broken(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(searching, "check_components", broken)
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "--component", "a deque"])
    return ended.value.code


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), RecursionError(), MemoryError(), OSError(5, "boom"), NoText(), KeyError("boom")]
)
def test_an_unexpected_error_has_a_status_and_a_file_of_its_own(error, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run_with(error, monkeypatch) == 70
    told = capsys.readouterr().err
    assert "this is an error of the suite itself, and says nothing about the implementation" in told
    assert "Traceback" not in told
    (file,) = tmp_path.iterdir()
    assert str(file) in told
    text = file.read_text(encoding="utf-8")
    assert shlex.join(["conformance", "check", "--component", "a deque"]) in text
    assert type(error).__name__ in text


def test_the_message_holds_the_traceback_if_no_file_can_be_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert run_with(RuntimeError("boom"), monkeypatch) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_file_that_cannot_be_used_is_still_the_fault_of_the_call(monkeypatch, capsys):
    assert run_with(PermissionError(13, "Permission denied", "file"), monkeypatch) == 2
    assert capsys.readouterr().err == "conformance: file: Permission denied\n"


def test_output_that_nobody_reads_is_not_a_violation():
    command = [sys.executable, "-c", "from conformance.cli import main; main()", "properties"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    ) as done:  # fmt: skip
        assert done.stdout is not None
        assert done.stderr is not None
        done.stdout.close()
        assert re.sub(rb"\s", b"", done.stderr.read()) == b""
    assert done.returncode == 141
