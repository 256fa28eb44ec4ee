"""The Hypothesis state machine of a component.

A failing example reads like a program: `state.unaligned_barrier(checkpoint=1)`, `state.poll()`,
`state.finish(thread='recovery')`. The fair drain is the teardown.

Most examples are *guided*. A number that Hypothesis draws first stands for a scenario of the random search, with its
prefix, weights and habits, and the machine performs the steps of this scenario; if it fails, those of the shortest one
that a short reduction finds. Each step is drawn all the same, from a range that holds nothing but the step of the
guide, so that the choices which Hypothesis records say what the steps are. A guided example that fails is therefore the
same example without its guide. Shrinking tries this early, since no guide is simpler than any, and then shrinks step by
step. In an example without a guide, Hypothesis chooses among the steps that are enabled.

All steps share one Hypothesis rule. If each kind had its own, Hypothesis would switch some kinds off in each example,
the guide could not be followed, and an example would be given up as soon as all enabled kinds are switched off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import hypothesis.strategies as st
from hypothesis import currently_in_test_context, event, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from conformance.driver import FINISH, RUN, Kind, Program, Violation, World
from conformance.engines.guides import Guides
from conformance.engines.machine_test import MachineTest
from conformance.engines.simpler import Ranking
from conformance.scenarios import Scenario, Step

Observer = Callable[[World | None, list[Step], int, Violation | None], None]
"""Called after each run with its world, its steps, the number of steps of the drain, and the violation or None. The
world is None if the run failed before its first step."""

Draw = Callable[[Any], Any]
"""Draws from a strategy."""

GUIDES = 2**24
"""The number of guides. Of a larger range, Hypothesis prefers the small numbers."""
UNGUIDED = 0
"""The number that stands for no guide: the simplest one."""
CHOICES = 2**12
"""More than the steps of one kind that are enabled at once."""
END = "nothing_left"
"""The name of the step after which nothing more happens in an example, although Hypothesis goes on."""

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


NOTHING_LEFT = Call((END,), {})


class ConformanceMachine(RuleBasedStateMachine):
    """The base class of the machines of all components.

    The machine of a component has a method for each kind of step, so that a program that Hypothesis prints can be run.
    """

    program: Program
    observer: Observer | None = None
    last: Scenario | None = None
    """The scenario of the run that ended last. After a failure, this is the one that Hypothesis reports."""
    TestCase: Any = MachineTest()

    _guides: Guides
    _configs: Sequence[Any]
    """The configurations, the simplest first."""
    _kinds: Mapping[str, tuple[str, ...]]
    """The names of all kinds of steps, the simplest first, with the names of their operands."""
    _moves: frozenset[str]
    """The names of the kinds of steps that are no turns."""
    _stops: tuple[str, ...]
    """Where a turn may stop: `""`, which is the next pause, and all places that a prefix of the component names."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World | None = None
        self.violation: Violation | None = None
        self._config: Any = None
        self._guide: Iterator[Step] | None = None
        self._over = False

    # ---- the choices -------------------------------------------------------------------------------------------------
    def draw_config(self, draw: Draw) -> Any:
        """Draw a guide, or none, and a configuration: that of the guide, or any."""
        number = draw(st.integers(0, GUIDES - 1))
        if number == UNGUIDED:
            return self._configs[draw(st.integers(0, len(self._configs) - 1))]
        guide = self._guides.scenario(number, settings().stateful_step_count)
        self._guide = iter(guide.steps)
        at = self._configs.index(guide.config)
        return self._configs[draw(st.integers(at, at))]

    def draw_step(self, draw: Draw) -> Call:
        """Draw a step that is enabled now: that of the guide, or any. One number stands for the step and its operands,
        so that shrinking deletes all steps alike."""
        if self.world is None or self._over:
            return NOTHING_LEFT
        names = tuple(self._kinds)
        if self._guide is not None:
            wanted = next((step for step in self._guide if self.world.enabled(step)), None)
            number = 0 if wanted is None else 1 + self._number(names, wanted)
            draw(st.integers(number, number))
            return NOTHING_LEFT if wanted is None else self._call(wanted)
        number = draw(st.integers(0, len(names) * CHOICES))
        enabled = [at for at, name in enumerate(names) if self._enabled(name)] if number else []
        if not enabled:
            return NOTHING_LEFT
        at, choice = divmod(number - 1, CHOICES)
        steps = self._steps(names[at] if at in enabled else names[enabled[at % len(enabled)]])
        return self._call(steps[choice % len(steps)])

    def _number(self, names: tuple[str, ...], step: Step) -> int:
        """Returns the number of a step that is enabled now: steps of simpler kinds and with smaller operands first.

        A turn to a place that no prefix names has the number of the turn to the next pause, which is there."""
        if step[0] == RUN and self.program.component.is_turn(step) and step[2] not in self._stops:
            step = (*step[:2], "")
        return names.index(step[0]) * CHOICES + self._steps(step[0]).index(step)

    def _enabled(self, name: str) -> bool:
        assert self.world is not None
        return bool(self.world.choices(name if name in self._moves else FINISH))

    def _steps(self, name: str) -> list[Step]:
        """Returns all steps of this kind that are enabled now."""
        assert self.world is not None
        if name in self._moves:
            return [(name, *operands) for operands in sorted(self.world.choices(name))]
        threads = self.world.choices(FINISH)
        if name == FINISH:
            return [(name, *thread) for thread in threads]
        return [(name, *thread, stop) for stop in self._stops for thread in threads]

    def _call(self, step: Step) -> Call:
        operands = dict(zip(self._kinds[step[0]], step[1:], strict=True))
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

    def teardown(self) -> None:
        """Drain the run if it has not failed, and record the scenario."""
        world = self.world
        closing_steps = 0
        try:
            if self.violation is None and world is not None:
                closing_steps = world.drain()
        except Violation as violation:
            self.violation = violation
            raise
        finally:
            self._end(world, closing_steps)

    def _end(self, world: World | None, closing_steps: int) -> None:
        if world is not None:
            world.close()
        if world is None and self.violation is None:
            return  # the run never began
        performed = [] if world is None else world.performed
        type(self).last = Scenario(self.program.component.name, self._config, tuple(performed))
        if self.observer is not None:
            self.observer(world, performed, closing_steps, self.violation)
        if currently_in_test_context():
            self._count(world)

    def _count(self, world: World | None) -> None:
        """Tell the statistics of Hypothesis how the run ended, and which goals it reached."""
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
    component = program.component
    if not program.configs:
        raise ValueError(f"{program.implementation.name} understands no configuration of {component.name}")
    kinds = {kind.name: tuple(kind.operands) for kind in component.steps}
    moves = frozenset(kinds)
    turns = component.turns
    stops = {step[2] for prefix in component.prefixes for step in prefix if step[0] == RUN and component.is_turn(step)}

    def configure(self: ConformanceMachine, config: Any) -> None:
        self.begin(config)

    def step(self: ConformanceMachine, call: Call) -> None:
        if call.step[0] == END:
            self._over = True
        else:
            self.do(call.step)

    body: dict[str, Any] = {
        "program": program,
        "_guides": Guides(program),
        "_configs": Ranking(program).configs(),
        "_moves": moves,
        "_kinds": {**kinds, **turns},
        "_stops": tuple(sorted({"", *stops})),
        **{
            name: _by_hand(name, operands)
            for name, operands in (*kinds.items(), *turns.items())
            if not hasattr(ConformanceMachine, name)
        },
        "configure": initialize(config=_drawn(ConformanceMachine.draw_config))(configure),
        "step": rule(call=_drawn(ConformanceMachine.draw_step))(step),
    }
    return type(_class_name(program), (ConformanceMachine,), body)


def _class_name(program: Program) -> str:
    """Returns the name of a machine, `MyEngineSubpartitionMachine`.

    Hypothesis keeps failing examples by this name, so it tells implementations apart, and is the same in every process.
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
