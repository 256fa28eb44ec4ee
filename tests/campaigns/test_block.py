from __future__ import annotations

import random

import msgspec
import pytest

from conformance.alphabets import Run, alphabet_of, run_scenario
from conformance.alphabets.program import Program
from conformance.campaigns import Block, make_plan
from conformance.campaigns.block import BlockResult, attempt_block, decode, decode_tally, encode_tally, run_block
from conformance.campaigns.merge import merge
from conformance.engines.check import search_range
from conformance.engines.compare import first_difference
from conformance.ports import CheckpointReason, DataAvailable, Error, ErrorKind, Outcome, find_implementation
from conformance.scenarios import Entry, canonical

NAMES = ("reference", "reference-recover-first", "known-bug:B-01")
PLAN = make_plan("block", NAMES, scenarios=60, block=20)


def results():
    return [run_block(PLAN, block) for block in PLAN.blocks()]


def test_a_block_survives_json():
    result = run_block(PLAN, Block("subpartition", 0, 0, 60))
    assert result.tallies["known-bug:B-01"].failures
    assert result.differences
    again = msgspec.json.decode(canonical(result), type=BlockResult)
    assert again == result
    tally = decode_tally(again.tallies["known-bug:B-01"])
    assert encode_tally(tally) == result.tallies["known-bug:B-01"]


def test_the_baseline_does_what_a_check_does():
    program = Program(alphabet_of("subpartition"), find_implementation("reference"))
    expected = search_range(program, "block", range(20, 40))
    assert run_block(PLAN, Block("subpartition", 1, 20, 20)).tallies["reference"] == encode_tally(expected)


def test_the_order_of_blocks_does_not_matter():
    expected, blocks = merge(results()), results()
    for _ in range(3):
        random.Random(1).shuffle(blocks)
        total = merge(blocks)
        assert total == expected


def test_a_component_that_somebody_does_not_offer_is_left_out():
    plan = make_plan("block", ["reference", "tests.implementations:With"], scenarios=5)
    assert list(run_block(plan, Block("deque", 0, 0, 5)).tallies) == ["reference"]


def test_implementations_are_closed_also_after_an_error():
    closed = []

    def find(name):
        if name == NAMES[2]:
            raise RuntimeError("not here")
        found = find_implementation(name)
        found.close = lambda: closed.append(name)  # type: ignore[method-assign]
        return found

    result = attempt_block(PLAN, Block("deque", 0, 0, 1), find)
    assert closed == [*reversed(NAMES[:2])]
    assert result.tallies == {}
    assert result.lost is not None
    assert result.lost.startswith("RuntimeError: not here (test_block.py, line ")


def test_an_implementation_that_exits_loses_the_block_only():
    plan = make_plan("block", ["reference", "tests.campaigns.dying:exits"], ["deque"], scenarios=2)
    lost = attempt_block(plan, next(plan.blocks())).lost
    assert lost is not None
    assert lost.startswith("SystemExit: enough (dying.py, line ")


def test_a_difference_is_no_violation_and_its_example_shows_it():
    result = run_block(PLAN, Block("subpartition", 0, 0, 60))
    assert not result.tallies["reference-recover-first"].failures
    for one in result.differences:
        # What the known bug does wrong is a violation, so it is not a difference as well.
        assert one.implementation == "reference-recover-first"
        scenario = decode(one.scenario)
        baseline, other = (
            run_scenario(
                Program(alphabet_of("subpartition"), find_implementation(name)), scenario.config, scenario.steps, True
            )
            for name in NAMES[:2]
        )
        assert first_difference(baseline, other) == (len(scenario.steps) - 1, one.operation, one.field)


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
