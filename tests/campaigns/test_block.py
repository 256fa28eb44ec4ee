from __future__ import annotations

import random
from contextlib import contextmanager

import msgspec
import pytest

from conformance.campaigns import (
    Block,
    CampaignError,
    Inline,
    Names,
    Processes,
    RunnerUnavailable,
    load,
    make_plan,
    resume,
    start,
    status,
)
from conformance.campaigns import block as block_of
from conformance.campaigns.apart import attempt_block
from conformance.campaigns.block import decode, decode_tally, encode, encode_tally, replay_part, run_block
from conformance.campaigns.code import CodeLog
from conformance.campaigns.files import read
from conformance.campaigns.merge import Sum
from conformance.campaigns.rows import blocks_of, rows_of
from conformance.campaigns.seconds import Watch
from conformance.campaigns.tables import read_table
from conformance.components import COMPONENTS
from conformance.driver import Components, Program, Run, run_scenario
from conformance.engines.check import search_range
from conformance.engines.compare import first_difference
from conformance.engines.corpus import corpus
from conformance.engines.manners import MANNERS
from conformance.engines.search import Search
from conformance.ports import CheckpointReason, DataAvailable, Error, ErrorKind, Outcome, find_implementation
from conformance.scenarios import Entry
from conformance.scenarios.codec import ScenarioFile

SUITE = Names()
DEQUE_ONLY = Components("tests.campaigns.test_block:DEQUE_ONLY", (COMPONENTS["deque"],))
NAMES = ("reference", "reference-recover-first", "known-bug:B-01")
PLAN = make_plan("block", NAMES, scenarios=60, block=20)


FEW = make_plan("block", NAMES, ("deque", "gate", "subpartition"), scenarios=60, block=20)
"""Three components, of which one fails and differs, in several blocks each: they are added up one like the other."""


def results():
    return [run_block(FEW, block, SUITE) for block in FEW.blocks()]


def added(blocks):
    total = Sum()
    for one in blocks:
        total.add(one, COMPONENTS)
    return total


def test_a_block_survives_its_rows():
    result = run_block(PLAN, Block("subpartition", 0, 0, 60), SUITE)
    assert result.tallies["known-bug:B-01"].failures
    assert result.differences
    (again,) = blocks_of(rows_of(result), PLAN.digest)
    assert again == result
    tally = decode_tally(again.tallies["known-bug:B-01"], COMPONENTS)
    assert encode_tally(tally) == result.tallies["known-bug:B-01"]


def test_a_block_of_an_earlier_version_names_its_steps_as_they_were_called():
    config = msgspec.to_builtins(COMPONENTS["spill"].configs[0])
    file = ScenarioFile(2, "spill", config, (("finish",), ("append_too_late",)))
    assert decode(file, COMPONENTS).steps == (("finish",), ("append", 0, 0, 1))
    assert decode(encode(decode(file, COMPONENTS)), COMPONENTS).steps == (("finish",), ("append", 0, 0, 1))


def test_the_baseline_does_what_a_check_does():
    program = Program(COMPONENTS["subpartition"], find_implementation("reference"))
    expected = search_range(program, "block", range(20, 40))
    assert run_block(PLAN, Block("subpartition", 1, 20, 20), SUITE).tallies["reference"] == encode_tally(expected)


def test_the_order_of_blocks_does_not_matter():
    blocks = results()
    for found in ([bool(one.tallies[NAMES[2]].failures) for one in blocks], [bool(one.differences) for one in blocks]):
        assert found.count(True) > 1
    expected = added(blocks)
    for _ in range(3):
        random.Random(1).shuffle(blocks)
        total = added(blocks)
        assert total == expected


def test_a_component_that_somebody_does_not_offer_is_left_out():
    plan = make_plan("block", ["reference", "tests.implementations:With"], scenarios=5)
    assert list(run_block(plan, Block("deque", 0, 0, 5), SUITE).tallies) == ["reference"]


def test_implementations_are_closed_also_after_an_error():
    closed = []

    def find(name):
        if name == NAMES[2]:
            raise RuntimeError("not here")
        found = find_implementation(name)
        found.close = lambda: closed.append(name)  # type: ignore[method-assign]
        return found

    result = attempt_block(PLAN, Block("deque", 0, 0, 1), Names(find))
    assert closed == [*reversed(NAMES[:2])]
    assert result.tallies == {}
    assert result.lost is not None
    assert result.lost.startswith("RuntimeError: not here (test_block.py, line ")


def test_an_implementation_that_exits_has_crashed():
    plan = make_plan("block", ["reference", "tests.campaigns.dying:exits"], ["deque"], scenarios=2)
    result = attempt_block(plan, next(plan.blocks()), SUITE)
    assert result.lost is None
    (failure,) = result.tallies["tests.campaigns.dying:exits"].failures
    assert failure.failure_class == "crashed"
    assert failure.observed.endswith("SystemExit: enough")


def test_each_scenario_of_the_corpus_has_the_time_of_a_scenario(monkeypatch):
    """All of them had it together, so that one that is slow was accused of hanging, and what followed had no limit."""
    limits = []

    @contextmanager
    def limited(seconds):
        limits.append(seconds)
        yield

    monkeypatch.setattr(block_of, "limited", limited)
    program = Program(COMPONENTS["deque"], find_implementation("reference"))
    numbers = range(len(corpus(program.component)))
    replay_part(PLAN, Block("deque", 0, 0, 20), program, "reference", numbers, Watch())
    assert limits == [PLAN.scenario_seconds] * len(numbers)


def test_a_difference_is_no_violation_and_its_example_shows_it():
    result = run_block(PLAN, Block("subpartition", 0, 0, 60), SUITE)
    assert not result.tallies["reference-recover-first"].failures
    for one in result.differences:
        # The failure of the known bug is a violation, and so it is not a difference.
        assert one.implementation == "reference-recover-first"
        scenario = decode(one.scenario, COMPONENTS)
        baseline, other = (
            run_scenario(
                Program(COMPONENTS["subpartition"], find_implementation(name)), scenario.config, scenario.steps, True
            )
            for name in NAMES[:2]
        )
        assert first_difference(baseline, other) == (len(scenario.steps) - 1, one.operation, one.field)


# ---- components of one's own -----------------------------------------------------------------------------------------
MINE = Names(components=DEQUE_ONLY)


@pytest.mark.slow  # three campaigns
def test_a_campaign_knows_the_components_that_it_is_given_and_no_others(tmp_path):
    plan = make_plan("mine", NAMES[:2], scenarios=16, block=4, names=MINE)
    assert plan.components == ("deque",)
    result = start(tmp_path / "inline", plan, Inline(MINE))
    assert [part.scenarios for one in result.implementations for part in one.components] == [16, 16]
    start(tmp_path / "processes", plan, Processes(2, MINE))
    expected = (tmp_path / "inline" / "result.json").read_bytes()
    assert (tmp_path / "processes" / "result.json").read_bytes() == expected
    start(tmp_path / "suite", plan, Inline())  # it is the same component as in the smaller map
    assert (tmp_path / "suite" / "result.json").read_bytes() == expected


def test_components_that_there_are_not_are_refused_before_anything_runs(tmp_path):
    expected = "there is no component 'persister'; there are deque"
    with pytest.raises(CampaignError, match=f"makes no sense: {expected}"):
        make_plan("mine", ["reference"], ["persister"], scenarios=1, names=MINE)
    plan = make_plan("mine", ["reference"], ["persister"], scenarios=1)
    with pytest.raises(CampaignError, match=f"makes no sense: {expected}"):
        start(tmp_path / "c", plan, Inline(MINE))
    assert not (tmp_path / "c").exists()
    start(tmp_path / "c", plan, Inline())
    for read_file, of in (
        (lambda: resume(tmp_path / "c", Inline(MINE)), "plan"),
        (lambda: status(tmp_path / "c", DEQUE_ONLY), "plan"),
        (lambda: load(tmp_path / "c", DEQUE_ONLY), "result"),
    ):
        with pytest.raises(CampaignError, match=rf"{of}\.json: {expected}\. Somebody changed the file"):
            read_file()


@pytest.mark.parametrize("runner", [Inline(MINE), Processes(1, MINE)], ids=lambda one: one.name)
def test_a_block_looks_its_component_up_where_the_runner_says(runner, tmp_path):
    plan = make_plan("mine", ["reference"], ["persister"], scenarios=2, block=2)
    with runner.opened(plan) as running:
        running.run([list(plan.blocks())], tmp_path, print, print)
    (result,) = blocks_of(read_table(next(tmp_path.iterdir()).read_bytes()), plan.digest)
    assert (result.lost or "").startswith("KeyError: \"there is no component 'persister'; there are deque\"")


def test_no_file_says_where_components_stand_but_their_code_counts(tmp_path):
    start(tmp_path, make_plan("mine", ["reference"], scenarios=1, names=MINE), Inline(MINE))
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.json")]
    assert len(texts) == 6
    assert not any("DEQUE_ONLY" in text or "tests.campaigns" in text for text in texts)
    (tmp_path / "result.json").unlink()
    assert "components (test_block.py)" in read(tmp_path / "code.json", CodeLog).codes[0].files
    with pytest.raises(CampaignError, match=r"components \(test_block.py\) is gone"):
        resume(tmp_path, Inline())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (Names(components=Components("tests.campaigns.test_block:NOWHERE", ())), "no attribute 'NOWHERE'"),
        (Names(components=Components("", ())), "Empty module name"),
        (Names(components=Components(DEQUE_ONLY.where, ())), "test_block:DEQUE_ONLY has other components"),
        (Names(lambda _: find_implementation("reference")), "lambda"),
    ],
)
def test_what_other_processes_cannot_look_up_is_refused_before_they_start(names, expected):
    plan = make_plan("mine", ["reference"], ["deque"], scenarios=1)
    with pytest.raises(RunnerUnavailable, match=expected):
        Processes(1, names).opened(plan).__enter__()


def run(*outcomes, violation=None, step="poll"):
    made = Run(None, 0, violation)
    made.entries = tuple(Entry((step,), outcome) for outcome in outcomes)
    return made


def failing(*outcomes):
    return run(*outcomes, violation=object())


ONE = Outcome(1)
IO = Outcome(error=Error(ErrorKind.IO, "disk full"))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (run(ONE), run(Outcome(2)), (0, "poll", "value")),
        (run(ONE), run(Outcome(True)), (0, "poll", "value")),
        (run(ONE, ONE), run(ONE, Outcome(object())), (1, "poll", "value")),
        (run(Outcome((1,))), run(Outcome([1])), None),
        (run(ONE), run(Outcome(1, (DataAvailable(),))), (0, "poll", "signals")),
        (run(IO), run(Outcome(error=Error(ErrorKind.IO, "pas de place"))), None),
        (run(IO), run(Outcome(error=Error(ErrorKind.STATE))), (0, "poll", "error")),
        (run(IO), run(Outcome()), (0, "poll", "error")),
        (
            run(Outcome(error=Error(ErrorKind.CHECKPOINT, "", CheckpointReason.DECLINED))),
            run(Outcome(error=Error(ErrorKind.CHECKPOINT, "", CheckpointReason.EXPIRED))),
            (0, "poll", "error"),
        ),
        (run(ONE), run(None), (0, "poll", "enabled")),
        (run(ONE), run(ONE, step="fail"), (0, "poll", "enabled")),
        (run(ONE), run(ONE, ONE), (1, "poll", "enabled")),
        (run(ONE, ONE), run(ONE), (1, "poll", "enabled")),
        (run(ONE), failing(Outcome(2)), None),
        (failing(ONE), run(Outcome(2), ONE), None),
        (run(ONE, ONE), failing(Outcome(2), ONE), (0, "poll", "value")),
        (run(ONE, ONE), failing(ONE, Outcome(2)), None),
        (failing(), run(ONE), None),
    ],
)
def test_what_counts_as_a_difference(left, right, expected):
    assert first_difference(left, right) == expected


def test_a_block_draws_its_scenarios_in_the_manners_of_its_plan():
    """By their numbers, also on an implementation that is run until it is found."""
    names = ("reference", "known-bug:B-D1")
    plan = make_plan("m", names, ["deque"], scenarios=8, block=4, manners=("weighted", "uniform"), until_found=True)
    search = Search(Program(COMPONENTS["deque"], find_implementation("reference")))
    steps = [len(search.run(f"m/deque/{n}", by=MANNERS[("weighted", "uniform")[n % 2]])[0].steps) for n in range(4, 8)]
    result = run_block(plan, Block("deque", 1, 4, 4), SUITE)
    assert result.tallies["reference"].steps == sum(steps)
    assert set(result.tallies) == set(names)
