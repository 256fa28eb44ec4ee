"""A campaign can be stopped at any moment. If it is resumed, its result is the same as without the stop."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from conformance import cli
from conformance.campaigns import (
    CampaignError,
    Inline,
    Processes,
    Spark,
    files,
    make_plan,
    reduce,
    resume,
    start,
    status,
    waves,
)
from conformance.campaigns.code import CodeLog, environment
from conformance.campaigns.lock import held, holder
from conformance.campaigns.spark_setup import spark_problem
from conformance.campaigns.tables import TableWriter
from conformance.campaigns.waves import BLOCKS, home_of, numbers
from conformance.components import COMPONENTS
from conformance.engines import lasting
from tests.by_default import one_of
from tests.campaigns.dying import MARK
from tests.campaigns.ended import in_waves_of_one
from tests.campaigns.killed import PLAN

ROOT = Path(__file__).parents[2]


def killed(folder: Path, runner: str, blocks: int, *findings: int) -> Path:
    """The folder of a campaign whose driver was killed after so many blocks, or after so many `findings`."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed.py")), *map(str, (folder, runner, blocks, *findings))],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (folder / "result.json").exists()
    return folder


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """The folder of a campaign whose driver was killed in its second wave. A test changes its own copy."""
    return killed(tmp_path_factory.mktemp("begun") / "campaign", "processes", 4)


@pytest.fixture
def folder(begun, tmp_path):
    """A copy of the folder, as the driver that was killed left it."""
    return shutil.copytree(begun, tmp_path / "campaign")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The bytes of the result of the same campaign, which ran inline without a stop."""
    folder = tmp_path_factory.mktemp("undisturbed") / "campaign"
    start(folder, PLAN, Inline())
    return (folder / "result.json").read_bytes()


@pytest.mark.parametrize(("blocks", "committed"), one_of(3, [(4, 3), (1, 0), (8, 6)]))
def test_a_killed_driver_loses_the_wave_in_flight_and_counts_nothing_twice(blocks, committed, tmp_path, undisturbed):
    folder = killed(tmp_path / "campaign", "processes", blocks)
    assert status(folder).blocks == committed
    assert holder(folder) is None
    before = {path: path.stat().st_mtime_ns for number in numbers(folder) for path in files_of(folder, number)}
    resume(folder, Processes(2) if blocks == 4 else Inline())
    assert (folder / "result.json").read_bytes() == undisturbed
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.spark
@pytest.mark.slow  # a JVM that is killed, and one more; the test before it tries the same with processes
@pytest.mark.skipif(spark_problem() is not None, reason=str(spark_problem()))
@pytest.mark.xdist_group("spark")
def test_a_spark_campaign_that_was_killed_equals_one_that_ran_inline(tmp_path, undisturbed):
    folder = killed(tmp_path / "campaign", "spark", 4)
    assert status(folder).blocks >= 2
    resume(folder, Spark())
    assert (folder / "result.json").read_bytes() == undisturbed


def findings_of(folder: Path) -> dict[Path, int]:
    """The findings in a folder, and when they were written."""
    found = [path for path in folder.glob("findings/*/*.json") if path.name != "implementation.json"]
    return {path: path.stat().st_mtime_ns for path in found}


@pytest.mark.parametrize("kept", one_of(2, [1, 2]))
def test_a_driver_that_is_killed_while_it_reduces_loses_what_was_in_flight(kept, tmp_path, undisturbed):
    """One of two findings is kept, or both, and no group of them."""
    folder = killed(tmp_path / "campaign", "processes", 8, kept)
    before = findings_of(folder)
    assert len(before) == kept
    resume(folder, Processes(2) if kept == 1 else Inline())
    assert (folder / "result.json").read_bytes() == undisturbed
    after = findings_of(folder)
    assert len(after) == 2
    assert {path: after[path] for path in before} == before


@pytest.mark.spark
@pytest.mark.slow  # a JVM that is killed, and one more; the test before it tries the same with processes
@pytest.mark.skipif(spark_problem() is not None, reason=str(spark_problem()))
@pytest.mark.xdist_group("spark")
def test_a_spark_campaign_that_was_killed_while_it_reduced_equals_one_that_ran_inline(tmp_path, undisturbed):
    folder = killed(tmp_path / "campaign", "spark", 8, 2)
    assert len(findings_of(folder)) == 2
    reduce(folder, Inline())
    assert (folder / "result.json").read_bytes() == undisturbed


def files_of(folder: Path, number: int) -> list[Path]:
    return [path for path in home_of(folder, number).rglob("*") if path.is_file()]


@pytest.mark.parametrize("missing", one_of(4, [[1, 2], [0], [2, 4], [7]]))
def test_a_wave_that_somebody_deleted_is_run_again_and_the_others_are_not(missing, tmp_path, monkeypatch, undisturbed):
    """A wave that was run again may have the blocks of several that are missing."""
    folder = tmp_path / "campaign"
    in_waves_of_one(monkeypatch)
    start(folder, PLAN, Inline())
    for number in missing:
        shutil.rmtree(home_of(folder, number))
    (folder / "result.json").unlink()
    kept = {path: path.stat().st_mtime_ns for number in numbers(folder) for path in files_of(folder, number)}
    ran: list[int] = []
    resume(folder, Inline(), lambda state: ran.append(state.done))
    assert (folder / "result.json").read_bytes() == undisturbed
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(ran) < 8
    assert len(list(waves.all_blocks(folder, PLAN, COMPONENTS))) == 8


def test_what_was_being_written_counts_for_nothing(folder, undisturbed):
    """Also what Spark leaves of a wave whose driver was killed, complete or not."""
    (wave,) = waves.uncounted(folder)
    assert not (wave / files.WAVE).exists()
    committed = home_of(folder, 0) / BLOCKS
    shutil.copytree(committed, wave / BLOCKS / "_temporary" / "0", dirs_exist_ok=True)
    shutil.copytree(committed, wave / BLOCKS, dirs_exist_ok=True)
    (wave / f".{files.WAVE}.part").write_text('{"plan": "half')
    (folder / ".result.json.part").write_text("{")
    resume(folder, Inline())
    assert not list(folder.rglob("_temporary"))
    assert (folder / "result.json").read_bytes() == undisturbed
    assert not list(folder.rglob(".*.part"))


class Late(Inline):
    """While this runner runs a wave, what another one has left behind writes into a table."""

    def __init__(self, table: Path) -> None:
        super().__init__()
        self._table = table

    @contextmanager
    def opened(self, plan):
        with super().opened(plan) as running:
            self._running = running
            yield self

    def __getattr__(self, name):
        return getattr(self._running, name)

    def run(self, *arguments):
        self._running.run(*arguments)
        self._table.mkdir(parents=True, exist_ok=True)
        with TableWriter(self._table, "late") as writer:
            writer.add([])


def test_what_is_still_being_written_for_a_driver_that_was_killed_counts_for_nothing(folder, undisturbed):
    """The jobs of a Spark Connect server go on when their driver was killed."""
    (wave,) = waves.uncounted(folder)
    resume(folder, Late(wave / BLOCKS))
    assert (folder / "result.json").read_bytes() == undisturbed
    assert not waves.uncounted(folder)
    assert not list(folder.rglob("late*"))


def test_a_full_disk_leaves_a_campaign_that_can_be_gone_on_with(tmp_path, monkeypatch, undisturbed):
    folder = tmp_path / "campaign"
    commit, done = waves.commit, list[object]()

    def full(where, home, wave):
        if len(done) == 3:
            raise OSError(28, "No space left on device", str(where))
        done.append(wave)
        return commit(where, home, wave)

    in_waves_of_one(monkeypatch)
    monkeypatch.setattr(waves, "commit", full)
    with pytest.raises(OSError, match="No space left"):
        start(folder, PLAN, Inline())
    monkeypatch.undo()
    assert status(folder).blocks == 3
    assert not waves.uncounted(folder), "what cannot be used takes no room"
    resume(folder, Inline())
    assert (folder / "result.json").read_bytes() == undisturbed


def test_resuming_what_has_ended_changes_nothing(tmp_path, undisturbed):
    start(tmp_path / "c", PLAN, Inline())
    result = resume(tmp_path / "c", Inline())
    assert result.seed == "killed"
    assert (tmp_path / "c" / "result.json").read_bytes() == undisturbed


def test_blocks_of_other_code_are_not_added_up(folder, undisturbed):
    log = files.read(folder / files.CODE, CodeLog)
    name = "reference_impl/network/subpartition.py"
    other = msgspec.structs.replace(log.codes[0], files={**log.codes[0].files, name: "0"})
    files.write(folder / files.CODE, CodeLog((other,)))
    with pytest.raises(CampaignError, match=rf"{name} is changed.*--accept-changed-code"):
        resume(folder, Inline())
    resume(folder, Inline(), accept_changed_code=True)
    assert len(files.read(folder / files.CODE, CodeLog).codes) == 2
    assert (folder / "result.json").read_bytes() == undisturbed


def test_two_drivers_do_not_share_a_folder(folder):
    with held(folder):
        assert f"process {os.getpid()}" in str(holder(folder))
        with pytest.raises(CampaignError, match="is being run by process"):
            resume(folder, Inline())
    assert holder(folder) is None


@pytest.mark.slow  # a campaign that is killed and goes on; others are by default
def test_the_status_says_how_far_it_is_and_how_to_go_on(tmp_path, capsys):
    folder = killed(tmp_path / "campaign", "processes", 6)
    with pytest.raises(SystemExit) as ended:
        cli.main(["campaign", "status", str(folder), "--json", str(tmp_path / "status.json")])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "of 8 blocks are committed" in told
    assert f"conformance campaign resume {folder}" in told
    document = json.loads((tmp_path / "status.json").read_text())
    assert document["planned"] == 8
    assert document["finished"] is False
    with pytest.raises(SystemExit):
        cli.main(["campaign", "resume", str(folder), "--runner", "inline"])
    assert status(folder).finished


def test_a_folder_without_a_campaign_is_reported(tmp_path):
    with pytest.raises(CampaignError, match=r"plan.json does not exist"):
        resume(tmp_path, Inline())


# ---- poison ----------------------------------------------------------------------------------------------------------
def test_the_scenario_that_kills_its_process_is_found_and_the_rest_counts(tmp_path, monkeypatch):
    monkeypatch.delenv(MARK, raising=False)
    names = ["reference", "tests.campaigns.dying:at_a_late_checkpoint"]
    plan = make_plan("poison", names, ["persister"], scenarios=24, block=24, budget=0)
    result = start(tmp_path / "c", plan, Processes(2))
    assert result.lost_blocks == ()
    reference, dying = (one.components[0] for one in result.implementations)
    assert (reference.scenarios, dying.scenarios) == (24, 24)
    (found,) = [one for one in dying.findings if "its process exited with status 9" in one.observed]
    assert found.failure_class == "crashed"
    assert found.scenario.steps


@pytest.mark.slow  # it waits; one that ends its process is found by default
def test_a_scenario_that_hangs_is_a_finding(tmp_path):
    names = ["reference", "tests.campaigns.dying:hanging"]
    plan = make_plan("hang", names, ["deque"], scenarios=1, block=1, budget=0, scenario_seconds=0.2)
    result = start(tmp_path / "c", plan, Inline())
    (found,) = result.implementations[1].components[0].findings
    assert found.failure_class == "hung"


@pytest.mark.slow  # a campaign of its own; others are killed by default
def test_an_inline_campaign_is_not_ended_in_silence(tmp_path, monkeypatch):
    """It ended with status 0 and no word."""
    monkeypatch.setattr(lasting, "MOST", 2)  # each is a new process
    plan = make_plan("silence", ["reference", "tests.campaigns.dying:in_deque"], ["deque"], scenarios=2, budget=0)
    result = start(tmp_path / "c", plan, Inline())
    (found,) = result.implementations[1].components[0].findings
    assert found.failure_class == "crashed"


@pytest.mark.slow  # it waits for a limit
def test_a_scenario_that_goes_on_when_it_is_interrupted_ends_its_process(tmp_path):
    names = ["reference", "tests.campaigns.dying:swallowing"]
    plan = make_plan("swallow", names, ["deque"], scenarios=1, block=1, budget=0, scenario_seconds=0.2)
    result = start(tmp_path / "c", plan, Inline())
    (found,) = result.implementations[1].components[0].findings
    assert (found.failure_class, found.operation) == ("hung", "items")


@pytest.mark.slow  # it fills its memory
def test_a_worker_that_takes_too_much_memory_ends(tmp_path):
    names = ["reference", "tests.campaigns.dying:leaking"]
    plan = make_plan("leak", names, ["deque"], scenarios=1, block=1, budget=0)
    result = start(tmp_path / "c", plan, Inline())
    (found,) = result.implementations[1].components[0].findings
    assert (found.failure_class, found.operation) == ("crashed", "items")


@pytest.mark.parametrize("name", one_of(3, ["Python", "hypothesis", "msgspec"]))
def test_blocks_of_another_python_or_package_are_not_added_up(folder, name, undisturbed):
    """Seen: a campaign was gone on with under another Python, whose random numbers may be others, without a word."""
    log = files.read(folder / files.CODE, CodeLog)
    other = msgspec.structs.replace(log.codes[0], environment={**log.codes[0].environment, name: "0.9"})
    files.write(folder / files.CODE, CodeLog((other,)))
    now = log.codes[0].environment[name]
    with pytest.raises(CampaignError, match=rf"{name} is version '{re.escape(now)}', it was '0.9'.*--accept-changed"):
        resume(folder, Inline())
    resume(folder, Inline(), accept_changed_code=True)
    assert (folder / "result.json").read_bytes() == undisturbed


def test_the_code_of_an_earlier_version_has_no_versions_of_packages(folder, undisturbed):
    log = files.read(folder / files.CODE, CodeLog)
    files.write(folder / files.CODE, CodeLog((msgspec.structs.replace(log.codes[0], environment={}),)))
    resume(folder, Inline())
    assert (folder / "result.json").read_bytes() == undisturbed


def test_the_versions_of_everything_that_the_suite_needs_are_recorded():
    needed = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    names = {re.split(r"[^\w.-]", one)[0] for one in needed["project"]["dependencies"]}
    assert set(environment()) == {"Python", *names}
