"""The coarse changes with which the reduction of a component begins that has levels (`conformance.driver.Levels`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from conformance.driver import Levels
from conformance.scenarios import Step

Steps = tuple[Step, ...]
_LEAST = 2
"""A stretch has so many turns at least: a single one is a step like any other."""


def groups_of_kinds(levels: Levels) -> Iterator[tuple[str, ...]]:
    """Yields the groups of kinds of steps that are left out together, and then each kind."""
    yield from levels.kinds
    yield from ((name,) for group in levels.kinds for name in group if len(group) > 1)


def without_parts(levels: Levels, steps: Steps) -> Iterator[Steps]:
    """Yields the steps without the first parts, as many as possible, and then without each part."""
    begins = [at for at, step in enumerate(steps) if step[0] in levels.parts]
    for at in reversed(begins):
        yield steps[at:]
    bounds = [0, *begins, len(steps)]
    for begin, end in pairwise(bounds):
        if end > begin:
            yield steps[:begin] + steps[end:]


def without_half_stretches(levels: Levels, steps: Steps) -> Iterator[Steps]:
    """Yields the steps with something simpler in the place of the first or the last part of each long stretch."""
    for begin, end in stretches_of(levels, steps):
        size = (end - begin) // 2
        while size >= _LEAST:
            for some in ((begin, begin + size), (end - size, end)):
                for one in levels.stretches:
                    yield _with_replaced(steps, [some], (one,))
            size //= 2


def stretches_of(levels: Levels, steps: Sequence[Step]) -> list[tuple[int, int]]:
    """Returns where the stretches begin and end."""
    found: list[tuple[int, int]] = []
    begin = 0
    for at, step in enumerate((*steps, ())):
        if step and step[0] in levels.turns:
            continue
        if at - begin >= _LEAST:
            found.append((begin, at))
        begin = at + 1
    return found


def without_stretches(levels: Levels, steps: Steps, stretches: Sequence[tuple[int, int]]) -> Iterator[Steps]:
    """Yields the steps without some stretches, and with something else in the place of each of them."""
    yield _with_replaced(steps, stretches, ())
    for one in levels.stretches:
        yield _with_replaced(steps, stretches, (one,))


def _with_replaced(steps: Steps, stretches: Sequence[tuple[int, int]], by: Steps) -> Steps:
    found: list[Step] = []
    done = 0
    for begin, end in stretches:
        found += [*steps[done:begin], *by]
        done = end
    return *found, *steps[done:]
