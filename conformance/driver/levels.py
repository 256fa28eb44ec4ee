"""How the reduction of a component begins in which a run takes long: with coarse changes, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.scenarios import Step


@dataclass(frozen=True, slots=True)
class Levels:
    """What is tried on a scenario before single steps are: other worlds, parts of it, kinds of steps, stretches of
    turns."""

    cost: Callable[[Any], int]
    """Returns, for a configuration, for how many runs one run counts in the budget of a reduction, because it takes so
    much longer."""
    worlds: Callable[[Any, Sequence[Any]], Iterable[Any]]
    """`worlds(config, simpler)` returns those of the simpler configurations in which the same may happen, the first to
    be tried first."""
    moved: Callable[[Any, Sequence[Step], Any], tuple[Step, ...]]
    """`moved(config, steps, other)` returns what the steps of one configuration are in another one. Steps that are not
    enabled there are skipped."""
    parts: tuple[str, ...]
    """The steps with which a new part of a scenario begins, for example what the component does after a restore."""
    kinds: tuple[tuple[str, ...], ...]
    """Kinds of steps that are left out together, by name. The coarsest come first."""
    turns: tuple[str, ...]
    """The steps that let one thread go on. Several in a row are a *stretch*."""
    stretches: tuple[Step, ...]
    """What may take the place of a stretch: steps that let the implementation say who goes on."""
    again: int
    """How many fresh scenarios the last stage draws at most."""
    in_vain: int
    """The last stage ends when so many fresh scenarios in a row failed alike, and led to nothing simpler."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all steps that are mentioned."""
        kinds = (name for one in self.kinds for name in one)
        return *self.parts, *kinds, *self.turns, *(step[0] for step in self.stretches)
