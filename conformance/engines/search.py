"""The fast random search. It draws only steps that the ledger enables.

It draws scenarios in different manners, because each manner reaches states that the others do not: with equal weights,
with the declared weights, with a bias of the component, or with random weights of the scenario's own. The last is swarm
testing: a scenario that does much of one thing, and nothing of another, reaches states that an even mixture does not.
Threads take turns in different habits, because most races need few switches in the right places. A scenario depends
only on the program and a seed text; it is the same on every machine and with every Python.

A scenario of the usual length is one life of a component: it ends soon after a failure. A longer one has many lives, if
the component can be restored: each ends with a failure at some moment, and the next begins with the restore. In a life
that is longer than usual, rare steps are rarer, because they include those after which little can happen any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from conformance.driver import (
    FINISH,
    NO_OPERANDS,
    RUN,
    AnyStep,
    Component,
    Operands,
    Program,
    Run,
    Shape,
    Turned,
    Violation,
    World,
)
from conformance.scenarios import Scenario, Step
from conformance.scheduling import Thread

LENGTH = 100
"""The largest number of steps of a scenario, without the drain."""
_DRAWS = range(80)
"""After so many draws in a row that found no enabled step, a scenario ends: little can happen any more."""
_OBSERVER = "observer"
"""The actor of the steps that change nothing."""
_LAST_STEPS = 3
"""How many steps a scenario may perform in the final phase."""

EVEN = 1 / 3
"""The share of scenarios in the even manner: all kinds of steps have the same weight, and no prefix is used."""
_ALIKE = 10
"""The weight of a kind of step in the even manner. A kind that is declared with weight 1 keeps that weight, because it
is intended to be rare, as the end of a run is."""
_DECLARED, _BIASED = 0.55, 0.8
"""Up to the first share, scenarios have the declared weights, up to the second one of the biases; the others have
random weights of their own."""
PARTS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"even": (0.0, EVEN), "declared": (EVEN, _DECLARED), "biased": (_DECLARED, _BIASED), "swarm": (_BIASED, 1.0)}
)
"""The manners that a search mixes, each with the numbers that stand for it."""
_LONG = 0.7
"""The share of scenarios that may have the full length. The others end earlier, because the drain judges only the state
in which a run ends."""
_SWARMS = 48
"""The number of different sets of random weights. To make new tables for each scenario would take too long."""
_FACTORS = (0, 0.25, 1, 1, 1, 1, 3, 6)
"""The factors by which random weights differ from the declared ones. Each kind of step and each thread draws one."""
_STRETCHES = (1, 3, 10, 30)
"""How many times longer than a scenario of the usual length a life in a long scenario may be."""
WINDOW = 200
"""For how many turns at most a search lets threads work by priorities. Of d turns that must come in one order, among
those of n threads, a window of k turns with d - 1 changes of priority hits the order with a probability of at least
1 / (n k^(d-1)): with 12 threads and one change, 1 in 2,400."""
_WINDOWED = 0.4
"""The share of scenarios with such a window behind their prefix, of those that are not in the even manner."""
_IDLE = 20
"""A life ends after so many steps that only observe."""
_IDLE_LIVES = 5
"""A scenario ends after so many such lives in a row, if the component cannot be restored then."""
_RARE = 2
"""In a longer life, steps with at most this weight keep it, while the weights of the others are stretched with it."""

Entry = tuple[Step, Callable[[Any], Sequence[Operands]], str]
"""A kind of step: the step without operands, `when`, and the thread."""
Table = tuple[Entry, ...]
"""The kinds of steps, each as often as its weight."""
Tables = dict[str, Table]
"""One table for each phase of the ledger."""


Lives = list[tuple[int, "Manners", "Manners"]]
"""How much longer a life may be than a usual scenario, and how it is drawn while the component can be restored and
while it cannot."""
Known = Callable[[Any, tuple[Step, ...]], bool]
"""Returns whether a scenario with this configuration and these steps is known."""


class Habit(NamedTuple):
    """How the threads of a scenario take turns."""

    runs: float
    """The share of turns that go to the next pause only. The others go to the end of the operation."""
    fair: float = 0.0
    """The share of draws that draw a thread first, with equal weights. The others draw a step first, so that threads
    with many steps are drawn more often."""
    preemptions: int = -1
    """How often the search may leave a thread that could go on. -1: whenever it draws another thread."""


_EVEN_HABIT = Habit(0.75, 0.5)
HABITS = (Habit(0.75), Habit(0.95, 0.5), Habit(0.75, 0.9), Habit(0.4, 0.5), Habit(0.9, 0, 1), Habit(0.9, 0, 3))
"""A scenario whose operations pause draws one of these habits, unless it is in the even manner."""
_PREEMPTED = 0.15
"""The share of pauses at which the search leaves a thread, if it counts preemptions and has reached the first step at
which they are allowed."""


class Mix(NamedTuple):
    """What a search mixes. Another mixture than the usual one is for finding out what a part of it is good for."""

    without: str = ""
    """One of `PARTS`, whose scenarios are drawn in the other manners, in proportion; empty: all are used."""
    long: float = _LONG
    windowed: float = _WINDOWED
    habits: tuple[Habit, ...] = HABITS

    def manner(self, number: float) -> float:
        """Return the number of the manner that is used where this one was drawn."""
        start, end = PARTS.get(self.without, (1.0, 1.0))
        if not start <= number < end:
            return number
        other = (number - start) / (end - start) * (1 - (end - start))
        return other if other < start else other + (end - start)


USUAL = Mix()
T = TypeVar("T")


def one_of(options: Sequence[T], draw: Callable[[], float]) -> T:
    """Draw one of these, each as often."""
    return options[floor(draw() * len(options))]


class Shaped:
    """How the scenarios of one shape of a component are drawn."""

    def __init__(self, program: Program, shape: Shape, length: int, only: Tables | None) -> None:
        component = program.component
        self.shape = shape
        self.kept: dict[Any, Any] = {}
        """What the manners of a search keep, by a key of theirs."""
        self.configs = [one for one in program.configs if component.settings.shape(one) == shape.name]
        self.prefixes, self.prefixed = shape.prefixes, shape.prefixed
        self.tables = Manners(component, shape).tables if only is None else lambda manner, draw: only
        self.lives: Lives = [
            (stretch, Manners(component, shape, (0, stretch)), Manners(component, shape, (1, stretch)))
            for stretch in (_STRETCHES if only is None else ())
            if length > LENGTH and stretch * LENGTH <= length
        ]
        """The lives of a long scenario; empty if scenarios have one life."""


class Course(NamedTuple):
    """What is drawn of a scenario before its first step."""

    config: Any
    by_phase: Tables
    length: int
    """The largest number of steps, without those of the prefix and of the window."""
    prefix: tuple[Step, ...]
    windowed: bool
    """Whether there is a window behind the prefix in which threads work by priorities."""
    habit: Habit
    """Of use only if operations pause. A long scenario draws one for each part of a life instead."""


class Scene(NamedTuple):
    """What a manner draws the steps of a scenario in."""

    world: World
    shaped: Shaped
    length: int
    """The largest number of steps."""
    draw: Callable[[], float]
    given: Any
    """What the manner has chosen with the configuration."""


@dataclass(frozen=True, slots=True)
class Manner:
    """A manner of searching: how the configuration and the steps of a scenario are drawn."""

    name: str
    what: str
    """What is drawn, in one sentence."""
    source: str
    """Where it comes from; empty: it is obvious, or the suite's own."""
    choose: Callable[[Program, Shaped, Callable[[], float]], tuple[Any, Any]]
    """Returns a configuration of a shape, and whatever `perform` needs beside it."""
    perform: Callable[[Search, Scene], None]
    """Draws the steps and performs them. Raises: Violation."""


class Search:
    """Makes and runs random scenarios of one component on one implementation."""

    def __init__(
        self, program: Program, length: int = LENGTH, only: Tables | None = None,
        searched: Sequence[Shape] | None = None, mix: Mix = USUAL,
    ) -> None:  # fmt: skip
        """With `only`, every scenario is drawn from these tables. `searched`: the shapes, if they have other weights,
        biases or prefixes than the component declares."""
        self.program = program
        self.length = length
        self._mix = mix
        component = program.component
        there = {component.settings.shape(one) for one in program.configs}
        shapes = component.searched if searched is None else searched
        self._shapes = [Shaped(program, one, length, only) for one in shapes if one.name in there]

    def run(
        self, seed: str, record: bool = False, harmless: Known | None = None, by: Manner | None = None
    ) -> tuple[Scenario, Run]:
        """Draw and run one scenario. If `harmless` knows that it does not fail, leave out its drain.

        `by`: the manner in which it is drawn (`conformance.engines.manners`); None: in one of those described above.
        """
        program, component = self.program, self.program.component
        draw = Random(seed).random
        shaped = self._shape(draw)
        if by is not None:
            return self._run_in(by, shaped, draw, record)
        config, by_phase, length, prefix, windowed, habit = self._course(shaped, draw)
        world = None
        try:
            world = World(program, config, record)
            self.begin(world, prefix)
            if windowed and component.turned is not None:
                length += self.draw_by_priority(world, component.turned, by_phase, draw)
            if shaped.lives:
                self._draw_lives(world, shaped.lives, length, draw)
            else:
                self.draw_life(world, by_phase, habit, length, draw)
            known = harmless is not None and harmless(config, tuple(world.performed))
            run = Run(world, 0 if known else world.drain(), None)
        except Violation as violation:
            run = Run(world, 0, violation)
        finally:
            if world is not None:
                world.close()
        return Scenario(component.name, config, tuple(run.performed)), run

    def course(self, seed: str) -> tuple[Course, float]:
        """Return what is drawn of a scenario before its first step, and what is drawn next. Of two searches of one
        program in which both are equal, the scenarios are."""
        draw = Random(seed).random
        return self._course(self._shape(draw), draw), draw()

    def _shape(self, draw: Callable[[], float]) -> Shaped:
        return one_of(self._shapes, draw) if len(self._shapes) > 1 else self._shapes[0]

    def _course(self, shaped: Shaped, draw: Callable[[], float]) -> Course:
        mix = self._mix
        config = one_of(shaped.configs, draw)
        manner = mix.manner(draw())
        by_phase = shaped.tables(manner, draw)
        length = self.length if draw() < mix.long else 1 + floor(draw() * self.length)
        prefix: tuple[Step, ...] = ()
        if manner >= EVEN and shaped.prefixes and draw() < shaped.prefixed:
            prefix = one_of(shaped.prefixes, draw)
        can_turn = self.program.component.turned is not None and self.program.repeats
        windowed = manner >= EVEN and can_turn and draw() < mix.windowed
        habit = _EVEN_HABIT if shaped.lives else self.habit(config, manner, draw)
        return Course(config, by_phase, length, prefix, windowed, habit)

    def habit(self, config: Any, manner: float, draw: Callable[[], float]) -> Habit:
        """Draw how threads take turns, if operations pause in this configuration."""
        paused = config.interleaving == "fine" and manner >= EVEN
        return one_of(self._mix.habits, draw) if paused else _EVEN_HABIT

    def _run_in(self, manner: Manner, shaped: Shaped, draw: Callable[[], float], record: bool) -> tuple[Scenario, Run]:
        config, given = manner.choose(self.program, shaped, draw)
        length = self.length if draw() < _LONG else 1 + floor(draw() * self.length)
        world = None
        try:
            world = World(self.program, config, record)
            manner.perform(self, Scene(world, shaped, length, draw, given))
            run = Run(world, world.drain(), None)
        except Violation as violation:
            run = Run(world, 0, violation)
        finally:
            if world is not None:
                world.close()
        return Scenario(self.program.component.name, config, tuple(run.performed)), run

    def begin(self, world: World, prefix: Sequence[Step]) -> None:
        """Perform a prefix, which leads to a rare state. Raises: Violation."""
        for step in prefix:
            if world.enabled(step) and not self._is_refused(world, step):
                world.perform(step)

    def _is_refused(self, world: World, step: Step) -> bool:
        """Returns whether a step of a prefix is in another state than its prefix expects, and leads nowhere there. A
        task that fails is what its prefix expects."""
        if self.program.component.is_turn(step) or world.ledger.is_broken():
            return False
        case = world.case(step)
        return case.fails and bool(case.kind.case)

    def draw_by_priority(
        self, world: World, turned: Turned, by_phase: Tables, draw: Callable[[], float], most: int = 3
    ) -> int:
        """Let threads work by random priorities, some of which change; at a change, or if nobody may act, an operation
        begins. Others work while none of the few may. Returns the number of steps.

        `most`: how many priorities change at most. Raises: Violation."""
        ledger, name, before, phase = world.ledger, turned.step.name, len(world.performed), world.ledger.phase
        priorities = {one: draw() for one in turned.few(ledger, draw)}
        changes = {floor(draw() * WINDOW): -1 - number for number in range(floor(draw() * (most + 1)))}
        for at in range(WINDOW):
            awake = turned.awake(ledger)  # which changes with what is performed
            if ledger.phase != phase or not (awake or self._operate(world, by_phase[phase], name, draw)):
                break
            if ledger.phase != phase:  # the operation was the end of a life, and has woken a thread
                break
            able = [one for one in awake if one in priorities]
            first = max(able, key=priorities.__getitem__) if able else next(iter(awake), None)
            if at in changes and first in priorities:
                priorities[first] = changes[at]
                self._operate(world, by_phase[phase], name, draw)
            elif first is not None and ledger.phase == phase:
                world.perform((name, *first))
        return len(world.performed) - before

    def _operate(self, world: World, table: Table, other: str, draw: Callable[[], float]) -> bool:
        """Perform a step of another kind. Returns False if none was found that is enabled. Raises: Violation."""
        for _ in _DRAWS:
            step, options, _ = table[floor(draw() * len(table))]
            if step[0] != other and (choices := options(world.ledger)):
                world.perform((*step, *choices[floor(draw() * len(choices))]))
                return True
        return False

    def draw_life(self, world: World, by_phase: Tables, habit: Habit, length: int, draw: Callable[[], float]) -> None:
        """Perform steps until the length is reached, or little can happen any more. Raises: Violation."""
        if world.config.interleaving == "fine":
            self._draw_fine(world, by_phase, habit, length, draw)
        else:
            self._draw(world, by_phase, length, draw)

    def _draw_lives(self, world: World, lives: Lives, length: int, draw: Callable[[], float]) -> None:
        """Perform one life after the other until the length is reached, or nothing but observations is left to do.

        Raises: Violation.
        """
        component, performed = self.program.component, world.performed
        observations = {kind.name for kind in component.steps if kind.by == _OBSERVER}
        patience = _IDLE_LIVES
        while len(performed) < length and patience:
            stretch, *both = lives[floor(draw() * len(lives))]
            manner = draw()
            tame, wild = (one.tables(manner, draw) for one in both)
            end = min(length, len(performed) + 1 + floor(draw() * stretch * LENGTH))
            idle = False
            while not idle and (before := len(performed)) < end:
                by_phase = wild if self._ways_out(world) else tame
                habit = self.habit(world.config, manner, draw)
                self.draw_life(world, by_phase, habit, min(before + _IDLE, end), draw)
                idle = all(step[0] in observations for step in performed[before:])
            if len(performed) + 2 <= length:
                patience = _IDLE_LIVES if self._begin_again(world, draw) or not idle else patience - 1

    def _begin_again(self, world: World, draw: Callable[[], float]) -> bool:
        """Let the component fail, and restore it. Returns False if that is not possible now. Raises: Violation."""
        for fail, restore in self._ways_out(world):
            if world.ledger.phase != self.program.component.final_phase:
                world.perform((fail,))
            choices = world.choices(restore)
            world.perform((restore, *choices[floor(draw() * len(choices))]))
            return True
        return False

    def _ways_out(self, world: World) -> list[tuple[str, str]]:
        """Returns the pairs of a failure that is possible now and a restore that is possible after it."""
        kinds = self.program.component.steps
        restores = [kind.name for kind in kinds if kind.fresh_port and kind.when(world.ledger)]
        fails = [kind.name for kind in kinds if kind.crashes and not kind.fresh_port and world.choices(kind.name)]
        return [(fail, restore) for restore in restores for fail in fails]

    def _draw(self, world: World, by_phase: Tables, length: int, draw: Callable[[], float]) -> None:
        """Perform steps until the length is reached, or little can happen any more. Raises: Violation."""
        ledger, perform, threads, kernel = world.ledger, world.perform, world.threads, world.kernel
        final, phase = self.program.component.final_phase, ""
        patience = _LAST_STEPS
        for _ in range(length - len(world.performed)):
            if ledger.phase != phase:
                phase = ledger.phase
                table = by_phase[phase]
                size = float(len(table))  # the product of two numbers of one type is quicker
            if phase == final:
                patience -= 1
                if patience < 0:
                    return
            in_flight = kernel is not None and kernel.in_flight
            for _ in _DRAWS:
                step, options, thread_name = table[floor(draw() * size)]
                if in_flight and thread_name:
                    thread = threads[thread_name]
                    if thread.coroutine is not None:
                        if thread.runnable:  # a busy thread can only go on, and here it does not pause
                            perform((FINISH, thread_name))
                            break
                        continue
                choices = options(ledger)
                if choices:
                    which = draw()
                    perform(step if choices is NO_OPERANDS else step + choices[floor(which * len(choices))])
                    break
            else:
                return

    def _draw_fine(self, world: World, by_phase: Tables, habit: Habit, length: int, draw: Callable[[], float]) -> None:
        """As `_draw`, but operations pause, so that other threads can run in between. Raises: Violation."""
        ledger, perform, threads, performed = world.ledger, world.perform, world.threads, world.performed
        final, phase = self.program.component.final_phase, ""
        runs, fair, preemptions = habit
        everybody = tuple(threads.values())
        counted = preemptions >= 0
        quiet = floor(draw() * length / 2) if counted else 0
        patience = _LAST_STEPS
        last: Thread | None = None
        for _ in range(length - len(performed)):
            if counted and last is not None and last.waits_for is not None and last.waits_for.ready():
                if not preemptions or len(performed) < quiet:
                    perform((FINISH, last.name))
                    continue
                if draw() >= _PREEMPTED:
                    perform((RUN, last.name, "") if draw() < runs else (FINISH, last.name))
                    continue
                preemptions -= 1
            if fair and draw() < fair:
                thread = everybody[floor(draw() * len(everybody))]
                if thread.waits_for is not None and thread.waits_for.ready():
                    perform((RUN, thread.name, "") if draw() < runs else (FINISH, thread.name))
                    continue
            if ledger.phase != phase:
                phase = ledger.phase
                table = by_phase[phase]
                size = float(len(table))  # the product of two numbers of one type is quicker
            if phase == final:
                patience -= 1
                if patience < 0:
                    return
            for _ in _DRAWS:
                step, options, thread_name = table[floor(draw() * size)]
                if thread_name:
                    thread = threads[thread_name]
                    if thread.coroutine is not None:
                        at = thread.waits_for
                        if at is not None and at.ready():  # a busy thread can only go on
                            last = thread
                            perform((RUN, thread_name, "") if draw() < runs else (FINISH, thread_name))
                            break
                        continue
                    last = thread
                choices = options(ledger)
                if choices:
                    which = draw()
                    perform(step if choices is NO_OPERANDS else step + choices[floor(which * len(choices))])
                    break
            else:
                return


class Manners:
    """The tables from which scenarios of one shape of a component are drawn. They are made when they are first
    needed."""

    def __init__(self, component: Component, shape: Shape, stretched: tuple[int, int] | None = None) -> None:
        """`stretched`, for scenarios of several lives: the factors of the weights of rare steps and of all others. The
        search decides where a life ends, so no failures are drawn."""
        self._component, self._shape = component, shape
        self._factors = {kind.key: _factor(kind, *stretched) for kind in component.steps} if stretched else {}
        even = {kind.key: 1 if kind.weight == 1 else _ALIKE for kind in component.steps}
        self._even = self._made(even)
        declared = {**{kind.key: kind.weight for kind in component.steps}, **shape.weights}
        self._declared = self._made(declared)
        self._biased = [self._made({**declared, **bias}) for bias in shape.biases] or [self._declared]
        self._swarms: dict[int, Tables] = {}

    def _made(self, weights: Mapping[str, int]) -> Tables:
        return tables(self._component, {name: weight * self._factors.get(name, 1) for name, weight in weights.items()})

    def tables(self, manner: float, draw: Callable[[], float]) -> Tables:
        """Returns the tables of one scenario, whose manner is a number below 1."""
        if manner < EVEN:
            return self._even
        if manner < _DECLARED:
            return self._declared
        if manner < _BIASED:
            return self._biased[floor(draw() * len(self._biased))]
        number = floor(draw() * _SWARMS)
        swarm = self._swarms.get(number)
        if swarm is None:
            swarm = self._swarms[number] = self._made(swarm_weights(self._component, self._shape, number))
        return swarm


def _factor(kind: AnyStep, rare: int, common: int) -> int:
    if kind.crashes:
        return 0
    return common if kind.weight > _RARE or kind.by == _OBSERVER else rare


def swarm_weights(component: Component, shape: Shape, number: int) -> dict[str, int]:
    """Returns the random weights with this number: some steps and threads are frequent, others rare or absent."""
    draw = Random(f"swarm/{component.name}/{number}").random

    def factor() -> float:
        return _FACTORS[floor(draw() * len(_FACTORS))]

    # Without one of the threads little can happen: a thread may be rare, but not absent.
    threads = {thread: factor() or 0.5 for thread in component.threads}
    return {
        kind.key: round(shape.weights.get(kind.key, kind.weight) * factor() * threads.get(kind.by, 1))
        for kind in component.steps
    }


def tables(component: Component, weights: Mapping[str, int]) -> Tables:
    """Returns the tables for these weights. A phase in which all weights are 0 has all its steps, equally often."""
    threads = component.threads

    def of(phase: str) -> Table:
        entries = [
            (((kind.name,), kind.when, kind.by if kind.by in threads else ""), weights[kind.key])
            for kind in component.steps
            if phase in kind.during
        ]
        found: list[Entry] = []
        for entry, weight in entries:
            found += [entry] * weight
        return tuple(found or [entry for entry, _ in entries])

    return {phase: of(phase) for phase in dict.fromkeys(phase for kind in component.steps for phase in kind.during)}


def seeds(seed: int | str, component: str, numbers: Iterable[int]) -> Iterable[str]:
    """Yields the seed texts of the scenarios with these numbers."""
    return (text for _, text in numbered_seeds(seed, component, numbers))


def numbered_seeds(seed: int | str, component: str, numbers: Iterable[int]) -> Iterable[tuple[int, str]]:
    """Yields the numbers of scenarios, each with its seed text."""
    return ((number, f"{seed}/{component}/{number}") for number in numbers)
