"""Whole jobs on released Flink, and what the judge of jobs knows of an engine that cannot read a checkpoint back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from building.flink_pipeline import EPISODES, PROBE, SETTINGS, SPLITS, Episode, chain, main, read, report, run
from building.flink_probe import lines, wrong
from conformance.bridges.flink import FlinkPipeline, flink_pipeline, releases
from conformance.bridges.flink.implementation import PIPELINE_MEMORY
from conformance.bridges.flink.releases import PIPELINES, find_jars
from conformance.bridges.flink.shim import command, compiled, find_jdk
from conformance.bridges.jsonl.protocol import Call
from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.components.pipeline.graph import graph_of
from conformance.components.pipeline.ledger import Ledger
from conformance.components.pipeline.steps import restorable
from conformance.driver import Program, Seen, run_scenario
from conformance.engines import load_known_failures, standing
from conformance.ports import (
    Capability,
    CheckpointBegun,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    Committed,
    FailureStruck,
    JobCheckpoint,
    JobRestarted,
    JobSettings,
    JobTaskChanged,
    OperatorState,
    Recovery,
    Refusal,
    Run,
    SplitState,
    TaskState,
    Transaction,
    Triggered,
    UnusableImplementation,
)
from tests.bridges.conftest import skip_without

JOB = COMPONENTS["pipeline"]
SETTLED, RUNNING, DONE = (("settle", one) for one in ("idle", "running", "no-checkpoint"))
UNALIGNED = ("trigger", "unaligned")


def seen(value, *signals):
    one: Seen[Any] = Seen()
    one.value, one.signals, one.error = value, list(signals), None
    return one


@pytest.fixture
def ledger():
    """A job of an engine that reads nothing back, with one checkpoint and a transaction in front of it and behind."""
    made = Ledger(make("one edge"), frozenset(), {})
    made.supply(0, 9)
    for number in (1, 2):
        made.triggered(seen(Triggered(number)), "aligned")
        made.hear([CheckpointCompleted(number, CheckpointKind.ALIGNED)])
        made.hear([Committed(1, Transaction(0, number), (Run(3 * number - 3, 3 * number - 1),))])
    return made


def checkpoint(number, location="there"):
    return JobCheckpoint(number, CheckpointKind.ALIGNED, (1, 1), location=location)


def test_what_is_outside_the_job_outlives_it(ledger):
    ledger.restore(seen(checkpoint(1)), 1, "same", "recover-first", True)
    assert ledger.supplied == {0: 9, 1: 0}
    assert ledger.not_committed(1) == [*range(3, 9)]
    ledger.triggered(seen(Triggered(2)), "aligned")
    ledger.hear([CheckpointCompleted(2, CheckpointKind.ALIGNED)])
    ledger.hear([Committed(1, Transaction(0, 2), (Run(3, 5),))])
    assert not ledger.found
    ledger.hear([Committed(1, Transaction(0, 3), (Run(2, 2),))])
    assert set(ledger.found) == {"nothing-is-committed-twice-or-made-up", "only-a-completed-checkpoint-is-committed"}


def test_a_restore_may_go_back_behind_the_checkpoint_of_the_job_before(ledger):
    ledger.restore(seen(checkpoint(2)), 2, "same", "recover-first", True)
    assert ledger.not_committed(1) == [*range(6, 9)]
    ledger.restore(seen(checkpoint(1)), 1, "same", "recover-first", True)
    assert ledger.not_committed(1) == [*range(3, 9)]
    ledger.triggered(seen(Triggered(2)), "aligned")
    ledger.hear([CheckpointCompleted(2, CheckpointKind.ALIGNED), Committed(1, Transaction(0, 2), (Run(3, 8),))])
    assert not ledger.found
    ledger.hear([Committed(1, Transaction(0, 1), (Run(0, 2),))])
    assert set(ledger.found) == {"nothing-is-committed-twice-or-made-up"}


def test_a_checkpoint_of_the_engines_own_is_one_like_others(ledger):
    ledger.hear([CheckpointBegun(3, CheckpointKind.TIMEOUTABLE)])
    assert set(ledger.refusal("aligned")) == {Refusal.TOO_MANY, Refusal.NOT_RUNNING}
    ledger.hear([CheckpointCompleted(3, CheckpointKind.TIMEOUTABLE), Committed(1, Transaction(0, 3), (Run(6, 8),))])
    assert not ledger.found
    ledger.hear([CheckpointBegun(3, CheckpointKind.TIMEOUTABLE)])
    assert set(ledger.found) == {"ids-of-checkpoints-increase"}


def test_a_checkpoint_of_the_engines_own_may_begin_before_the_savepoint_that_it_answers_with(ledger):
    ledger.act()
    ledger.triggered(seen(Triggered(4)), "savepoint")
    ledger.hear([CheckpointBegun(3, CheckpointKind.ALIGNED)])
    assert not ledger.found
    assert ledger.checkpoints.newest == 4
    ledger.act()
    ledger.triggered(seen(Triggered(7)), "savepoint")
    ledger.act()  # so its answer was about nothing that begins now
    ledger.hear([CheckpointBegun(6, CheckpointKind.ALIGNED)])
    assert set(ledger.found) == {"ids-of-checkpoints-increase"}


def test_only_a_checkpoint_that_the_engine_keeps_can_be_restored(ledger):
    ledger.capabilities = frozenset({Capability.RECOVERS_FIRST})
    assert {number for number, *_ in restorable(ledger)} == {0}
    for location, can in (("", {0}), ("there", {0, 2})):
        ledger.checkpoints.known[2].contents = None
        ledger.snapped(seen(checkpoint(2, location)), 2)
        assert {number for number, *_ in restorable(ledger)} == can


def test_the_engine_says_of_which_kind_a_checkpoint_is(ledger):
    ledger.triggered(seen(Triggered(3, kind=CheckpointKind.TIMEOUTABLE)), "aligned")
    assert ledger.checkpoints.known[3].kind is CheckpointKind.TIMEOUTABLE


def test_the_drain_does_not_wait_for_ever(ledger):
    for waited in range(5):
        assert ledger.threads.waited == waited
        ledger.settled(seen(False), "idle")
    ledger.settled(seen(False), "running")
    assert ledger.threads.waited == 5
    ledger.cancel()
    assert ledger.threads.waited == 0


def test_an_episode_begins_with_data_in_flight():
    ledger = Ledger(SETTINGS[0].config(), frozenset(), {})
    steps = []
    for step in chain(ledger, Random(0)):
        steps.append(step)
        if step == UNALIGNED:
            break
    assert [one[0] for one in steps] == ["settle", *["throttle"] * 7, *["supply"] * SPLITS, "settle", "trigger"]
    assert {one[1] for one in steps if one[0] == "throttle"} == set(range(7, 14))


def test_the_report_says_what_was_not_exercised(tmp_path):
    failed, idle = SETTINGS[0].slug, SETTINGS[-1].slug
    (tmp_path / f"{failed}@0").mkdir()
    text = report([Episode(failed, 0, restores=2, violation="a-rule"), Episode(idle, 0)], tmp_path)
    assert "1 `a-rule`" in text
    assert "not exercised" in text
    assert f"`{failed}@0`" in text


def test_episodes_that_were_run_are_not_run_again(tmp_path, capsys):
    lines = [msgspec.json.encode(Episode(one.slug, number, restores=2)) for one in SETTINGS for number in range(2)]
    (tmp_path / EPISODES).write_bytes(b"\n".join(lines))
    assert main(["--episodes", "2", "--keep", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("| 2 | 4 |") == len(SETTINGS)


@pytest.mark.parametrize("version", ["2.3.0+FLINK-1", "2.2.1+FLINK-40016"])
def test_a_change_that_cannot_be_made_is_refused(version):
    with pytest.raises(UnusableImplementation, match="cannot be"):
        flink_pipeline(version)


GRAPH = graph_of(make("keyed", 2).job())
READ = (OperatorState(splits=(SplitState(0, 12),)), OperatorState(splits=(SplitState(1, 2),)))
COUNTED = (Run(0, 11, 11), *(Run(one, one, 11) for one in (1_000_000, 1_000_001)))
OTHERS = tuple(Run(one, one, 11) for one in range(1, 11))


@pytest.mark.parametrize(
    ("read", "counted", "said"),
    [
        (READ, COUNTED, []),
        (READ, COUNTED[1:], ["records 0, 11: missing"]),
        (READ, (*COUNTED, Run(11, 11, 11)), ["record 11: twice"]),
        (READ, (*COUNTED, Run(12, 12, 11)), ["record 12: there, too"]),
        ((READ[0], OperatorState(splits=(SplitState(0, 12), SplitState(1, 2)))), COUNTED, ["split 0 has two readers"]),
    ],
    ids=["the cut", "lost", "doubled", "made up", "two readers"],
)
def test_a_restored_job_with_sources_held_is_compared_with_their_offsets(read, counted, said):
    found = list(wrong(GRAPH, {0: read, 1: (OperatorState(records=counted), OperatorState(records=OTHERS))}))
    assert [one.rpartition("once: ")[2] for one in found] == said


def test_a_probe_says_which_checkpoint_is_wrong():
    assert list(lines([("chk-1", []), ("chk-2", ["a", "b"])])) == ["chk-1: exactly its cut", "chk-2: a; b"]


@pytest.mark.flink
@pytest.mark.parametrize(
    "setting", [one for one in SETTINGS if one.recovery is Recovery.IN_MEMORY and one.workers == 1]
)
def test_chains_lose_nothing_with_the_change_only(setting, tmp_path):
    skip_without("2.3.0")
    run(setting, range(6), tmp_path)
    found = {one.violation for one in read(tmp_path)}
    assert found == {""} if setting.fixed else "nothing-is-committed-twice-or-made-up" in found
    assert all(one.restores == 2 and one.in_recovery for one in read(tmp_path))
    probes = "".join(one.read_text("utf-8") for one in tmp_path.glob(f"*/{PROBE}"))
    assert ("chk-1: exactly its cut" in probes) is not setting.fixed  # the checkpoint that the job began with is right
    assert (": twice" in probes) is not setting.fixed


@pytest.fixture(scope="module")
def jvms():
    """One JVM for each release, started when first used."""
    made = {version: flink_pipeline(version) for version in PIPELINES.releases}
    yield made
    for implementation in made.values():
        implementation.close()


@pytest.mark.flink
@pytest.mark.parametrize("release", PIPELINES.releases)
def test_a_job_is_restored_rescaled_and_restarted(jvms, release):
    skip_without(release)
    implementation = jvms[release]
    assert isinstance(implementation, FlinkPipeline)
    settings = JobSettings(recovery=Recovery.RECOVER_FIRST, alignment_timeout=0)
    steps = (
        RUNNING, ("supply", 0, 30), ("supply", 1, 20), SETTLED, UNALIGNED, SETTLED, ("output", 2),
        ("throttle", 2, True), ("supply", 0, 30), SETTLED, UNALIGNED, DONE, ("snapshot", 2), ("kill",),
        ("restore", 2, "up", "recover-first", True), RUNNING, SETTLED, UNALIGNED, SETTLED, ("fail", "task", 3, "now"),
        SETTLED,
    )  # fmt: skip
    config = replace(make("keyed", 2, settings), portions=(20, 30))
    run = run_scenario(Program(JOB, implementation), config, steps, record=True)
    assert run.violation is None
    signals = [signal for one in run.entries if one.outcome for signal in one.outcome.signals]
    assert sum(type(one) is CheckpointCompleted for one in signals) >= 3
    records = sorted(each for one in signals if type(one) is Committed for run_ in one.records for each in run_)
    assert records == [*range(60), *range(1_000_000, 1_000_020)]
    assert [type(one) for one in signals if type(one) in (FailureStruck, JobRestarted)] == [FailureStruck, JobRestarted]
    failed = [one for one in signals if type(one) is JobTaskChanged and one.state is TaskState.FAILED]
    assert [(one.task, one.cause) for one in failed] == [(3, "task")]


@pytest.mark.flink
def test_a_savepoint_is_complete_of_which_tasks_were_notified_before_the_job_master_was_lost(jvms):
    skip_without("2.3.0")
    config = replace(make("keyed", 2, JobSettings(recovery=Recovery.RECOVER_FIRST)), portions=(20, 30))
    steps = (
        RUNNING, ("supply", 0, 20), SETTLED, ("fail", "master", 0, "completed"), ("stop_with_savepoint",), DONE, SETTLED
    )  # fmt: skip
    run = run_scenario(Program(JOB, jvms["2.3.0"]), config, steps, record=True)
    signals = [signal for one in run.entries if one.outcome for signal in one.outcome.signals]
    ends = [one for one in signals if isinstance(one, CheckpointCompleted | CheckpointFailed)]
    assert [(type(one), one.checkpoint) for one in ends] == [(CheckpointCompleted, 1)]
    if any(type(one) is JobRestarted for one in signals):  # Flink goes on although the job was stopped
        assert run.violation is not None


@pytest.mark.flink
@pytest.mark.parametrize("release", PIPELINES.releases)
def test_each_restart_says_what_it_has_restored_however_late_it_is_heard_of(jvms, release, monkeypatch):
    """The statistics of Flink know only the last restore. Whoever asks for `state` hears of nothing."""
    skip_without(release)
    client = jvms[release].client
    ask = client.request

    def slowly(message):
        reply = ask(message)
        if isinstance(message, Call) and message.call[0] in ("fail", "trigger"):
            for _ in range(4000):
                ask(Call(("state", 0)))
        return reply

    monkeypatch.setattr(client, "request", slowly)
    steps = (
        RUNNING, ("supply", 0, 3), SETTLED, UNALIGNED, SETTLED, ("fail", "task", 0, "completed"),
        ("fail", "task", 0, "now"), ("supply", 0, 1), UNALIGNED, SETTLED,
    )  # fmt: skip
    config = replace(make("keyed", 2, JobSettings(recovery=Recovery.RECOVER_FIRST)), portions=(1, 3))
    for _ in range(8):  # until both restarts are heard of at once
        run = run_scenario(Program(JOB, jvms[release]), config, steps, record=True)
        assert run.violation is None
        heard = [one.outcome.signals for one in run.entries if one.outcome]
        if [1, 2] in [[one.checkpoint for one in signals if isinstance(one, JobRestarted)] for signals in heard]:
            return
    pytest.fail("the driver was too fast")


@pytest.mark.flink
@pytest.mark.parametrize("release", PIPELINES.releases)
def test_a_job_master_says_what_it_has_restored(jvms, release):
    skip_without(release)
    lost, failed = (("fail", target, 0, "now") for target in ("master", "task"))
    steps = (
        RUNNING, ("supply", 0, 3), SETTLED, lost, SETTLED, failed, SETTLED, UNALIGNED, SETTLED, lost, SETTLED, failed,
        SETTLED, UNALIGNED, SETTLED, lost, SETTLED,
    )  # fmt: skip
    config = replace(make("keyed", 2, JobSettings(recovery=Recovery.RECOVER_FIRST)), portions=(3,))
    run = run_scenario(Program(JOB, jvms[release]), config, steps, record=True)
    assert run.violation is None
    signals = [signal for one in run.entries if one.outcome for signal in one.outcome.signals]
    restarts = [one.checkpoint for one in signals if isinstance(one, JobRestarted)]
    assert restarts == [0, 0, 1, 1, 2]


def said_by(name, release, folder, *arguments):
    """Runs a class that calls the adapter from inside its package, and returns the lines that it has printed."""
    skip_without(release)
    class_path = os.pathsep.join(map(str, (compiled(release, PIPELINES), *find_jars(release))))
    source = Path(__file__).with_name(f"{name}.java")
    subprocess.run([find_jdk()[1], "-cp", class_path, "-d", str(folder), str(source)], check=True)
    properties = {
        "java.io.tmpdir": str(folder), "conformance.opening.micros": "1000", "conformance.counting.nanos": "1000"
    }  # fmt: skip
    words = command(release, PIPELINES, f"conformance.flink.pipeline.{name}", PIPELINE_MEMORY, str(folder), properties)
    return subprocess.run([*words, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.flink
@pytest.mark.parametrize("release", PIPELINES.releases)
def test_a_cluster_without_one_of_its_workers_is_given_to_no_job(release, tmp_path):
    config = msgspec.json.encode(make("one edge", 2, JobSettings(recovery=Recovery.RECOVER_FIRST)).job()).decode()
    assert said_by("LostWorker", release, tmp_path, config) == [
        "a worker was replaced: the same cluster",
        "a worker has ended: another cluster",
        "a worker was not replaced: another cluster",
    ]


@pytest.mark.flink
@pytest.mark.parametrize("release", PIPELINES.releases)
def test_what_flink_fails_of_on_its_own_is_not_hidden_by_what_was_suppressed(release, tmp_path):
    assert said_by("Causes", release, tmp_path) == [
        "1 made: task",
        "2 caused: task",
        "3 with another one suppressed: task",
        "4 suppressed: java.lang.IllegalStateException: on its own",
        "5 suppressed by a cause: java.lang.RuntimeException: Flink",
    ]


@pytest.mark.flink
@pytest.mark.parametrize("release", PIPELINES.releases)
def test_where_splits_are_is_shown_until_a_source_has_ended(jvms, release):
    """Flink stores nothing of a reader that has finished, and restores it without its splits, if others have not."""
    skip_without(release)
    aligned = ("trigger", "aligned")
    steps = (
        RUNNING, ("supply", 0, 3), ("supply", 1, 3), ("supply", 2, 3), SETTLED, aligned, DONE, ("snapshot", 1),
        ("end", 0), ("supply", 2, 3), SETTLED, aligned, DONE, SETTLED, aligned, DONE, ("snapshot", 3),
    )  # fmt: skip
    config = make("separate", 2, JobSettings(recovery=Recovery.RECOVER_FIRST))
    run = run_scenario(Program(JOB, jvms[release]), config, steps, record=True)
    assert run.violation is None
    shown = [one.outcome.value.states for one in run.entries if one.step[0] == "snapshot" and one.outcome]
    splits = sorted((one.split, one.offset) for vertex in shown[0] for state in vertex for one in state.splits)
    assert splits == [(0, 3), (1, 3), (2, 3), (3, 0)]
    assert shown[1] == ()


@pytest.mark.flink
def test_where_splits_are_is_not_shown_behind_the_savepoint_with_which_a_job_stops(jvms):
    """A reader may have finished, as when its source has ended, while other tasks take part in a checkpoint."""
    skip_without("2.3.0")
    shown = ("snapshot", 3)
    steps = (
        RUNNING, ("supply", 0, 8), SETTLED, UNALIGNED, DONE, ("snapshot", 1), ("stop_with_savepoint",), DONE, UNALIGNED,
        DONE, shown,
    )  # fmt: skip
    config = replace(make("rescaled", 1, JobSettings(recovery=Recovery.RECOVER_FIRST)), portions=(8,))
    for _ in range(4):  # a cluster that has just begun is slow
        run = run_scenario(Program(JOB, jvms["2.3.0"]), config, steps, record=True)
        assert run.violation is None
        (last,) = [one.outcome.value for one in run.entries if one.step == shown and one.outcome] or [None]
        if last is not None:
            assert last.states == ()
            return
    pytest.skip("no checkpoint has completed while the job was finishing")


@pytest.mark.flink
@pytest.mark.parametrize("release", PIPELINES.releases)
def test_every_known_failure_still_fails(jvms, release):
    skip_without(release)
    path = Path(releases.__file__).parent / "known_failures" / f"{release}.toml"
    found = standing(load_known_failures(path), f"flink-pipeline@{release}", jvms[release], ["pipeline"])
    assert found.failing
    assert found.fixed == ()
