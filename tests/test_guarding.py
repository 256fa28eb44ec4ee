"""Commands that have no workers of their own end with the implementation, and say so."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from conformance.cli import catalogues
from conformance.engines.relay import FIRST
from tests.by_default import one_of
from tests.test_cli import run

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
    assert "it did not return in time, at step 1, flush" in done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("swallows_the_alarm", 'it did not return in time, at call 6 of a subpartition, ["flush"]\n'),
        ("hangs_when_asked", "it did not return in time, when it said its name and what it offers\n"),
        ("hangs_when_closed", "it did not return in time, when it was closed\n"),
    ],
)
def test_a_doctor_does_not_wait_for_ever(name, said):
    done = conformance("doctor", "--step-seconds", "1", "--implementation", f"{HERE}{name}")
    assert done.returncode == 3
    assert said in done.stderr


def test_an_audit_does_not_wait_for_ever(tmp_path):
    done = conformance("audit", str(tmp_path), "--step-seconds", "1", "--implementation", f"{HERE}hangs_when_asked")
    assert done.returncode == 3
    assert "it did not return in time, when it read the folder\n" in done.stderr


def test_the_status_is_that_of_the_command():
    buggy = ("--implementation", f"{HERE}buggy")
    done = conformance("shrink", "tests/corpus/B-01.json", *buggy)
    assert done.returncode == 1
    assert '"steps"' in done.stdout
    assert conformance("explore", "--component", "nobody", *buggy).returncode == 2


@pytest.mark.parametrize(
    ("command", "name"),
    [("bugs", "HANGING_BUG"), ("variants", "HANGING_VARIANT"), ("variants", "HANGING_ORIGINAL")],
)
def test_a_known_bug_or_a_legal_variant_that_hangs_ends_the_command(command, name):
    """Seen: these commands had no limit of time."""
    done = conformance(command, f"{HERE}{name}", "--step-seconds", "1", "--processes", "2", "--scenarios", "100")
    assert done.returncode == 3
    assert f"{HERE}{name} ended the command: it did not return in time, " in done.stderr
    assert ", flush of this scenario:\n" in done.stderr


def test_a_known_bug_that_ends_its_process_says_where():
    """With several processes, too, which would not hear what a pool of them makes of it."""
    done = conformance("bugs", f"{HERE}EXITING_BUG", "--processes", "2")
    assert done.returncode == 3
    assert "EXITING_BUG ended the command: its process exited with status 0, " in done.stderr
    assert ", flush of this scenario:\n" in done.stderr


@pytest.mark.slow  # operator mutants of the reference
def test_the_suite_may_take_as_long_as_it_needs():
    """It tries operator mutants of the reference after what is not its own."""
    arguments = ("--scenarios", "20", "--step-seconds", "0.5", "--operators", "2", "--component", "deque")
    done = conformance("bugs", "tests.ports.foreign_bugs:AS_A_CHANGE", *arguments)
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.slow  # it waits for a limit; others are tried by default
def test_what_a_property_is_compared_with_has_limits_too():
    against = ("--against", f"{HERE}swallows_the_alarm", "--component", "subpartition", "--step-seconds", "1")
    done = conformance("explain", "sequence-numbers-have-no-gaps", *against)
    assert done.returncode == 3
    assert f"{HERE}swallows_the_alarm or reference ended the command: it did not return in time" in done.stderr


def test_the_list_of_implementations_is_not_ended_by_one(monkeypatch, capsys):
    monkeypatch.setattr(catalogues, "registered_names", lambda: [f"{HERE}exits_when_made", "reference"])
    assert run("implementations") == 0
    assert "its process exited with status 0" in " ".join(capsys.readouterr().out.split())


FLOODED = [
    ("explore", "--component", "subpartition", "--depth", "2", "--implementation", f"{HERE}floods_a_little"),
    ("shrink", "tests/corpus/B-01.json", "--implementation", f"{HERE}floods_a_little"),
    ("doctor", "--implementation", f"{HERE}floods_a_little"),
    ("bugs", f"{HERE}FLOODING_BUG", "--scenarios", "20"),
]


@pytest.mark.parametrize("command", FLOODED, ids=lambda command: command[0])
def test_a_flood_does_not_reach_what_is_printed(command):
    """Seen: an operation that wrote 64 MiB made a log of gigabytes."""
    done = conformance(*command)
    assert done.returncode in (0, 1, 2, 3)
    assert "flood" not in done.stdout.replace(f"{HERE}flood", "")
    assert FIRST < len(done.stderr) < 3 * FIRST
    assert "bytes of what it has written are left out" in done.stderr


def test_what_the_command_prints_and_what_the_implementation_writes_are_distinguished():
    arguments = ("explore", "--component", "subpartition", "--implementation", f"{HERE}aborts", "--depth", "1")
    done = conformance(*arguments)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "| \\x1b[2Jabout to abort\n" in done.stderr


def test_a_command_in_a_child_writes_to_its_own_streams():
    """Its stdout is that of the implementation."""
    reader, writer = os.pipe()
    explore = ("explore", "--component", "subpartition", "--implementation", f"{HERE}floods_a_little", "--depth", "1")
    done = conformance(*explore, "--json", "/dev/stdout")
    assert done.returncode in (0, 3)
    assert json.loads(done.stdout[done.stdout.index("{\n") :])["schema"] == 1
    command = [sys.executable, "-c", "from conformance.cli import main; main()", *explore]
    given = subprocess.run(
        [*command, "--json", f"/dev/fd/{writer}"], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, check=False, pass_fds=[writer],
    )  # fmt: skip
    os.close(writer)
    with open(reader, "rb") as file:
        assert json.load(file)["schema"] == 1
    assert given.stdout != b""


def test_on_a_terminal_the_command_is_as_ever():
    """It has colours and a bar, and above it stands what the implementation writes."""
    mine, theirs = pty.openpty()
    explore = ("explore", "--component", "subpartition", "--implementation", f"{HERE}floods_a_little", "--depth", "2")
    with subprocess.Popen(
        [sys.executable, "-c", "from conformance.cli import main; main()", *explore], cwd=ROOT, stdin=theirs,
        stdout=theirs, stderr=theirs, env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"},
    ) as done:  # fmt: skip
        os.close(theirs)
        said = bytearray()
        with suppress(OSError):  # so ends a terminal
            while part := os.read(mine, 1 << 16):
                said += part
        os.close(mine)
    assert done.returncode in (0, 3)
    assert b"\x1b[?25l" in said, "the bar hides the cursor"
    assert b"\x1b[1m" in said, "a heading of the table"
    assert b"\r\x1b[2K| flood\r\n" in said
    assert b"bytes of what it has written are left out" in said


@pytest.mark.parametrize("command", ["bugs", "variants"])
def test_a_known_bug_of_a_module_that_ends_its_process_is_not_green(command, tmp_path):
    (tmp_path / "ending.py").write_text("import os; os._exit(0)\n")
    done = conformance(command, "ending:BUG", path=tmp_path)
    assert done.returncode == 3
    assert "ending:BUG ended the command: its process exited with status 0\n" in done.stderr


ENDINGS = {
    "examine": ("doctor",),
    "audit": ("audit", "tests/state_files"),
    "close": ("explore", "--component", "deque", "--depth", "2"),
}


@pytest.mark.parametrize(("where", "status"), one_of(2, product(ENDINGS, ["0", "1", "boom"])))
def test_an_implementation_does_not_choose_the_status_of_a_command(where, status, monkeypatch):
    """Seen: one that calls `sys.exit(0)` while it is examined was healthy."""
    monkeypatch.setenv("ENDS", where)
    monkeypatch.setenv("ENDS_WITH", status)
    done = conformance(*ENDINGS[where], "--implementation", "tests.ending:Ending")
    assert done.returncode == 3
    assert "tests.ending:Ending ended the command: its process exited with status" in done.stderr
