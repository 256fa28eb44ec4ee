"""What the numbers stand for that Hypothesis draws."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.components import COMPONENTS
from conformance.driver import Program, World
from conformance.engines import Search
from conformance.engines.drawing import DRAIN, Drawing
from conformance.ports import find_implementation

REFERENCE = find_implementation("reference")


@settings(max_examples=3)
@given(st.data())
def test_the_number_of_a_step_of_a_guide_stands_for_this_step_without_the_guide(data):
    program = Program(COMPONENTS["subpartition"], REFERENCE)
    drawing, scenario = Drawing(program), Search(program).run("guide")[0]
    world, guide, numbers = World(program, scenario.config), iter(scenario.steps), [DRAIN]

    def draw(strategy):
        numbers.append(data.draw(strategy))
        return numbers[-1]

    while (step := drawing.step(draw, world, guide)) is not None:
        assert drawing.step(lambda _: numbers[-1], world, None) == step
        world.perform(step)
    assert tuple(world.performed) == scenario.steps
    assert numbers[-1] == DRAIN


def test_a_turn_may_stop_where_a_prefix_of_the_component_says():
    stops = Drawing(Program(COMPONENTS["task-restore"], REFERENCE))._stops
    assert stops == ("", "between two mails of the recovery")
