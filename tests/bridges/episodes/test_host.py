"""Lives in a host: what a kill leaves behind, and what becomes of a host that does not end a life or does not start."""

from __future__ import annotations

import errno
import shutil
import sys
import time
from pathlib import Path

import pytest

from conformance.bridges.episodes import host
from conformance.bridges.episodes.host import Guest, Host
from conformance.ports import UnusableImplementation

HOST = """
import sys, time
from pathlib import Path
meeting, ends = Path(sys.argv[1]), sys.argv[2] == "ends"
(meeting / "ready").touch()
while True:
    time.sleep(0.001)
    life = meeting / "life"
    if not life.exists():
        continue
    job = Path(life.read_text())
    with (job / "out").open("a") as out:
        print("runs", file=out)
        if ends and (meeting / "end").exists():
            print("ends", file=out)
            life.unlink()
            (meeting / "end").unlink()
"""
LIFE = """
import os, signal, time
from pathlib import Path
meeting = Path(os.environ["EPISODE_HOST"])
signal.signal(signal.SIGTERM, lambda *_: (meeting / "end").touch())
(meeting / "begun").write_text(os.getcwd())
(meeting / "begun").rename(meeting / "life")
while (meeting / "life").exists():
    time.sleep(0.001)
"""


def made(how: str = "ends") -> Host:
    return Host(lambda meeting: [sys.executable, "-S", "-E", "-c", HOST, str(meeting), how])


def life(of: Host, job: Path) -> Guest:
    """A life that has written something."""
    job.mkdir(exist_ok=True)
    began = Guest(of, [[sys.executable, "-S", "-c", LIFE]], job, job.parent / "log", {})
    out = job / "out"
    size = out.stat().st_size if out.exists() else 0
    while not out.exists() or out.stat().st_size == size:
        assert began.statuses() == [None]
        time.sleep(0.001)
    return began


def test_a_kill_leaves_what_was_there_when_all_threads_stood_still_and_the_host_serves_the_next_life(tmp_path):
    kept = made()
    try:
        for _ in range(2):
            killed = life(kept, tmp_path / "job")
            group, meeting = kept.running()
            killed.kill()
            assert None not in killed.statuses()
            assert not (meeting / "life").exists(), "the host has ended the life"
            left = (tmp_path / "job" / "out").read_text()
            assert "runs" in left
            assert "ends" not in left, "what is written while the life ends is not left"
            assert kept.running() == (group, meeting)
        assert kept.seconds() >= 0
    finally:
        kept.close()
    assert not meeting.exists()
    assert None not in group.statuses()


def test_an_image_is_made_while_the_host_stands_still(tmp_path):
    kept = made()
    try:
        running = life(kept, tmp_path / "job")
        out = tmp_path / "job" / "out"
        assert running.stop()
        size = out.stat().st_size
        time.sleep(0.05)
        assert out.stat().st_size == size
        running.go_on()
        while out.stat().st_size == size:
            time.sleep(0.001)
        running.kill()
    finally:
        kept.close()


def test_a_host_that_does_not_end_a_life_is_killed_and_started_again(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "_END_SECONDS", 0.1)
    kept = made("does not end")
    try:
        killed = life(kept, tmp_path / "job")
        group, meeting = kept.running()
        killed.kill()
        assert None not in group.statuses()
        assert "runs" in (tmp_path / "job" / "out").read_text()
        again = life(kept, tmp_path / "job")
        assert kept.running()[0] is not group
        assert not meeting.exists()
        again.kill()
    finally:
        kept.close()


def test_a_life_whose_folder_cannot_be_copied_is_ended_with_its_host(tmp_path, monkeypatch):
    def full(source, target, **how):
        target.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = made()
    try:
        killed = life(kept, tmp_path / "job")
        group, _ = kept.running()
        monkeypatch.setattr(shutil, "copytree", full)
        with pytest.raises(OSError, match="No space"):
            killed.kill()
        assert None not in killed.statuses() + group.statuses()
        assert not (tmp_path / "kill").exists()
    finally:
        kept.close()


def test_a_host_that_does_not_start_says_what_it_has_printed(tmp_path):
    with pytest.raises(UnusableImplementation, match="not ready: no engine"):
        Host(lambda meeting: [sys.executable, "-S", "-c", "raise SystemExit('no engine')"]).running()
    with pytest.raises(UnusableImplementation, match="cannot be started"):
        Host(lambda meeting: ["there-is-no-such-program"]).running()


def test_a_host_that_was_never_started_has_nothing_to_delete(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no-host").mkdir()
    made().close()
    assert (tmp_path / "no-host").exists()
