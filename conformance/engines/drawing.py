"""Draws the configuration and the steps of a run with Hypothesis: for the state machine, and for scenarios as values.

Most runs are *guided*. A number that is drawn first stands for a scenario of the random search, with its prefix,
weights and habits, and the steps of this scenario are drawn; if it fails, those of the shortest one that a short
reduction finds. Each step is drawn all the same, from a range that holds nothing but the step of the guide, so that the
choices which Hypothesis records say what the steps are. A guided run that fails is therefore the same run without its
guide. Shrinking tries this early, since no guide is simpler than any, and then shrinks step by step. In a run without a
guide, Hypothesis chooses among the steps that are enabled.

The fair drain is a choice as well, the simplest one: the number 0. Shrinking puts it in the place of a step, and so
tries whether the steps before that one suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import hypothesis.strategies as st

from conformance.driver import FINISH, RUN, Program, World
from conformance.engines.guides import Guides
from conformance.engines.simpler import Ranking
from conformance.scenarios import Step

Draw = Callable[[Any], Any]
"""Draws from a strategy."""
Guide = Iterator[Step]
"""The steps of a guide that are left."""

GUIDES = 2**24
"""The number of guides. Of a larger range, Hypothesis prefers the small numbers."""
UNGUIDED = 0
"""The number that stands for no guide: the simplest one."""
CHOICES = 2**12
"""More than the steps of one kind that are enabled at once."""
DRAIN = 0
"""The number that stands for the fair drain: the simplest one."""


class Drawing:
    """The choices that a program leaves. What a number stands for depends on the implementation and nothing else.

    Raises: ValueError if the implementation understands no configuration of the component.
    """

    def __init__(self, program: Program) -> None:
        component = program.component
        if not program.configs:
            raise ValueError(f"{program.implementation.name} understands no configuration of {component.name}")
        moves = {kind.name: tuple(kind.operands) for kind in component.steps}
        self.kinds: Mapping[str, tuple[str, ...]] = {**moves, **component.turns}
        """The names of all kinds of steps, the simplest first, with the names of their operands."""
        self._names = tuple(self.kinds)
        self._moves = frozenset(moves)
        self._is_turn = component.is_turn
        self._configs = Ranking(program).configs()
        self._guides = Guides(program)
        stops = {
            step[2]
            for shape in component.searched
            for prefix in shape.prefixes
            for step in prefix
            if step[0] == RUN and component.is_turn(step)
        }
        self._stops = tuple(sorted({"", *stops}))
        """Where a turn may stop: `""`, which is the next pause, and all places that a prefix of the component names."""

    def config(self, draw: Draw, length: int) -> tuple[Any, Guide | None]:
        """Draw a guide of at most this length, or none, and a configuration: that of the guide, or any."""
        number = draw(st.integers(0, GUIDES - 1))
        if number == UNGUIDED:
            return self._configs[draw(st.integers(0, len(self._configs) - 1))], None
        guide = self._guides.scenario(number, length)
        at = self._configs.index(guide.config)
        return self._configs[draw(st.integers(at, at))], iter(guide.steps)

    def step(self, draw: Draw, world: World, guide: Guide | None) -> Step | None:
        """Draw a step that is enabled now: that of the guide, or any. None is the fair drain.

        One number stands for the step and its operands, so that shrinking deletes all steps alike."""
        if guide is not None:
            wanted: Step | None = next((step for step in guide if world.enabled(step)), None)
            number = DRAIN if wanted is None else 1 + self._number(world, wanted)
            draw(st.integers(number, number))
            return wanted
        number = draw(st.integers(0, len(self._names) * CHOICES))
        enabled = [at for at, name in enumerate(self._names) if self._enabled(world, name)] if number != DRAIN else []
        if not enabled:
            return None
        at: int
        choice: int
        at, choice = divmod(number - 1, CHOICES)
        steps: list[Step] = self._steps(world, self._names[at if at in enabled else enabled[at % len(enabled)]])
        return steps[choice % len(steps)]

    def end(self, draw: Draw) -> None:
        """Draw the fair drain, since a run may have no more steps. The choices of a run always end with it, so that
        they still say when the run ends after shrinking has deleted a step."""
        draw(st.integers(DRAIN, DRAIN))

    def _number(self, world: World, step: Step) -> int:
        """Returns the number of a step that is enabled now: steps of simpler kinds and with smaller operands first.

        A turn to a place that no prefix names has the number of the turn to the next pause, which is there."""
        if step[0] == RUN and self._is_turn(step) and step[2] not in self._stops:
            step = (*step[:2], "")
        return self._names.index(step[0]) * CHOICES + self._steps(world, step[0]).index(step)

    def _enabled(self, world: World, name: str) -> bool:
        return bool(world.choices(name if name in self._moves else FINISH))

    def _steps(self, world: World, name: str) -> list[Step]:
        """Returns all steps of this kind that are enabled now."""
        if name in self._moves:
            return [(name, *operands) for operands in sorted(world.choices(name))]
        threads = world.choices(FINISH)
        if name == FINISH:
            return [(name, *thread) for thread in threads]
        return [(name, *thread, stop) for stop in self._stops for thread in threads]
