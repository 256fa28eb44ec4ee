"""Runs the job once, in a JVM of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conformance.bridges.flink.job.config import JobConfig
from conformance.bridges.flink.releases import JOBS
from conformance.bridges.flink.shim import command
from conformance.system.processes import Started

MAIN_CLASS = "conformance.flink.job.Main"
MEMORY = "768m"
_SLACK_SECONDS = 60


@dataclass(frozen=True)
class Ran:
    """What a run left behind."""

    lines: list[str]
    status: int | None
    """The exit status of the JVM. None: it had to be killed."""
    log: str
    """What Flink logged, which is warnings and errors."""


def run_job(release: str, config: JobConfig, folder: Path) -> Ran:
    """Run the job on a release. Its output goes to files in the folder, so that a run that dies leaves it behind.

    Raises: UnusableImplementation if the release, its jars or the JDK are missing.
    """
    arguments = (*command(release, JOBS, MAIN_CLASS, MEMORY), config.to_json())
    out, log = folder / "lines.jsonl", folder / "log.txt"
    longest = config.seconds + 5 * config.timeout_ms / 1000 + _SLACK_SECONDS
    with open(out, "wb") as lines, open(log, "wb") as errors:
        # A directory of its own is the place where Flink puts its temporary files.
        child = Started([arguments[0], f"-Djava.io.tmpdir={folder}", *arguments[1:]], stdout=lines, stderr=errors)
        try:
            child.wait(longest)
        finally:
            status = child.kill()
    text = out.read_text(encoding="utf-8", errors="replace")
    whole = text[: text.rfind("\n") + 1]  # a run that was killed may leave half a line
    return Ran(whole.splitlines(), status, log.read_text(encoding="utf-8", errors="replace"))
