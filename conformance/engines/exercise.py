"""Where properties were put to the test: the settings in which a property was never judged, and the holes.

A *gap* is a setting in which the steps of a property were performed and the property was never judged, although it was
judged elsewhere. It is described as generally as possible: if a property was never judged before the conversion, that
is one gap, and not one for each recovery design, kind of channel and interleaving. A *hole* is a property that was
unsure in more than half of the cases in which there was something to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from msgspec import Struct

from conformance.driver import ANSWERS, Component, Kind, Level, Program, Property, Setting
from conformance.driver.setting import LOCAL, REMOTE
from conformance.engines.tally import Cases, Tally
from conformance.models.designs import recovers

EXPECTED = 10.0
"""A gap is reported if the property would have been judged so often in the setting, had it been judged there as often
as elsewhere. Below, that it was not judged there says little."""
_FIELDS = range(len(Setting._fields))
_DESIGNS = ("recover-first", "in-memory", "pushed")


class Exercise(Struct, frozen=True):
    """What a tally counted in each setting, in the form that is written to JSON. The lists are as long as `settings`,
    and in the same order."""

    settings: tuple[Setting, ...]
    """Recovery design, stage, channel and interleaving; a field is empty if it does not differ."""
    scenarios: tuple[int, ...]
    """In how many scenarios steps were performed there."""
    steps: dict[str, tuple[int, ...]]
    """How often each kind of step was performed."""
    judged: dict[str, tuple[int, ...]]
    """In how many cases each property was judged."""
    unsure: dict[str, int]
    """In how many cases each property was unsure."""


def exercise_of(tally: Tally) -> Exercise:
    """Returns what a tally counted. Everything in it is sorted, so that equal tallies give equal bytes."""
    settings, every = tuple(sorted(tally.settings)), [tally.settings[one] for one in sorted(tally.settings)]

    def by_name(counts: list[dict[str, int]]) -> dict[str, tuple[int, ...]]:
        names = sorted({name for one in counts for name in one})
        return {name: tuple(one.get(name, 0) for one in counts) for name in names}

    return Exercise(
        settings,
        tuple(one.scenarios for one in every),
        by_name([one.steps for one in every]),
        by_name([one.judged for one in every]),
        dict(sorted(tally.unsure.items())),
    )


def cases_of(exercise: Exercise) -> dict[Setting, Cases]:
    """Returns the cases that `exercise_of` wrote."""
    return {
        setting: Cases(
            exercise.scenarios[at],
            {name: counts[at] for name, counts in exercise.steps.items() if counts[at]},
            {slug: counts[at] for slug, counts in exercise.judged.items() if counts[at]},
        )
        for at, setting in enumerate(exercise.settings)
    }


@dataclass(frozen=True, slots=True)
class Gap:
    """A setting in which a property was never judged."""

    slug: str
    where: Setting
    """Fields that are empty do not matter."""
    steps: int
    """How often the steps were performed there after which the property is judged."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A property that was unsure in more than half of its cases."""

    slug: str
    unsure: int
    judged: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One property in one setting."""

    steps: int
    """How often the steps were performed there after which the property is judged."""
    judged: int
    """In how many cases it was judged there."""


def cells(judged: Property, tally: Tally) -> dict[Setting, Cell]:
    """Returns the settings in which the steps of a property were performed, in the order of the tally."""
    found = {}
    for setting, cases in tally.settings.items():
        names = judged.on or cases.steps  # the driver judges its own rules after every step
        steps = sum(cases.steps.get(name, 0) for name in names)
        if steps:
            found[setting] = Cell(steps, cases.judged.get(judged.slug, 0))
    return found


class Judging(Protocol):
    """A component with the properties that apply: a program, or what a result says of one."""

    @property
    def component(self) -> Component:
        """What the properties are of."""

    @property
    def properties(self) -> Sequence[Property]:
        """Those that apply."""


def shown(program: Judging) -> list[Property]:
    """Returns the properties that can be judged well or badly: goals, and what every operation exercises, cannot."""
    return [
        one
        for one in program.properties
        if one.kind is not Kind.SOMETIMES and one.level is not Level.UNTESTABLE and one.slug != ANSWERS
    ]


def gaps(program: Program, tally: Tally) -> list[Gap]:
    """Returns the gaps of all properties that were exercised, in the order of the properties."""
    return [gap for one in shown(program) for gap in _gaps(one, program, tally)]


def holes(program: Program, tally: Tally) -> list[Hole]:
    """Returns the properties that were unsure in more than half of their cases."""
    found = (Hole(one.slug, tally.unsure.get(one.slug, 0), tally.judged(one.slug)) for one in program.properties)
    return [one for one in found if one.unsure > one.judged]


def comparable(every: dict[Setting, Cell]) -> dict[Setting, Cell]:
    """Returns the cells at steps that concern one channel, or those at all other steps: where most cases are.

    The others say nothing: a rule about an element that was polled has nothing to judge at a poll that returns nothing.
    """
    one = {setting: cell for setting, cell in every.items() if setting.channel in (LOCAL, REMOTE)}
    whole = {setting: cell for setting, cell in every.items() if setting not in one}
    return max(whole, one, key=lambda some: sum(cell.judged for cell in some.values()))


def can(judged: Property, program: Judging, setting: Setting) -> bool:
    """Returns whether a property can be judged in a setting. One that needs a recovery design is about no other."""
    wanted = [design for design in _DESIGNS if recovers(design) <= judged.needs]
    if wanted and setting.recovery not in wanted:
        return False
    return judged.can_be_judged(setting)


def _gaps(judged: Property, program: Program, tally: Tally) -> Iterator[Gap]:
    if not judged.on:
        return  # the driver judges its own rules where threads wait, and how often they wait is not counted
    every = comparable(cells(judged, tally))
    every = {setting: cell for setting, cell in every.items() if can(judged, program, setting)}
    if any(cell.judged for cell in every.values()):
        yield from _most_general(judged.slug, every)


def _most_general(slug: str, every: dict[Setting, Cell]) -> Iterator[Gap]:
    rate = sum(cell.judged for cell in every.values()) / sum(cell.steps for cell in every.values())
    found: list[Setting] = []
    for size in range(1, len(_FIELDS) + 1):
        for chosen in combinations(_FIELDS, size):
            groups: dict[Setting, list[Cell]] = {}
            for setting, cell in every.items():
                where = Setting(*(value if at in chosen else "" for at, value in enumerate(setting)))
                if all(where[at] for at in chosen):
                    groups.setdefault(where, []).append(cell)
            for where, alike in groups.items():
                steps = sum(cell.steps for cell in alike)
                if any(cell.judged for cell in alike) or steps * rate < EXPECTED:
                    continue
                if not any(all(not a or a == b for a, b in zip(known, where, strict=True)) for known in found):
                    found.append(where)
                    yield Gap(slug, where, steps)
