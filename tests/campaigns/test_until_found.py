"""Known bugs are run until they are found, each in its component."""

from __future__ import annotations

import msgspec
import pytest

from conformance.campaigns import (
    CampaignError,
    CampaignInterrupted,
    Inline,
    Names,
    Plan,
    Processes,
    Spark,
    files,
    load,
    make_plan,
    named,
    resume,
    start,
    waves,
)
from conformance.campaigns.block import run_block
from conformance.campaigns.checking import check_block
from conformance.campaigns.plan import Block
from conformance.campaigns.rounds import round_after
from conformance.campaigns.spark_setup import spark_problem
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.apart import our_known_bugs
from conformance.engines.search import Search, numbered_seeds
from conformance.ports import find_implementation
from conformance.reporting.campaign import campaign_verdicts
from conformance.reporting.columns import Word
from conformance.scenarios import canonical
from tests.campaigns.ended import in_waves_of_one

BUGS = ("known-bug:B-D1", "known-bug:B-D7", "known-bug:B-D11")
FIRST = {"known-bug:B-D1": 1, "known-bug:B-D7": 0, "known-bug:B-D11": 2}
"""The numbers of the scenarios in which they are found."""
PLAN = make_plan("0", ("reference", *BUGS), ["deque", "spill"], scenarios=40, block=1, budget=50, until_found=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "campaign"
    start(folder, PLAN, Inline())
    return folder


def ran(folder):
    result = load(folder)
    return {(one.name, part.component): part.scenarios for one in result.implementations for part in one.components}


def test_each_is_run_in_its_component_up_to_the_first_failure(whole):
    """A round has 1, 1, 2, … blocks of each component, and the last bug is found in the third round."""
    found = ran(whole)
    scenarios = {name: first + 1 for name, first in FIRST.items()}
    scenarios["known-bug:B-D11"] += 1  # the other block of its round
    assert {name: found[name, "deque"] for name in BUGS} == scenarios
    assert set(found) == {("reference", "deque"), ("reference", "spill"), *((name, "deque") for name in BUGS)}
    assert found["reference", "deque"] == found["reference", "spill"] == 4, "the campaign has ended with the last bug"
    firsts = {one.name: [f.first for p in one.components for f in p.findings] for one in load(whole).implementations}
    assert firsts == {"reference": [], **{name: [first] for name, first in FIRST.items()}}


@pytest.mark.parametrize("name", BUGS)
def test_the_first_hit_is_that_of_a_search_for_the_bug_alone(name):
    """The same seed gives the same scenarios, which are drawn on the bug itself, and its corpus is not replayed."""
    search = Search(Program(COMPONENTS["deque"], find_implementation(name)))
    failed = (number for number, text in numbered_seeds(PLAN.seed, "deque", range(40)) if search.run(text)[1].violation)
    assert next(failed) == FIRST[name]


def test_a_component_that_all_have_left_is_not_run_any_more_and_others_are():
    block = Block("deque", 3, 3, 1, (*BUGS, "reference"))
    assert run_block(PLAN, block, Names()).tallies == {}
    assert set(run_block(PLAN, Block("deque", 3, 3, 1, BUGS[:1]), Names()).tallies) == {"reference", *BUGS[1:]}


def test_there_is_no_other_round_when_all_are_found_unless_others_are_compared():
    assert round_after(PLAN, 4, 100, 2) == 8
    assert round_after(PLAN, 4, 100, 3) == 4
    more = make_plan(
        "0", ("reference", "reference-recover-first", *BUGS), ["deque"], scenarios=40, block=1, until_found=True
    )
    assert round_after(more, 4, 100, 3) == 8


@pytest.mark.parametrize("runner", [Inline(), pytest.param(Processes(2), marks=pytest.mark.slow)])
def test_a_campaign_that_is_stopped_in_a_round_goes_on_as_it_began_it(whole, tmp_path, monkeypatch, runner):
    """In the third round, the wave before the stop has found a bug that is still run in the next one."""
    in_waves_of_one(monkeypatch)

    def stop(state):
        if state.committed == 5:
            raise KeyboardInterrupt

    with pytest.raises(CampaignInterrupted):
        start(tmp_path / "c", PLAN, Inline(), stop)
    resume(tmp_path / "c", runner)
    assert (tmp_path / "c" / files.RESULT).read_bytes() == (whole / files.RESULT).read_bytes()
    blocks = [one for one, _ in waves.all_blocks(tmp_path / "c", PLAN, COMPONENTS)]
    assert [set(one.tallies) - {"reference"} for one in blocks if one.block.component == "deque"] == [
        set(BUGS), {BUGS[0], BUGS[2]}, {BUGS[2]}, {BUGS[2]},
    ]  # fmt: skip


@pytest.mark.skipif(spark_problem() is not None, reason=spark_problem() or "")
@pytest.mark.spark
@pytest.mark.slow  # a JVM; the bytes of Spark are compared in test_spark, too
@pytest.mark.xdist_group("spark")
def test_spark_comes_to_the_same_bytes(whole, tmp_path):
    start(tmp_path / "spark", PLAN, Spark(workers=2))
    assert (tmp_path / "spark" / files.RESULT).read_bytes() == (whole / files.RESULT).read_bytes()


@pytest.mark.slow  # a campaign in a worker; others are run in this process by default
def test_a_stranger_among_them_changes_nothing_for_a_known_bug(tmp_path):
    """All are run in a worker then, in which a bug that ends its process would be found, too."""
    names = ("reference", "tests.implementations:reference", *BUGS)
    plan = make_plan("0", names, ["deque"], scenarios=4, block=4, budget=0, until_found=True)
    result = start(tmp_path / "c", plan, Inline())
    assert {one.name: one.components[0].scenarios for one in result.implementations} == {
        names[0]: 4, names[1]: 4, **{name: first + 1 for name, first in FIRST.items()},
    }  # fmt: skip


def test_what_a_bug_did_not_come_to_is_not_tested(whole):
    shown = campaign_verdicts(load(whole))
    (bug,) = (one for one in shown.tried if one.name == "known-bug:B-D7")
    (column,) = bug.columns
    words = {cell.word for cell in column.cells.values()}
    assert Word.NOT_TESTED in words
    assert Word.NOT_EXERCISED not in words
    assert not bug.never_used
    assert any("3 known bugs, of which 3 failed" in remark.sentence for remark in shown.remarks)


def test_a_plan_without_it_is_written_as_before():
    """Its digest is in the waves of every campaign that was run before."""
    plan = Plan("s", ("reference", "known-bug:B-01"), ("deque",), 5, 10)
    assert "until_found" not in canonical(plan)
    assert plan.digest == "27e9c8c7ff1b88ea"
    assert msgspec.json.decode(canonical(PLAN), type=Plan) == PLAN


def test_known_bugs_are_named_together():
    deque = [f"known-bug:{one.id}" for one in our_known_bugs().values() if one.component == "deque"]
    assert named(["reference", "known-bugs:deque"]) == ("reference", *deque)
    assert named(["reference", deque[3], "known-bugs"], ["deque"]) == (
        "reference", deque[3], *(one for one in deque if one != deque[3])
    )  # fmt: skip
    assert len(named(["known-bugs"])) == len(our_known_bugs())
    with pytest.raises(CampaignError, match="no known bug of deck, as 'known-bugs:deck'"):
        named(["known-bugs:deck"])


@pytest.mark.parametrize(
    ("names", "components", "why"),
    [
        (("reference",), ["deque"], "no implementation is a known bug of this suite"),
        ((BUGS[0], "reference"), ["deque"], "Name reference first"),
        (("reference", BUGS[0]), ["spill"], "is sought in 'deque', which is not one of the components"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(names, components, why):
    with pytest.raises(CampaignError, match=why):
        make_plan("0", names, components, scenarios=1, until_found=True)


def test_a_block_in_which_a_bug_was_run_elsewhere_is_refused():
    plan = make_plan("0", ("reference", "known-bug:B-D1"), ["deque", "spill"], scenarios=1, block=1, until_found=True)
    elsewhere = run_block(
        Plan("0", ("reference", "known-bug:B-D1"), ("spill",), 1, 1), Block("spill", 0, 0, 1), Names()
    )
    with pytest.raises(ValueError, match="is sought in deque, and was run in spill"):
        check_block(elsewhere, plan, COMPONENTS)
