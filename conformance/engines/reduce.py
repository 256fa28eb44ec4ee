"""Making a failing scenario short: cut, drop, ddmin, lower, then look once more from scratch.

A candidate counts only if it fails with the same signature: property, failure class, and the operation at which it
showed. Deleting alone sticks in local minima, so the last stage draws fresh scenarios, no longer than one and a half
times the best, and reduces those that fail alike. The budget is a number of runs, so that a reduction ends alike on
every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conformance.alphabets import run_scenario
from conformance.alphabets.program import Program
from conformance.engines.search import Search
from conformance.properties import Broken
from conformance.scenarios import Scenario, Step

BUDGET = 6_000
"""Runs that one reduction may take."""
_AGAIN = 2_000
"""Fresh scenarios that the last stage draws (campaigns.md: enough to get out of every local minimum seen there)."""

Signature = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Reduced:
    """The shortest scenario known, and how many runs it took to get there."""

    scenario: Scenario
    signature: Signature
    broken: Broken
    """What is owed and observed in that scenario; in a longer one the numbers were others."""
    runs: int


class NotDeterministic(ValueError):
    """The same scenario does not fail alike twice."""

    def __init__(self) -> None:
        super().__init__(
            "the scenario fails in different ways when it is run again: the implementation is not deterministic"
        )


class _Budget:
    """Runs candidates until there is no budget left."""

    def __init__(self, program: Program, signature: Signature, runs: int) -> None:
        self.program = program
        self.signature = signature
        self.left = runs

    def failing(self, scenario: Scenario) -> Scenario | None:
        """The scenario without what it skipped or did not reach, if it fails with the signature."""
        if self.left <= 0:
            return None
        self.left -= 1
        run = run_scenario(self.program, scenario.config, scenario.steps)
        if run.violation is None or run.violation.signature != self.signature:
            return None
        return Scenario(scenario.component, scenario.config, tuple(run.performed))


def reduce(program: Program, scenario: Scenario, budget: int = BUDGET) -> Reduced:
    """The shortest scenario that fails as this one does.

    Raises: ValueError if the scenario does not fail.
    """
    if budget <= 0:
        raise ValueError("it was not reduced: every run would take too long")
    run = run_scenario(program, scenario.config, scenario.steps)
    if run.violation is None:
        raise ValueError("the scenario does not fail, so there is nothing to reduce")
    runs = _Budget(program, run.violation.signature, budget)
    best = runs.failing(scenario)
    if best is None:
        raise NotDeterministic
    best = _shorten(runs, best)
    best = _search_again(runs, best)
    last = run_scenario(program, best.config, best.steps).violation
    if last is None or last.signature != runs.signature:
        raise NotDeterministic
    return Reduced(best, runs.signature, last.broken, budget - runs.left)


def _shorten(runs: _Budget, best: Scenario) -> Scenario:
    """Delete and lower until nothing more goes."""
    while True:
        shorter = _delete(runs, best)
        lower = _lower(runs, shorter)
        if lower == best:
            return best
        best = lower


def _delete(runs: _Budget, best: Scenario) -> Scenario:
    """ddmin over steps, single steps and pairs of steps last."""
    size = max(1, len(best.steps) // 2)
    while True:
        found = _first(runs, best, _without_chunks(best.steps, size))
        if found is not None:
            best = found
            size = max(1, min(size, len(best.steps) // 2))
        elif size > 1:
            size //= 2
        elif (found := _first(runs, best, _without_pairs(best.steps))) is not None:
            best = found
        else:
            return best


def _first(runs: _Budget, best: Scenario, candidates: Iterator[tuple[Step, ...]]) -> Scenario | None:
    for steps in candidates:
        found = runs.failing(Scenario(best.component, best.config, steps))
        if found is not None and len(found.steps) < len(best.steps):
            return found
    return None


def _without_chunks(steps: tuple[Step, ...], size: int) -> Iterator[tuple[Step, ...]]:
    for at in range(0, len(steps), size):
        yield steps[:at] + steps[at + size :]


def _without_pairs(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    if len(steps) <= 24:
        for second in range(1, len(steps)):
            for first in range(second):
                yield steps[:first] + steps[first + 1 : second] + steps[second + 1 :]


def _lower(runs: _Budget, best: Scenario) -> Scenario:
    """A simpler configuration, and smaller operands, all occurrences of one number at once."""
    for config in runs.program.configs:
        if config == best.config:
            break
        found = runs.failing(Scenario(best.component, config, best.steps))
        if found is not None and len(found.steps) <= len(best.steps):
            best = found
            break
    for change in (*_lowerings(best.steps), *_simpler_kinds(runs, best.steps)):
        found = runs.failing(Scenario(best.component, best.config, change(best.steps)))
        if found is not None and found.steps != best.steps and len(found.steps) <= len(best.steps):
            best = found
    return best


def _lowerings(steps: tuple[Step, ...]) -> list[Callable[[tuple[Step, ...]], tuple[Step, ...]]]:
    numbers = sorted({operand for step in steps for operand in step[1:] if type(operand) is int and operand > 1})
    changes: list[Callable[[tuple[Step, ...]], tuple[Step, ...]]] = [
        lambda old, big=big, small=small: tuple(  # type: ignore[misc]
            (step[0], *(small if type(operand) is int and operand == big else operand for operand in step[1:]))
            for step in old
        )
        for big in numbers
        for small in range(1, big)
    ]
    for index, step in enumerate(steps):
        for at, operand in enumerate(step):
            if at and type(operand) is int and operand > 0:
                changes += [_replacing(index, at, small) for small in range(operand)]
    return changes


def _simpler_kinds(runs: _Budget, steps: tuple[Step, ...]) -> Iterator[Callable[[tuple[Step, ...]], tuple[Step, ...]]]:
    """The same operands on a kind of step that the alphabet declares earlier."""
    kinds = runs.program.alphabet.steps
    for index, step in enumerate(steps):
        mine = runs.program.alphabet.kind(step[0])
        if mine is None:  # a turn
            continue
        for kind in kinds:
            if kind is mine:
                break
            if list(kind.operands) == list(mine.operands) and kind.operands:
                yield _replacing(index, 0, kind.name)


def _replacing(index: int, at: int, value: int | str) -> Callable[[tuple[Step, ...]], tuple[Step, ...]]:
    def change(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        if index >= len(steps) or at >= len(steps[index]):
            return steps
        step = steps[index]
        return (*steps[:index], (*step[:at], value, *step[at + 1 :]), *steps[index + 1 :])

    return change


def _search_again(runs: _Budget, best: Scenario) -> Scenario:
    """Fresh scenarios, length-bounded: the way out of a local minimum."""
    for number in range(_AGAIN):
        if runs.left <= 0 or len(best.steps) <= 1:
            break
        search = Search(runs.program, length=max(2, len(best.steps) + len(best.steps) // 2))
        runs.left -= 1
        scenario, run = search.run(f"again/{runs.signature}/{number}")
        if run.violation is not None and run.violation.signature == runs.signature:
            shorter = _shorten(runs, scenario)
            if len(shorter.steps) < len(best.steps):
                best = shorter
    return best
