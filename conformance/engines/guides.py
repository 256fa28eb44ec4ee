"""The scenarios that Hypothesis follows: those of the random search, and the shortest one of a failure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

from conformance.driver import Program
from conformance.engines.reduce import DoesNotFail, NotDeterministic, reduce
from conformance.engines.search import LENGTH, Search
from conformance.scenarios import Scenario

REDUCTION = 5_000
"""How many runs the reduction of a guide may take."""


class Guides:
    """The guides of one program. Which scenario a number stands for depends on the implementation and nothing else."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._search = cache(lambda length: Search(program, length))
        self.scenario = lru_cache(maxsize=64)(self._scenario)
        """Hypothesis runs an example that failed several times; its scenario is reduced once."""

    def _scenario(self, number: int, length: int) -> Scenario:
        """Returns the scenario of at most this length that a number stands for."""
        with _untraced():
            scenario, run = self._search(min(length, LENGTH)).run(f"guide/{number}")
            if run.violation is None:
                return scenario
            try:
                return reduce(self._program, scenario, REDUCTION).scenario
            except (DoesNotFail, NotDeterministic):
                return scenario


@contextmanager
def _untraced() -> Iterator[None]:
    """Do not let Hypothesis trace the lines that run. It does that to explain a failure, and these runs are none of its
    examples; thousands of them would take minutes. A tracer of a debugger or of a coverage tool stays."""
    tracer = sys.gettrace()
    if not type(getattr(tracer, "__self__", None)).__module__.startswith("hypothesis."):
        yield
        return
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)
