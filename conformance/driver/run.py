"""Runs one scenario from its beginning to the end of its drain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.driver.program import Program
from conformance.driver.violation import Violation
from conformance.driver.world import World
from conformance.scenarios import Entry, Step


class Run:
    """The result of running one scenario."""

    __slots__ = ("closing_steps", "entries", "evidence", "performed", "violation")

    def __init__(self, world: World | None, closing_steps: int, violation: Violation | None) -> None:
        self.evidence = None if world is None else world.judge.evidence
        """What the run has put to the test; None: it ended before its first step."""
        self.entries = () if world is None or world.entries is None else tuple(world.entries)
        self.performed: list[Step] = [] if world is None else world.performed
        """The steps that were enabled. Each turn has the place where it ended."""
        self.closing_steps = closing_steps
        self.violation = violation

    @property
    def exercised(self) -> bytes:
        """For each property, at its index in the program: 1 if the run has exercised it. Empty if it never began."""
        return b"" if self.evidence is None else self.evidence.exercised()


def run_scenario(program: Program, config: Any, steps: Iterable[Step], record: bool = False) -> Run:
    """Perform those of `steps` that are enabled, then drain. With `record`, each step has an entry, also if skipped."""
    world = None
    try:
        world = World(program, config, record)
        for step in steps:
            if world.enabled(step):
                world.perform(step)
            elif world.entries is not None:
                world.entries.append(Entry(step, None))
        return Run(world, world.drain(), None)
    except Violation as violation:
        return Run(world, 0, violation)
    finally:
        if world is not None:
            world.close()
