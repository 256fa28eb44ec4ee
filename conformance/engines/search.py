"""The fast random search: draws only steps that the ledger enables.

One scenario in three is drawn with the declared weights; the others each prefer a random bias of the alphabet (swarm
testing: a scenario that does a lot of one thing reaches states that an even mixture does not). A scenario is a function
of the alphabet and a seed text, on every machine and every Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from conformance.alphabets import Run, Violation, World
from conformance.alphabets.base import Alphabet
from conformance.alphabets.world import Program
from conformance.scenarios import Scenario, Step

LENGTH = 60
"""Steps of a scenario at most, the drain not counted."""
_MISSES = 80
"""Draws in a row that found nothing enabled, after which a scenario is over: little can happen any more."""


class Search:
    """Makes and runs random scenarios of one component on one implementation."""

    def __init__(self, program: Program, length: int = LENGTH) -> None:
        self.program = program
        self.length = length
        self._tables = tables(program.alphabet)

    def run(self, seed: str) -> tuple[Scenario, Run]:
        """One scenario, drawn and run at once."""
        program = self.program
        alphabet = program.alphabet
        draw = Random(seed).random
        configs, all_tables = alphabet.configs, self._tables
        config = configs[int(draw() * len(configs))]
        table = all_tables[0 if draw() < 1 / 3 else int(draw() * len(all_tables))]
        size, length = len(table), self.length
        performed: list[Step] = []
        world = None
        try:
            world = World(program, config)
            ledger, moves, perform = world.ledger, world.moves, world.perform
            missed = 0
            while len(performed) < length and missed < _MISSES:
                name = table[int(draw() * size)]
                choices = moves[name].choices(ledger)
                if choices:
                    missed = 0
                    step = (name, *choices[int(draw() * len(choices))])
                    performed.append(step)
                    perform(step)
                else:
                    missed += 1
            run = Run(world, performed, world.drain(), None)
        except Violation as violation:
            run = Run(world, performed, 0, violation)
        return Scenario(alphabet.component, config, tuple(performed)), run


def tables(alphabet: Alphabet) -> list[tuple[str, ...]]:
    """The names of steps, each as often as its weight: as declared first, then one table for each bias."""

    def table(weights: dict[str, int]) -> tuple[str, ...]:
        return tuple(name for name, weight in weights.items() for _ in range(weight))

    declared = {kind.name: kind.weight for kind in alphabet.steps}
    return [table(declared), *(table({**declared, **bias}) for bias in alphabet.biases)]


def seeds(seed: int | str, component: str, numbers: Iterable[int]) -> Iterable[str]:
    """The seed texts of numbered scenarios."""
    return (f"{seed}/{component}/{number}" for number in numbers)
