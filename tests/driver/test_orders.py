"""Threads take locks in one order: each run is judged by itself, whatever the runs before it did."""

from __future__ import annotations

import pytest

from conformance.driver import ONE_ORDER, Program, Violation, World
from tests.engines import toy
from tests.engines.toy_gate import ToyConfig

CONVERT = (("convert", 0),)
TAKE = (("push", 0), ("take",))
NONE, ONE, OTHER, BOTH = (), CONVERT, TAKE, (*TAKE, *CONVERT)
"""Runs in which threads take no lock inside another one, the lock of a channel before that of the gate, the other way
round, and both."""


def contradicts(program: Program, steps) -> bool:
    world = World(program, ToyConfig(1))
    try:
        for step in steps:
            world.perform(step)
    except Violation as violation:
        return violation.property.slug == ONE_ORDER
    finally:
        world.close()
    return False


@pytest.mark.parametrize("before", [[], [ONE], [OTHER], [ONE, OTHER], [OTHER, ONE, BOTH], [BOTH, BOTH]])
def test_a_run_is_judged_as_if_it_were_the_first_one(before):
    program = toy.broken("lock-order")
    for steps in before:
        assert contradicts(program, steps) == (steps == BOTH)
    for steps in (NONE, ONE, OTHER, BOTH, ONE, BOTH):
        assert contradicts(program, steps) == (steps == BOTH)
