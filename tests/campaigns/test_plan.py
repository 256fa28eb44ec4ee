from __future__ import annotations

from itertools import islice

import msgspec
import pytest

from conformance.campaigns import Block, CampaignError, Plan, make_plan
from conformance.campaigns.plan import FEWEST_BLOCKS, FEWEST_ROUNDS, MOST_BLOCKS, STEPS_PER_SCENARIO, block_size
from conformance.ports import UnusableImplementation
from conformance.scenarios import canonical

TWO = ("reference", "known-bug:B-01")


def test_a_plan_is_the_same_after_a_round_trip():
    plan = make_plan("s", TWO, scenarios=100)
    again = msgspec.json.decode(canonical(plan), type=Plan)
    assert again == plan
    assert list(again.blocks()) == list(plan.blocks())
    assert again.digest == plan.digest != make_plan("t", TWO, scenarios=100).digest


def test_blocks_hold_every_scenario_once_and_the_components_take_turns():
    plan = make_plan("s", TWO, ["subpartition", "deque"], scenarios=25, block=10)
    assert list(plan.blocks()) == [
        Block(component, number, first, count)
        for number, first, count in ((0, 0, 10), (1, 10, 10), (2, 20, 5))
        for component in ("subpartition", "deque")
    ]
    assert plan.number_of_blocks == 6


def test_without_components_all_that_the_baseline_offers():
    assert make_plan("s", ["tests.implementations:With"], scenarios=1).components == ("subpartition",)


def test_a_campaign_in_minutes_has_no_end_of_its_own():
    plan = make_plan("s", TWO, ["deque", "subpartition"], minutes=1)
    assert plan.number_of_blocks is None
    assert [block.number for block in islice(plan.blocks(), 6)] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("implementations", "expected"), [(1, 2_800), (3, 933)])
def test_large_campaigns_have_blocks_of_about_seven_seconds(implementations, expected):
    assert block_size(implementations, 2, 10**6, None) == expected
    assert block_size(implementations, 2, None, 10**8) == expected
    assert block_size(implementations, 2, None, None) == expected


@pytest.mark.parametrize("components", [1, 17, 18, 40])
def test_components_share_a_goal_in_steps_evenly(components):
    """More of them have fewer scenarios each, and none of them has only the rest."""
    size = block_size(3, components, None, 1_200_000)
    expected = 1_200_000 // STEPS_PER_SCENARIO / components
    if components == 1:  # the most that a block may have
        assert size == block_size(3, 1, None, 10**9)
    else:
        assert expected / 2 < size * FEWEST_ROUNDS < expected * 1.3


def test_huge_campaigns_have_larger_blocks_instead_of_millions():
    plan = make_plan("s", ["reference"], ["deque", "subpartition"], scenarios=10**9)
    assert MOST_BLOCKS * 0.99 < (plan.number_of_blocks or 0) <= MOST_BLOCKS


@pytest.mark.parametrize("scenarios", [4, 20, 1000, 5000])
def test_small_campaigns_have_at_least_eight_blocks(scenarios):
    plan = make_plan("s", TWO, ["deque", "subpartition"], scenarios=scenarios)
    blocks = list(plan.blocks())
    assert FEWEST_BLOCKS <= len(blocks) == plan.number_of_blocks
    assert sum(block.count for block in blocks) == 2 * scenarios


@pytest.mark.parametrize(
    ("implementations", "components", "more", "expected"),
    [
        ([], [], {"scenarios": 1}, "at least one implementation"),
        (["reference", "reference"], [], {"scenarios": 1}, "'reference' is named twice"),
        (
            ["reference"],
            ["gat"],
            {"scenarios": 1},
            "there is no component 'gat'; there are assignment, barrier-handler, chain, consumer-loop, coordinator",
        ),
        (["reference"], [], {}, "exactly one goal"),
        (["reference"], [], {"scenarios": 1, "steps": 1}, "exactly one goal"),
        (["reference"], [], {"scenarios": 0}, "scenarios must be more than 0, found 0"),
        (["reference"], [], {"minutes": -1}, "minutes must be more than 0"),
        (["tests.implementations:With"], ["deque"], {"scenarios": 1}, "Name an implementation first that offers"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(implementations, components, more, expected):
    with pytest.raises(CampaignError, match=expected):
        make_plan("s", implementations, components, **more)


def test_an_implementation_that_does_not_exist_is_noticed_before_anything_runs():
    with pytest.raises(UnusableImplementation, match="There is no implementation 'refrence'"):
        make_plan("s", ["reference", "refrence"], scenarios=1)


def test_a_damaged_plan_says_what_is_wrong():
    raw = msgspec.to_builtins(make_plan("s", TWO, scenarios=1))
    for change, expected in (
        ({"schema": 2}, r"schema"),
        ({"block": 0}, r"block"),
        ({"steps": 3}, "exactly one goal"),
        ({"more": 1}, "unknown field `more`"),
    ):
        with pytest.raises(msgspec.ValidationError, match=expected):
            msgspec.convert(raw | change, Plan)


def test_manners_take_turns_by_the_numbers_of_scenarios():
    plan = make_plan("s", TWO, ["deque"], scenarios=10, manners=("uniform", "weighted", "uniform"))
    drawn = [plan.manner_of(number) for number in range(4)]
    assert [one.name for one in drawn if one is not None] == ["uniform", "weighted", "uniform", "uniform"]
    assert msgspec.json.decode(canonical(plan), type=Plan) == plan
    assert make_plan("s", TWO, ["deque"], scenarios=10).manner_of(0) is None
    with pytest.raises(CampaignError, match="there is no manner 'uniforn'; there are uniform, weighted, prefixes"):
        make_plan("s", TWO, ["deque"], scenarios=10, manners=("uniforn",))
