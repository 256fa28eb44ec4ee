"""Aims scenarios at what was never judged: a property, in a setting in which the steps that it is about were performed.

What is missing after many scenarios is rare, and a search that goes on as before meets it by chance. A scenario that is
aimed has a configuration that can have the setting, and the steps of the property are more frequent in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from random import Random
from typing import Any, NamedTuple

from conformance.driver import Component, Program, Property, Setting
from conformance.engines.exercise import can, cells, shown
from conformance.engines.manners import WEIGHTED
from conformance.engines.search import Manner, Scene, Search, Shaped, Tables, one_of, tables
from conformance.engines.tally import Tally

SHARE = 2 / 3
"""The share of scenarios that are aimed. The others are drawn as if nothing were missing."""
OFTEN = 4
"""How many times more frequent the steps of the property are."""


class Aim(NamedTuple):
    """A property that was never judged in a setting."""

    slug: str
    where: Setting


class _Whole(NamedTuple):
    """A component with all its properties, whether they apply or not."""

    component: Component
    properties: Sequence[Property]


def aims_of(component: Component, tally: Tally) -> tuple[Aim, ...]:
    """Return what was never judged although it can be, and although the steps of the property were performed there."""
    whole = _Whole(component, component.properties)
    return tuple(
        Aim(one.slug, setting)
        for one in shown(whole)
        if one.on
        for setting, cell in sorted(cells(one, tally).items())
        if not cell.judged and can(one, whole, setting)
    )


def is_aimed(seed: str) -> bool:
    """Return whether the scenario of a seed text is aimed, if there is anything to aim at."""
    return Random(f"aim/{seed}").random() < SHARE


def aiming(aims: Sequence[Aim]) -> Manner:
    """Return the manner that draws scenarios aimed at one of these."""

    by_shape: dict[Shaped, list[Aim | None]] = {}

    def choose(program: Program, shaped: Shaped, draw: Callable[[], float]) -> tuple[Any, str | None]:
        mine = by_shape.get(shaped)
        if mine is None:
            shape = shaped.shape.name
            mine = by_shape[shaped] = [
                aim for aim in aims if aim.slug in program.places and aim.where.shape == shape
            ] or [None]
        aim = mine[floor(draw() * len(mine))]
        configs = shaped.configs if aim is None else _fitting(program, shaped, aim.where)
        return configs[floor(draw() * len(configs))], None if aim is None else aim.slug

    what = "The configuration and the weights are those of a property and a setting in which it was never judged."
    return Manner("aimed", what, "", choose, _perform)


def _fitting(program: Program, shaped: Shaped, where: Setting) -> list[Any]:
    """Return the configurations of a shape that can have a setting, or all of them if none says that it can."""
    found: list[Any] | None = shaped.kept.get(where)
    if found is None:
        settings = program.component.settings
        some = [config for config in shaped.configs if settings.can_have(config, where)]
        found = shaped.kept[where] = some or shaped.configs
    return found


def _perform(search: Search, scene: Scene) -> None:
    world, shaped, draw = scene.world, scene.shaped, scene.draw
    if shaped.prefixes and draw() < shaped.prefixed:
        search.begin(world, one_of(shaped.prefixes, draw))
    by_phase = _tables(search.program, shaped, scene.given)
    search.draw_life(world, by_phase, search.habit(world.config, WEIGHTED, draw), scene.length, draw)


def _tables(program: Program, shaped: Shaped, slug: str | None) -> Tables:
    """Return the declared weights, with those of the steps of a property multiplied."""
    found: Tables | None = shaped.kept.get(("aim", slug))
    if found is None:
        component = program.component
        on = frozenset() if slug is None else frozenset(program.properties[program.places[slug]].on)
        weights = {one.key: shaped.shape.weights.get(one.key, one.weight) for one in component.steps}
        often = {key: weight * OFTEN if key in on else weight for key, weight in weights.items()}
        found = shaped.kept["aim", slug] = tables(component, often)
    return found
