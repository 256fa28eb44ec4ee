"""The processes of a life are one group: they stand still together, are killed together, and are never left behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.bridges.episodes.group import Group

SLEEPS = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"]
FAILS = [sys.executable, "-S", "-E", "-c", "raise SystemExit(3)"]


def test_a_group_stands_still_goes_on_and_is_killed(tmp_path: Path) -> None:
    group = Group([SLEEPS, SLEEPS], tmp_path, tmp_path / "log", dict(os.environ))
    assert group.statuses() == [None, None]
    assert group.stop()
    stopped = [*group._states()]
    assert len(stopped) == 2
    assert set(stopped) <= set("tT")
    group.go_on()
    assert not set(group._states()) & set("tT")
    group.kill()
    assert group.statuses() == [-signal.SIGKILL] * 2
    assert list(group._states()) == []


def test_the_end_of_one_process_is_seen(tmp_path: Path) -> None:
    group = Group([SLEEPS, FAILS], tmp_path, tmp_path / "log", dict(os.environ))
    group._processes[1].wait()
    assert group.statuses() == [None, 3]
    group.kill()


@pytest.mark.parametrize("session", [False, True], ids=["in the group", "in a session of its own"])
def test_what_a_life_has_started_is_killed_with_it(tmp_path: Path, session: bool) -> None:
    os.mkfifo(tmp_path / "held")
    words = ["sh", "-c", "exec sleep 60 > held"]
    starts = f"import subprocess; subprocess.run({words!r}, start_new_session={session})"
    group = Group([[sys.executable, "-S", "-E", "-c", starts]], tmp_path, tmp_path / "log", dict(os.environ))
    with (tmp_path / "held").open() as held:
        group.kill()
        assert select.select([held], [], [], 5.0)[0]
        assert held.read() == ""


def test_who_is_killed_is_gone_and_not_only_dying(tmp_path: Path) -> None:
    """What has much memory takes long to end, and only its parent can wait for it."""
    os.mkfifo(tmp_path / "held")
    fills = "many = bytearray(128 << 20); open('held', 'w').close(); import time; time.sleep(600)"
    wraps = f'{sys.executable} -S -E -c "{fills}" & exec sleep 600'
    group = Group([["sh", "-c", wraps]], tmp_path, tmp_path / "log", dict(os.environ))
    (tmp_path / "held").read_text()
    group.kill()
    assert set(group._states()) <= {"Z"}


def test_nothing_is_left_behind_by_a_suite_that_was_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    program = f"""
import os, signal
from pathlib import Path
from conformance.bridges.episodes.group import Group
folder = Path({str(tmp_path)!r})
group = Group([["sh", "-c", "exec sleep 600 > held"]], folder, folder / "log", dict(os.environ))
open(folder / "held").close()
os.kill(os.getpid(), signal.SIGKILL)
"""
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    subprocess.run([sys.executable, "-c", program], check=False)
    os.set_blocking(held, True)
    assert os.read(held, 1) == b""
    os.close(held)
