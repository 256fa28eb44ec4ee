"""Finds the differences between an implementation and a baseline that runs the same scenarios.

A divergence is not a failure: one of the two results may be right, or both. Only scenarios whose operations run whole
are compared, in configurations that both implementations understand. Each scenario counts with its first difference
only, because the later ones may follow from the first. Divergences are grouped by operation, field and the kinds of the
two outcomes. Scenarios in which one side breaks a property are listed apart: there the violation is reported, and the
divergence only shows where it can be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from conformance.driver import Broken, FailureClass, Log, Program, Run, Violation
from conformance.engines.batch import generator_of, recording
from conformance.engines.compare import first_difference, outcomes
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.kinds import Kinds, kinds_of
from conformance.engines.reduce import reduce
from conformance.engines.tally import Failure
from conformance.ports import Capability, Implementation, Outcome
from conformance.scenarios import Entry, Scenario, Step

BUDGET = 1_500
"""How many scenarios the reduction of one divergence may run on both sides."""
FAR_BUDGET = 600
"""The same limit if one of the two implementations is behind a wire."""
MOST_CRASHES = 5
"""The comparison ends after so many scenarios in which the baseline crashes or hangs."""
_CUT_SHORT = frozenset({FailureClass.CRASHED, FailureClass.HUNG})


class Group(NamedTuple):
    """Divergences that are counted as one."""

    operation: str
    """The operation of the baseline at which the difference showed."""
    field: str
    """What differs: `value`, `signals`, `error` or `enabled`."""
    kinds: Kinds
    """The kinds of the two outcomes in words, that of the baseline first."""
    broken_by_baseline: str = ""
    """The slug of the property that the baseline breaks in the scenario; empty if it breaks none."""
    broken: str = ""
    """The slug of the property that the implementation breaks; empty if it breaks none."""

    @property
    def free(self) -> bool:
        """Whether neither side breaks a property, so that either result may be right."""
        return not self.broken_by_baseline and not self.broken


@dataclass(frozen=True, slots=True)
class Divergence:
    """One group of divergences with its shortest example."""

    group: Group
    count: int
    """In how many scenarios it was the first difference."""
    scenario: Scenario
    """An example. If neither side breaks a property, it is the simplest that is known."""
    at: int
    """The index of the entry in which the runs of that scenario differ. After its last step: in the fair drain."""
    step: Step
    baseline: Outcome | None
    """What the baseline returned there. None: the step was not enabled, or the run had ended."""
    other: Outcome | None
    """What the implementation returned there, or None as for the baseline."""

    @property
    def in_drain(self) -> bool:
        """Whether the difference shows in the fair drain that ends every run."""
        return self.at >= len(self.scenario.steps)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One component of one implementation, compared with a baseline."""

    against: str
    """The name by which the user asked for the baseline."""
    compared: int
    """How many scenarios were run on both sides."""
    divergences: tuple[Divergence, ...] = ()
    """The divergences in scenarios in which neither side breaks a property."""
    at_violations: tuple[Divergence, ...] = ()
    """The divergences in scenarios in which one side does. They are not reduced, because the violation is."""
    reason: str = ""
    """Why nothing was compared, or why the comparison ended early; empty if it did neither."""


class Seen(NamedTuple):
    """What a `Differ` has seen so far."""

    groups: tuple[tuple[Group, Failure], ...] = ()
    compared: int = 0
    crashes: int = 0
    reason: str = ""


class _Diverges(Violation):
    """A divergence in the form of a violation, so that it can be reduced."""

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
    """Compares each run of one component with a run of the baseline, and returns the divergences at the end."""

    def __init__(
        self, name: str, baseline: Implementation, program: Program, assume: Iterable[Capability] = (),
        inside: bool = False, budget: int | None = None,
    ) -> None:  # fmt: skip
        """`name`: the name by which the user asked for the baseline. It is never run if it lacks the component.

        `budget`: the maximum number of runs for the reduction of one divergence, if it is not the usual one.

        `inside`: also compare what depends on the inside of an implementation: fine scenarios, in which threads pause
        at places of its own, the counts of held resources, and all that engines need not agree on. This makes sense
        for two variants of one text.
        """
        self.name = name
        self.program = program
        self.assumed = frozenset(assume)
        self._inside = inside
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
            if (inside or one.interleaving == "whole") and program.understands(one) and self._baseline.understands(one)
        )
        if not self._configs:
            self._reason = f"there is no configuration of {component} that both understand"
        self._run_baseline, self._run_other = recording(self._baseline), recording(program)
        usual = FAR_BUDGET if baseline.is_far or program.implementation.is_far else BUDGET
        self._budget = usual if budget is None else budget

    def see(self, scenario: Scenario, run: Run) -> None:
        """Compare one run of the implementation. A run without entries is repeated with a record."""
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
        difference = self._compare(left, right)
        if difference is not None:
            example = Failure(scenario, "", "")
            known = self._seen.setdefault(difference.group, example)
            if known is not example:
                known.absorb(example)

    @property
    def seen(self) -> Seen:
        """What was seen so far. Another `Differ` can go on with it, also one in another process."""
        return Seen(tuple(self._seen.items()), self._compared, self._crashes, self._reason)

    def replace(self, seen: Seen) -> None:
        """Forget what was seen so far, and take this instead."""
        self._seen = dict(seen.groups)
        self._compared, self._crashes, self._reason = seen.compared, seen.crashes, seen.reason

    def give_up(self, reason: str) -> None:
        """Compare no more."""
        self._reason = reason

    def follow(self, log: Callable[[Program], Log | None]) -> None:
        """Let a log follow the runs of the baseline, which is passed to `log`."""
        if not self._reason:
            self._baseline.log = log(self._baseline)

    @property
    def differs(self) -> bool:
        """Whether a divergence was seen in a scenario in which neither side breaks a property."""
        return any(group.free for group in self._seen)

    def conclude(self, interruption: Interruption = NEVER) -> Comparison:
        """Returns all divergences, the most frequent first. Those in which no property is broken are reduced, as far as
        an interruption allows."""
        ranked = sorted(self._seen.items(), key=lambda pair: (-pair[1].count, pair[0]))
        found = [self._divergence(group, failure, interruption) for group, failure in ranked]
        return Comparison(
            self.name,
            self._compared,
            tuple(one for one in found if one.group.free),
            tuple(one for one in found if not one.group.free),
            self._reason,
        )

    def _comparable(self, scenario: Scenario) -> bool:
        config = scenario.config  # in fine runs, the places of pauses depend on the implementation
        return (self._inside or config.interleaving == "whole") and self._baseline.understands(config)

    def _divergence(self, group: Group, failure: Failure, interruption: Interruption) -> Divergence:
        scenario = failure.scenario
        if group.free:
            with suppress(ValueError):  # a divergence that does not show again is reported unreduced
                drawing = self._drawing()
                reduced = reduce(drawing, scenario, self._budget, judge=self._judge, interruption=interruption)
                scenario = reduced.scenario
        difference = self._compare(self._run_baseline(scenario), self._run_other(scenario))
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
        """Returns the program that draws fresh scenarios: in this process, in configurations that both understand."""
        program = self._baseline
        if program.implementation.batch is not None:
            program = Program(program.component, generator_of(program))
        return program.within(self._configs)

    def _judge(self, scenario: Scenario) -> Run:
        """Returns a run whose violation is the divergence, and whose steps are those that either side performed."""
        left, right = self._run_baseline(scenario), self._run_other(scenario)
        difference = self._compare(left, right)
        run = Run(None, 0, None)
        if difference is not None:
            run.violation = _Diverges(difference.group, self.program, (difference.group.operation,))
        run.performed = [
            step
            for index, step in enumerate(scenario.steps)
            if any(index < len(one.entries) and one.entries[index].outcome is not None for one in (left, right))
        ]
        return run

    def _compare(self, left: Run, right: Run) -> _Difference | None:
        """Returns the first difference of two recorded runs, with the properties that each side breaks."""
        if not self._inside:
            left, right = outcomes(self.program.component, left, right)
        found = first_difference(left, right, violations=True, resources=self._inside)
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
