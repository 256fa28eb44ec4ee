"""What makes a scenario simpler, one change at a time."""

from __future__ import annotations

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.simpler import Ranking, _lowerings, _moves, _simpler_kinds
from conformance.ports import find_implementation
from conformance.scenarios import Scenario

PROGRAM = Program(COMPONENTS["deque"], find_implementation("reference"))
KINDS = [kind.name for kind in PROGRAM.component.kinds]


def test_a_step_is_simpler_if_its_kind_is_declared_earlier_or_its_operands_are_smaller():
    ranking = Ranking(PROGRAM)
    first, second = KINDS[:2]
    assert ranking.of((first, 9)) < ranking.of((second, 1)) < ranking.of((second, 2)) < ranking.of((second, 2, 1))
    assert ranking.of((second, 7)) < ranking.of((second, "a"))
    config = PROGRAM.configs[0]
    short, long = Scenario("deque", config, ((second,),)), Scenario("deque", config, ((first,), (first,)))
    assert ranking(short) < ranking(long)


def test_a_step_moves_to_each_earlier_place():
    steps = (("a",), ("b",), ("c",))
    moved = ["".join(step[0] for step in change(steps)) for change in _moves(len(steps))]
    assert moved == ["bac", "cab", "acb"]
    assert list(_moves(1)) == []
    assert next(_moves(2))(steps[:1]) == steps[:1], "the steps may be fewer by now"


def test_numbers_become_smaller_everywhere_or_in_one_place():
    steps = (("a", 2), ("b", 3), ("c", True))
    lowered = {change(steps) for change in _lowerings(steps)}
    assert (("a", 1), ("b", 3), ("c", True)) in lowered, "each 2 becomes a 1"
    assert (("a", 1), ("b", 2), ("c", True)) in lowered, "each number from 2 on is one less"
    assert (("a", 2), ("b", 2), ("c", True)) in lowered, "each number from 3 on is one less"
    assert (("a", -1), ("b", 3), ("c", True)) in lowered
    assert (("a", 2), ("b", 3), ("c", False)) in lowered
    assert all(len(one) == len(steps) for one in lowered)


def test_a_step_becomes_one_that_is_declared_earlier():
    assert list(_simpler_kinds(PROGRAM, ((KINDS[0],),))) == []
    last = ((KINDS[-1],),)
    assert {change(last)[0][0] for change in _simpler_kinds(PROGRAM, last)} == set(KINDS[:-1])
