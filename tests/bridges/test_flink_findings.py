"""The Java programs that show findings in released Flink without the suite: what they print, and their exit status."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from conformance.bridges.flink.releases import find_jars
from conformance.bridges.flink.shim import find_jdk
from tests.bridges.conftest import ROOT, skip_without

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

FINDINGS = ROOT / "reports" / "flink-findings"
SHARED_FILE = "the shared channel state file failed: java.io.IOException: Could not open output stream"
NOT_RUNNING = (
    "the second take failed: java.lang.RuntimeException: unable to send request to worker, caused by java.lang."
)
SUBSUMED = "checkpoint 1 was refused: Barrier for newer checkpoint 2 has already been received"
UNCONVERTED = "the channel was not converted: it is still a RemoteRecoveredInputChannel"
TOO_FEW = (
    "the poll of the gate failed: java.io.IOException: Insufficient number of network buffers: required 2, but only 0"
)
LATE = ("the gate was closed: true", "the released channel gave a buffer, which was recycled")
PROGRAMS = [
    ("take-that-fails", "2.3.0", (SHARED_FILE, NOT_RUNNING + "IllegalStateException: not running")),
    ("take-that-fails", "2.2.1", (SHARED_FILE, NOT_RUNNING + "IllegalStateException: not running")),
    ("take-that-fails", "1.20.5", (SHARED_FILE, NOT_RUNNING + "IllegalStateException: not running")),
    ("subsumed-checkpoint", "2.3.0", ("the gate answered CheckpointBarrier 2", SUBSUMED)),
    ("failed-conversion", "2.3.0", (UNCONVERTED, TOO_FEW)),
    ("late-request", "2.3.0", LATE),
    ("late-request", "2.2.1", LATE),
    ("late-request", "1.20.5", LATE),
]
"""The folder, the release, and how the lines begin that say what failed."""
JOBS = sorted(one.relative_to(FINDINGS) for one in FINDINGS.glob("*/*InJob.java"))
SECONDS = 120
"""After which a program that hangs is killed; it takes three."""


def class_path(release: str) -> str:
    skip_without(release)
    return os.pathsep.join(map(str, find_jars(release)))


def run(folder: str, release: str, *arguments: str, program: str = "Leak.java") -> tuple[int, list[str]]:
    """Compiles and runs a program that is one file."""
    jars = class_path(release)
    java, _ = find_jdk()
    command = [java, "-cp", jars, str(FINDINGS / folder / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize(("folder", "release", "failures"), PROGRAMS)
def test_a_network_buffer_is_lost(folder, release, failures):
    status, lines = run(folder, release)
    assert (status, lines[-1]) == (1, "LOST: 1")
    assert lines[0] == "network buffers before: 32 of 32"
    assert [line.startswith(begin) for line, begin in zip(lines[1:3], failures, strict=True)] == [True, True], lines
    assert lines[-3:-1] == ["buffer pools that are left: 0", "network buffers after all tasks were released: 31"]


@pytest.mark.parametrize(("folder", "release"), [program[:2] for program in PROGRAMS])
def test_no_buffer_is_lost_without_the_failure(folder, release):
    assert run(folder, release, "control") == (
        0,
        [
            "network buffers before: 32 of 32",
            "buffer pools that are left: 0",
            "network buffers after all tasks were released: 32",
            "no buffer was lost",
        ],
    )


@pytest.mark.parametrize("release", ["2.3.0", "2.2.1", "1.20.5"])
def test_a_channel_stays_blocked_until_the_next_checkpoint(release):
    status, lines = run("ignored-marker", release, program="Stall.java")
    assert status == 1
    assert lines == [
        "record A",
        "CancelCheckpointMarker",
        "CheckpointBarrier",
        "STALLED: the record behind the barrier does not come",
        "checkpoint 2 begins",
        "the task: abortCheckpointOnBarrier 1",
        "CheckpointBarrier",
        "record B",
    ]


@pytest.mark.parametrize("release", ["2.3.0", "2.2.1", "1.20.5"])
def test_no_channel_stays_blocked_if_the_marker_comes_first(release):
    status, lines = run("ignored-marker", release, "control", program="Stall.java")
    assert (status, lines[0], lines[-1]) == (0, "the task: abortCheckpointOnBarrier 1", "the channel goes on")


@pytest.mark.parametrize("release", ["2.3.0", "2.2.1", "1.20.5"])
@pytest.mark.parametrize(
    ("how", "status", "told"),
    [
        ("content", 1, ["98", "after 3 seconds the thread is RUNNABLE", "SPINNING: it reads the segment"]),
        ("length", 0, ["6", "the restore failed: java.io.EOFException"]),
        ("control", 0, ["108", "the state was restored"]),
    ],
)
def test_a_restore_from_a_file_that_was_cut_off_does_not_end(release, how, status, told):
    size, *lines = told
    first = f"the file has {size} of 108 bytes"
    assert run("truncated-state", release, how, program="Restore.java") == (status, [first, *lines])


@pytest.mark.parametrize("release", ["2.3.0", "2.2.1", "1.20.5"])
def test_a_new_owner_does_not_recover_from_the_old_one(release):
    status, lines = run("key-group-ranges", release, program="Miss.java")
    told = "key group 2 goes from subtask 0 to subtask 1, which recovers from [1]"
    assert (status, lines) == (1, [told, "MISSED: 1"])
    assert run("key-group-ranges", release, "control", program="Miss.java") == (
        0, ["every new owner recovers from the old one"]
    )  # fmt: skip


def test_half_a_record_is_no_partial_data():
    status, lines = run("partial-record", "2.3.0", program="Silent.java")
    assert (status, lines[1:]) == (
        1, ["the channel has partial data: false", "SILENT: the record is lost, and nothing fails"]
    )  # fmt: skip
    status, lines = run("partial-record", "2.3.0", "control", program="Silent.java")
    assert (status, lines[1:]) == (0, ["the channel has partial data: false", "that is true"])


@pytest.mark.parametrize("release", ["2.3.0", "2.2.1"])
@pytest.mark.parametrize(
    ("how", "status", "recovering", "filtering"),
    [
        ("chained", 1, "[]", "[]"),
        ("custom", 1, "[1]", "[0, 1, 2]"),
        ("control", 0, "[0, 1, 2]", "[0, 1, 2]"),
    ],
)
def test_state_is_assigned_to_too_few(release, how, status, recovering, filtering):
    assert run("state-assignment", release, how, program="Assign.java") == (
        status,
        [
            "the state was assigned",
            f"subtasks that recover the state of the channel: {recovering}",
            f"subtasks that are to keep those of its records which the partitioner sends them: {filtering}",
            "LOST: nothing fails" if status else "nothing is lost",
        ],
    )


@pytest.mark.parametrize("release", ["2.3.0", "2.2.1", "1.20.5"])
@pytest.mark.parametrize("program", [*map(str, JOBS)])
def test_the_job_compiles(release: str, program: str, tmp_path: Path):
    """Most of them depend on time, so they are run by hand."""
    jars = class_path(release)
    _, javac = find_jdk()
    source = FINDINGS / program
    done = subprocess.run(
        [javac, "-nowarn", "-cp", jars, "-d", str(tmp_path), str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def run_job(program: str, release: str, folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Compiles a program into a folder, since the task manager loads its classes, and runs it. Latches decide what
    comes first in these: how fast the machine is does not matter."""
    jars = class_path(release)
    java, javac = find_jdk()
    source = FINDINGS / program
    subprocess.run([javac, "-nowarn", "-cp", jars, "-d", str(folder), str(source)], check=True)
    command = [java, "-cp", os.pathsep.join((str(folder), jars)), source.stem, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS)
    return done.returncode, done.stdout.splitlines() or done.stderr.splitlines()


@pytest.mark.parametrize("release", ["2.3.0", "2.2.1", "1.20.5"])
@pytest.mark.parametrize(
    ("how", "status", "told"),
    [((), 1, ["a savepoint: complete", "checkpoint 1 after that: EXPIRED"]),
     (("control",), 0, ["a checkpoint: complete", "checkpoint 1 after that: complete"])],
)  # fmt: skip
def test_the_checkpoint_after_a_savepoint_expires(release, how, status, told, tmp_path):
    """It takes 20 seconds, most of which it waits."""
    ended, lines = run_job("expired-after-savepoint/ExpireInJob.java", release, tmp_path, *how)
    assert (ended, lines[1:3]) == (status, told), lines
    assert lines[3:] == ["checkpoint 2 after that: complete", "checkpoint 3 after that: complete"]


@pytest.mark.parametrize(
    ("release", "how", "status", "told"),
    [
        *((release, (), 1, "RUNNING") for release in ("2.3.0", "2.2.1", "1.20.5")),
        *((release, ("region",), 1, "FAILED") for release in ("2.3.0", "2.2.1", "1.20.5")),
        ("2.3.0", ("control",), 0, "FAILED"),
    ],
)
def test_a_job_that_was_stopped_commits_again(release, how, status, told, tmp_path):
    ended, lines = run_job("resumed-after-stop/ResumeInJob.java", release, tmp_path, *how)
    last = ["no number was committed twice", "TWICE: numbers were committed twice"][status]
    assert (ended, lines[-2:]) == (status, [f"the job: {told}", last])
    assert ("another checkpoint: complete" in lines) == bool(status)


@pytest.mark.parametrize(
    ("release", "how", "status", "told"),
    [
        *((release, (), 1, "RUNNING") for release in ("2.3.0", "2.2.1", "1.20.5")),
        ("2.3.0", ("control",), 0, "CANCELED"),
    ],
)
def test_a_job_that_was_cancelled_runs_on(release, how, status, told, tmp_path):
    ended, lines = run_job("cancelled-and-lost/CancelInJob.java", release, tmp_path, *how)
    assert (ended, lines[-1]) == (status, f"the job: {told}")
    assert "the job, while its task closes: CANCELLING" in lines


@pytest.mark.parametrize(
    ("release", "how", "status", "told"),
    [
        *((release, (), 239, "caused by UnsupportedOperationException: Still waiting for the leadership.")
          for release in ("2.3.0", "2.2.1", "1.20.5")),
        ("2.3.0", ("control",), 0, "the job master has its leadership again, and the job is RUNNING"),
    ],
)  # fmt: skip
def test_a_job_master_that_is_lost_before_it_has_begun_ends_the_process(release, how, status, told, tmp_path):
    ended, lines = run_job("lost-before-it-began/EndInJob.java", release, tmp_path, *how)
    assert ended == status
    assert told in lines


@pytest.mark.parametrize(
    ("release", "how", "status", "told"),
    [
        *((release, (), 1, ("received before", "[1, 1]")) for release in ("2.3.0", "2.2.1", "1.20.5")),
        ("2.3.0", ("control",), 0, ("waits for", "[1]")),
    ],
)
def test_an_event_overtakes_the_checkpoint_in_progress(release, how, status, told, tmp_path):
    ended, lines = run_job("failed-trigger/TwiceInJob.java", release, tmp_path, *how)
    assert ended == status
    assert f"event 1: {told[0]} the barrier" in lines
    assert f"the job: restored, and the operator has received {told[1]}" in lines


@pytest.mark.parametrize(
    ("release", "how", "status", "told"),
    [
        *((release, (), 1, ("does not wait for event 1, and is complete", "[2]"))
          for release in ("2.3.0", "2.2.1", "1.20.5")),
        ("2.3.0", ("control",), 0, ("waits for event 1", "[1, 2]")),
    ],
)  # fmt: skip
def test_an_event_that_a_failed_checkpoint_waited_for_is_lost(release, how, status, told, tmp_path):
    ended, lines = run_job("aborted-checkpoint/LostInJob.java", release, tmp_path, *how)
    assert ended == status
    assert f"a checkpoint: {told[0]}" in lines
    assert f"the job: restored from the checkpoint, and the operator has received {told[1]}" in lines


@pytest.mark.parametrize(
    ("release", "how", "status", "told"),
    [
        *((release, (), 1, ("FAILED, Failing OperatorCoordinator checkpoint",) * 3)
          for release in ("2.3.0", "2.2.1", "1.20.5")),
        ("2.3.0", ("control",), 0, ("complete",) * 3),
    ],
)  # fmt: skip
def test_each_checkpoint_with_an_event_to_a_finished_subtask_fails(release, how, status, told, tmp_path):
    ended, lines = run_job("event-to-finished/FailInJob.java", release, tmp_path, *how)
    begins = [f"checkpoint {number} after that: {one}" for number, one in enumerate(told, 1)]
    assert ended == status
    assert [line.startswith(begin) for line, begin in zip(lines[1:4], begins, strict=True)] == [True] * 3, lines
    assert lines[4] == "the job: RUNNING"


@pytest.mark.parametrize(
    ("release", "how", "status", "told"),
    [
        *((release, (), 1, ("FailoverRegion is restarting.", "UNTOLD: the coordinator was not notified"))
          for release in ("2.3.0", "2.2.1", "1.20.5")),
        ("2.3.0", ("control",), 0, ("Checkpoint Coordinator is suspending.", "the coordinator was notified")),
    ],
)  # fmt: skip
def test_a_coordinator_is_not_notified_of_what_a_restart_aborts(release, how, status, told, tmp_path):
    ended, lines = run_job("untold-abort/UntoldInJob.java", release, tmp_path, *how)
    assert (ended, lines[-1]) == (status, told[1])
    assert f"the checkpoint: {told[0]}" in lines


@pytest.mark.parametrize(
    ("release", "how", "status", "told"),
    [
        *((release, (), 239, "Some subtask gateway can be closed while others cannot.")
          for release in ("2.3.0", "2.2.1", "1.20.5")),
        ("2.3.0", ("control",), 0, "the job went on"),
    ],
)  # fmt: skip
def test_a_late_snapshot_of_a_coordinator_ends_the_process(release, how, status, told, tmp_path):
    """It takes half a minute, most of which it waits for a restart."""
    ended, lines = run_job("late-snapshot/ExitInJob.java", release, tmp_path, *how)
    assert ended == status
    assert any(told in line for line in lines)
