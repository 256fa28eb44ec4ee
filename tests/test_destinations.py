"""A place that cannot be written is an error of the call, before anything is run, and it stays as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.cli import checks
from tests.test_cli import run

CHECK = ["check", "--component", "deque", "--scenarios", "20"]
FILES = ["--json", "--report", "--exercise"]


@pytest.fixture(autouse=True)
def _nothing_is_run(monkeypatch):
    def searched(*arguments: object) -> None:
        raise AssertionError("the search has begun")

    monkeypatch.setattr(checks, "check_any", searched)


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(one): one.read_bytes() if one.is_file() else None for one in folder.rglob("*")}


@pytest.mark.parametrize("option", FILES)
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("folder.md", "is a folder; name a file"),
        ("file/below.md", "would have to be a folder"),
        ("file/new/below.md", "would have to be a folder"),
        ("new/" + 300 * "x" + "/below.md", "too long"),
        (300 * "x" + ".md", "too long"),
        (245 * "x" + ".md", "too long"),
    ],
)
def test_a_file_that_cannot_be_written(option, path, says, tmp_path, capsys):
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "file").write_text("old")
    before = tree(tmp_path)
    assert run(*CHECK, option, str(tmp_path / path)) == 2
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert option in said
    assert says in said
    assert tree(tmp_path) == before


FIFO_OPTIONS = [
    *([*CHECK, option] for option in [*FILES, "--ctrf"]),
    ["explore", "--component", "deque", "--json"],
    ["replay", "tests/corpus/B-01.json", "--json"],
    ["shrink", "tests/corpus/B-01.json", "-o"],
    ["audit", "tests", "--json"],
    ["bugs", "B-D1", "--report"],
    ["bugs", "B-D1", "--json"],
    ["variants", "--report"],
    ["variants", "--json"],
    ["campaign", "start", "nowhere", "--component", "deque", "--ctrf"],
    ["campaign", "report", "nowhere", "--ctrf"],
    ["properties", "--json"],
    ["implementations", "--json"],
]


@pytest.mark.parametrize("command", FIFO_OPTIONS, ids=" ".join)
def test_a_pipe_is_not_waited_for(command, tmp_path, capsys):
    """Seen: after the search, a command waited for somebody to read, for ever."""
    os.mkfifo(path := tmp_path / "fifo.md")
    assert run(*command, str(path)) == 2
    said = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert "is a FIFO; name a file, or a stream that is open already, such as /dev/stdout" in said or (
        command[0] == "shrink" and "is a FIFO, and would be written several times; name a file" in said
    ), said


def test_a_pipe_is_no_folder(tmp_path, capsys):
    os.mkfifo(path := tmp_path / "fifo")
    assert run(*CHECK, "--bug-reports", str(path)) == 2
    assert "is a FIFO; name a folder" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("place", ["/dev/null", "/dev/stdout"])
def test_a_reduction_is_kept_in_a_file(place, capsys):
    assert run("shrink", "tests/corpus/B-01.json", "-o", place) == 2
    assert "written several times; name a file" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("path", ["file", "file/below"])
@pytest.mark.parametrize(
    "command",
    [
        [*CHECK, "--bug-reports"],
        ["explore", "--component", "deque", "--bug-reports"],
        ["bugs", "B-D1", "--corpus"],
        ["variants", "--corpus"],
        ["campaign", "report", "nowhere", "-o"],
    ],
)
def test_a_folder_that_cannot_be_written(command, path, tmp_path, capsys):
    (tmp_path / "file").write_text("old")
    assert run(*command, str(tmp_path / path)) == 2
    assert "is a file" in " ".join(capsys.readouterr().err.split())
    assert tree(tmp_path) == {str(tmp_path / "file"): b"old"}


def test_a_file_that_is_read_only(tmp_path, monkeypatch, capsys):
    """The superuser may write such a file, so the test asks in the place of the operating system."""
    path = tmp_path / "old.json"
    path.write_text("old")
    monkeypatch.setattr("os.access", lambda *_: False)
    assert run(*CHECK, "--json", str(path)) == 2
    assert "read-only" in capsys.readouterr().err
    assert path.read_text() == "old"


def test_the_file_beside_a_page_is_tried_too(tmp_path, capsys):
    (tmp_path / "exercise.json").mkdir()
    assert run(*CHECK, "--exercise", str(tmp_path / "exercise.md")) == 2
    assert "name a file" in " ".join(capsys.readouterr().err.split())


def test_a_place_that_can_be_written_is_left_alone(tmp_path):
    """The search begins, and nothing was made for it."""
    (tmp_path / "old.json").write_text("old")
    before = tree(tmp_path)
    arguments = ["--json", str(tmp_path / "old.json"), "--bug-reports", str(tmp_path / "a" / "b")]
    assert run(*CHECK, *arguments, "--report", str(tmp_path / "c" / "d.md")) == 70  # the search of this test fails
    assert tree(tmp_path) == before
