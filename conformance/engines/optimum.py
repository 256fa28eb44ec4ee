"""How short a scenario can be that shows a known bug: proved, not found."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conformance.components import COMPONENTS
from conformance.driver import FINISH, RUN, Component, Program
from conformance.engines.explore import Explorer, scope_of
from conformance.ports import KnownBug

MOST_STATES = 10_000
"""States after which the optimum of a bug stays unknown."""

_DEFAULTS: Mapping[str, str] = MappingProxyType({})


def optimal_steps(
    bug: KnownBug, given: Mapping[str, str] = _DEFAULTS, most_states: int = MOST_STATES,
    components: Mapping[str, Component] = COMPONENTS,
) -> int | None:  # fmt: skip
    """The steps of a shortest scenario within the scope in which the property fails that must notice the bug.

    None: there is none within the scope, or it was not reached. Raises: ScopeError, CannotRecognise.
    """
    implementation = bug.build()
    try:
        component = components[bug.component]
        explorer = Explorer(Program(component, implementation), scope_of(component, given), (RUN, FINISH))
        explorer.explore(most_states=most_states, until=bug.property)
        return explorer.shortest(bug.property)
    finally:
        implementation.close()
