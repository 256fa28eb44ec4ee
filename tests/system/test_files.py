"""Files of strangers are opened in one place, which never waits and never reads more than a limit."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.campaigns import CampaignError
from conformance.campaigns.files import read
from conformance.campaigns.lock import LOCK, held, holder
from conformance.campaigns.plan import Plan
from conformance.system.files import NotAFile, TooLarge, content_of, opened

ROOT = Path(__file__).parents[2]
READS = {"open", "read_text", "read_bytes", "fdopen"}
"""What these are the names of may open a file."""
SAFE = {"conformance.scenarios", "conformance.scenarios.reading"}
"""What is imported from these reads safely."""
OUR_OWN = {
    "conformance/bridges/episodes/adapter.py": {"one.read_bytes"},  # what the user's job writes, which the user started
    "conformance/bridges/episodes/group.py": {"(thread / 'stat').read_text", "log.open"},  # /proc; a log of its own
    "conformance/bridges/episodes/host.py": {"log.read_bytes"},  # a log of its own
    "conformance/bridges/episodes/helper/points.py": {"open"},  # in the process of the job
    "conformance/bridges/episodes/port.py": {
        "(self._folder / 'in' / f'{split}.jsonl').open",
        "(self._folder / 'in' / f'{split}.jsonl').read_bytes",
        "(self._run / f'life-{self._number}.log').read_bytes",
        "_beside(location).read_bytes",
        "self._notes().read_text",
    },  # in the folder of the run, which it has made
    "conformance/episodes/running.py": {"one.read_text"},  # the logs of that run
    "conformance/bridges/flink/guards.py": {"folder.joinpath(name).read_text"},  # data of the package
    "conformance/bridges/flink/shim.py": {"file.read_bytes"},  # data of the package
    "conformance/bridges/flink/job/campaign.py": {"gzip.open"},  # writes
    "conformance/bridges/flink/job/run.py": {"open", "out.read_text", "log.read_text"},  # in a fresh folder of its own
    "conformance/bridges/flink/releases.py": {"open", "archive.open", "tarfile.open"},  # downloads with known checksums
    "conformance/bridges/flink/stored.py": {
        "asked.open",
        "answers.open",
        "answers.read_bytes",
        "log.open",
        "log.read_text",
    },  # in a fresh folder of its own
    "conformance/bridges/jsonl/__main__.py": {"os.fdopen"},  # its own stdout
    "conformance/campaigns/code.py": {"file.read_bytes"},  # data of the package in an archive
    "conformance/system/writing.py": {"fresh.open"},  # writes
    "conformance/campaigns/spark_packages.py": {"file.read_bytes", "known.read_text"},  # data of packages
    "conformance/campaigns/spark_runner.py": {"(folder / 'jvm.log').open"},  # in a fresh folder of its own
    "conformance/cli/child.py": {"open"},  # its own stdout and stderr
    "conformance/cli/documentation.py": {"found.read_text", "file.read_text"},  # data of the package
    "conformance/cli/options.py": {"os.open"},  # os.devnull
    "conformance/components/chain/ledger.py": {"lane.credit.open"},  # no file
    "conformance/components/gate/credit.py": {"self.open"},  # no file
    "conformance/components/remote_channel/ledger.py": {"self.credit.open"},  # no file
    "conformance/components/writer/ledger.py": {"self.results.open"},  # no file
    "conformance/engines/corpus.py": {"file.read_text"},  # data of the package
    "conformance/engines/noticed.py": {"file.read_text"},  # data of the package
    "conformance/ports/changes.py": {"file.read_text"},  # data of the package
    "conformance/suite/searches.py": {"path.open"},  # a lock in a folder of the run
    "conformance/system/files.py": {"os.open", "os.fdopen"},  # the one place
    "conformance/system/folders.py": {"os.open"},  # a folder, to write it to the disk
    "conformance/system/packaged.py": {"file.read_text"},  # data of the package
    "conformance/system/processes.py": {
        "(_PROC / str(pid) / 'stat').read_text",
        "(_PROC / str(pid) / 'statm').read_text",
        "(_PROC / name / 'environ').read_bytes",
        "(_PROC / str(one) / 'task' / thread / 'children').read_text",
    },  # of the operating system
    "conformance/system/streams.py": {"os.open"},  # writes
    "conformance/system/supervisor.py": {"open", "os.open"},  # of the operating system
    "checkpoint_conformance_pytest.py": {"distribution('checkpoint-conformance').read_text"},  # of the package
}
"""The calls that open something else than a file of a stranger, and why."""
SECONDS = 60
"""After which a command that waits for a pipe is ended. It takes one."""


def calls(path: Path) -> Iterator[str]:
    """Yields what is called in a source file and may open a file, as it is written."""
    ours: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in SAFE:
            ours |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in READS and ast.unparse(node.func) not in ours:
                yield ast.unparse(node.func)


def test_every_file_of_a_stranger_is_opened_in_one_place():
    """Use `read_bytes`, `read_text`, `read_toml` of `conformance.scenarios.reading` (`conformance.system.files`)."""
    sources = [*(ROOT / "conformance").rglob("*.py"), *(ROOT / "strategies").rglob("*.py")]
    sources.append(ROOT / "checkpoint_conformance_pytest.py")
    found: dict[str, set[str]] = {}
    for path in sources:
        name = path.relative_to(ROOT).as_posix()
        own = {"read_bytes", "read_text"} if name == "conformance/scenarios/reading.py" else set()
        if opening := set(calls(path)) - own:
            found[name] = opening
    assert found == OUR_OWN


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))  # the path of a socket is short


OTHERS: dict[str, Callable[[Path], None]] = {
    "a FIFO": fifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a socket": bound,
}


@pytest.mark.parametrize("kind", OTHERS)
def test_only_regular_files_are_opened(kind, tmp_path):
    path = tmp_path / "file"
    OTHERS[kind](path)
    for mode in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(NotAFile, match=f"this is {kind}, and only regular files are read") as caught:
            opened(path, mode)
        assert caught.value.filename == str(path)


def test_a_pipe_that_takes_the_place_of_a_file_meanwhile_is_not_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.touch()
    real = os.open

    def swapped(name: str, *rest: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(name, *rest)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(NotAFile, match="this is a FIFO"):
        opened(path)


def test_no_more_than_the_limit_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"123")
    assert content_of(path, 3) == b"123"
    with pytest.raises(TooLarge):
        content_of(path, 2)
    os.truncate(path, 6 << 30)
    with pytest.raises(TooLarge, match="the file is larger than 64 MiB; no file of the suite is"):
        content_of(path, 64 << 20)
    assert content_of("/proc/self/status", 1 << 20).startswith(b"Name:")  # its size is said to be 0
    with pytest.raises(TooLarge):
        content_of("/proc/self/status", 10)
    with pytest.raises(FileNotFoundError):
        content_of(tmp_path / "none", 10)


@pytest.mark.parametrize("kind", OTHERS)
def test_a_lock_that_is_no_file_is_reported(kind, tmp_path):
    OTHERS[kind](tmp_path / LOCK)
    with pytest.raises(NotAFile):
        holder(tmp_path)
    with pytest.raises((OSError, CampaignError), match=r"only regular files are read|is a link"), held(tmp_path):
        pass


@pytest.mark.parametrize("kind", OTHERS)
def test_a_plan_that_is_no_file_is_reported(kind, tmp_path):
    OTHERS[kind](tmp_path / "plan.json")
    with pytest.raises(CampaignError, match=rf"plan\.json cannot be read: this is {kind}"):
        read(tmp_path / "plan.json", Plan)


@pytest.mark.parametrize(
    "command",
    [
        ("replay", "odd"),
        ("shrink", "odd"),
        ("check", "--component", "deque", "--scenarios", "1", "--known-failures", "odd"),
        ("check", "--component", "deque", "--scenarios", "1", "--bug-reports", "reports"),
        ("check", "--component", "deque", "--scenarios", "1", "--implementation", "odd:Adapter"),
        ("doctor", "--implementation", "odd:Adapter"),
        ("bugs", "odd:BUG"),
        ("bugs", "B-01", "--operators", "1", "--reasons", "odd"),
        ("bugs", "B-01", "--corpus", "corpus"),
        ("explain", "gate/odd", "--implementation", "odd:Adapter"),
        ("campaign", "status", "campaign"),
        ("campaign", "report", "campaign"),
        ("campaign", "resume", "campaign"),
        ("campaign", "start", "locked", "--scenarios", "1", "--component", "deque"),
    ],
)
def test_no_command_waits_for_a_pipe(command, tmp_path):
    """Wherever a command expects a file, there is a FIFO."""
    for place in ("odd", "odd.py", "reports/index.html", "campaign/plan.json", "campaign/result.json",
                  f"locked/{LOCK}", "corpus/first_hits.toml"):  # fmt: skip
        (tmp_path / place).parent.mkdir(exist_ok=True)
        os.mkfifo(tmp_path / place)
    done = subprocess.run(
        [sys.executable, "-c", "from conformance.cli import main; main()", *command],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{ROOT}:."}, capture_output=True, text=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert any(one in done.stderr for one in ("this is a FIFO", "No module named 'odd'", "no such file")), done.stderr
