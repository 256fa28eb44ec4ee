"""Well-formed scenarios, enabled or not: semantics are total, so any list of steps is one."""

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
    """The configurations that a search draws from, simplest first."""
    return st.sampled_from(list(dict.fromkeys(COMPONENTS[component].configs)))


def steps(component: str) -> SearchStrategy[Step]:
    """Any step of a component, with operands of the right types and of small values."""

    def of(kind: AnyStep) -> SearchStrategy[Step]:
        return st.tuples(st.just(kind.name), *(_OPERANDS[wanted] for wanted in kind.operands.values()))

    return st.one_of([of(kind) for kind in COMPONENTS[component].steps])


def scenarios(component: str, most: int = 30) -> SearchStrategy[Scenario]:
    """Scenarios of up to `most` steps."""
    return st.builds(
        lambda config, chosen: Scenario(component, config, tuple(chosen)),
        configs(component),
        st.lists(steps(component), max_size=most),
    )
