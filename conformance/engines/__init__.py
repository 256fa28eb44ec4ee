"""Engines choose the steps of a component, and shorten the scenarios that fail.

Engines only choose. What a step means, and what must be true, is declared in `conformance.components`.
"""

from conformance.engines.causes import Cause, likely_causes
from conformance.engines.check import Check, Found, check
from conformance.engines.divergence import Comparison, Differ, Divergence
from conformance.engines.hypothesis_check import check_with_hypothesis
from conformance.engines.known_failures import KnownFailure, Standing, load_known_failures, standing
from conformance.engines.machine import state_machine
from conformance.engines.reduce import Reduced, reduce
from conformance.engines.replay import Replay, read_scenario, replay
from conformance.engines.search import Search

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
