"""Making a failing scenario short: cut, drop, ddmin, lower, then look once more from scratch.

A candidate counts only if it fails with the same signature: property, failure class, and the operation at which it
showed. Deleting alone sticks in local minima, so the last stage draws fresh scenarios, no longer than one and a half
times the best, and reduces those that fail alike. The budget is a number of runs, so that a reduction ends alike on
every machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from conformance.alphabets import run_scenario
from conformance.alphabets.base import FINISH, RUN
from conformance.alphabets.program import Program
from conformance.engines.search import Search
from conformance.properties import Broken
from conformance.scenarios import Scenario, Step

BUDGET = 6_000
"""Runs that one reduction may take."""
_AGAIN = 2_000
"""Fresh scenarios that the last stage draws (campaigns.md: enough to get out of every local minimum seen there)."""

Signature = tuple[str, str, str]
Steps = tuple[Step, ...]
Change = Callable[[Steps], Steps]


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


def _first(runs: _Budget, best: Scenario, candidates: Iterator[Steps]) -> Scenario | None:
    for steps in candidates:
        found = runs.failing(Scenario(best.component, best.config, steps))
        if found is not None and len(found.steps) < len(best.steps):
            return found
    return None


def _without_chunks(steps: Steps, size: int) -> Iterator[Steps]:
    for at in range(0, len(steps), size):
        yield steps[:at] + steps[at + size :]


def _without_pairs(steps: Steps) -> Iterator[Steps]:
    if len(steps) <= 24:
        for second in range(1, len(steps)):
            for first in range(second):
                yield steps[:first] + steps[first + 1 : second] + steps[second + 1 :]


def _lower(runs: _Budget, best: Scenario) -> Scenario:
    """A simpler configuration, turns to the end, and smaller operands, all occurrences of one number at once."""
    for config in _simpler_configs(runs, best.config):
        found = runs.failing(Scenario(best.component, config, best.steps))
        if found is not None and len(found.steps) <= len(best.steps):
            best = found
            break
    changes = (
        *_turns_to_the_end(best.steps),
        *_renamings(runs, best.steps),
        *_lowerings(best.steps),
        *_simpler_kinds(runs, best.steps),
    )
    for change in changes:
        steps = change(best.steps)
        if steps == best.steps:
            continue
        found = runs.failing(Scenario(best.component, best.config, steps))
        if found is not None and found.steps != best.steps and len(found.steps) <= len(best.steps):
            best = found
    return best


def _simpler_configs(runs: _Budget, config: Any) -> list[Any]:
    """Simplest first: operations that run whole, then little in it, then the order in which the alphabet has them."""
    known = list(dict.fromkeys(runs.program.configs))
    order = {one: (one.interleaving, _size(one), index) for index, one in enumerate(known)}
    if config not in order:
        order[config] = (config.interleaving, _size(config), len(known))
    whole = "whole", "fine"
    ranked = sorted(order, key=lambda one: (whole.index(order[one][0]), *order[one][1:]))
    return ranked[: ranked.index(config)]


def _size(value: Any) -> int:
    """How much there is in a configuration."""
    value = msgspec.to_builtins(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(_size, value))
    return value if isinstance(value, int) else 0


def _turns_to_the_end(steps: Steps) -> list[Change]:
    """A thread that may as well go on to the end of its operation: first all of them, then each by itself."""
    turns = [index for index, step in enumerate(steps) if step[0] == RUN and len(step) == 3]
    changes: list[Change] = [
        lambda old, index=index: (
            _with(old, index, (FINISH, old[index][1]))  # type: ignore[misc]
            if index < len(old) and old[index][0] == RUN
            else old
        )
        for index in turns
    ]
    if len(turns) > 1:
        changes.insert(0, lambda old: tuple((FINISH, step[1]) if step[0] == RUN else step for step in old))
    return changes


def _renamings(runs: _Budget, steps: Steps) -> list[Change]:
    """Two values of one operand change places, where the lower one then comes first: channel 0 before channel 1.

    The places where a thread stops are called after what is there, so numbers in their names change as well.
    """
    values: dict[str, dict[int, None]] = {}
    for step in steps:
        kind = runs.program.alphabet.kind(step[0])
        for name, operand in zip(kind.operands if kind is not None else (), step[1:], strict=False):
            if type(operand) is int:
                values.setdefault(name, {})[operand] = None
    return [
        _swapping(runs, name, small, big)
        for name, found in values.items()
        for at, big in enumerate(found)
        for small in range(big)
        if small not in list(found)[:at]
    ]


def _swapping(runs: _Budget, operand: str, small: int, big: int) -> Change:
    swapped = {small: big, big: small}
    numbers = re.compile(rf"\b(?:{small}|{big})\b")

    def change(steps: Steps) -> Steps:
        return tuple(map(one, steps))

    def one(step: Step) -> Step:
        kind = runs.program.alphabet.kind(step[0])
        if kind is not None:
            pairs = zip(kind.operands, step[1:], strict=True)
            return step[0], *(swapped.get(value, value) if name == operand else value for name, value in pairs)
        if step[0] == RUN:
            return *step[:2], numbers.sub(lambda found: str(swapped[int(found[0])]), step[2])
        return step

    return change


def _lowerings(steps: Steps) -> list[Change]:
    numbers = sorted({operand for step in steps for operand in step[1:] if type(operand) is int and operand > 1})
    changes: list[Change] = [
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


def _simpler_kinds(runs: _Budget, steps: Steps) -> Iterator[Change]:
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


def _replacing(index: int, at: int, value: int | str) -> Change:
    def change(steps: Steps) -> Steps:
        if index >= len(steps) or at >= len(steps[index]):
            return steps
        step = steps[index]
        return _with(steps, index, (*step[:at], value, *step[at + 1 :]))

    return change


def _with(steps: Steps, index: int, step: Step) -> Steps:
    return *steps[:index], step, *steps[index + 1 :]


def _search_again(runs: _Budget, best: Scenario) -> Scenario:
    """Fresh scenarios, length-bounded: the way out of a local minimum. Every second one has the best configuration."""
    anywhere, here = Search(runs.program), Search(runs.program.made_by(runs.program.factory))
    for number in range(_AGAIN):
        if runs.left <= 0 or len(best.steps) <= 1:
            break
        search = here if number % 2 else anywhere
        search.length = max(2, len(best.steps) + len(best.steps) // 2)
        here.program.configs = (best.config,)
        runs.left -= 1
        scenario, run = search.run(f"again/{runs.signature}/{number}")
        if run.violation is not None and run.violation.signature == runs.signature:
            shorter = _shorten(runs, scenario)
            if len(shorter.steps) < len(best.steps):
                best = shorter
    return best
