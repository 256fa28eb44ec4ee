"""Small scopes that are explored both ways, and what is compared."""

from __future__ import annotations

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.explore import Explorer
from conformance.engines.scope import scope_of
from conformance.exploring import Explored
from conformance.ports import find_implementation

HELD = {"checkpoints": 1, "events": 0, "reports": 1, "aborts": 1, "failures": 0}
EVERY_PAUSE = ("gate", "reference", {"gates": '[["local"]]', "elements": 1, "barriers": 0, "checkpoints": 0})
EXCHANGES = ("consumer-loop", "reference", {"alike": "channel", "barriers": 1, "markers": 0, "time": 0})
DRAINS = ("coordinator", "known-bug:B-O29", {**HELD, "at_once": "turn"})
"""A bug that only drains show, most of which are left to later states."""
DEADLOCK = ("gate", "known-bug:B-02", {"gates": '[["remote"]]', "elements": 1, "barriers": 0})
DEQUE = ("deque", "reference", {"elements": 2})
SUBPARTITION = ("subpartition", "reference", {"elements": 1, "checkpoints": 1})
SCOPES = [
    DEQUE,
    SUBPARTITION,
    EVERY_PAUSE,
    EXCHANGES,
    ("subpartition", "known-bug:B-01", {"elements": 1, "checkpoints": 1, "recovered": 0}),
    DRAINS,
    DEADLOCK,
    ("assignment", "reference", {"rescales": 1, "questions": 1}),
    ("deque", "reference", {"elements": 0, "failures": 0}),
]


def explored(component, implementation, scope):
    return Explored(component, implementation, tuple(sorted(f"{key}={value}" for key, value in scope.items())))


def by_one_process(component, implementation, scope, *, depth=None):
    program = Program(COMPONENTS[component], find_implementation(implementation))
    given = {key: str(value) for key, value in scope.items()}
    return Explorer(program, scope_of(program.component, given)).explore(depth=depth)


def compared(result):
    """All that an exploration has found out, and by which runs."""
    found = [(one.signature, one.owed, one.observed, one.scenario) for one in result.found]
    return result.states, result.transitions, result.depth, result.complete, result.undrained, found
