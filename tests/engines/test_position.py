"""What one process notes, another one reads, wherever the first one stopped."""

from __future__ import annotations

import os

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines.position import NOWHERE, SIZE, Followed, Position, Reader, Writer, new_memory
from tests.implementations import reference

SUBPARTITION = COMPONENTS["subpartition"]
STEPS = (("attach_view",), ("open_buffer", 1), ("flush",), ("poll",))


@pytest.fixture
def both():
    memory = new_memory()
    yield Writer(memory), Reader(memory)
    os.close(memory)


def followed(writer: Writer) -> Program:
    program = Program(SUBPARTITION, reference())
    program.log = Followed(writer, program, "tested")
    return program


def test_nothing_was_noted(both):
    writer, reader = both
    writer.number(-1)
    assert reader.position(COMPONENTS) == NOWHERE


def test_the_steps_of_the_last_run_are_there(both):
    writer, reader = both
    program = followed(writer)
    for number, steps in enumerate((STEPS, STEPS[:2])):
        writer.number(number)
        before = reader.beats
        run = run_scenario(program, SUBPARTITION.configs[0], steps)
        position = reader.position(COMPONENTS)
        assert position.scenario is not None
        assert position.drained is not None
        assert (position.number, position.side) == (number, "tested")
        assert position.scenario.config == SUBPARTITION.configs[0]
        assert list(position.scenario.steps) == run.performed
        assert len(position.drained) == run.closing_steps
        assert reader.beats > before


def test_a_rest_ends_with_what_is_noted_next(both):
    writer, reader = both
    assert not reader.rests, "it may be loading what hangs"
    writer.say("when it was loaded")
    assert (reader.rests, reader.said) == (False, "when it was loaded")
    before = reader.beats
    writer.rest()
    assert (reader.rests, reader.has_begun, reader.said) == (True, False, "")
    assert reader.beats > before
    assert reader.position(COMPONENTS) == Position("", 0, None, None)
    writer.say("")
    assert not reader.rests
    run_scenario(followed(writer), SUBPARTITION.configs[0], STEPS)
    writer.rest()
    Followed(writer, followed(writer), "tested").begin(SUBPARTITION.configs[0])
    assert (reader.rests, reader.has_begun) == (False, True)


def test_the_operation_of_a_turn_is_the_one_that_goes_on(both):
    writer, reader = both
    component = COMPONENTS["gate"]
    log = Followed(writer, Program(component, reference()), "tested")
    kind = next(one for one in component.steps if one.by in component.threads)
    steps = log.begin(component.configs[0])
    for step in ((kind.name,), ("run", kind.by, "a lock")):
        steps.append(step)
    assert reader.position(COMPONENTS).operation(component) == (kind.name,)


def test_without_threads_a_step_with_the_name_of_a_turn_is_an_operation(both):
    writer, reader = both
    log = Followed(writer, Program(SUBPARTITION, reference()), "tested")
    steps = log.begin(SUBPARTITION.configs[0])
    for step in (("flush",), ("finish",)):
        steps.append(step)
    assert reader.position(COMPONENTS).operation(SUBPARTITION) == ("finish",)


def test_what_does_not_fit_is_not_noted_and_still_counts_as_a_beat(both):
    writer, reader = both
    log = Followed(writer, Program(SUBPARTITION, reference()), "tested")
    steps = log.begin(SUBPARTITION.configs[0])
    for _ in range(3):
        steps.append(("x" * (SIZE // 2),))
    beats = reader.beats
    steps.append(("y" * SIZE,))
    assert reader.beats == beats + 1
    position = reader.position(COMPONENTS)
    assert position.scenario is not None
    assert len(position.scenario.steps) == 1
