"""Defines when one failing scenario is simpler than another, and the changes that may lead to a simpler one.

Scenarios are ranked: fewer steps come first, then a simpler configuration, then steps that are declared earlier, with
smaller operands. A reduction accepts only scenarios of a lower rank, so that the many scenarios that show one bug end
in one minimal scenario.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from conformance.driver import FINISH, RUN, AnyStep, Program
from conformance.scenarios import Scenario, Step

Steps = tuple[Step, ...]
Change = Callable[[Steps], Steps]
Rank = tuple[Any, ...]


class Ranking:
    """The order of the scenarios of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._kinds = {kind.name: index for index, kind in enumerate(program.component.kinds)}
        self._kinds |= {name: len(self._kinds) + at for at, name in enumerate(program.component.turns)}
        known = list(dict.fromkeys(program.configs))
        self._configs = {config: _rank_of(config, index) for index, config in enumerate(known)}

    def __call__(self, scenario: Scenario) -> Rank:
        """Returns the rank of a scenario. Simpler scenarios have smaller ranks."""
        return (
            len(scenario.steps),
            self._configs.get(scenario.config) or _rank_of(scenario.config, len(self._configs)),
            tuple(self.of(step) for step in scenario.steps),
        )

    def of(self, step: Step) -> Rank:
        """Returns the rank of a step among others."""
        return self._kinds.get(step[0], len(self._kinds)), tuple(map(_operand_rank, step[1:]))

    def configs(self) -> list[Any]:
        """Returns all configurations, the simplest first."""
        return sorted(self._configs, key=self._configs.__getitem__)

    def simpler_configs(self, config: Any) -> list[Any]:
        """Returns the simpler configurations: first by interleaving (whole), then by size, then as declared."""
        limit = self._configs.get(config) or _rank_of(config, len(self._configs))
        return sorted((one for one, rank in self._configs.items() if rank < limit), key=self._configs.__getitem__)


def _rank_of(config: Any, index: int) -> Rank:
    return config.interleaving != "whole", _size(config), index


def _operand_rank(operand: Any) -> Rank:
    return (0, int(operand), "") if isinstance(operand, int) else (1, 0, str(operand))


def _size(value: Any) -> int:
    """Returns the size of a configuration: the sum of its numbers, plus one for each list."""
    value = msgspec.to_builtins(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(_size, value))
    return value if isinstance(value, int) else 0


# ---- fewer steps -----------------------------------------------------------------------------------------------------
def without_chunks(steps: Steps, size: int) -> Iterator[Steps]:
    """Yields the steps without one chunk of this size, for every chunk."""
    for at in range(0, len(steps), size):
        yield steps[:at] + steps[at + size :]


def without_pairs(steps: Steps) -> Iterator[Steps]:
    """Yields the steps without one pair of steps, for every pair. Of a long list, these would be too many."""
    if len(steps) <= 24:
        for second in range(1, len(steps)):
            for first in range(second):
                yield steps[:first] + steps[first + 1 : second] + steps[second + 1 :]


# ---- as many steps, but simpler ones ---------------------------------------------------------------------------------
def with_exchanged_numbers(program: Program, steps: Steps) -> Iterator[Steps]:
    """Yields the same steps, and the steps with two numbers exchanged.

    In another configuration, another channel may be the remote one.
    """
    yield steps
    for change in _renamings(program, steps, beyond=1):
        yield change(steps)


def without_one_number(program: Program, steps: Steps) -> Iterator[Steps]:
    """Yields the same steps, and the steps without one number, for example without one channel.

    Another configuration may need fewer of the same steps. Numbers above the missing one become smaller by one.
    """
    yield steps
    for operand, found in _numbers(program, steps).items():
        for gone in found if len(found) > 1 else ():
            kept = tuple(step for step in steps if (operand, gone) not in _named(program, step))
            for big in sorted(value for value in found if value > gone):
                kept = _swapping(program, operand, big - 1, big)(kept)
            yield kept


def with_one_exchanged(program: Program, steps: Steps) -> Iterator[Steps]:
    """Yields the steps with one step replaced by a simpler one, which may be enough in another configuration."""
    if len(steps) <= MOST_EXCHANGED // 2:
        for change in _simpler_kinds(program, steps):
            yield change(steps)


def changes(program: Program, steps: Steps) -> Iterator[Change]:
    """Yields all changes that are worth a try.

    A change can also be applied after others have changed the steps. It may then change nothing.
    """
    yield from _turns_to_the_end(steps) if program.component.threads else ()
    yield from _renamings(program, steps)
    yield from _lowerings(steps)
    yield from _simpler_kinds(program, steps)
    yield from _moves(len(steps))


def _turns_to_the_end(steps: Steps) -> list[Change]:
    """Turns go to the end of the operation instead of to a pause: first all turns together, then each by itself."""
    turns = [index for index, step in enumerate(steps) if step[0] == RUN and len(step) == 3]
    found: list[Change] = [
        lambda old, index=index: (
            _with(old, index, (FINISH, old[index][1]))  # type: ignore[misc]
            if index < len(old) and old[index][0] == RUN
            else old
        )
        for index in turns
    ]
    if len(turns) > 1:
        found.insert(0, lambda old: tuple((FINISH, step[1]) if step[0] == RUN else step for step in old))
    return found


def _named(program: Program, step: Step) -> list[tuple[str, int | str]]:
    """Returns the operands of a step with their names. Those of a turn have no names and are left out."""
    kind = program.component.step(step[0])
    return list(zip(kind.operands if kind is not None else (), step[1:], strict=False))


def _numbers(program: Program, steps: Steps) -> dict[str, dict[int, None]]:
    """Returns the numbers that appear as each operand, by its name, in the order in which they appear."""
    values: dict[str, dict[int, None]] = {}
    for step in steps:
        for name, operand in _named(program, step):
            if type(operand) is int:
                values.setdefault(name, {})[operand] = None
    return values


MOST_SMALLER = 100
"""A number is tried as each smaller one below this. Channels, checkpoints and labels are small; a sequence number that
is about to wrap around is not, and its two thousand million smaller ones would be too many tries."""


def _renamings(program: Program, steps: Steps, beyond: int = 0) -> list[Change]:
    """Two values of one operand are exchanged, for example channel 0 and channel 1.

    The name of a place where a thread pauses may contain such a number, so the numbers in these names change as well.
    `beyond`: how many numbers that are greater than all in the steps take part.
    """
    return [
        _swapping(program, name, small, big)
        for name, found in _numbers(program, steps).items()
        for big in (*found, *range(max(found) + 1, max(found) + 1 + beyond))
        for small in range(min(big, MOST_SMALLER))
    ]


def _swapping(program: Program, operand: str, small: int, big: int) -> Change:
    swapped = {small: big, big: small}
    numbers = re.compile(rf"\b(?:{small}|{big})\b")

    def change(steps: Steps) -> Steps:
        return tuple(map(one, steps))

    def one(step: Step) -> Step:
        kind = program.component.step(step[0])
        if kind is not None:
            pairs = zip(kind.operands, step[1:], strict=True)
            return step[0], *(swapped.get(value, value) if name == operand else value for name, value in pairs)
        if step[0] == RUN:  # of a component with threads, and so a turn
            return *step[:2], numbers.sub(lambda found: str(swapped[int(found[0])]), step[2])
        return step

    return change


def _lowerings(steps: Steps) -> list[Change]:
    numbers = sorted({operand for step in steps for operand in step[1:] if type(operand) is int and operand > 1})
    found: list[Change] = [
        lambda old, big=big, small=small: tuple(  # type: ignore[misc]
            (step[0], *(small if type(operand) is int and operand == big else operand for operand in step[1:]))
            for step in old
        )
        for big in numbers
        for small in range(1, min(big, MOST_SMALLER))
    ]
    found += [
        lambda old, low=low: tuple(  # type: ignore[misc]
            (step[0], *(operand - 1 if type(operand) is int and operand >= low else operand for operand in step[1:]))
            for step in old
        )
        for low in numbers
    ]
    for index, step in enumerate(steps):
        for at, operand in enumerate(step):
            if at and isinstance(operand, int) and operand >= 0:
                smaller = range(-1, min(operand, MOST_SMALLER))
                found += [_replacing(index, at, type(operand)(small)) for small in smaller]
    return found


_SMALL = (0, 1, -1)
MOST_EXCHANGED = 12
"""In a scenario with at most so many steps, each step is tried as every simpler one. In a longer one, these would be
too many tries."""


def _simpler_kinds(program: Program, steps: Steps) -> Iterator[Change]:
    """A step is replaced by one that is declared earlier, with the same operands or small ones.

    If only one of the two steps names a checkpoint, for example, the checkpoint numbers in later steps are shifted.
    """
    if len(steps) > MOST_EXCHANGED:
        return
    for index, step in enumerate(steps):
        mine = program.component.step(step[0])
        if mine is None:  # a turn
            continue
        for kind in program.component.kinds:
            if kind is mine:
                break
            count = len(kind.operands)
            given = [step[1 : 1 + count]] if len(step) > count else []
            given += [(small,) * count for small in _SMALL[: 1 + 2 * bool(count)]]
            operands = {_typed(kind, some) for some in given}
            moved = {*kind.operands} ^ {*mine.operands}
            for some in sorted(operands, key=repr):
                yield _exchanging(program, index, (kind.name, *some), moved, 0)
                if moved:
                    yield _exchanging(program, index, (kind.name, *some), moved, 1 if len(kind.operands) else -1)
                    yield _exchanging(program, index, (kind.name, *some), moved, -1 if len(kind.operands) else 1)


def _typed(kind: AnyStep, operands: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Returns the operands converted to the types that this kind of step has: a bool and an int are not the same."""
    return tuple(
        type_(value) if type_ in (bool, int) and isinstance(value, int) else value
        for type_, value in zip(kind.operands.values(), operands, strict=True)
    )


def _moves(count: int) -> Iterator[Change]:
    """One step moves to an earlier place, so that steps that do not depend on each other get the same order."""
    for at in range(1, count):
        for to in range(at):
            yield (
                lambda old, at=at, to=to: (  # type: ignore[misc]
                    (*old[:to], old[at], *old[to:at], *old[at + 1 :]) if at < len(old) else old
                )
            )


def _exchanging(program: Program, index: int, step: Step, moved: set[str], by: int) -> Change:
    """The step at this index is replaced; in later steps, `by` is added to the operands with the names in `moved`."""

    def change(steps: Steps) -> Steps:
        if index >= len(steps):
            return steps
        behind = steps[index + 1 :]
        return (*steps[:index], step, *(map(renumbered, behind) if by else behind))

    def renumbered(one: Step) -> Step:
        kind = program.component.step(one[0])
        if kind is None:
            return one
        pairs = zip(kind.operands, one[1:], strict=True)
        return one[0], *(value + by if name in moved and type(value) is int else value for name, value in pairs)

    return change


def _replacing(index: int, at: int, value: int | str) -> Change:
    def change(steps: Steps) -> Steps:
        if index >= len(steps) or at >= len(steps[index]):
            return steps
        step = steps[index]
        return _with(steps, index, (*step[:at], value, *step[at + 1 :]))

    return change


def _with(steps: Steps, index: int, step: Step) -> Steps:
    return *steps[:index], step, *steps[index + 1 :]
