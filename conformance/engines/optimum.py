"""Finds out by exploration how short a scenario that shows a known bug can be."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conformance.components import COMPONENTS
from conformance.driver import FINISH, RUN, Component, Program
from conformance.engines.explore import Explorer, scope_of
from conformance.ports import KnownBug

MOST_STATES = 10_000
"""The exploration of a bug ends after so many states; then the optimum stays unknown."""

_DEFAULTS: Mapping[str, str] = MappingProxyType({})


def optimal_steps(
    bug: KnownBug, given: Mapping[str, str] = _DEFAULTS, most_states: int = MOST_STATES,
    components: Mapping[str, Component] = COMPONENTS,
) -> int | None:  # fmt: skip
    """Returns how many steps the shortest scenario has in which the property that must notice the bug fails.

    Returns None if the scope has no such scenario, or if the exploration ended before it reached one.
    Raises: ScopeError, CannotRecognise.
    """
    implementation = bug.build()
    try:
        component = components[bug.component]
        explorer = Explorer(Program(component, implementation), scope_of(component, given), (RUN, FINISH))
        explorer.explore(most_states=most_states, until=bug.property)
        return explorer.shortest(bug.property)
    finally:
        implementation.close()
