"""The fast random search: draws only steps that the ledger enables.

One scenario in three is drawn with the declared weights; the others each prefer a random bias of the alphabet (swarm
testing: a scenario that does a lot of one thing reaches states that an even mixture does not). A scenario is a function
of the alphabet and a seed text, on every machine and every Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from conformance.alphabets import Run, Violation, World
from conformance.alphabets.base import FINISH, RUN, Alphabet, Operands
from conformance.alphabets.program import Program
from conformance.scenarios import Scenario

LENGTH = 100
"""Steps of a scenario at most, the drain not counted."""
_MISSES = 80
"""Draws in a row that found nothing enabled, after which a scenario is over: little can happen any more."""
_LAST_STEPS = 3
"""Steps that one scenario spends in the final phase."""

_RUNS = 0.75
"""How much of the turns of a thread go to the next pause only; the others to the end of the operation."""

Table = tuple[tuple[str, Callable[[Any], Sequence[Operands]], str], ...]
"""Names of steps with their choices and threads, each as often as its weight."""


class Search:
    """Makes and runs random scenarios of one component on one implementation."""

    def __init__(self, program: Program, length: int = LENGTH) -> None:
        self.program = program
        self.length = length
        self._tables = tables(program.alphabet)

    def run(self, seed: str, record: bool = False) -> tuple[Scenario, Run]:
        """One scenario, drawn and run at once."""
        program = self.program
        draw = Random(seed).random
        configs, all_tables = program.configs, self._tables
        config = configs[int(draw() * len(configs))]
        by_phase = all_tables[0 if draw() < 1 / 3 else int(draw() * len(all_tables))]
        world = None
        try:
            world = World(program, config, record)
            self._draw(world, by_phase, draw)
            run = Run(world, world.drain(), None)
        except Violation as violation:
            run = Run(world, 0, violation)
        finally:
            if world is not None:
                world.close()
        return Scenario(program.alphabet.component, config, tuple(run.performed)), run

    def _draw(self, world: World, by_phase: Mapping[str, Table], draw: Callable[[], float]) -> None:
        """Steps until the length is reached, or little can happen any more. Raises Violation."""
        ledger, perform, threads = world.ledger, world.perform, world.threads
        final = self.program.alphabet.final_phase
        patience = _LAST_STEPS
        for _ in range(self.length):
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
                        if thread.runnable:  # a busy thread can only go on
                            perform((RUN, thread_name, "") if draw() < _RUNS else (FINISH, thread_name))
                            break
                        continue
                choices = options(ledger)
                if choices:
                    perform((name, *choices[int(draw() * len(choices))]))
                    break
            else:
                return


def tables(alphabet: Alphabet) -> list[dict[str, Table]]:
    """What to draw from in each phase: with the declared weights first, then once for each bias."""

    def by_phase(bias: Mapping[str, int]) -> dict[str, Table]:
        phases = dict.fromkeys(phase for kind in alphabet.steps for phase in kind.phases)
        return {
            phase: tuple(
                (kind.name, kind.choices, kind.actor if kind.actor in alphabet.threads else "")
                for kind in alphabet.steps
                if phase in kind.phases
                for _ in range(bias.get(kind.name, kind.weight))
            )
            for phase in phases
        }

    return [by_phase({}), *(by_phase(bias) for bias in alphabet.biases)]


def seeds(seed: int | str, component: str, numbers: Iterable[int]) -> Iterable[str]:
    """The seed texts of numbered scenarios."""
    return (f"{seed}/{component}/{number}" for number in numbers)
