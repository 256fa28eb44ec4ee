"""The Hypothesis state machine of a component.

A failing example reads like a program: `state.unaligned_barrier(checkpoint=1)`, `state.poll()`,
`state.finish(thread='recovery')`. Unless a step fails, its last line is
`state.fair_drain()`. `Drawing` chooses the steps, most often by a *guide*, a scenario of the random search.

The fair drain is a step as well, the simplest one. If it were part of the teardown only, an example that fails there
would have to be stopped by Hypothesis before it fails. Shrinking could not get to it from one that fails at a later
step: it tries the simplest choice in the place of a step, and never "stop here".

All steps share one Hypothesis rule. If each kind had its own, Hypothesis would switch some kinds off in each example,
the guide could not be followed, and an example would be given up as soon as all enabled kinds are switched off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import hypothesis.strategies as st
from hypothesis import currently_in_test_context, event, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from conformance.driver import Kind, Program, Violation, World
from conformance.engines.drawing import Draw, Drawing, Guide
from conformance.scenarios import Scenario, Step

Observer = Callable[[World | None, list[Step], int, Violation | None], None]
"""Called after each run with its world, its steps, the number of steps of the drain, and the violation or None. The
world is None if the run failed before its first step."""

END = "fair_drain"
"""The name of the step that drains the run. Nothing more happens after it, although Hypothesis goes on."""

ANYWHERE = ("stop", "")
"""The operand of a turn that goes to the next pause, whichever it is. It is not printed."""


class Call:
    """A step as Hypothesis prints it: `unaligned_barrier(checkpoint=1)`."""

    __slots__ = ("step", "text")

    def __init__(self, step: Step, operands: Mapping[str, Any]) -> None:
        self.step = step
        self.text = f"{step[0]}({', '.join(f'{name}={value!r}' for name, value in operands.items())})"

    def __repr__(self) -> str:
        return self.text


FAIR_DRAIN = Call((END,), {})


class ConformanceMachine(RuleBasedStateMachine):
    """The base class of the machines of all components.

    The machine of a component has a method for each kind of step, so that a program that Hypothesis prints can be run.
    """

    program: Program
    observer: Observer | None = None
    last: Scenario | None = None
    """The scenario of the run that ended last. After a failure, this is the one that Hypothesis reports."""
    _drawing: Drawing

    def __init__(self) -> None:
        super().__init__()
        self.world: World | None = None
        self.violation: Violation | None = None
        self._config: Any = None
        self._guide: Guide | None = None
        self._closing_steps: int | None = None
        """The number of steps of the drain; None before it has begun."""

    # ---- the choices -------------------------------------------------------------------------------------------------
    def draw_config(self, draw: Draw) -> Any:
        """Draw a configuration."""
        config, self._guide = self._drawing.config(draw, settings().stateful_step_count)
        return config

    def draw_step(self, draw: Draw) -> Call:
        """Draw a step that is enabled now, or the drain. Nothing is drawn after that."""
        if self.world is None or self._closing_steps is not None:
            return FAIR_DRAIN
        step = self._drawing.step(draw, self.world, self._guide)
        return FAIR_DRAIN if step is None else self._call(step)

    def _call(self, step: Step) -> Call:
        operands = dict(zip(self._drawing.kinds[step[0]], step[1:], strict=True))
        return Call(step, {name: value for name, value in operands.items() if (name, value) != ANYWHERE})

    # ---- the steps ---------------------------------------------------------------------------------------------------
    def begin(self, config: Any) -> None:
        """Begin the run with a fresh port."""
        self._config = config
        try:
            self.world = World(self.program, config)
        except Violation as violation:
            self.violation = violation
            raise

    def do(self, step: Step) -> None:
        """Perform an enabled step."""
        assert self.world is not None
        try:
            self.world.perform(step)
        except Violation as violation:
            self.violation = violation
            raise

    def fair_drain(self) -> None:
        """Drain the run. The second drain of a run does nothing."""
        if self.world is None or self._closing_steps is not None:
            return
        self._closing_steps = 0
        try:
            self._closing_steps = self.world.drain()
        except Violation as violation:
            self.violation = violation
            raise

    def teardown(self) -> None:
        """Drain the run if it has neither failed nor been drained, and record the scenario."""
        try:
            if self.violation is None:
                self.fair_drain()
        finally:
            self._end(self.world, self._closing_steps or 0)

    def _end(self, world: World | None, closing_steps: int) -> None:
        if world is not None:
            world.close()
        if world is None and self.violation is None:
            return  # the run never began
        performed = [] if world is None else world.performed
        type(self).last = scenario = Scenario(self.program.component.name, self._config, tuple(performed))
        if self.violation is not None:
            self.violation.scenario = scenario
        if self.observer is not None:
            self.observer(world, performed, closing_steps, self.violation)
        if currently_in_test_context():
            self._count(world)

    def _count(self, world: World | None) -> None:
        """Report to the statistics of Hypothesis how the run ended, and which goals it reached."""
        name, failed = self.program.component.name, self.violation
        event(f"{name}: every property held" if failed is None else f"{name}: failed, {failed.property.slug}")
        exercised = b"" if world is None else world.judge.evidence.exercised()
        for judged, reached in zip(self.program.properties, exercised, strict=False):
            if reached and judged.kind is Kind.SOMETIMES:
                event(f"goal reached: {judged.slug}")

    def _repr_step(self, rule: Any, data: Any, result: Any) -> str:
        """Returns the line that Hypothesis prints for a rule. A version of Hypothesis that does not call this method
        prints `state.step(call=poll())` in place of `state.poll()`."""
        if getattr(rule.function, "__name__", "") == "step" and set(data) == {"call"}:
            return f"state.{data['call']}"
        line: str = super()._repr_step(rule, data, result)
        return line


def state_machine(program: Program) -> type[ConformanceMachine]:
    """Returns the machine for one component of one implementation.

    Raises: ValueError if the implementation understands no configuration of the component.
    """
    drawing = Drawing(program)

    def configure(self: ConformanceMachine, config: Any) -> None:
        self.begin(config)

    def step(self: ConformanceMachine, call: Call) -> None:
        if call.step[0] == END:
            self.fair_drain()
        else:
            self.do(call.step)

    body: dict[str, Any] = {
        "program": program,
        "_drawing": drawing,
        **{
            name: _by_hand(name, operands)
            for name, operands in drawing.kinds.items()
            if not hasattr(ConformanceMachine, name)
        },
        "configure": initialize(config=_drawn(ConformanceMachine.draw_config))(configure),
        "step": rule(call=_drawn(ConformanceMachine.draw_step))(step),
    }
    return type(_class_name(program), (ConformanceMachine,), body)


def _class_name(program: Program) -> str:
    """Returns the name of a machine, `MyEngineSubpartitionMachine`.

    Hypothesis keeps failing examples by this name, so it distinguishes implementations, and is the same in every
    process.
    """
    words = re.findall("[A-Za-z0-9]+", f"{program.implementation.name} {program.component.name}")
    name = "".join(word[0].upper() + word[1:] for word in words) + "Machine"
    return name if name.isidentifier() else f"_{name}"


def _drawn(choose: Callable[[ConformanceMachine, Draw], Any]) -> Any:
    """Returns a strategy that lets the machine draw."""

    @st.composite
    def strategy(draw: Any) -> Any:
        return choose(draw(st.runner()), draw)

    return strategy()


def _by_hand(name: str, operands: tuple[str, ...]) -> Any:
    """Returns the method that performs a kind of step."""

    def perform(self: ConformanceMachine, **values: Any) -> None:
        if ANYWHERE[0] in operands:
            values.setdefault(*ANYWHERE)
        self.do((name, *(values[one] for one in operands)))

    perform.__name__ = perform.__qualname__ = name
    perform.__doc__ = f"Perform the step {name}{' with ' + ', '.join(operands) if operands else ''}."
    return perform
