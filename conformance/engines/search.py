"""The fast random search: draws only steps that the ledger enables.

Scenarios are drawn in different manners, because what one reaches another does not: all steps alike, the declared
weights, a bias of the component, or weights of the scenario's own (swarm testing: a scenario that does a lot of one
thing, and nothing of another, reaches states that an even mixture does not). Threads switch in different habits: most
races need few switches in the right places. A scenario is a function of the component and a seed text, on every machine
and every Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from conformance.driver import FINISH, RUN, Component, Operands, Program, Run, Violation, World
from conformance.scenarios import Scenario
from conformance.scheduling import Thread

LENGTH = 100
"""Steps of a scenario at most, the drain not counted."""
_MISSES = 80
"""Draws in a row that found nothing enabled, after which a scenario is over: little can happen any more."""
_LAST_STEPS = 3
"""Steps that one scenario spends in the final phase."""

EVEN = 1 / 3
"""The share of scenarios in which all kinds of steps are alike, and nothing is preferred..."""
_ALIKE = 10
"""... but what is declared with the weight 1 is meant to be rare, as the end of a run is, and this much rarer."""
_DECLARED, _BIASED = 0.55, 0.8
"""Up to there the declared weights, then one of the biases, then weights of the scenario's own."""
_LONG = 0.7
"""The share of scenarios that may have the full length. The others end earlier: what the drain judges shows only where
a run ends."""
_SWARMS = 48
"""So many different weights of their own are in use: drawing new ones for each scenario would take too long."""
_FACTORS = (0, 0.25, 1, 1, 1, 1, 3, 6)
"""What such weights multiply the declared ones by, kinds of steps and threads each for itself."""
_PREFIXED = 0.25
"""The share of scenarios that begin with a prefix, where the component has any and not all steps are alike."""

Table = tuple[tuple[str, Callable[[Any], Sequence[Operands]], str], ...]
"""Names of steps with their choices and threads, each as often as its weight."""
Tables = dict[str, Table]
"""By phase of the ledger."""


class Habit(NamedTuple):
    """How the threads of a scenario take turns."""

    runs: float
    """How much of the turns go to the next pause only; the others to the end of the operation."""
    fair: float = 0.0
    """How often a thread is drawn first, all threads alike; otherwise a step is, so that threads with much to do are
    drawn more often."""
    preemptions: int = -1
    """So often at most a thread that could go on does not; -1: whenever another one is drawn."""


_EVEN_HABIT = Habit(0.75, 0.5)
HABITS = (Habit(0.75), Habit(0.95, 0.5), Habit(0.75, 0.9), Habit(0.4, 0.5), Habit(0.9, 0, 1), Habit(0.9, 0, 3))
"""Of these one is drawn for a scenario whose operations pause, unless all steps are alike in it."""
_PREEMPTED = 0.15
"""How often a thread whose preemptions are counted is left at a pause, once the scenario has come to them."""


class Search:
    """Makes and runs random scenarios of one component on one implementation."""

    def __init__(self, program: Program, length: int = LENGTH, only: Tables | None = None) -> None:
        """With `only`, every scenario is drawn from these tables."""
        self.program = program
        self.length = length
        self._tables = Manners(program.component).tables if only is None else lambda manner, draw: only

    def run(self, seed: str, record: bool = False) -> tuple[Scenario, Run]:
        """One scenario, drawn and run at once."""
        program = self.program
        draw = Random(seed).random
        configs = program.configs
        config = configs[int(draw() * len(configs))]
        manner = draw()
        by_phase = self._tables(manner, draw)
        length = self.length if draw() < _LONG else 1 + int(draw() * self.length)
        world = None
        try:
            world = World(program, config, record)
            if manner >= EVEN and program.component.prefixes and draw() < _PREFIXED:
                self._begin(world, draw)
            if config.interleaving == "fine":
                habit = HABITS[int(draw() * len(HABITS))] if manner >= EVEN else _EVEN_HABIT
                self._draw_fine(world, by_phase, habit, length, draw)
            else:
                self._draw(world, by_phase, length, draw)
            run = Run(world, world.drain(), None)
        except Violation as violation:
            run = Run(world, 0, violation)
        finally:
            if world is not None:
                world.close()
        return Scenario(program.component.name, config, tuple(run.performed)), run

    def _begin(self, world: World, draw: Callable[[], float]) -> None:
        """Take a short way to a rare state. Raises Violation."""
        prefixes = self.program.component.prefixes
        for step in prefixes[int(draw() * len(prefixes))]:
            if world.enabled(step):
                world.perform(step)

    def _draw(self, world: World, by_phase: Tables, length: int, draw: Callable[[], float]) -> None:
        """Steps until the length is reached, or little can happen any more. Raises Violation."""
        ledger, perform, threads = world.ledger, world.perform, world.threads
        final = self.program.component.final_phase
        patience = _LAST_STEPS
        for _ in range(length - len(world.performed)):
            phase = ledger.phase
            if phase == final:
                patience -= 1
                if patience < 0:
                    return
            table = by_phase[phase]
            size = len(table)
            for _ in range(_MISSES):
                name, options, thread_name = table[int(draw() * size)]
                if thread_name:
                    thread = threads[thread_name]
                    if thread.coroutine is not None:
                        if thread.runnable:  # a busy thread can only go on, and here it does not pause
                            perform((FINISH, thread_name))
                            break
                        continue
                choices = options(ledger)
                if choices:
                    perform((name, *choices[int(draw() * len(choices))]))
                    break
            else:
                return

    def _draw_fine(self, world: World, by_phase: Tables, habit: Habit, length: int, draw: Callable[[], float]) -> None:
        """The same where operations pause, so that others can come in between. Raises Violation."""
        ledger, perform, threads, performed = world.ledger, world.perform, world.threads, world.performed
        final = self.program.component.final_phase
        runs, fair, preemptions = habit
        everybody = tuple(threads.values())
        counted = preemptions >= 0
        quiet = int(draw() * length / 2) if counted else 0
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
                thread = everybody[int(draw() * len(everybody))]
                if thread.waits_for is not None and thread.waits_for.ready():
                    perform((RUN, thread.name, "") if draw() < runs else (FINISH, thread.name))
                    continue
            phase = ledger.phase
            if phase == final:
                patience -= 1
                if patience < 0:
                    return
            table = by_phase[phase]
            size = len(table)
            for _ in range(_MISSES):
                name, options, thread_name = table[int(draw() * size)]
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
                    perform((name, *choices[int(draw() * len(choices))]))
                    break
            else:
                return


class Manners:
    """What scenarios of one component are drawn from. Tables are made when they are first needed."""

    def __init__(self, component: Component) -> None:
        self._component = component
        even = {kind.name: 1 if kind.weight == 1 else _ALIKE for kind in component.steps}
        self._even = tables(component, even)
        declared = {kind.name: kind.weight for kind in component.steps}
        self._declared = tables(component, declared)
        self._biased = [tables(component, {**declared, **bias}) for bias in component.biases] or [self._declared]
        self._swarms: dict[int, Tables] = {}

    def tables(self, manner: float, draw: Callable[[], float]) -> Tables:
        """Those of one scenario, whose manner is a number below 1."""
        if manner < EVEN:
            return self._even
        if manner < _DECLARED:
            return self._declared
        if manner < _BIASED:
            return self._biased[int(draw() * len(self._biased))]
        number = int(draw() * _SWARMS)
        swarm = self._swarms.get(number)
        if swarm is None:
            swarm = self._swarms[number] = tables(self._component, swarm_weights(self._component, number))
        return swarm


def swarm_weights(component: Component, number: int) -> dict[str, int]:
    """The weights of a swarm: some kinds of steps, and some threads, a lot, little or not at all."""
    draw = Random(f"swarm/{component.name}/{number}").random

    def factor() -> float:
        return _FACTORS[int(draw() * len(_FACTORS))]

    # A thread that does nothing at all leaves little to see: rarely is the least.
    threads = {thread: factor() or 0.5 for thread in component.threads}
    return {kind.name: round(kind.weight * factor() * threads.get(kind.by, 1)) for kind in component.steps}


def tables(component: Component, weights: Mapping[str, int]) -> Tables:
    """What to draw from in each phase. A phase in which these weights leave nothing over has all its steps, alike."""
    threads = component.threads

    def of(phase: str) -> Table:
        entries = [
            ((kind.name, kind.when, kind.by if kind.by in threads else ""), weights[kind.name])
            for kind in component.steps
            if phase in kind.during
        ]
        found = tuple(entry for entry, weight in entries for _ in range(weight))
        return found or tuple(entry for entry, _ in entries)

    return {phase: of(phase) for phase in dict.fromkeys(phase for kind in component.steps for phase in kind.during)}


def seeds(seed: int | str, component: str, numbers: Iterable[int]) -> Iterable[str]:
    """The seed texts of numbered scenarios."""
    return (f"{seed}/{component}/{number}" for number in numbers)
