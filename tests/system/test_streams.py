"""What is no file is written if it is open already, or a terminal or /dev/null; nobody waits for a reader."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.system.files import NotAFile
from conformance.system.places import trouble_with_file
from conformance.system.streams import descriptor_of, write_through
from conformance.system.writing import write_text

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from conformance.cli import main; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
COUNT = ("properties", "--json")
SECONDS = 60
"""After which a command that waits for a reader is ended. It takes one."""


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


def test_the_names_of_open_streams(tmp_path, pipe):
    _, writer = pipe
    (tmp_path / "link").symlink_to(f"/dev/fd/{writer}")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "7").touch()
    assert descriptor_of(Path(f"/dev/fd/{writer}")) == writer
    assert descriptor_of(tmp_path / "link") == writer
    assert descriptor_of(Path("/dev/stdout")) == 1
    for name in ("none", "loop", "7", "a/8"):
        assert descriptor_of(tmp_path / name) is None
    assert descriptor_of(Path("/dev/null")) is None


def test_an_open_pipe_is_written(pipe):
    reader, writer = pipe
    path = Path(f"/dev/fd/{writer}")
    assert trouble_with_file(path) is None
    write_text(path, "one")
    write_text(path, "two")
    assert os.read(reader, 10) == b"onetwo"


def test_a_stream_that_is_read_is_refused(pipe):
    reader, _ = pipe
    assert "is open for reading only" in (trouble_with_file(Path(f"/dev/fd/{reader}")) or "")


def test_a_descriptor_that_nobody_has_opened_is_refused(pipe):
    _, writer = pipe
    free = os.dup(writer)
    os.close(free)
    assert "cannot be written" in (trouble_with_file(Path(f"/dev/fd/{free}")) or "")


def test_what_was_printed_into_a_file_stays(tmp_path):
    """To open /dev/stdout anew would begin at the beginning of the file again."""
    path = tmp_path / "file"
    with path.open("wb", buffering=0) as file:
        file.write(b"printed\n")
        write_text(Path(f"/dev/fd/{file.fileno()}"), "written\n")
        file.write(b"printed again\n")
    assert path.read_bytes() == b"printed\nwritten\nprinted again\n"


def test_a_file_behind_a_link_is_replaced(tmp_path):
    (tmp_path / "file").write_text("much that was there before")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "new").symlink_to("made")
    for name in ("link", "new"):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_text() == "new"


@pytest.mark.parametrize("kind", ["a FIFO", "a socket"])
def test_what_may_have_no_reader_is_not_opened(kind, tmp_path):
    path = tmp_path / "odd"
    if kind == "a FIFO":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(os.path.relpath(path))  # the path of a socket is short
    assert f"{path} is {kind}; name a file" in (trouble_with_file(path) or "")
    with pytest.raises(OSError, match=f"this is {kind}, and only files, terminals and open streams are written") as no:
        write_text(path, "x")
    assert no.value.filename == str(path)


def test_a_pipe_that_takes_the_place_of_a_file_meanwhile_is_not_waited_for(tmp_path, monkeypatch):
    os.mkfifo(path := tmp_path / "odd")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr("conformance.system.streams.unwritable_kind", lambda path: None)
    with pytest.raises(NotAFile, match="this is a FIFO"):
        write_through(path, b"x")
    os.close(reader)
    with pytest.raises(OSError, match="No such device or address"):
        write_through(path, b"x")


def command(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], env=ENVIRONMENT, check=False, timeout=SECONDS, capture_output=True)


def test_a_command_writes_to_its_own_output():
    done = command(*COUNT, "/dev/stdout")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout[done.stdout.index(b"{\n") :].partition(b"\n}\n")[0] + b"}")["schema"] == 1
    assert command(*COUNT, "/dev/null").returncode == 0


def test_a_command_writes_to_a_pipe_that_it_was_given():
    """This is what `--json >(jq .)` means in a shell."""
    reader, writer = os.pipe()
    with subprocess.Popen(
        [*COMMAND, *COUNT, f"/dev/fd/{writer}"], env=ENVIRONMENT, stdout=subprocess.DEVNULL, pass_fds=[writer]
    ) as done:
        os.close(writer)
        with open(reader, "rb") as file:
            assert json.load(file)["schema"] == 1
    assert done.returncode == 0
