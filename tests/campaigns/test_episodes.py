"""Campaigns of episodes: whole jobs in processes of their own, of which two runs need not be alike."""

from __future__ import annotations

import io
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance import campaigns, reporting
from conformance.bridges.episodes import Episodes as Engine
from conformance.campaigns import (
    Advance,
    CampaignInterrupted,
    CampaignResult,
    Inline,
    Plan,
    Processes,
    Spark,
    make_plan,
    runners,
)
from conformance.campaigns.apart import BlockWorker
from conformance.campaigns.block import run_block
from conformance.cli import main
from conformance.driver import FailureClass, Run
from conformance.engines.position import Position
from conformance.engines.worker import Ended
from conformance.episodes import RESTORES, EpisodeConfig, running, steps
from conformance.episodes.drawing import Episode
from conformance.ports.episodes import Description
from conformance.ports.registry import registered_names
from conformance.reporting.campaign import restores
from conformance.reporting.console import CarefulConsole
from conformance.reporting.status import INCONCLUSIVE, VIOLATION
from tests.bridges.episodes.tiny import command
from tests.campaigns.test_spark import spark_test

pytestmark = pytest.mark.skipif(
    "episodes" not in registered_names(), reason="the entry point is newer than the installation: install it again"
)
SLUG = "a-job-finishes-when-all-is-committed"


def plan_of(mode: str, bug: str = "", episodes: int = 2) -> Plan:
    """A plan for the tiny engine. Nothing is reduced."""
    return make_plan("1", [f"episodes:{shlex.join(command(mode, bug))}"], scenarios=episodes, budget=0)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Path | None]:
    """Each episode has one life and few records, and is run again once. Returns for each run in this process where its
    evidence was to be kept; None: it was run again."""
    every: list[Path | None] = []

    def episode(self: running.Episodes, seed: str, number: int) -> Episode:
        config = EpisodeConfig(knobs={"every": 1}, promises=self.description.promises)
        return Episode(config, (steps.supply(0, 5 + 3 * number),))

    def run(self: running.Episodes, one: Episode, keep: Path | None = None) -> running.Result:
        every.append(keep)
        return before(self, one, keep)

    before = running.Episodes.run
    monkeypatch.setattr(running.Episodes, "episode", episode)
    monkeypatch.setattr(running.Episodes, "run", run)
    monkeypatch.setattr(running, "AGAIN", 1)
    monkeypatch.setattr("conformance.episodes.reducing.TRIES", 1)
    return every


def reported(result: CampaignResult, folder: Path) -> tuple[int, str]:
    """The exit status, and what a pipe shows of a result, with its page and folders in `folder/report`."""
    console = CarefulConsole(file=io.StringIO(), width=80)
    status = reporting.conclude_campaign(console, result, folder / "report", (), home=folder)
    assert isinstance(console.file, io.StringIO)
    return status, console.file.getvalue()


def test_an_engine_that_was_not_restored_is_not_said_to_conform(tmp_path: Path, ran: list[Path | None]) -> None:
    plan = plan_of("two-phase", episodes=1)
    assert (plan.components, plan.block, plan.of_episodes) == (("episode",), 1, True)
    result = campaigns.start(tmp_path / "c", plan, Inline())
    (part,) = result.implementations[0].components
    assert (part.scenarios, part.findings, len(ran)) == (1, (), 1)
    assert campaigns.load(tmp_path / "c") == result
    assert not list((tmp_path / "c" / "evidence").iterdir())
    status, text = reported(result, tmp_path / "c")
    assert status == INCONCLUSIVE
    assert "No life was restored from recovery data, so nothing was put to the test." in text
    assert "What happened: lives 1." in text
    assert restores(result) == 0


def test_a_finding_keeps_its_evidence_and_no_report_runs_it_again(tmp_path: Path, ran: list[Path | None]) -> None:
    folder = tmp_path / "c"
    plan = plan_of("cut", "plain")
    result = campaigns.start(folder, plan, Inline())
    (finding,) = result.implementations[0].components[0].findings
    assert (finding.property, finding.operation, finding.count, finding.first) == (SLUG, "run", 2, 0)
    assert "(again in 1 of 1 runs; reduced in 1 run, fails 1 of 1)" in finding.observed
    assert len(ran) == 4  # two that were drawn, one of them once more, and what it was reduced to
    assert {one.name for one in (folder / "evidence" / "0").iterdir()} == {"episode-0000", "episode-0001"}

    status, text = reported(campaigns.load(folder), folder)
    assert status == VIOLATION
    (report,) = (one for one in (folder / "report").iterdir() if one.is_dir())
    again = f"conformance episodes '{shlex.join(command('cut', 'plain'))}' --again"
    assert f"again: {again} {report / 'scenario.json'}" in text
    assert f"{again} {report / 'evidence' / 'episode.json'}" in (report / "report.md").read_text("utf-8")
    assert {"job", "life-0.log", "episode.json", "finding.txt"} <= {one.name for one in (report / "evidence").iterdir()}
    page = (folder / "report" / "index.html").read_text("utf-8")
    assert "again in 1 of 1 runs" in page
    assert f'href="{report.name}/evidence/"' in page
    reported(result, folder)  # once more, into the same folder
    assert (report / "evidence" / "job").is_dir()
    assert len(ran) == 4


def test_an_episode_that_has_failed_is_not_run_twice(tmp_path: Path, ran: list[Path | None]) -> None:
    folder, plan = tmp_path / "c", plan_of("cut", "plain")

    def interrupt(state: Advance) -> None:
        raise KeyboardInterrupt

    with pytest.raises(CampaignInterrupted, match="No block was committed"):
        campaigns.start(folder, plan, Inline(), interrupt)
    assert len(ran) == 1
    left = folder / "evidence" / "0" / ".episode-0001-left"  # by a driver that was killed
    left.mkdir()
    result = campaigns.resume(folder, Inline(), chosen=plan.implementations)
    assert [one and one.name[: len(".episode-0000")] for one in ran] == [".episode-0000", ".episode-0001", None, None]
    (finding,) = result.implementations[0].components[0].findings
    assert (finding.count, finding.first) == (2, 0)
    assert not left.exists()


def test_evidence_of_another_campaign_is_no_result(tmp_path: Path, ran: list[Path | None]) -> None:
    plan = plan_of("cut", "plain", 1)
    other = msgspec.structs.replace(plan, seed="2")
    for one in (plan, other):
        names = campaigns.Names()
        block = msgspec.structs.replace(one.block_at(0), home=str(tmp_path))
        first = run_block(one, block, names)
        assert first.tallies[plan.baseline].failures
        assert run_block(one, block, names) == first
    assert len(ran) == 2


def test_an_engine_that_takes_two_cores_has_half_as_many_places(monkeypatch: pytest.MonkeyPatch) -> None:
    def describe(self: Engine) -> Description:
        return Description("large", cores=2)

    monkeypatch.setattr(Engine, "describe", describe)
    plan = plan_of("cut")
    assert plan.cores == 2
    for workers, places in ((1, 1), (2, 1), (4, 2), (5, 2)):
        with Processes(workers).opened(plan) as running:
            assert running.places() == places
    assert Spark()._cores(plan) == {"spark.task.cpus": "2"}
    assert Spark()._cores(msgspec.structs.replace(plan, cores=msgspec.UNSET)) == {}


def test_two_cores_are_one_place_for_an_adapter_that_takes_both(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[BlockWorker] = []

    class Worker(BlockWorker):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(runners, "BlockWorker", Worker)
    name = f"episodes:{shlex.join(command('two-phase', 'two cores'))}"
    plan = make_plan("3", [name], scenarios=2, budget=0)
    result = campaigns.start(tmp_path / "c", plan, Processes(2))
    (part,) = result.implementations[0].components
    assert (plan.cores, len(made), part.scenarios, part.findings, result.lost_blocks) == (2, 1, 2, (), ())
    assert part.happened
    assert part.happened[running.RESTORED] > 0


@pytest.mark.parametrize(
    ("doubtful", "said"),
    [
        (False, "it did not return in time, in episode 1 of seed '1'"),
        (True, "the process that ran the block died each time, in episode 1 of seed '1'"),
    ],
)
def test_a_lost_block_says_which_episode_was_being_run(
    doubtful: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*request: object) -> None:
        position = Position("", 1, None, None)
        raise Ended("it did not return in time", "", FailureClass.HUNG, position, doubtful=doubtful)

    plan = plan_of("cut")
    worker = BlockWorker(plan, campaigns.Names())
    monkeypatch.setattr(worker._worker, "ask", ask)
    assert worker.run(plan.block_at(1)).lost == said


def test_what_does_not_go_on_breaks_a_rule_if_it_happens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = [True, True, True, True, True, False]

    def run(self: running.Episodes, one: Episode, keep: Path | None = None) -> running.Result:
        happened = Counter({running.KILLED: 2})
        return running.Result(stuck=stuck.pop(0), lives=3, restores=2, deaths=happened, run=Run(None, 0, None))

    monkeypatch.setattr(running.Episodes, "run", run)
    plan = plan_of("cut")
    tallies = [run_block(plan, plan.block_at(number), campaigns.Names()).tallies[plan.baseline] for number in (0, 1)]
    assert [one.exercised for one in tallies] == [{RESTORES: 1}] * 2
    happened = {running.KILLED: 2, running.LIVES: 3, running.RESTORED: 2}
    assert [one.happened for one in tallies] == [happened, {**happened, running.SLOW: 1}]
    failures = [one.failures for one in tallies]
    assert [(one.property, one.failure_class) for one in failures[0]] == [
        ("a-job-is-over-once-and-for-a-reason", "stuck")
    ]
    assert failures[1] == ()


def test_the_command_takes_an_adapter(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["campaign", "start", str(tmp_path / "c"), "--adapter", shlex.join(command("cut", "plain"))]
    for more, said in (
        (["--scenarios", "4"], "--adapter does not go with --scenarios"),
        ([], "A run without any failure does not pass"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["campaign", "start", str(tmp_path / "c"), "--episodes", "4"])
    assert "--episodes goes with --adapter" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


@pytest.mark.slow  # a JVM of its own; another test tries Spark by default
@spark_test
def test_spark_runs_episodes_and_their_evidence_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    result = campaigns.start(folder, plan_of("cut", "plain"), Spark(workers=2))
    (finding,) = result.implementations[0].components[0].findings
    assert (finding.property, finding.count, result.lost_blocks) == (SLUG, 2, ())
    assert {one.name for one in (folder / "evidence" / "0").iterdir()} == {"episode-0000", "episode-0001"}
