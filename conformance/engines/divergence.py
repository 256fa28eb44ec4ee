"""Where an implementation parts ways with another one that is given the same scenarios.

A divergence is no failure: nobody says here who is right, or that only one answer is. Only scenarios whose operations
run whole are compared, in configurations that both understand, and each up to its first difference: what follows from
that is not counted again. Divergences are grouped by operation, field and the kinds of what differs. A scenario in
which either side breaks a property is set apart: there a violation is reported, and the divergence only says where it
can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from conformance.driver import Broken, FailureClass, Program, Run, Violation
from conformance.engines.batch import generator_of, recording
from conformance.engines.compare import first_difference
from conformance.engines.kinds import Kinds, kinds_of
from conformance.engines.reduce import reduce
from conformance.engines.tally import Failure
from conformance.ports import Capability, Implementation, Outcome
from conformance.scenarios import Entry, Scenario, Step

BUDGET = 1_500
"""Scenarios, each run on both sides, that the reduction of one divergence may take..."""
FAR_BUDGET = 600
"""... and so many if one of the sides is far away."""
MOST_CRASHES = 5
"""So many scenarios may crash or hang the baseline; then nothing is compared any further."""
_CUT_SHORT = frozenset({FailureClass.CRASHED, FailureClass.HUNG})


class Group(NamedTuple):
    """Divergences that are counted as one."""

    operation: str
    """Of the baseline, at which it showed."""
    field: str
    """What differs: `value`, `signals`, `error` or `enabled`."""
    kinds: Kinds
    """The kinds of the two outcomes in words, that of the baseline first."""
    broken_by_baseline: str = ""
    """The slug of the property that the baseline breaks in the scenario; empty: none."""
    broken: str = ""
    """That which the implementation breaks."""

    @property
    def free(self) -> bool:
        """Neither side breaks a property, so either answer may be right."""
        return not self.broken_by_baseline and not self.broken


@dataclass(frozen=True, slots=True)
class Divergence:
    """One group of divergences with its shortest example."""

    group: Group
    count: int
    """In how many scenarios it was the first difference."""
    scenario: Scenario
    """If neither side breaks a property: reduced to the simplest that is known."""
    at: int
    """The index of the entry in which the runs of that scenario differ; behind its steps: in the fair drain."""
    step: Step
    baseline: Outcome | None
    """What the baseline answered there; None: nothing, the step was not enabled or the run over."""
    other: Outcome | None
    """What the implementation answered there."""

    @property
    def in_drain(self) -> bool:
        """It shows in the fair drain that ends every run."""
        return self.at >= len(self.scenario.steps)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One component of one implementation, compared with a baseline."""

    against: str
    """The name by which the baseline was asked for."""
    compared: int
    """So many scenarios were run on both sides."""
    divergences: tuple[Divergence, ...] = ()
    """Those in which neither side breaks a property."""
    at_violations: tuple[Divergence, ...] = ()
    """Those in which one does; not reduced, since the violation is."""
    reason: str = ""
    """Why nothing was compared, or no more; empty if all was."""


class _Diverges(Violation):
    """Stands for a divergence where a reduction looks for a violation."""

    def __init__(self, group: Group, program: Program, step: Step) -> None:
        super().__init__(program.answers, Broken(FailureClass.PROTOCOL, "", ""), step)
        self.group = group

    @property
    def signature(self) -> tuple[str, str, str]:
        field, kinds = self.group.field, " / ".join(self.group.kinds)
        return f"{field}: {kinds}", f"{self.group.broken_by_baseline}/{self.group.broken}", self.group.operation


@dataclass(frozen=True, slots=True)
class _Difference:
    group: Group
    at: int
    left: Entry | None
    right: Entry | None


class Differ:
    """Compares runs of one component with those of a baseline, as they come, and tells in the end where they part."""

    def __init__(
        self, name: str, baseline: Implementation, program: Program, assume: Iterable[Capability] = ()
    ) -> None:
        """`name` is that by which the baseline was asked for. One that lacks the component is never run."""
        self.name = name
        self.program = program
        self._seen: dict[Group, Failure] = {}
        self._compared = 0
        self._crashes = 0
        self._reason = ""
        component = program.component.name
        if component not in baseline.components():
            self._reason = f"{name} does not offer the component {component}"
            return
        self._baseline = Program(program.component, baseline, assume)
        known: tuple[Any, ...] = program.component.configs
        self._configs = tuple(
            one
            for one in dict.fromkeys(known)
            if one.interleaving == "whole" and program.understands(one) and self._baseline.understands(one)
        )
        if not self._configs:
            self._reason = f"there is no configuration of {component} that both understand"
        self._run_baseline, self._run_other = recording(self._baseline), recording(program)
        near = baseline.batch is None and program.implementation.batch is None
        self._budget = BUDGET if near else FAR_BUDGET

    def see(self, scenario: Scenario, run: Run) -> None:
        """Compare one run of the implementation. One that has no entries is run again."""
        if self._reason or not self._comparable(scenario) or _cut_short(run):
            return
        left = self._run_baseline(scenario)
        if _cut_short(left):
            self._crashes += 1
            if self._crashes >= MOST_CRASHES:
                self._reason = f"{self.name} crashed or hung {MOST_CRASHES} times"
            return
        self._compared += 1
        right = run if run.entries else self._run_other(scenario)
        difference = _compare(left, right)
        if difference is not None:
            example = Failure(scenario, "", "")
            known = self._seen.setdefault(difference.group, example)
            if known is not example:
                known.absorb(example)

    def conclude(self) -> Comparison:
        """All that was seen, the free divergences reduced; the most frequent come first."""
        ranked = sorted(self._seen.items(), key=lambda pair: (-pair[1].count, pair[0]))
        found = [self._divergence(group, failure) for group, failure in ranked]
        return Comparison(
            self.name,
            self._compared,
            tuple(one for one in found if one.group.free),
            tuple(one for one in found if not one.group.free),
            self._reason,
        )

    def _comparable(self, scenario: Scenario) -> bool:
        config = scenario.config  # where threads pause depends on the inside of an implementation
        return config.interleaving == "whole" and self._baseline.understands(config)

    def _divergence(self, group: Group, failure: Failure) -> Divergence:
        scenario = failure.scenario
        if group.free:
            with suppress(ValueError):  # if it does not show twice, what was seen is told as it was seen
                scenario = reduce(self._drawing(), scenario, self._budget, judge=self._judge).scenario
        difference = _compare(self._run_baseline(scenario), self._run_other(scenario))
        if difference is None:
            return Divergence(group, failure.count, scenario, 0, (group.operation,), None, None)
        left, right = difference.left, difference.right
        shown = left or right
        assert shown is not None
        return Divergence(
            group,
            failure.count,
            scenario,
            difference.at,
            shown.step,
            None if left is None else left.outcome,
            None if right is None else right.outcome,
        )

    def _drawing(self) -> Program:
        """Where fresh scenarios are drawn: near, and in the configurations that both understand."""
        program = self._baseline
        if program.implementation.batch is not None:
            program = Program(program.component, generator_of(program))
        twin = program.made_by(program.factory)
        twin.configs = self._configs
        return twin

    def _judge(self, scenario: Scenario) -> Run:
        """A run whose violation is the divergence, and whose steps are those that meant something on either side."""
        left, right = self._run_baseline(scenario), self._run_other(scenario)
        difference = _compare(left, right)
        run = Run(None, 0, None)
        if difference is not None:
            run.violation = _Diverges(difference.group, self.program, (difference.group.operation,))
        run.performed = [
            step
            for index, step in enumerate(scenario.steps)
            if any(index < len(one.entries) and one.entries[index].outcome is not None for one in (left, right))
        ]
        return run


def _compare(left: Run, right: Run) -> _Difference | None:
    """The first difference of two recorded runs, and what either side breaks."""
    found = first_difference(left, right, violations=True, resources=False)
    if found is None:
        return None
    index, operation, field = found
    a, b = (one.entries[index] if index < len(one.entries) else None for one in (left, right))
    group = Group(operation, field, kinds_of(a, b, field), _broken(left), _broken(right))
    return _Difference(group, index, a, b)


def _broken(run: Run) -> str:
    return "" if run.violation is None else run.violation.property.slug


def _cut_short(run: Run) -> bool:
    return run.violation is not None and run.violation.broken.failure_class in _CUT_SHORT
