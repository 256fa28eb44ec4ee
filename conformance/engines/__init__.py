"""Engines choose the steps of a component, and shorten the scenarios that fail.

Engines only choose. What a step means, and what must be true, is declared in `conformance.components`.
"""

from typing import TYPE_CHECKING, Any

from conformance.engines.causes import Cause, likely_causes
from conformance.engines.check import Check, Found, check
from conformance.engines.divergence import Comparison, Differ, Divergence
from conformance.engines.known_failures import KnownFailure, Standing, load_known_failures, standing
from conformance.engines.reduce import Reduced, reduce
from conformance.engines.replay import Replay, read_scenario, replay
from conformance.engines.search import Search

if TYPE_CHECKING:
    from conformance.engines.hypothesis_check import check_with_hypothesis
    from conformance.engines.machine import state_machine

__all__ = [
    "Cause",
    "Check",
    "Comparison",
    "Differ",
    "Divergence",
    "Found",
    "KnownFailure",
    "Reduced",
    "Replay",
    "Search",
    "Standing",
    "check",
    "check_with_hypothesis",
    "likely_causes",
    "load_known_failures",
    "read_scenario",
    "reduce",
    "replay",
    "standing",
    "state_machine",
]


def __getattr__(name: str) -> Any:
    """Return what needs Hypothesis. It takes a fifth of the start of a command or worker, and few of them use it."""
    if name == "check_with_hypothesis":
        from conformance.engines.hypothesis_check import check_with_hypothesis

        return check_with_hypothesis
    if name == "state_machine":
        from conformance.engines.machine import state_machine

        return state_machine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
