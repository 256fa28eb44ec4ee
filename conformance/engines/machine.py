"""The Hypothesis state machine of an alphabet.

One rule per kind of step; a rule draws only operands for which the step is enabled now, so a failing example reads like a
program: `state.unaligned_barrier(checkpoint=1)`, `state.poll()`. The fair drain is the teardown.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from conformance.alphabets import World
from conformance.alphabets.base import StepKind
from conformance.alphabets.world import Program
from conformance.scenarios import Scenario, Step


class ConformanceMachine(RuleBasedStateMachine):
    """What all machines share. `last` is the scenario of the run that ended last: the failing one, after a failure."""

    program: Program
    last: Scenario | None = None

    def __init__(self) -> None:
        super().__init__()
        self.world: World | None = None
        self.steps: list[Step] = []
        self.broken = False

    def do(self, step: Step) -> None:
        """Perform an enabled step."""
        assert self.world is not None
        self.steps.append(step)
        self.broken = True
        self.world.perform(step)
        self.broken = False

    def teardown(self) -> None:
        """Record the scenario, and drain what did not fail before."""
        if self.world is not None:
            type(self).last = Scenario(self.program.alphabet.component, self.world.config, tuple(self.steps))
            if not self.broken:
                self.world.drain()


def state_machine(program: Program) -> type[ConformanceMachine]:
    """The machine for one component of one implementation."""
    alphabet = program.alphabet

    def start(self: ConformanceMachine, config: Any) -> None:
        self.world = World(program, config)

    configs = list(dict.fromkeys(alphabet.configs))
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
        return self.world is not None and bool(kind.choices(self.world.ledger))

    def drawn(at: int) -> Any:
        def choose(self: ConformanceMachine) -> Any:
            assert self.world is not None
            return st.sampled_from(sorted({operands[at] for operands in kind.choices(self.world.ledger)}))

        return st.runner().flatmap(choose)

    def body(self: ConformanceMachine, **operands: Any) -> None:
        self.do((kind.name, *operands.values()))

    body.__name__ = body.__qualname__ = kind.name
    draws = {name: drawn(at) for at, name in enumerate(kind.operands)}
    return precondition(enabled)(rule(**draws)(body))


def _nothing_left(program: Program) -> Any:
    """Hypothesis calls a state without an enabled rule an error; for a bounded alphabet it is the end."""

    def over(self: ConformanceMachine) -> bool:
        return self.world is not None and not any(k.choices(self.world.ledger) for k in program.alphabet.steps)

    def nothing_left(self: ConformanceMachine) -> None: ...

    return precondition(over)(rule()(nothing_left))
