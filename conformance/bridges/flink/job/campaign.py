"""Runs the table of configurations on releases, round after round."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.bridges.flink.job.config import JobConfig
from conformance.bridges.flink.job.judge import Finding, Kind, Verdict, judge
from conformance.bridges.flink.job.lines import read_lines
from conformance.bridges.flink.job.run import Ran, run_job
from conformance.bridges.flink.job.table import Plan
from conformance.system.folders import scratch

EXIT_STATUSES: Mapping[int | None, str] = {239: ": Flink's handler of fatal errors ended it"}


@dataclass(frozen=True)
class Result:
    """One run, judged."""

    plan: Plan
    release: str
    config: JobConfig
    verdict: Verdict
    status: int | None
    """The exit status of the JVM."""


def campaign(
    plans: Sequence[Plan], releases: Sequence[str], go_on: Callable[[], bool], keep: Path | None = None
) -> Iterator[Result]:
    """Run each plan on each release, with another seed in each round. The first round is always whole.

    Args:
        go_on: asked before each run of the later rounds.
        keep: a folder for the lines and the logs of all runs in which something was found.

    Raises: UnusableImplementation if a release, its jars or the JDK are missing.
    """
    seed = 0
    while True:
        seed += 1
        for plan in plans:
            for release in releases:
                if seed > 1 and not go_on():
                    return
                config = plan.configured(seed)
                with scratch("flink-job-") as folder:
                    ran = run_job(release, config, folder)
                verdict = judged(ran, config)
                if keep is not None and verdict.findings:
                    _keep(ran, keep / f"{plan.name}-{release}-{seed}")
                yield Result(plan, release, config, verdict, ran.status)


def judged(ran: Ran, config: JobConfig) -> Verdict:
    """The verdict on a run. A JVM that was killed, or that ended otherwise than well, is a finding of its own."""
    lines = read_lines(ran.lines)
    verdict = judge(lines, config)
    if ran.status != 0:
        how = "had to be killed" if ran.status is None else f"ended with the exit status {ran.status}"
        told = f"the JVM {how}{EXIT_STATUSES.get(ran.status, '')}"
        ended = Finding(Kind.UNFINISHED, max((line.at for line in lines), default=0), told)
        # It says why the job did not come to its end, if it did not.
        verdict.findings = [one for one in verdict.findings if one.kind is not Kind.UNFINISHED] + [ended]
    return verdict


def _keep(ran: Ran, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for suffix, text in (("jsonl", "\n".join(ran.lines)), ("log", ran.log)):
        with gzip.open(f"{path}.{suffix}.gz", "wt", encoding="utf-8") as file:
            file.write(text)
