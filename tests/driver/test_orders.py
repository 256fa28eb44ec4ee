"""Threads take locks in one order: each run is judged by itself, whatever the runs before it did."""

from __future__ import annotations

from typing import Literal

import pytest

from conformance.driver import FINISH, ONE_ORDER, Program, Violation, World
from tests.engines import toy
from tests.engines.toy_gate import ToyConfig

CONVERT = (("convert", 0),)
TAKE = (("push", 0), ("take",))
NONE, ONE, OTHER, BOTH = (), CONVERT, TAKE, (*TAKE, *CONVERT)
"""Runs in which threads take no lock inside another one, the lock of a channel before that of the gate, the other way
round, and both."""


def contradicts(program: Program, steps, interleaving: Literal["whole", "fine"] = "whole") -> bool:
    """Each operation goes on to its end at once, also where threads pause wherever they await."""
    world = World(program, ToyConfig(1, interleaving))
    try:
        for step in steps:
            world.perform(step)
            for thread in world.threads.values():
                if thread.runnable:
                    world.perform((FINISH, thread.name))
    except Violation as violation:
        return violation.property.slug == ONE_ORDER
    finally:
        world.close()
    return False


@pytest.mark.parametrize("before", [[], [ONE], [OTHER], [ONE, OTHER], [OTHER, ONE, BOTH], [BOTH, BOTH]])
@pytest.mark.parametrize("interleaving", ["whole", "fine"])
def test_a_run_is_judged_as_if_it_were_the_first_one(before, interleaving):
    program = toy.broken("lock-order")
    for steps in before:
        assert contradicts(program, steps, interleaving) == (steps == BOTH)
    for steps in (NONE, ONE, OTHER, BOTH, ONE, BOTH):
        assert contradicts(program, steps, interleaving) == (steps == BOTH)
