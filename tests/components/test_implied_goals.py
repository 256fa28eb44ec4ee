"""The measure of implied goals finds a goal that another one implies, and no other."""

from __future__ import annotations

from dataclasses import replace

from conformance.components import COMPONENTS
from conformance.driver import Kind, Property
from tests.components.implied_goals import implied

DEQUE = COMPONENTS["deque"]
GOAL = next(one for one in DEQUE.properties if one.kind is Kind.SOMETIMES)


def test_a_goal_is_implied_by_its_twin_and_by_nothing_else():
    twin = replace(GOAL, slug="a-twin-of-another-goal")
    found = implied(replace(DEQUE, properties=(*DEQUE.properties, twin)), 60, by_rules=False)
    assert {(one, other) for one, other, _, _ in found} == {(GOAL.slug, twin.slug), (twin.slug, GOAL.slug)}
    assert all(count == of > 0 for _, _, count, of in found)


def test_a_goal_that_is_reached_less_often_is_not_implied():
    def rarely(ledger: object, seen: object) -> bool:
        return bool(GOAL.check(ledger, seen)) and next(calls) % 3 == 0

    calls = iter(range(1_000_000))
    rare = Property("a-rare-goal", "Rare.", DEQUE.name, GOAL.on, rarely, kind=Kind.SOMETIMES)
    found = implied(replace(DEQUE, properties=(*DEQUE.properties, rare)), 60, by_rules=False)
    assert (GOAL.slug, rare.slug) not in {(one, other) for one, other, _, _ in found}
