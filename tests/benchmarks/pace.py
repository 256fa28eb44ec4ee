"""One version of the suite, as a process that searches and says how long it took.

It runs with `PYTHONPATH` set to the version that it stands for, so it uses only what both versions have.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import deque
from collections.abc import Sequence
from time import process_time
from typing import Any

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.search import Search, seeds
from conformance.ports import find_implementation

TURNS = 300_000


class Cell:
    """What the loop of the calibration works on."""

    __slots__ = ("count", "items")

    def __init__(self) -> None:
        self.count, self.items = 0, deque([(0, "")])

    def turn(self, number: int) -> bool:
        """Do a little of what a step does: calls, attributes, tuples, a queue."""
        self.items.append((number, "buffer"))
        self.count += self.items.popleft()[0]
        return number & 1 == 0


def calibrate() -> float:
    """Returns the CPU seconds of a turn of a loop that no version changes."""
    cell, began = Cell(), process_time()
    for number in range(TURNS):
        cell.turn(number)
    return (process_time() - began) / TURNS


def within(program: Any, configs: Sequence[Any]) -> Any:
    """Returns the program, searched in these configurations. Before November 2026 these were assigned."""
    if hasattr(program, "within"):
        return program.within(configs)
    program.configs = tuple(configs)
    return program


def main() -> None:
    """Reply to one request after the other, until there is none: a component, an interleaving, a seed and a number of
    scenarios; the reply has the steps, the CPU seconds and the CPU seconds of a turn of the loop."""
    implementation = find_implementation("reference")
    gc.freeze()  # as a process does in which the command line searches
    searches: dict[tuple[str, str], Search] = {}
    for line in sys.stdin:
        component, interleaving, seed, scenarios = json.loads(line)
        key = component, interleaving
        if key not in searches:
            program = Program(COMPONENTS[component], implementation)
            searches[key] = Search(
                within(program, [one for one in program.configs if one.interleaving == interleaving])
            )
        search, steps = searches[key], 0
        reply: Any = None
        if search.program.configs:
            turn, began = calibrate(), process_time()
            for text in seeds(seed, component, range(scenarios)):
                run = search.run(text)[1]
                steps += len(run.performed) + run.closing_steps
            reply = steps, process_time() - began, turn
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
