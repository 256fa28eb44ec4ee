"""Only one driver at a time has a folder, and who asks which one it is disturbs nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.campaigns import CampaignError, Inline, files, make_plan, resume, start, status
from conformance.campaigns.lock import LOCK, held, holder

ROOT = Path(__file__).parents[2]
PLAN = make_plan("lock", ["reference"], ["deque"], scenarios=8)


def process(folder: Path, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("locking.py")), str(folder), what], cwd=ROOT, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def test_another_driver_is_named_and_its_death_ends_the_lock(tmp_path):
    folder = tmp_path / "campaign"
    start(folder, PLAN, Inline())
    (folder / "result.json").unlink()
    with process(folder, "hold") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert str(status(folder).held_by).startswith(f"process {other.pid} on ")
        with pytest.raises(CampaignError, match=f"is being run by process {other.pid} on"):
            resume(folder, Inline())
        assert str(holder(folder)).startswith(f"process {other.pid} on ")
        other.kill()
    assert status(folder).held_by is None
    assert status(folder).finished is False
    resume(folder, Inline())
    assert (folder / LOCK).read_bytes() == b""


def test_two_processes_never_hold_a_folder_at_the_same_time(tmp_path):
    """Seen: a process that had opened the file locked it after the other one had removed it, and a third made anew."""
    others = [process(tmp_path, "2000") for _ in range(3)]
    assert [one.communicate()[0].strip() for one in others] == ["0", "0", "0"]


def test_the_file_stays(tmp_path):
    with held(tmp_path):
        before = (tmp_path / LOCK).stat().st_ino
    with held(tmp_path):
        assert (tmp_path / LOCK).stat().st_ino == before


@pytest.mark.slow  # twenty thousand locks
def test_asking_who_holds_it_never_takes_the_lock(tmp_path):
    with held(tmp_path):
        pass
    with process(tmp_path, "ask") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "asks\n"
        try:
            for _ in range(20_000):
                with held(tmp_path):  # raises if the other process has the lock
                    pass
        finally:
            (tmp_path / "enough").touch()


def test_of_two_that_start_in_one_folder_one_is_refused(tmp_path, monkeypatch):
    def slow(folder):
        """Another driver starts and ends between the first look at the folder and the lock."""
        monkeypatch.undo()
        start(folder, PLAN, Inline())

    monkeypatch.setattr(files, "make", slow)
    with pytest.raises(CampaignError, match="is not empty: it holds a campaign"):
        start(tmp_path / "c", make_plan("other", ["reference"], ["deque"], scenarios=8), Inline())
    assert status(tmp_path / "c").finished


@pytest.mark.parametrize("name", [LOCK, "waves"])
def test_nothing_is_written_through_a_link_in_the_folder(name, tmp_path):
    start(tmp_path / "c", PLAN, Inline())
    (tmp_path / "c" / "result.json").unlink()
    mine = tmp_path / "mine"
    if name == LOCK:
        mine.write_text("precious")
        (tmp_path / "c" / LOCK).unlink()
    else:
        mine.mkdir()
        shutil.rmtree(tmp_path / "c" / name)
    (tmp_path / "c" / name).symlink_to(mine)
    with pytest.raises(CampaignError, match=f"{name} is a link"):
        resume(tmp_path / "c", Inline())
    assert mine.read_text() == "precious" if name == LOCK else not list(mine.iterdir())
