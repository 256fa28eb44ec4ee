"""Which blocks are run next, and how they are divided into tasks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from conformance.campaigns import Plan
from conformance.campaigns.merge import Ran, Sum
from conformance.campaigns.rounds import MOST_OF_A_ROUND, cost_of, round_after, tasks_of, wave_after

FEW: dict[str, Any] = {"implementations": ("reference",), "components": ("deque", "gate", "spill"), "block": 10}
ENDLESS = Plan("r", minutes=1, **FEW)
GOAL = 1_000_000
STEPS = Plan("r", steps=GOAL, **FEW)


def rounds(plan: Plan, steps_per_block: int = 0) -> list[int]:
    ends = [0]
    while (end := round_after(plan, ends[-1], ends[-1] * steps_per_block)) > ends[-1] and len(ends) < 2_000:
        ends.append(end)
    return ends[1:]


def test_rounds_double_up_to_a_limit_and_have_all_components():
    ends = rounds(ENDLESS)
    sizes = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    assert sizes[:5] == [9, 9, 18, 36, 72]
    assert max(sizes) == sizes[-1] == 1026
    assert MOST_OF_A_ROUND <= 1026 < MOST_OF_A_ROUND + len(ENDLESS.components)


@given(st.integers(1, 3_000))
def test_rounds_cover_a_plan(scenarios):
    plan = Plan("r", scenarios=scenarios, **FEW)
    assert rounds(plan)[-1] == plan.number_of_blocks


@given(st.integers(10, 100_000))
def test_a_goal_in_steps_ends_with_the_first_round_that_reaches_it(steps_per_block):
    """No more blocks than needed, but for the first ones, and for the turn of each component."""
    ends = rounds(STEPS, steps_per_block)
    assert ends[-1] * steps_per_block >= GOAL
    assert (ends[-2] if len(ends) > 1 else 0) * steps_per_block < GOAL
    assert ends[-1] <= max(9, -(-GOAL // steps_per_block) + 2)


def total(**seconds: float) -> Sum:
    """As if ten blocks of each component had been run, which took so many seconds each."""
    return Sum(ran={name: Ran(10, 100, 10 * one) for name, one in seconds.items()})


def test_a_block_costs_what_those_of_its_component_did():
    known = total(deque=1.0, gate=5.0)
    assert [cost_of(ENDLESS.block_at(at), known) for at in range(3)] == [1.0, 5.0, 3.0]


def test_a_block_costs_nothing_for_implementations_that_have_left():
    known = total(deque=1.0, gate=5.0)
    known.seconds = {("deque", "known-bug:B-D1"): 2.5, ("deque", "reference"): 5.0, ("gate", "known-bug:B-D1"): 10.0}
    blocks = [replace(ENDLESS.block_at(at), without=("known-bug:B-D1",)) for at in range(3)]
    assert [cost_of(one, known) for one in blocks] == [0.75, 4.0, 2.375]
    assert (
        wave_after(ENDLESS, 30, 60, known, 1, 4.75, {"deque": ("known-bug:B-D1",), "gate": ("known-bug:B-D1",)}) == 32
    )


@pytest.mark.parametrize(
    ("places", "seconds", "blocks"), [(1, 9.0, 3), (1, 9.1, 4), (4, 9.0, 12), (1, 0.1, 1), (99, 120.0, 30)]
)
def test_a_wave_takes_so_many_seconds_and_never_goes_beyond_its_round(places, seconds, blocks):
    known = total(deque=1.0, gate=5.0, spill=3.0)
    assert wave_after(ENDLESS, 30, 60, known, places, seconds) == 30 + blocks


def test_a_wave_without_a_block_that_was_measured_is_the_round():
    assert wave_after(ENDLESS, 0, 9, Sum(), 1, 0.0) == 9


@given(
    st.integers(1, 200), st.integers(1, 40),
    st.fixed_dictionaries({name: st.floats(0, 40) for name in ENDLESS.components}),
)  # fmt: skip
def test_tasks_have_each_block_once_and_are_short_enough(count, places, seconds):
    blocks = [ENDLESS.block_at(position) for position in range(count)]
    known = total(**seconds)
    tasks = tasks_of(blocks, known, places)
    assert sorted((one for task in tasks for one in task), key=ENDLESS.position_of) == blocks
    costs = [sum(cost_of(one, known) for one in task) for task in tasks]
    assert costs == sorted(costs, reverse=True)
    assert all(cost <= 30.0001 for cost, task in zip(costs, tasks, strict=True) if len(task) > 1)
    if sum(costs):
        assert max(costs) <= max(sum(costs) / places, *seconds.values()) + 0.0001, "no core works longer than it must"
