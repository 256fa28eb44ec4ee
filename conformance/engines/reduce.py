"""Makes a failing scenario short and simple: deletes steps, simplifies the rest, then draws fresh scenarios.

A candidate counts only if it fails with the same signature: property, failure class, and the operation at which the
failure showed. Deleting steps alone ends in local minima. The last stage therefore draws fresh scenarios, at most one
and a half times as long as the best, and reduces those that fail with the signature. The budget is a number of runs, so
that a reduction has the same result on every machine. A reduction that used up its budget can go on later.

Where a run takes long, there are not enough of them for that. A component says then which coarse changes come first
(`conformance.driver.Levels`): a smaller world with the same steps, parts and kinds of steps left out, and in the place
of a stretch of turns a step that lets the implementation say who goes on. Each run counts for several in the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.driver import Broken, Levels, Program, Run, run_scenario
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.levels import (
    groups_of_kinds,
    stretches_of,
    without_half_stretches,
    without_parts,
    without_stretches,
)
from conformance.engines.search import Search, Tables, tables
from conformance.engines.simpler import (
    Rank,
    Ranking,
    Steps,
    changes,
    with_exchanged_numbers,
    with_one_exchanged,
    without_chunks,
    without_one_number,
    without_pairs,
)
from conformance.scenarios import Scenario

BUDGET = 20_000
"""How many runs one reduction may take. Nine of ten known bugs need less than half of them."""
AGAIN = 4_000
"""How many fresh scenarios the last stage draws at most. With half as many, more known bugs keep several minimal
scenarios."""
IN_VAIN = 15
"""The last stage ends when so many fresh scenarios in a row failed alike, and led to nothing simpler."""

Signature = tuple[str, str, str]
_Key = tuple[Any, Steps]
"""The configuration and the steps of a candidate. Many changes lead to the same short candidates; with this key, none
of them is run or shortened twice."""
Alike = Callable[[Signature], bool]
"""Returns whether a failure with this signature counts as the failure that is reduced."""
Better = Callable[[Scenario], None]
"""Called with every scenario that is simpler than all before."""
Judge = Callable[[Scenario], Run]
"""Runs a scenario. The reduction keeps the violation of this run, which need not be the violation of a property."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """The simplest scenario known, and how many runs it took to get there."""

    scenario: Scenario
    signature: Signature
    broken: Broken
    """What is owed and observed in that scenario. In a longer one, the numbers in these texts were others."""
    runs: int
    finished: bool = True
    """True if nothing was left to try, false if the budget or an interruption ended the reduction."""
    interrupted: bool = False
    """Whether an interruption ended it."""


class DoesNotFail(ValueError):
    """A scenario does not fail."""

    def __init__(self) -> None:
        super().__init__("the scenario does not fail, so there is nothing to reduce")


class NotDeterministic(ValueError):
    """A scenario that failed does not fail in the same way when it is run again."""

    def __init__(self) -> None:
        super().__init__(
            "the scenario does not fail in the same way when it is run again: the implementation is not deterministic"
        )


def reduce(
    program: Program,
    scenario: Scenario,
    budget: int = BUDGET,
    alike: Alike | None = None,
    judge: Judge | None = None,
    interruption: Interruption = NEVER,
) -> Reduced:
    """Returns the simplest scenario that fails as this one does and that the budget suffices to find.

    Without `alike`, only failures with the same signature count, because two bugs may break one property. With `judge`,
    the program draws scenarios and `judge` runs them.

    Raises: DoesNotFail; NotDeterministic if the scenario does not fail in the same way when it is run again; ValueError
    if the budget is 0.
    """
    if budget <= 0:
        raise ValueError("the scenario was not reduced: every run would take too long")
    reduction = Reduction(program, scenario, alike=alike, judge=judge, interruption=interruption)
    reduction.go_on(budget - reduction.spent)
    return reduction.result()


def why_not_reduced(error: ValueError) -> str:
    """Returns why a scenario that failed in a search was not reduced, behind what was observed in it."""
    if isinstance(error, DoesNotFail):
        return " (not reduced: run again, it does not fail, so the implementation is not deterministic)"
    return f" ({error})"


class Reduction:
    """A reduction that can be interrupted at any moment and resumed from `best`, `drawn` and `vain` alone.

    Everything else that it remembers only saves runs.

    Raises: DoesNotFail; NotDeterministic if the scenario does not fail in the same way twice.
    """

    def __init__(
        self,
        program: Program,
        scenario: Scenario,
        drawn: int = 0,
        vain: int = 0,
        better: Better | None = None,
        alike: Alike | None = None,
        judge: Judge | None = None,
        interruption: Interruption = NEVER,
    ) -> None:
        self.program = program
        self._judge = judge
        self._interruption = interruption
        violation = self._run(scenario).violation
        if violation is None:
            raise DoesNotFail
        self.signature: Signature = violation.signature
        """The signature of the scenario as it was given."""
        self.drawn = drawn
        """How many fresh scenarios were drawn so far."""
        self.vain = vain
        """How many of them failed alike since the last one that led to something simpler."""
        self.runs = 0
        self.spent = 0
        """What the runs so far count for in a budget."""
        self.finished = False
        self.better = better
        """Called with every scenario that is simpler than all before."""
        self._alike = alike or self.signature.__eq__
        self._levels = levels = program.component.levels
        self._again, self._in_vain = (AGAIN, IN_VAIN) if levels is None else (levels.again, levels.in_vain)
        self._ranking = Ranking(program)
        self._known: dict[_Key, Scenario | None] = {}
        self._shortened_before: set[_Key] = set()
        self._left = 1
        self.best = scenario
        best = self._failing(scenario)
        if best is None:
            raise NotDeterministic
        self.best = best
        """The simplest scenario known so far."""

    def go_on(self, budget: int) -> bool:
        """Go on for at most so many runs; those of a component with levels count for several. Returns whether nothing
        is left to try."""
        self._left = budget
        while not self.finished and self._left > 0:
            if self._levels is not None:
                self._made_coarser(self.best, self._levels)
            self._shortened(self.best)
            self.finished = not self._simpler_elsewhere() and self._left > 0 and self._draw_again()
        return self.finished

    def result(self) -> Reduced:
        """Returns the best scenario with its failure. Raises: NotDeterministic."""
        last = self._run(self.best).violation
        if last is None or not self._alike(last.signature):
            raise NotDeterministic
        interrupted = not self.finished and self._interruption.requested
        return Reduced(self.best, last.signature, last.broken, self.runs, self.finished, interrupted)

    # ---- levels ------------------------------------------------------------------------------------------------------
    def _made_coarser(self, scenario: Scenario, levels: Levels) -> None:
        """Make coarse changes until none of them leads to anything simpler."""
        while self._left > 0:
            before = scenario
            scenario = self._without_stretches(scenario, levels, len(stretches_of(levels, scenario.steps)))
            scenario = self._without_kinds(scenario, levels)
            scenario = self._in_a_smaller_world(scenario, levels)
            while (found := self._first(scenario, without_parts(levels, scenario.steps))) is not None:
                scenario = found
            scenario = self._without_each_stretch(scenario, levels)
            while (found := self._first(scenario, without_half_stretches(levels, scenario.steps))) is not None:
                scenario = found
            if scenario == before:
                return

    def _without_stretches(self, scenario: Scenario, levels: Levels, size: int) -> Scenario:
        """Leave out so many stretches in a row, or put something simpler in their places, from the first to the
        last."""
        at = 0
        while at < len(stretches := stretches_of(levels, scenario.steps)):
            found = self._first(scenario, without_stretches(levels, scenario.steps, stretches[at : at + size]))
            if found is None:
                at += size
            else:
                scenario = found
        return scenario

    def _without_each_stretch(self, scenario: Scenario, levels: Levels) -> Scenario:
        """Leave out half of the stretches, a quarter of them, down to each."""
        size = len(stretches_of(levels, scenario.steps)) // 2
        while size:
            scenario = self._without_stretches(scenario, levels, size)
            size //= 2
        return scenario

    def _without_kinds(self, scenario: Scenario, levels: Levels) -> Scenario:
        """Leave out all steps of some kinds."""
        for names in groups_of_kinds(levels):
            fewer = tuple(step for step in scenario.steps if step[0] not in names)
            if len(fewer) < len(scenario.steps):
                scenario = self._first(scenario, iter((fewer,))) or scenario
        return scenario

    def _in_a_smaller_world(self, scenario: Scenario, levels: Levels) -> Scenario:
        """Move to the simplest configuration in which the same steps fail."""
        rank, simpler = self._ranking(scenario), self._ranking.simpler_configs(scenario.config)
        for config in levels.worlds(scenario.config, simpler):
            steps = levels.moved(scenario.config, scenario.steps, config)
            found = self._failing(Scenario(scenario.component, config, steps))
            if found is not None and self._ranking(found) < rank:
                return found
        return scenario

    # ---- stages ------------------------------------------------------------------------------------------------------
    def _shortened(self, scenario: Scenario) -> Scenario:
        """Delete and simplify until nothing changes, or until it reaches a scenario that was shortened before."""
        reached: list[_Key] = []
        while (key := (scenario.config, scenario.steps)) not in self._shortened_before:
            found = self._simplified(self._deleted(scenario))
            reached.append(key)
            if found == scenario:
                break
            scenario = found
        if self._left > 0:  # otherwise the budget ended it too early
            self._shortened_before.update(reached)
        return scenario

    def _deleted(self, scenario: Scenario) -> Scenario:
        """Delete steps by delta debugging: chunks first, then single steps, and pairs of steps last."""
        size = max(1, len(scenario.steps) // 2)
        while True:
            found = self._first(scenario, without_chunks(scenario.steps, size))
            if found is not None:
                scenario = found
                size = max(1, min(size, len(scenario.steps) // 2))
            elif size > 1:
                size //= 2
            elif (found := self._first(scenario, without_pairs(scenario.steps))) is not None:
                scenario = found
            else:
                return scenario

    def _first(self, scenario: Scenario, candidates: Iterator[Steps]) -> Scenario | None:
        for steps in candidates:
            found = self._failing(Scenario(scenario.component, scenario.config, steps))
            if found is not None and len(found.steps) < len(scenario.steps):
                return found
        return None

    def _simplified(self, scenario: Scenario) -> Scenario:
        """Try simpler configurations and simpler steps."""
        rank = self._ranking(scenario)
        simpler = self._ranking.simpler_configs(scenario.config) if self._levels is None else ()
        found = self._in_another_config(scenario, rank, simpler, with_exchanged_numbers)
        if found is not None:
            scenario, rank = found, self._ranking(found)
        for change in changes(self.program, scenario.steps):
            candidate = Scenario(scenario.component, scenario.config, change(scenario.steps))
            if self._ranking(candidate) >= rank:
                continue
            found = self._failing(candidate)
            if found is not None and (lower := self._ranking(found)) < rank:
                scenario, rank = found, lower
        return scenario

    def _simpler_elsewhere(self) -> bool:
        """Try to simplify the best scenario in other configurations: to shorten it, or to exchange one step.

        Returns whether that succeeded. With levels, that was tried before.
        """
        if self._levels is not None:
            return False
        rank, configs = self._ranking(self.best), self._ranking.configs()
        simpler = self._ranking.simpler_configs(self.best.config)
        return (
            self._in_another_config(self.best, rank, configs, without_one_number) is not None
            or self._in_another_config(self.best, rank, simpler, with_one_exchanged) is not None
        )

    def _in_another_config(
        self,
        scenario: Scenario,
        rank: Rank,
        configs: Sequence[Any],
        variants: Callable[[Program, Steps], Iterator[Steps]],
    ) -> Scenario | None:
        for config in configs:
            for steps in variants(self.program, scenario.steps):
                found = self._failing(Scenario(scenario.component, config, steps))
                if found is not None and self._ranking(found) < rank:
                    return found
        return None

    def _draw_again(self) -> bool:
        """Draw fresh scenarios, at most one and a half times as long as the best, to leave a local minimum.

        Half of them use only the kinds of steps that the best one has, in its configuration and in all configurations
        in turn. The others use all kinds of steps, in simpler configurations and in all.

        Returns whether enough were drawn; False if a better scenario was found before or the budget is used up.
        """
        if not self.best.steps:
            return True
        searches = self._searches()
        while self.drawn < self._again and self.vain < self._in_vain:
            if self._left <= 0:
                return False
            number, self.drawn = self.drawn, self.drawn + 1
            self._spend(self.best.config)
            seed = f"again/{self.signature}/{number}"
            scenario, run = searches[number % len(searches)].run(seed, harmless=self._harmless)
            if self._harmless(scenario.config, scenario.steps):
                continue
            if self._judge is not None:
                run = self._judge(scenario)
            if run.violation is None or not self._alike(run.violation.signature):
                self._known[scenario.config, scenario.steps] = None
                continue
            before = self.best
            found = self._deleted(Scenario(scenario.component, scenario.config, tuple(run.performed)))
            if len(found.steps) <= len(before.steps):
                self._shortened(found)
            if self.best is not before:
                self.vain = 0
                return False
            self.vain += 1
        return True

    def _harmless(self, config: Any, steps: Steps) -> bool:
        """Returns whether this scenario was run before and did not fail. Short scenarios are drawn many times."""
        return self._known.get((config, steps), self.best) is None

    def _searches(self) -> list[Search]:
        """Returns the searches that draw the fresh scenarios, in turn."""
        length = max(2, len(self.best.steps) + len(self.best.steps) // 2)
        used = {step[0] for step in self.best.steps}
        only = tables(
            self.program.component, {kind.key: int(kind.name in used) for kind in self.program.component.steps}
        )
        anything = Search(self.program, length)
        configs = self._ranking.configs()
        if self._levels is not None:
            configs = [*self._levels.worlds(self.best.config, self._ranking.simpler_configs(self.best.config))]
            configs.append(self.best.config)
        simplest = configs[: configs.index(self.best.config) + 1] if self.best.config in configs else configs
        found = []
        for number, config in enumerate(configs):
            found += [
                self._search(config, length, only),
                self._search(self.best.config, length, only),
                self._search(simplest[number % len(simplest)], length),
                anything,
            ]
        return found

    def _search(self, config: Any, length: int, only: Tables | None = None) -> Search:
        return Search(self.program.within((config,)), length, only)

    # ---- runs --------------------------------------------------------------------------------------------------------
    def _spend(self, config: Any) -> None:
        cost = 1 if self._levels is None else self._levels.cost(config)
        self._left = 0 if self._interruption.requested else self._left - cost
        self.spent += cost
        self.runs += 1

    def _run(self, scenario: Scenario) -> Run:
        if self._judge is not None:
            return self._judge(scenario)
        return run_scenario(self.program, scenario.config, scenario.steps)

    def _failing(self, scenario: Scenario) -> Scenario | None:
        """Returns the scenario without the steps that were skipped or not reached, if it fails with the signature.

        Otherwise, and if the budget is used up, returns None.
        """
        key = scenario.config, scenario.steps
        if key in self._known:
            return self._known[key]
        if self._left <= 0:
            return None
        self._spend(scenario.config)
        run = self._run(scenario)
        if run.violation is None or not self._alike(run.violation.signature):
            self._known[key] = None
            return None
        found = Scenario(scenario.component, scenario.config, tuple(run.performed))
        self._known[key] = self._known[found.config, found.steps] = found
        if self._ranking(found) < self._ranking(self.best):
            self.best = found
            if self.better is not None:
                self.better(found)
        return found
