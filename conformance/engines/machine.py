"""The Hypothesis state machine of an alphabet.

One rule per kind of step; a rule draws only operands for which the step is enabled now, so a failing example reads
like a program: `state.unaligned_barrier(checkpoint=1)`, `state.poll()`. The fair drain is the teardown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from conformance.alphabets import Violation, World
from conformance.alphabets.base import StepKind
from conformance.alphabets.program import Program
from conformance.scenarios import Scenario, Step

Observer = Callable[[World, list[Step], int, Violation | None], None]
"""Told of each run that ended: its world, its steps, how long the drain was, and what broke."""


class ConformanceMachine(RuleBasedStateMachine):
    """What all machines share."""

    program: Program
    observer: Observer | None = None
    last: Scenario | None = None
    """The scenario of the run that ended last: after a failure, the one that Hypothesis reports."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World | None = None
        self.steps: list[Step] = []
        self.violation: Violation | None = None

    def do(self, step: Step) -> None:
        """Perform an enabled step."""
        assert self.world is not None
        self.steps.append(step)
        try:
            self.world.perform(step)
        except Violation as violation:
            self.violation = violation
            raise

    def teardown(self) -> None:
        """Drain what did not fail before, and record the scenario."""
        world = self.world
        if world is None:
            return
        closing_steps = 0
        try:
            if self.violation is None:
                closing_steps = world.drain()
        except Violation as violation:
            self.violation = violation
            raise
        finally:
            type(self).last = Scenario(self.program.alphabet.component, world.config, tuple(self.steps))
            if self.observer is not None:
                self.observer(world, self.steps, closing_steps, self.violation)


def state_machine(program: Program) -> type[ConformanceMachine]:
    """The machine for one component of one implementation."""
    alphabet = program.alphabet

    def start(self: ConformanceMachine, config: Any) -> None:
        self.world = World(program, config)

    configs = list(dict.fromkeys(program.configs))
    body: dict[str, Any] = {
        "program": program,
        "start": initialize(config=st.sampled_from(configs))(start),
        "nothing_left": _nothing_left(program),
        **{kind.name: _rule(kind) for kind in alphabet.steps},
    }
    name = "".join(part.capitalize() for part in alphabet.component.split("-")) + "Machine"
    return type(name, (ConformanceMachine,), body)


def _rule(kind: StepKind) -> Any:
    def enabled(self: ConformanceMachine) -> bool:
        return self.world is not None and bool(self.world.choices(kind.name))

    def drawn(at: int) -> Any:
        def choose(self: ConformanceMachine) -> Any:
            assert self.world is not None
            return st.sampled_from(sorted({operands[at] for operands in self.world.choices(kind.name)}))

        return st.runner().flatmap(choose)

    def body(self: ConformanceMachine, **operands: Any) -> None:
        self.do((kind.name, *operands.values()))

    body.__name__ = body.__qualname__ = kind.name
    draws = {name: drawn(at) for at, name in enumerate(kind.operands)}
    return precondition(enabled)(rule(**draws)(body))  # type: ignore[no-untyped-call]


def _nothing_left(program: Program) -> Any:
    """Hypothesis calls a state without an enabled rule an error; for a bounded alphabet it is the end."""

    def over(self: ConformanceMachine) -> bool:
        return self.world is not None and not any(self.world.choices(kind.name) for kind in program.alphabet.steps)

    def nothing_left(self: ConformanceMachine) -> None: ...

    return precondition(over)(rule()(nothing_left))
