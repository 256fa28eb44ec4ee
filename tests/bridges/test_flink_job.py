"""The job on released Flink, the campaign that runs it, and its report."""

from __future__ import annotations

import gzip
import json
import os
import sys
from contextlib import nullcontext

import pytest

from conformance.bridges.flink import __main__ as commands
from conformance.bridges.flink.__main__ import main
from conformance.bridges.flink.job import JobConfig, Kind, judge, read_lines, run_job
from conformance.bridges.flink.job import campaign as campaigns
from conformance.bridges.flink.job import run as running
from conformance.bridges.flink.job.campaign import campaign
from conformance.bridges.flink.job.report import BEGIN, END, figures, write_report
from conformance.bridges.flink.job.run import Ran
from conformance.bridges.flink.job.table import PLANS, not_exercised
from conformance.bridges.flink.releases import JOBS, find_jars
from conformance.bridges.flink.shim import find_jdk
from conformance.ports import UnusableImplementation
from conformance.system.processes import Started

LINES = [
    {"type": "start", "at": 0, "version": "1"},
    {"type": "assigned", "at": 10, "previous": 0},
    {"type": "closing", "at": 20, "last_assigned": 15},
    {"type": "end", "at": 30, "status": "FINISHED", "created": 2, "results": {"0": [0], "1": [0]}},
]


@pytest.fixture
def ran(monkeypatch):
    """Runs nothing: each run of the job leaves the same behind, which a test may change."""
    left = Ran([json.dumps(line) for line in LINES], 0, "a warning")
    asked = []

    def run(release, config, folder):
        asked.append((release, config.seed))
        return left

    monkeypatch.setattr(campaigns, "run_job", run)
    return asked


def test_each_round_has_a_seed_and_the_first_is_whole(ran):
    rounds = iter([True, False])
    results = list(campaign(PLANS[:2], ("1", "2"), lambda: next(rounds)))
    assert ran == [("1", 1), ("2", 1), ("1", 1), ("2", 1), ("1", 2)]
    assert [result.plan for result in results] == [PLANS[0], PLANS[0], PLANS[1], PLANS[1], PLANS[0]]


def test_what_was_found_is_kept(ran, tmp_path):
    list(campaign(PLANS[:1], ("1",), lambda: False, tmp_path / "kept"))
    lines, log = (
        gzip.decompress((tmp_path / "kept" / f"{PLANS[0].name}-1-1.{suffix}.gz").read_bytes()).decode()
        for suffix in ("jsonl", "log")
    )
    assert (lines.splitlines()[0], log) == (json.dumps(LINES[0]), "a warning")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (None, "had to be killed"),
        (1, "ended with the exit status 1"),
        (239, "ended with the exit status 239: Flink's handler of fatal errors ended it"),
    ],
)
@pytest.mark.parametrize("lines", [[*LINES[:3], LINES[3] | {"results": {"0": [0], "1": [1]}}], LINES[:3]])
def test_a_jvm_that_ends_badly_is_found_once(lines, status, told):
    verdict = campaigns.judged(Ran([json.dumps(line) for line in lines], status, ""), JobConfig())
    assert [(one.kind, one.told) for one in verdict.findings] == [(Kind.UNFINISHED, f"the JVM {told}")]


def test_the_figures_say_what_was_found_and_what_was_not_exercised(ran):
    text = figures(list(campaign(PLANS[:1], ("1",), lambda: False)))
    assert "| `aligned` | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 2 | 0 of 0 | 0 | no ledgers were compared (1 of 1 runs) |" in text
    assert "| `aligned` | 1 | 0 of 0 | **1** | **1** | 0 | 0 | 0 | 0 | 0 | 0 of 0 | - | - |" in text
    assert "- `aligned` on 1, seed 1, 30 ms: **lost**, 1 of 2 units never came out: 1." in text


def test_only_the_figures_of_a_document_are_written_again(tmp_path):
    path = tmp_path / "report.md"
    write_report(path, "first")
    assert path.read_text().count("first") == 1
    path.write_text(f"# By hand\n{BEGIN}\nold\n{END}\nalso by hand\n")
    write_report(path, "new")
    assert path.read_text() == f"# By hand\n{BEGIN}\n\nnew\n\n{END}\nalso by hand\n"
    path.write_text("no marks")
    with pytest.raises(ValueError, match="has no lines <!-- figures: begin -->"):
        write_report(path, "new")


def test_the_command_runs_what_it_is_asked_for(ran, tmp_path, capsys):
    report = tmp_path / "report.md"
    assert main(["jobs", "--release", "1.20.5", "--only", "busy", "--report", str(report)]) == 1
    assert ran == [("1.20.5", 1)]
    assert capsys.readouterr().out == "busy on 1.20.5, seed 1: 0 checkpoints, doubled, lost\n"
    assert "`busy`" in report.read_text()


def test_an_interrupt_is_quiet_and_keeps_the_report(ran, tmp_path, monkeypatch, capsys):
    def first_and_then_interrupted(*arguments):
        yield next(campaign(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "campaign", first_and_then_interrupted)
    report = tmp_path / "report.md"
    assert main(["jobs", "--report", str(report)]) == 130
    assert "Interrupted." in capsys.readouterr().err
    assert "`aligned`" in report.read_text()


def test_each_plan_has_its_name_and_makes_sense_for_every_seed():
    assert len({plan.name for plan in PLANS}) == len(PLANS)
    for plan in PLANS:
        first, second = plan.configured(1), plan.configured(2)
        assert first == plan.configured(1)
        assert first.seed != second.seed
        assert bool(first.faults) == bool(plan.wheres)


STANDS_IN = """
import os, subprocess, sys
assert sys.argv[1].startswith("-Djava.io.tmpdir=")
sleeping = subprocess.Popen(["sleep", "600"], start_new_session=True, env={{}})
print(sleeping.pid, os.getpid(), flush=True)
print("half a line", end="", flush=True)
print("a warning", file=sys.stderr, flush=True)
{ends}
"""
"""A program in the place of the JVM, which leaves another one in a session of its own."""


def standing_in(monkeypatch, folder, ends):
    program = folder / "java"
    program.write_text(f"#!{sys.executable}\n{STANDS_IN.format(ends=ends)}")
    program.chmod(0o755)
    monkeypatch.setattr(running, "command", lambda *_: (str(program), "Main"))


def runs(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("ends", "status"), [("", 0), ("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", -9)])
def test_what_a_job_has_started_ends_with_it(ends, status, tmp_path, monkeypatch):
    standing_in(monkeypatch, tmp_path, ends)
    ran = run_job("1", JobConfig(seconds=0), tmp_path)
    assert (ran.status, ran.log) == (status, "a warning\n")
    (line,) = ran.lines
    assert [one for one in line.split() if runs(one)] == []


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_a_job_that_goes_on_is_ended_with_all_that_it_has_started(is_interrupted, tmp_path, monkeypatch):
    """It has taken too long, or somebody has pressed Ctrl-C."""
    standing_in(monkeypatch, tmp_path, "import time; time.sleep(600)")
    file, wait, waits = tmp_path / "lines.jsonl", Started.wait, []

    def ends_early(started, seconds):
        waits.append(seconds)
        if len(waits) > 1:
            return wait(started, seconds)
        while not file.read_text().endswith("half a line"):
            assert not wait(started, 0.01)
        if is_interrupted:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(Started, "wait", ends_early)
    with pytest.raises(KeyboardInterrupt) if is_interrupted else nullcontext():
        assert run_job("1", JobConfig(seconds=0), tmp_path).status is None
    assert [one for one in file.read_text().splitlines()[0].split() if runs(one)] == []


@pytest.mark.flink
@pytest.mark.xdist_group("flink")
@pytest.mark.parametrize("release", JOBS.releases)
def test_a_small_job_ends_with_nothing_found(release, tmp_path):
    try:
        find_jdk()
        find_jars(release)
    except UnusableImplementation as error:
        pytest.skip(str(error))
    config = JobConfig(after_snapshot=4, checkpoints=30, seconds=60, timeout_ms=60_000, savepoint_ms=50)
    found = run_job(release, config, tmp_path)
    lines = read_lines(found.lines)
    verdict = judge(lines, config)
    assert (found.status, verdict.findings) == (0, []), found.log
    assert not_exercised(config, verdict) in ([], ["no checkpoints overlapped"])
