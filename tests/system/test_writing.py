"""What is written is there as a whole or not at all, and an error says which file it was and how to go on."""

from __future__ import annotations

import ast
import errno
import os
import tempfile
from pathlib import Path

import pytest

from conformance.system.files import TooLarge
from conformance.system.writing import (
    NotWritten,
    rename_folder,
    told_by,
    write_bytes,
    write_folder,
    write_json,
    write_text,
)  # fmt: skip
from tests.full_disks import fill, largest_file, small_disk, tree

ROOT = Path(__file__).parents[2]
BIG = "x" * 5_000
WRITERS = (
    lambda path: write_text(path, BIG),
    lambda path: write_json(path, {"a": BIG}),
    lambda path: write_bytes(path, BIG.encode()),
    lambda path: write_bytes(path, BIG.encode(), path.with_name(".mine.part"), durable=True),
)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("older", [b"older", None])
def test_a_file_that_the_machine_refuses_leaves_nothing(tmp_path, write, older):
    path = tmp_path / "file"
    if older is not None:
        path.write_bytes(older)
    before = tree(tmp_path)
    with largest_file(1_000), pytest.raises(NotWritten) as refused:
        write(path)
    assert tree(tmp_path) == before
    assert str(refused.value).startswith(f"{path} could not be written: File too large. It needs 5,0")
    assert "Raise the limit of the size of files (ulimit -f), and run the same command again." in str(refused.value)


@pytest.mark.parametrize("older", [True, False])
def test_a_folder_that_the_machine_refuses_leaves_nothing(tmp_path, older):
    if older:
        write_folder(tmp_path / "folder", {"a": "older"})
    before = tree(tmp_path)
    with largest_file(1_000), pytest.raises(NotWritten, match=r"folder could not be written: .*needs 5,001 bytes"):
        write_folder(tmp_path / "folder", {"a": "b", "b": BIG})
    assert tree(tmp_path) == before


def test_a_folder_does_not_take_the_name_of_another_one(tmp_path):
    for name in ("made", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    with pytest.raises(FileExistsError) as refused:
        rename_folder(tmp_path / "made", tmp_path / "kept")
    assert not isinstance(refused.value, NotWritten)
    assert (tmp_path / "kept" / "file").read_text() == "kept"


def test_a_full_disk_says_how_much_is_free(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        write_text(disk / "file", "older")
        fill(disk)
        with pytest.raises(NotWritten) as refused:
            write_text(disk / "file", BIG)
        assert tree(disk) == {"file": b"older"}
    said = str(refused.value)
    free = said.split("bytes, and ")[1].split()[0]
    assert said == (
        f"{disk / 'file'} could not be written: No space left on device. It needs 5,000 bytes, and "
        f"{free} are free there. Make room on that disk, and run the same command again."
    )


def test_what_is_no_file_is_written_directly():
    """A renamed file would replace the device."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(NotWritten, match=r"/dev/full could not be written: No space left on device"):
        write_text(Path("/dev/full"), "x")
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize("name", ["file/below", "x" * 300, "folder"])
def test_a_place_where_nothing_can_be_is_an_error_of_the_call(tmp_path, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=name.split("/")[0]) as refused:
        write_text(tmp_path / name, "x")
    assert not isinstance(refused.value, NotWritten)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "no space"), "what the command prints, or a temporary file in "),
        (OSError(errno.ENOSPC, "no space", f"{tempfile.gettempdir()}/a"), "disk, or set TMPDIR to another folder, and"),
        (
            FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/a']"),
            "a temporary file could not be written: No usable temporary directory found in ['/a']. Make room in one of "
            "them, or set TMPDIR to another folder, and run the same command again.",
        ),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory", "a"), None),
        (FileNotFoundError(errno.ENOENT, "another"), None),
        (OSError(errno.EDQUOT, "quota", "a"), "a could not be written: quota. Make room within your quota, and"),
        (OSError(errno.EROFS, "read-only", b"a"), "a could not be written: read-only. Make the disk writable"),
        (OSError(errno.EACCES, "denied", "a"), None),
        (TooLarge(errno.EFBIG, "the file is larger than 64 MiB", "a"), None),
        (OSError(errno.EIO, "broken"), None),
        (ValueError("a"), None),
    ],
)
def test_an_error_of_somebody_else_is_reported_if_only_writing_can_have_it(error, said):
    told = told_by(error)
    assert (told is None) == (said is None)
    if told is not None:
        assert str(said) in str(told)
        assert ("TMPDIR" in str(told)) == ("temporary" in str(told) or tempfile.gettempdir() in str(told))
        assert str(told).replace("run the same command again.", "go on with: x") == str(told.going_on("x"))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EROFS, errno.EDQUOT])
def test_every_refusal_names_the_file_and_a_cure(tmp_path, monkeypatch, number):
    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(NotWritten, match=r"file could not be written: .*, and run the same command again\."):
        write_text(tmp_path / "file", "x")
    assert list(tmp_path.iterdir()) == []


WRITING = frozenset({"write_text", "write_bytes", "mkdir", "makedirs", "replace", "rename", "touch"})
"""Methods of paths and functions of `os` that write."""
ELSEWHERE = {
    "bridges/episodes": "the folder of a job that runs in processes of its own: input that grows, notes, images",
    "bridges/flink/job": "tools that need real Flink, which write into the folder of the working copy",
    "bridges/flink/releases.py": "moves folders that were downloaded into a cache",
    "bridges/flink/shim.py": "makes the folder of that cache",
    "bridges/flink/stored.py": "files in a temporary folder, from which a JVM reads paths and into which it answers",
    "campaigns/lock.py": "the lock, whose file stays",
    "campaigns/spark_runner.py": "files in a temporary folder, which Spark reads",
    "campaigns/store.py": "Parquet, under a name of its own, and renamed at the end",
    "cli/child.py": "opens copies of its own stdout and stderr, no file",
    "episodes/running.py": "the folders of episodes, which are named when they are complete",
    "state_files/audit.py": "imports no room: the reference writes in its temporary folder",
    "suite/searches.py": "the folder of locks, in a temporary folder",
    "system/writing.py": "the place that writes",
}


def test_only_one_place_writes():
    """A new place is a new way in which a full disk is an error of the suite: use `conformance.system.writing`."""
    found = set()
    for file in sorted((ROOT / "conformance").rglob("*.py")):
        name = file.relative_to(ROOT / "conformance").as_posix()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and writes(node):
                found.add(next((one for one in ELSEWHERE if name.startswith(one)), f"{name}:{node.lineno}"))
    assert found == set(ELSEWHERE)


def writes(call: ast.Call) -> bool:
    """Whether a call may write a file. A method `replace` with one argument is that of a path, and with two of `os`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "opened":
        return len(call.args) + len(call.keywords) > 1  # with a mode
    if name == "open":
        modes = [
            one.value for one in (*call.args, *(key.value for key in call.keywords)) if isinstance(one, ast.Constant)
        ]
        return any(isinstance(one, str) and set("wxa") & set(one) and len(one) <= 3 for one in modes)
    if name == "fdopen" or not isinstance(call.func, ast.Attribute) or name not in WRITING:
        return False
    of = call.func.value
    if name == "replace":
        return isinstance(of, ast.Name) and of.id == "os"
    return not (name in ("write_text", "write_bytes") and isinstance(of, ast.Name) and of.id == "reporting")
