"""Strategies for well-formed scenarios. Their steps need not be enabled: a run skips a step that is not."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.components import COMPONENTS
from conformance.driver import AnyStep
from conformance.scenarios import Scenario, Step

_WORDS = ("aligned", "unaligned", "recover-first", "in-memory", "pushed")
_OPERANDS: dict[type, SearchStrategy[Any]] = {
    int: st.integers(0, 5),
    bool: st.booleans(),
    str: st.sampled_from(_WORDS),
}


def configs(component: str) -> SearchStrategy[Any]:
    """Draws a configuration of those that a search uses; it shrinks to the first, the simplest."""
    return st.sampled_from(list(dict.fromkeys(COMPONENTS[component].configs)))


def steps(component: str) -> SearchStrategy[Step]:
    """Draws any step of a component, with operands of the right types and of small values."""

    def of(kind: AnyStep) -> SearchStrategy[Step]:
        return st.tuples(st.just(kind.name), *(_OPERANDS[wanted] for wanted in kind.operands.values()))

    return st.one_of([of(kind) for kind in COMPONENTS[component].steps])


def scenarios(component: str, most: int = 30) -> SearchStrategy[Scenario]:
    """Draws a scenario of up to `most` steps."""
    return st.builds(
        lambda config, chosen: Scenario(component, config, tuple(chosen)),
        configs(component),
        st.lists(steps(component), max_size=most),
    )
