"""Adds up the results of many runs. Tallies can be merged in any order and grouping, with the same result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import add
from typing import TypeVar

from conformance.driver import ANSWERS, Program, Run, Setting
from conformance.scenarios import Scenario, canonical

K = TypeVar("K")
Signature = tuple[str, str, str]
"""The property, the failure class, and the operation at which the failure showed."""


@dataclass(slots=True)
class Failure:
    """All failures with one signature: how many, the shortest scenario among them, and when the first was seen."""

    scenario: Scenario
    owed: str
    observed: str
    count: int = 1
    first: int | None = None
    """The smallest number of a scenario of the search that failed so; None if only scenarios without a number did, as
    those of the corpus."""

    def absorb(self, other: Failure) -> None:
        """Add further failures of the same signature."""
        self.count += other.count
        if other.first is not None:
            self.first = other.first if self.first is None else min(self.first, other.first)
        if _order(other.scenario) < _order(self.scenario):
            self.scenario, self.owed, self.observed = other.scenario, other.owed, other.observed


@dataclass(slots=True)
class Cases:
    """What was done in one setting. A case is one step after which a property was judged, and held or not."""

    scenarios: int = 0
    """How many scenarios performed a step in the setting."""
    steps: dict[str, int] = field(default_factory=dict)
    """How often each kind of step was performed, by the key of its case."""
    judged: dict[str, int] = field(default_factory=dict)
    """In how many cases each property was judged, by slug."""

    def merge(self, other: Cases) -> None:
        """Add what was counted elsewhere."""
        self.scenarios += other.scenarios
        _add(self.steps, other.steps)
        _add(self.judged, other.judged)


@dataclass(slots=True)
class Tally:
    """Counts and failures of one component of one implementation."""

    scenarios: int = 0
    steps: int = 0
    closing_steps: int = 0
    exercised: dict[str, int] = field(default_factory=dict)
    """In how many scenarios each property was exercised, by slug."""
    failures: dict[Signature, Failure] = field(default_factory=dict)
    settings: dict[Setting, Cases] = field(default_factory=dict)
    """What was done in each setting."""
    unsure: dict[str, int] = field(default_factory=dict)
    """In how many cases each property was unsure, by slug."""
    reasons: dict[tuple[str, str], int] = field(default_factory=dict, compare=False)
    """The same by slug and by reason, as far as it is known: results do not keep it."""
    happened: dict[str, int] = field(default_factory=dict)
    """How often what happened, in words, beside what was judged: lives of episodes, and how they ended."""

    def judged(self, slug: str) -> int:
        """Returns in how many cases a property was judged."""
        return sum(cases.judged.get(slug, 0) for cases in self.settings.values())

    def merge(self, other: Tally) -> None:
        """Add what another tally counted."""
        self.scenarios += other.scenarios
        self.steps += other.steps
        self.closing_steps += other.closing_steps
        _add(self.exercised, other.exercised)
        _add(self.unsure, other.unsure)
        _add(self.reasons, other.reasons)
        _add(self.happened, other.happened)
        for setting, cases in other.settings.items():
            self.settings.setdefault(setting, Cases()).merge(cases)
        for signature, failure in other.failures.items():
            self.fail(signature, failure)

    def fail(self, signature: Signature, failure: Failure) -> None:
        """Add failures of one signature."""
        known = self.failures.get(signature)
        if known is None:
            self.failures[signature] = replace(failure)
        else:
            known.absorb(failure)


class Counter:
    """Counts runs of one program quickly. Only `tally` translates the places of properties and steps into names."""

    __slots__ = ("_marks", "_program", "_rows", "_scenarios", "_tally", "_unsure")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._tally = Tally()
        self._marks: dict[bytes, int] = {}
        self._rows: dict[Setting, list[int]] = {}
        self._scenarios: dict[Setting, int] = {}
        self._unsure: dict[tuple[int, str], int] = {}

    def add(self, scenario: Scenario, run: Run, number: int | None = None) -> None:
        """Count one run. `number`: that of the scenario in the search."""
        tally = self._tally
        tally.scenarios += 1
        tally.steps += len(run.performed)
        tally.closing_steps += run.closing_steps
        exercised = run.exercised
        self._marks[exercised] = self._marks.get(exercised, 0) + 1
        if run.evidence is not None:
            for setting, row in run.evidence.by_setting(scenario.config):
                known = self._rows.get(setting)
                self._rows[setting] = row if known is None else list(map(add, known, row))
                self._scenarios[setting] = self._scenarios.get(setting, 0) + 1
            if run.evidence.unsure:
                _add(self._unsure, run.evidence.unsure)
        violation = run.violation
        if violation is not None:
            failure = Failure(scenario, violation.broken.owed, violation.broken.observed, first=number)
            tally.fail(violation.signature, failure)

    def fail(self, signature: Signature, failure: Failure, number: int | None = None) -> None:
        """Count a failure that is not the violation of a run. `number`: that of the scenario in the search."""
        self._tally.fail(signature, replace(failure, first=number))

    @property
    def has_failed(self) -> bool:
        """Whether a failure was counted."""
        return bool(self._tally.failures)

    def tally(self) -> Tally:
        """Returns what was counted so far."""
        counts: dict[str, int] = {}
        for marks, count in self._marks.items():
            for slug in self._program.exercised(marks):
                counts[slug] = counts.get(slug, 0) + count
        tally, program = self._tally, self._program
        tally.exercised = dict(sorted(counts.items()))
        tally.settings = {setting: self._cases(setting, row) for setting, row in sorted(self._rows.items())}
        reasons = {(program.properties[at].slug, why): count for (at, why), count in sorted(self._unsure.items())}
        tally.unsure, tally.reasons = {}, reasons
        for (slug, _), count in reasons.items():
            tally.unsure[slug] = tally.unsure.get(slug, 0) + count
        return tally

    def _cases(self, setting: Setting, row: list[int]) -> Cases:
        program = self._program
        steps = {move.kind.key: row[move.place] for move in program.all_cases() if row[move.place]}
        judged = {slug: row[place] for slug, place in program.places.items() if row[place]}
        if steps:  # the driver judges this property itself, at every step
            judged[ANSWERS] = sum(steps.values())
        return Cases(self._scenarios[setting], steps, judged)


def _add(counts: dict[K, int], more: dict[K, int]) -> None:
    for key, count in more.items():
        counts[key] = counts.get(key, 0) + count


def _order(scenario: Scenario) -> tuple[int, str]:
    return len(scenario.steps), canonical([scenario.config, scenario.steps])
