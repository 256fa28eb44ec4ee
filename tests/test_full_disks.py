"""A full disk is no error of the suite: whatever the command, it says which file, and how to go on; nothing is lost."""

from __future__ import annotations

import errno
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from conformance.campaigns import Inline, make_plan, start
from tests.by_default import one_of
from tests.full_disks import fill, largest_file, small_disk, tree
from tests.test_cli import run

ROOT = Path(__file__).parents[1]
CHECK = ["check", "--component", "subpartition", "--scenarios", "30"]
BUG = "known-bug:B-01"
EXPLORE = ["explore", "--component", "deque"]
CAMPAIGN = ["campaign", "start", "DISK/c", "--component", "deque", "--scenarios", "32", "--runner", "inline"]
COMMANDS = {
    "check --json": ([*CHECK, "--json", "DISK/f"], "f"),
    "check --report": ([*CHECK, "--report", "DISK/f.md"], "f.md"),
    "check --exercise": ([*CHECK, "--exercise", "DISK/f.md"], "f.json"),
    "check --ctrf": ([*CHECK, "--ctrf", "DISK/f"], "f"),
    "check --bug-reports": ([*CHECK, "--implementation", BUG, "--bug-reports", "DISK/f"], "f/subpartition-"),
    "explore --json": ([*EXPLORE, "--depth", "3", "--json", "DISK/f"], "f"),
    "explore --bug-reports": (
        [*EXPLORE, "--implementation", "known-bug:B-D1", "--depth", "4", "--bug-reports", "DISK/f"],
        "f/deque-",
    ),
    "bugs --report": (["bugs", "B-D1", "--report", "DISK/f"], "f"),
    "bugs --json": (["bugs", "B-D1", "--json", "DISK/f"], "f"),
    "bugs --corpus": (["bugs", "B-D1", "--corpus", "DISK/f"], "f/"),
    "variants --report": (["variants", "V-D1", "--scenarios", "5", "--report", "DISK/f"], "f"),
    "shrink --output": (["shrink", "SCENARIO", "--implementation", BUG, "-o", "DISK/f"], "f"),
    "implementations --json": (["implementations", "--json", "DISK/f"], "f"),
    "properties --json": (["properties", "--json", "DISK/f"], "f"),
    "campaign start": (CAMPAIGN, "c/"),
}


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenario")
    assert run(*CHECK, "--implementation", BUG, "--bug-reports", str(folder)) == 1
    return next(folder.rglob("scenario.json"))


@contextmanager
def full(folder: Path) -> Iterator[None]:
    fill(folder)
    yield


@contextmanager
def small(folder: Path) -> Iterator[None]:
    with largest_file(60):
        yield


@contextmanager
def refused(folder: Path) -> Iterator[None]:
    """For commands that start processes, whose shared memory is a file, too."""

    def refuse(path: Path, data: bytes) -> None:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_bytes", refuse)
        yield


REFUSALS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a full disk": (full, "No space left on device"),
    "a limit of the size of files": (small, "File too large"),
}


IN_TURN = [
    (command, refusal)
    for at, command in enumerate(COMMANDS)
    for refusal in (reversed(REFUSALS) if at % 2 else REFUSALS)
]
"""By default, each command meets one refusal, and its neighbours the other one."""


@pytest.fixture(params=REFUSALS)
def refusing(request, tmp_path):
    """A disk, what makes it refuse everything from then on, and the reason."""
    refuse, reason = REFUSALS[request.param]
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(tmp_path / "disk")) if refuse is full else tmp_path / "disk"
        disk.mkdir(exist_ok=True)
        yield disk, refuse, reason


@pytest.mark.parametrize(("command", "refusing"), one_of(2, IN_TURN), indirect=["refusing"])
def test_a_command_names_the_file_and_the_cure(command, refusing, scenario, capsys):
    """Seen: status 70, an error of the suite itself without the name of the file."""
    disk, refuse, reason = refusing
    arguments, file = COMMANDS[command]
    words = [one.replace("DISK", str(disk)).replace("SCENARIO", str(scenario)) for one in arguments]
    with (refused if refuse is small and "bug-reports" in command else refuse)(disk):
        assert run(*words) == 74
    said = " ".join(capsys.readouterr().err.split())
    assert f"conformance: {disk / file}" in said.replace(f"{disk / file}/", f"{disk / file}")
    assert f"could not be written: {reason}" in said
    assert "and run the same command again." in said or "and go on with: conformance campaign resume" in said
    assert not list(disk.rglob("*.part"))


def test_a_check_prints_what_it_found_although_no_bug_report_could_be_written(refusing, capsys):
    disk, refuse, _ = refusing
    with (refused if refuse is small else refuse)(disk):
        assert run(*CHECK, "--implementation", BUG, "--bug-reports", str(disk / "f")) == 74
    printed = capsys.readouterr().out
    assert f"{BUG}" in printed
    assert "Exit status 1" in printed
    assert "Reports:" not in printed
    assert tree(disk / "f") == {}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "c"
    assert run(*(one.replace("DISK", str(folder.parent)) for one in CAMPAIGN)) == 0
    return folder


@pytest.mark.parametrize(
    ("after_the_code", "file"),
    [(None, "plan.json"), (-8, "code.json"), (5, "/blocks/"), (12, "result.json"), (14, "/report/")],
)
def test_a_campaign_goes_on_when_there_is_room_again(after_the_code, file, tmp_path, capsys, undisturbed):
    """Whatever file it was that did not fit. There is room for the list of the code, and for so many pages of 4 KiB."""
    pages = 1 if after_the_code is None else -(-(undisturbed / "code.json").stat().st_size // 4096) + after_the_code
    with small_disk(tmp_path / "disk") as disk:
        words = [one.replace("DISK", str(disk)) for one in CAMPAIGN]
        filling = fill(disk)
        os.truncate(filling, filling.stat().st_size - pages * 4096)
        assert run(*words) == 74
        said = capsys.readouterr().err
        assert "No space left on device" in said
        assert file in said
        filling.unlink()
        goes_on = re.search(r"and go on with: conformance (.*)$", said, re.MULTILINE)
        resumes = words if goes_on is None else shlex.split(goes_on[1])
        assert goes_on is not None or "and run the same command again" in said
        assert run(*resumes) == 0
        assert (disk / "c" / "result.json").read_bytes() == (undisturbed / "result.json").read_bytes()
        assert not list(disk.rglob("*.part"))


def test_a_limit_that_only_a_large_file_exceeds(tmp_path, capsys, undisturbed):
    """The same without a file system of its own: first the code, then a block, then the result is too large."""
    (disk := tmp_path / "disk").mkdir()
    words = [one.replace("DISK", str(disk)) for one in CAMPAIGN]
    sizes, told = {60, 3_000, 6_000, 20_000, 40_000}, []
    for size in sorted(sizes):
        with largest_file(size):
            status = run(*words)
        said = capsys.readouterr().err
        if status == 0:
            break
        assert status == 74
        told.append(said)
        goes_on = re.search(r"and go on with: conformance (.*)$", said, re.MULTILINE)
        words = words if goes_on is None else [*shlex.split(goes_on[1])]
    run(*words)
    assert (disk / "c" / "result.json").read_bytes() == (undisturbed / "result.json").read_bytes()
    assert len(told) >= 2


def test_tables_that_do_not_fit_are_as_before(refusing, capsys):
    disk, refuse, reason = refusing
    plan = make_plan("s", [BUG], ["deque"], scenarios=20, block=20, budget=0)
    start(disk / "c", plan, Inline())
    assert run("campaign", "status", str(disk / "c"), "--store") == 0
    before = tree(disk)
    assert "c/store" in {name.rpartition("/")[0] for name in before}
    capsys.readouterr()
    with refuse(disk):
        assert run("campaign", "status", str(disk / "c"), "--store") == 74
    said = capsys.readouterr().err
    assert re.search(rf"conformance: {disk}/c/store/\w+\.parquet could not be written: .*{reason}", said), said
    assert tree(disk) == before


def test_output_that_cannot_be_written_is_no_error_of_the_suite():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("w") as nowhere:
        done = subprocess.run(
            [sys.executable, "-c", "from conformance.cli import main; main()", "properties"],
            stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert done.returncode == 74
    assert done.stderr == (
        f"conformance: what the command prints, or a temporary file in {tempfile.gettempdir()}, could not be written: "
        "No space left on device. Make room on that disk, or set TMPDIR to another folder, and run the same command "
        "again.\n"
    )


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_a_worker_without_a_temporary_folder_ends_the_campaign(runner, tmp_path, capsys):
    """Seen: the block was lost, and so was every other one."""
    folder = str(tmp_path / "c")
    adapter = ("--implementation", "tests.engines.hostile:needs_a_temporary_folder")
    options = ("--runner", runner, "--component", "subpartition", "--scenarios", "20")
    assert run("campaign", "start", folder, *options, *adapter) == 74
    said = " ".join(capsys.readouterr().err.split())
    assert "a temporary file could not be written: No usable temporary directory found in ['/" in said
    cure = "Make room in one of them, or set TMPDIR to another folder, and go on with: conformance campaign resume "
    assert cure + folder in said


@pytest.mark.slow  # a run of pytest
def test_pytest_reports_a_failure_although_no_bug_report_could_be_written(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        fill(disk)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--pyargs", "conformance.suite", "-p", "no:cacheprovider", "-q",
             "--implementation", BUG, "--component", "subpartition", "--conformance-profile", "quick",
             "--conformance-reports", str(disk / "reports"), "--rootdir", str(tmp_path)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert tree(disk / "reports") == {}
    assert "There is no bug report: " in done.stdout
    assert f"The page was not written: {disk}/reports" in done.stdout
    assert f"{BUG}: FAILED." in done.stdout
    assert "Traceback" not in done.stdout
