"""Strategies for scenarios: `enabled_scenarios` has only steps that are enabled, `scenarios` all that are well-formed.

A run skips a step that is not enabled, so that most of the latter do little.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.components import COMPONENTS
from conformance.driver import AnyStep, Components, Faults, Program, Violation, World
from conformance.engines.drawing import Drawing
from conformance.engines.search import LENGTH
from conformance.ports import Implementation, find_implementation
from conformance.scenarios import Scenario, Step
from strategies.values import made

_FAULT = "fault"
"""The step in which the driver arms a fault: its operands are the place, the kind and which call it strikes."""
_WORDS = ("aligned", "unaligned", "recover-first", "in-memory", "pushed")
_OPERANDS: dict[type, SearchStrategy[Any]] = {
    int: st.integers(0, 5),
    bool: st.booleans(),
    str: st.sampled_from(_WORDS),
}


def enabled_scenarios(
    component: str,
    implementation: Implementation | None = None,
    most: int = LENGTH,
    components: Components = COMPONENTS,
) -> SearchStrategy[Scenario]:
    """Draws a scenario of up to `most` steps, each of which was enabled when its turn came.

    The scenario is performed while it is drawn, since the ledger enables steps and learns from outcomes: on this
    implementation or, without one, on the reference of the suite. It ends early with a step that breaks a property
    there. As in a state machine, most scenarios are those of the random search, and a scenario shrinks step by step.

    Raises: KeyError if there is no such component, or the implementation does not offer it. ValueError if the
    implementation understands no configuration of it.
    """
    on = find_implementation("reference") if implementation is None else implementation
    program = Program(components[component], on)
    return _performed(program, Drawing(program), most)


@st.composite
def _performed(draw: st.DrawFn, program: Program, drawing: Drawing, most: int) -> Scenario:
    config, guide = drawing.config(draw, most)
    performed: list[Step] = []
    world = None
    try:
        world = World(program, config)
        performed = world.performed
        while len(performed) < most:
            step = drawing.step(draw, world, guide)
            if step is None:
                break
            world.perform(step)
        else:
            drawing.end(draw)
    except Violation:
        pass  # the judge of the scenario meets it again
    finally:
        if world is not None:
            world.close()
    return Scenario(program.component.name, config, tuple(performed))


def configs(component: str, components: Components = COMPONENTS) -> SearchStrategy[Any]:
    """Draws a configuration of those that a search uses; it shrinks to the first, the simplest.

    Raises: KeyError if there is no such component.
    """
    return st.sampled_from(list(dict.fromkeys(components[component].configs)))


def faults(component: str, components: Components = COMPONENTS) -> SearchStrategy[Step]:
    """Draws a step that arms a fault, as `("fault", "spill-file-write", "throws", 2)`: at each place where what the
    component calls can fail, in each way, at the next call or a later one. It shrinks to the first place and the next
    call.

    Such a step is enabled only if the configuration has `faults=True`, and while the fault can strike.

    Raises: KeyError if there is no such component; ValueError if nothing that it calls can fail.
    """
    places = Faults(components[component].port.can_fail)
    found = [
        (_FAULT, place, kind, nth)
        for place, kind in places.possible()
        for nth in dict.fromkeys(places.calls(place, kind))
    ]
    if not found:
        raise ValueError(f"nothing that the component {component} calls can fail")
    return st.sampled_from(found)


def steps(component: str, components: Components = COMPONENTS) -> SearchStrategy[Step]:
    """Draws any step of a component, with operands of the right types and of small values.

    Raises: KeyError if there is no such component.
    """

    def of(kind: AnyStep) -> SearchStrategy[Step]:
        if kind.name == _FAULT:
            return faults(component, components)
        return st.tuples(st.just(kind.name), *(_OPERANDS[wanted] for wanted in kind.operands.values()))

    return st.one_of([of(kind) for kind in components[component].kinds])


def scenarios(component: str, most: int = 30, components: Components = COMPONENTS) -> SearchStrategy[Scenario]:
    """Draws a scenario of up to `most` steps, whether they are enabled or not. It is there for tests of what reads
    scenarios; to find what is wrong with an implementation, draw `enabled_scenarios`.

    Raises: KeyError if there is no such component.
    """
    return made(
        lambda config, chosen: Scenario(component, config, tuple(chosen)),
        configs(component, components),
        st.lists(steps(component, components), max_size=most),
    )
