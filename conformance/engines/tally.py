"""Adds up the results of many runs. Tallies can be merged in any order and grouping, with the same result."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.driver import Program, Run
from conformance.scenarios import Scenario, canonical

Signature = tuple[str, str, str]
"""The property, the failure class, and the operation at which the failure showed."""


@dataclass(slots=True)
class Failure:
    """All failures with one signature: how many, and the shortest scenario among them."""

    scenario: Scenario
    owed: str
    observed: str
    count: int = 1

    def absorb(self, other: Failure) -> None:
        """Add further failures of the same signature."""
        self.count += other.count
        if _order(other.scenario) < _order(self.scenario):
            self.scenario, self.owed, self.observed = other.scenario, other.owed, other.observed


@dataclass(slots=True)
class Tally:
    """Counts and failures of one component of one implementation."""

    scenarios: int = 0
    steps: int = 0
    closing_steps: int = 0
    exercised: dict[str, int] = field(default_factory=dict)
    """In how many scenarios each property was exercised, by slug."""
    failures: dict[Signature, Failure] = field(default_factory=dict)

    def merge(self, other: Tally) -> None:
        """Add what another tally counted."""
        self.scenarios += other.scenarios
        self.steps += other.steps
        self.closing_steps += other.closing_steps
        for slug, count in other.exercised.items():
            self.exercised[slug] = self.exercised.get(slug, 0) + count
        for signature, failure in other.failures.items():
            self.fail(signature, failure)

    def fail(self, signature: Signature, failure: Failure) -> None:
        """Add failures of one signature."""
        known = self.failures.get(signature)
        if known is None:
            self.failures[signature] = Failure(failure.scenario, failure.owed, failure.observed, failure.count)
        else:
            known.absorb(failure)


class Counter:
    """Counts runs of one program quickly. Only `tally` translates the marks of exercised properties into slugs."""

    __slots__ = ("_marks", "_program", "_tally")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._tally = Tally()
        self._marks: dict[bytes, int] = {}

    def add(self, scenario: Scenario, run: Run) -> None:
        """Count one run."""
        tally = self._tally
        tally.scenarios += 1
        tally.steps += len(run.performed)
        tally.closing_steps += run.closing_steps
        self._marks[run.exercised] = self._marks.get(run.exercised, 0) + 1
        violation = run.violation
        if violation is not None:
            tally.fail(violation.signature, Failure(scenario, violation.broken.owed, violation.broken.observed))

    def fail(self, signature: Signature, failure: Failure) -> None:
        """Count a failure that is not the violation of a run."""
        self._tally.fail(signature, failure)

    def tally(self) -> Tally:
        """Returns what was counted so far."""
        counts: dict[str, int] = {}
        for marks, count in self._marks.items():
            for slug in self._program.exercised(marks):
                counts[slug] = counts.get(slug, 0) + count
        self._tally.exercised = dict(sorted(counts.items()))
        return self._tally


def _order(scenario: Scenario) -> tuple[int, str]:
    return len(scenario.steps), canonical([scenario.config, scenario.steps])
