"""Episodes on a tiny engine: an honest one is accused of nothing, and each bug breaks the rule that is about it."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.bridges.episodes import Episodes as Engine
from conformance.components.pipeline.records import named
from conformance.driver import Program
from conformance.driver.run import run_scenario
from conformance.episodes import COMPONENT, EpisodeConfig, steps
from conformance.episodes.config import SINK
from conformance.episodes.ledger import TWICE, EpisodeLedger
from conformance.episodes.rules import each_row_has_the_key_of_its_record
from conformance.ports import Committed, FaultStruck, JobOver, JobRestarted, JobStatus, Outcome, Run, Transaction
from conformance.ports.episodes import Asked, Life, Row
from tests.bridges.episodes.tiny import run, tiny
from tests.by_default import one_of

COUNT = steps.fault("count", "ends", 13)
LIVES = (
    steps.supply(0, 21), steps.supply(1, 13), COUNT, steps.settle("idle"), steps.rows(SINK), steps.life(),
    steps.image(), steps.kill(), steps.rows(SINK), steps.start_again(2, 0), steps.supply(0, 5), steps.settle("idle"),
    steps.rows(SINK),
)  # fmt: skip
FROM_IMAGE = (*LIVES, steps.kill(), steps.start_again(1, 1))
AFTER_THE_END = (
    *LIVES, steps.end(0), steps.settle("over"), steps.rows(SINK), steps.kill(), steps.start_again(1, 0),
    steps.supply(1, 8),
)  # fmt: skip


@pytest.mark.parametrize("mode", ["cut", "two-phase", "batches", "appends"])
@pytest.mark.parametrize("scenario", [LIVES, FROM_IMAGE, AFTER_THE_END], ids=["left", "image", "after the end"])
def test_an_honest_engine_is_accused_of_nothing(mode: str, scenario: tuple[tuple[object, ...], ...]) -> None:
    with tiny(mode) as engine:
        found = run(engine, scenario)
    assert found.violation is None
    outcomes = [one.outcome for one in found.entries if isinstance(one.outcome, Outcome)]
    signals = [type(signal) for one in outcomes for signal in one.signals]
    assert [signals.count(one) for one in (FaultStruck, JobRestarted)] == [1, 1]
    assert JobOver in signals
    assert any(isinstance(one.value, Life) and one.value.restored and one.value.completed for one in outcomes)


THROWN = (steps.supply(0, 21), steps.fault("sink-after", "throws", 8), steps.settle("idle"))
CRASHED = (steps.supply(0, 5), steps.settle("idle"), steps.kill(), steps.start_again(1, 0), steps.supply(0, 21))
"""A bug that shows in a life that restores."""
REPLAYED = (steps.supply(0, 21), steps.fault("sink-after", "ends", 2), steps.settle("idle"))
SAVED = (
    steps.supply(0, 13), steps.settle("idle"), steps.savepoint(), steps.rows(SINK), steps.kill(),
    steps.start_again(2, 0), steps.supply(0, 5),
)  # fmt: skip
"""Nothing but the savepoint has what was read, as other checkpoints are rare."""
CHOSEN = (
    steps.supply(0, 13), steps.settle("idle"), steps.checkpoint(), steps.kill(), steps.start_again(1, 0),
    steps.supply(0, 5),
)  # fmt: skip
STOPPED = (
    steps.supply(0, 13), steps.supply(1, 5), steps.settle("idle"), steps.stop(), steps.rows(SINK), steps.kill(),
    steps.rows(SINK), steps.start_again(2, 0), steps.supply(0, 5),
)  # fmt: skip
DIES_WHEN_STOPPED = (
    steps.supply(0, 8), steps.fault("count", "ends", 5), steps.savepoint(), steps.checkpoint(), steps.advance(50),
    steps.rows(SINK),
)  # fmt: skip
"""The savepoint was asked of a life that dies, and not of the next one, which takes a checkpoint and goes on."""
DIES_AT_ITS_END = (steps.supply(0, 5), steps.fault("notice", "ends", 2))
"""Everything is in the last checkpoint, so that the next life has nothing to read."""
SELDOM = 1000


@pytest.mark.parametrize("mode", ["cut", "two-phase", "batches", "appends"])
@pytest.mark.parametrize("scenario", [SAVED, CHOSEN], ids=["savepoint", "chosen"])
def test_what_was_asked_for_has_completed(mode: str, scenario: tuple[tuple[object, ...], ...]) -> None:
    if mode == "two-phase":
        scenario = (scenario[0], *scenario[2:])  # nothing comes out before a checkpoint
    with tiny(mode) as engine:
        found = run(engine, scenario, SELDOM)
    assert found.violation is None
    values = [one.outcome.value for one in found.entries if isinstance(one.outcome, Outcome)]
    assert [one.completed for one in values if isinstance(one, Asked)] == [True]
    assert [set(one.begins) for one in values if isinstance(one, Life)] == [{0, 1}]


def test_a_request_is_for_the_life_that_runs() -> None:
    with tiny("two-phase") as engine:
        found = run(engine, DIES_WHEN_STOPPED)
    assert found.violation is None
    values = [one.outcome.value for one in found.entries if isinstance(one.outcome, Outcome)]
    assert [one.completed for one in values if isinstance(one, Asked)] == [False, True]


def test_a_life_that_has_nothing_to_read_owes_no_checkpoint() -> None:
    """A legal engine takes none if nothing is new."""
    with tiny("two-phase", "lazy") as engine:
        found = run(engine, DIES_AT_ITS_END)
    assert found.violation is None
    lives = [one.outcome.value for one in found.entries if isinstance(one.outcome, Outcome)
             and isinstance(one.outcome.value, Life)]  # fmt: skip
    assert (lives[-1].restored, lives[-1].completed) == (True, 0)


@pytest.mark.parametrize("mode", ["cut", "batches"])
def test_a_job_that_was_stopped_goes_on_in_another_life(mode: str) -> None:
    with tiny(mode) as engine:
        found = run(engine, STOPPED)
    assert found.violation is None
    outcomes = [one.outcome for one in found.entries if one.step == steps.stop()]
    assert [isinstance(one, Outcome) and one.value for one in outcomes] == [True]


def test_who_loses_records_only_when_it_is_stopped_is_not_accused_when_it_is_killed() -> None:
    killed = tuple(one for one in STOPPED if one != steps.stop())
    with tiny("cut", "skips when stopped") as engine:
        assert run(engine, killed).violation is None


BUGS = [
    ("cut", "lost", CRASHED, "a-job-finishes-when-all-is-committed"),
    ("cut", "doubled", CRASHED, "nothing-is-committed-twice-or-made-up"),
    ("cut", "state", CRASHED, "the-state-is-the-recount"),
    ("cut", "refuses", THROWN, "a-job-starts-again-from-its-own-recovery-data"),
    ("cut", "damages", CRASHED, "a-job-starts-again-from-its-own-recovery-data"),
    ("cut", "invents", CRASHED, "nothing-is-committed-twice-or-made-up"),
    ("cut", "early", (steps.supply(0, 34), steps.settle("idle")), "a-job-is-over-once-and-for-a-reason"),
    ("cut", "crashes", (steps.supply(0, 34),), "a-job-is-over-once-and-for-a-reason"),
    (
        "two-phase",
        "vanishes",
        (steps.supply(0, 5), steps.settle("idle"), steps.rows(SINK), *CRASHED[2:], steps.rows(SINK)),
        "what-was-committed-stays",
    ),
    ("batches", "changes", REPLAYED, "a-replayed-batch-is-the-same"),
    ("appends", "repeats", CRASHED, "a-record-comes-again-only-from-a-later-life"),
    ("appends", "no-checkpoint", CRASHED, "a-life-that-restores-completes-a-checkpoint"),
    ("appends", "no-checkpoint", THROWN, "a-life-that-restores-completes-a-checkpoint"),
    ("cut", "skips", CRASHED, "the-counts-of-a-key-are-a-run"),
    ("cut", "renames", CRASHED, "each-row-has-the-key-of-its-record"),
    ("cut", "no savepoint", SAVED, "a-life-begins-behind-what-was-asked-for"),
    ("appends", "no savepoint", SAVED, "what-came-out-before-a-savepoint-does-not-come-again"),
    ("cut", "no choice", CHOSEN, "a-life-begins-behind-what-was-asked-for"),
    ("cut", "skips when stopped", STOPPED, "a-job-finishes-when-all-is-committed"),
]


@cache
def conforms(mode: str, scenario: tuple[tuple[object, ...], ...], every: int) -> bool:
    with tiny(mode) as engine:
        return run(engine, scenario, every).violation is None


WORDS = {
    ("cut", "lost"): "a job that has finished has written each record; it has finished without record ",
    ("cut", "crashes"): "a job runs until its input has ended, and does not fail on its own; it has failed: exit status"
    " 1: out of luck",
    ("batches", "changes"): "batch 1 was written with records 4, 5, 6, 7; written again, it has records 4, 5, 6, 7, 8",
}  # fmt: skip
"""How what is said of some of them begins."""


@pytest.mark.parametrize(("mode", "bug", "scenario", "slug"), one_of(2, BUGS, lambda one: f"{one[0]} {one[1]}"))
def test_a_bug_breaks_its_rule(mode: str, bug: str, scenario: tuple[tuple[object, ...], ...], slug: str) -> None:
    every = SELDOM if scenario in (SAVED, CHOSEN) else 4
    assert conforms(mode, scenario, every), "without the bug"
    with tiny(mode, bug) as engine:
        found = run(engine, scenario, every).violation
    assert found is not None
    assert found.property.slug == slug
    said = f"{found.broken.owed}; {found.broken.observed}"
    assert said.startswith(WORDS.get((mode, bug), ""))


def _told(*committed: tuple[Run, ...], **supplied: int) -> EpisodeLedger:
    """A ledger of a job with one split, which has heard of rows."""
    ledger = EpisodeLedger(EpisodeConfig())
    ledger.supplied[0] = supplied.get("supplied", 1_000)
    ledger.hear([Committed(SINK, Transaction(0, 0), runs) for runs in committed])
    return ledger


@pytest.mark.parametrize(
    ("committed", "said"),
    [
        (((Run(1, 1),), (Run(1, 1),)), "record 1: twice"),
        (((Run(1, 1),), (Run(1, 1), Run(1, 1))), "record 1: 3 times"),
        (((Run(1, 2), Run(1, 2), Run(1, 1)),), "records 1, 2: up to 3 times"),
        (((Run(0, 299),), (Run(33, 76),)), "records 33, 34, 35, 36, 37, 38 and 38 more: twice"),
        (((Run(0, 299),), (Run(0, 297, 11),)), "records 0, 11, 22, 33, 44, 55 and 22 more: twice"),
        (((Run(0, 299),), (Run(0, 299),)), "records 0, 1, 2, 3, 4, 5 and 294 more: twice"),
    ],
)  # fmt: skip
def test_a_message_counts_what_comes_again(committed: tuple[tuple[Run, ...], ...], said: str) -> None:
    assert _told(*committed).found[TWICE].observed == said


def test_a_message_counts_what_is_missing() -> None:
    ledger = _told((Run(0, 2), Run(10, 99)))
    ledger.ended = {0}
    ledger.hear([JobOver(JobStatus.FINISHED)])
    said = "it has finished without records 3, 4, 5, 6, 7, 8 and 901 more"
    assert ledger.found["a-job-finishes-when-all-is-committed"].observed == said


def test_a_number_and_a_text_are_shown_as_what_they_are() -> None:
    ledger, seen = SimpleNamespace(key_of=lambda record: 1, named=named), SimpleNamespace(value=[Row("1", 1, 0)])
    found: Any = each_row_has_the_key_of_its_record
    broken = found(ledger, seen)
    assert (broken.owed, broken.observed) == ("record 0 has key 1", 'it came out with key "1"')


@pytest.mark.parametrize("mode", ["cut", "appends"])
def test_an_engine_that_restarts_the_job_itself_goes_on_in_one_life(mode: str) -> None:
    with tiny(mode, "restarts") as engine:
        found = run(engine, (*THROWN, steps.life()))
    assert found.violation is None
    values = [one.outcome.value for one in found.entries if isinstance(one.outcome, Outcome)]
    assert Life(0, True, 5, {0: 0, 1: 0}) in [replace(one, completed=5) for one in values if isinstance(one, Life)]


def test_an_engine_that_promises_to_restart_and_ends_is_accused() -> None:
    with tiny("cut", "gives up") as engine:
        found = run(engine, THROWN).violation
    assert found is not None
    assert found.property.slug == "a-job-is-over-once-and-for-a-reason"


def test_an_engine_that_hangs_is_not_accused() -> None:
    with tiny("cut", "hangs", patience=0.3) as engine:
        found = run(engine, (steps.supply(0, 5), steps.fault("count", "ends", 5)))
    assert found.violation is None
    assert [one.outcome.value for one in found.entries if one.closing and one.step == steps.settle("over")
            and isinstance(one.outcome, Outcome)] == [False]  # fmt: skip


SILENT = """import json, pathlib, sys, time
what, *rest = sys.argv[1:]
number = pathlib.Path(rest[0]) / "number" if rest else None
if what == "describe":
    print(json.dumps({"name": "silent", "rows": "out", "progress": "out", "checkpoints": True, "start_seconds": 3}))
elif what == "command":
    print(json.dumps([sys.executable, "-S", __file__, "run", *rest]))
elif what == "checkpoints":
    print(number.read_text() if number.exists() else 0)
elif what == "run":
    time.sleep(0.1)
    number.write_text("1")
    time.sleep(60)
"""


def test_a_checkpoint_is_seen_although_nothing_shows_progress(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(SILENT, encoding="utf-8")
    with closing(Engine((sys.executable, "-S", "-E", str(tmp_path / "adapter.py")), 3.0)) as engine:
        found = run_scenario(
            Program(COMPONENT, engine), EpisodeConfig(promises=engine.describe().promises),
            (steps.settle("no-checkpoint"),), record=True,
        )  # fmt: skip
    assert isinstance(found.entries[0].outcome, Outcome)
    assert found.entries[0].outcome.value is True
