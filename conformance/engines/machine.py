"""The Hypothesis state machine of a component.

One rule per kind of step; a rule draws only operands for which the step is enabled now, so a failing example reads
like a program: `state.unaligned_barrier(checkpoint=1)`, `state.poll()`, `state.finish(thread='recovery')`. The fair
drain is the teardown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from conformance.driver import FINISH, RUN, AnyStep, Operands, Program, Violation, World
from conformance.scenarios import Scenario, Step

Observer = Callable[[World, list[Step], int, Violation | None], None]
"""Called after each run with its world, its steps, the number of steps of the drain, and the violation or None."""


class ConformanceMachine(RuleBasedStateMachine):
    """The base class of the machines of all components."""

    program: Program
    observer: Observer | None = None
    last: Scenario | None = None
    """The scenario of the run that ended last. After a failure, this is the one that Hypothesis reports."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World | None = None
        self.violation: Violation | None = None
        self.drawn: tuple[str, dict[int, Any]] = "", {}
        """The name of the step whose operands are being drawn, and the operands drawn so far, by index."""

    def choices(self, name: str) -> Sequence[Operands]:
        """Returns the operands with which a step is enabled now; none before the run has begun."""
        return () if self.world is None else self.world.choices(name)

    def do(self, step: Step) -> None:
        """Perform an enabled step."""
        assert self.world is not None
        self.drawn = "", {}
        try:
            self.world.perform(step)
        except Violation as violation:
            self.violation = violation
            raise

    def teardown(self) -> None:
        """Drain the run if it has not failed, and record the scenario."""
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
            world.close()
            type(self).last = Scenario(self.program.component.name, world.config, tuple(world.performed))
            if self.observer is not None:
                self.observer(world, world.performed, closing_steps, self.violation)


def state_machine(program: Program) -> type[ConformanceMachine]:
    """Returns the machine for one component of one implementation."""
    component = program.component

    def configure(self: ConformanceMachine, config: Any) -> None:
        self.world = World(program, config)

    configs = list(dict.fromkeys(program.configs))
    names = [kind.name for kind in component.steps]
    body: dict[str, Any] = {
        "program": program,
        "configure": initialize(config=st.sampled_from(configs))(configure),
        **{kind.name: _rule(kind) for kind in component.steps},
    }
    if component.threads:
        body |= {RUN: _turn(RUN, ""), FINISH: _turn(FINISH)}
        names.append(FINISH)
    body["nothing_left"] = _nothing_left(names)
    name = "".join(part.capitalize() for part in component.name.split("-")) + "Machine"
    return type(name, (ConformanceMachine,), body)


def _rule(kind: AnyStep) -> Any:
    def enabled(self: ConformanceMachine) -> bool:
        return bool(self.choices(kind.name))

    def body(self: ConformanceMachine, **operands: Any) -> None:
        self.do((kind.name, *(operands[name] for name in kind.operands)))

    body.__name__ = body.__qualname__ = kind.name
    draws = {name: _operand(kind.name, place) for place, name in enumerate(kind.operands)}
    return precondition(enabled)(rule(**draws)(body))  # type: ignore[no-untyped-call]


def _operand(name: str, place: int) -> Any:
    """Returns a strategy for one operand: the values that are possible together with the operands drawn before."""

    def choose(self: ConformanceMachine) -> Any:
        of, drawn = self.drawn
        if of != name or place in drawn:
            drawn = {}
            self.drawn = name, drawn

        def note(value: Any) -> Any:
            drawn[place] = value
            return value

        fitting = {
            operands[place]
            for operands in self.choices(name)
            if all(operands[other] == value for other, value in drawn.items())
        }
        return st.sampled_from(sorted(fitting)).map(note)

    return st.runner().flatmap(choose)


def _turn(name: str, *stop: str) -> Any:
    """Returns the Hypothesis rule of a turn, which goes to the next pause or to the end of the operation."""

    def enabled(self: ConformanceMachine) -> bool:
        return bool(self.choices(FINISH))

    def choose(self: ConformanceMachine) -> Any:
        return st.sampled_from([thread for (thread,) in self.choices(FINISH)])

    def body(self: ConformanceMachine, thread: str) -> None:
        self.do((name, thread, *stop))

    body.__name__ = body.__qualname__ = name
    return precondition(enabled)(rule(thread=st.runner().flatmap(choose))(body))


def _nothing_left(names: Sequence[str]) -> Any:
    """Returns a rule that is enabled if no other is: without it, Hypothesis takes the end of a run for an error."""

    def over(self: ConformanceMachine) -> bool:
        return self.world is not None and not any(self.choices(name) for name in names)

    def nothing_left(self: ConformanceMachine) -> None: ...

    return precondition(over)(rule()(nothing_left))
