"""The manners of searching from which a campaign can make a portfolio.

Each is a value of `MANNERS`. Without any, a search mixes some of them itself (`conformance.engines.search`). What a
scenario has in common with others of its manner follows from its seed text and the program alone, as in any search.

Where threads pause, a scenario in one of the manners of scheduling consists of *bouts*: some threads begin an operation
each, by the weights of the component, and the thread of the highest priority goes on to its next pause, until none can.
Only configurations in which operations pause are drawn then, if there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import floor
from types import MappingProxyType
from typing import Any

from conformance.driver import RUN, Program, World
from conformance.engines.corpus import corpus
from conformance.engines.search import EVEN, Manner, Scene, Search, Shaped, Table, Tables, one_of
from conformance.scenarios import Step
from conformance.scheduling import Thread

WEIGHTED = EVEN
"""The manner of a `Search` by number: with the declared weights."""
BOUT = 8
"""Among how many turns of a bout those are drawn at which a priority changes."""
MUTATIONS = 3
"""How often a stored scenario is changed at most."""
_TRIES = 40
"""After so many draws that found no enabled step, there is none."""
_BETWEEN = 0.1
"""How often another step comes between two turns."""
_BEGINS = 2
"""How many steps there are at most for each thread when a bout begins. Most operations pause nowhere."""
_CHANGED = 0.1
"""The share of steps of a stored scenario that have other operands."""
_AFTER = 5
"""How many steps may follow the last bout."""
Draw = Callable[[], float]
Change = Callable[[int, Thread, dict[str, float], list[Thread]], None]
"""Changes priorities after a turn of a bout, of a thread, with the threads that pause at the same thing."""


def _any_config(program: Program, shaped: Shaped, draw: Draw) -> tuple[Any, Any]:
    return shaped.configs[floor(draw() * len(shaped.configs))], None


def _paused_config(program: Program, shaped: Shaped, draw: Draw) -> tuple[Any, Any]:
    """Choose among the configurations in which operations pause, if there are any."""
    configs = shaped.kept.get("fine")
    if configs is None:
        fine = [one for one in shaped.configs if one.interleaving == "fine"]
        configs = shaped.kept["fine"] = fine or shaped.configs
    return configs[floor(draw() * len(configs))], None


def _stored_config(program: Program, shaped: Shaped, draw: Draw) -> tuple[Any, Any]:
    """Choose a scenario of the corpus, and another one to splice it with."""
    stored = shaped.kept.get("stored")
    if stored is None:
        stored = shaped.kept["stored"] = [
            one
            for _, one in corpus(program.component)
            if program.understands(one.config) and program.component.settings.shape(one.config) == shaped.shape.name
        ]
    if not stored:
        return _any_config(program, shaped, draw)
    one, other = (stored[floor(draw() * len(stored))] for _ in range(2))
    return one.config, (one.steps, other.steps)


def _life(search: Search, scene: Scene, by_phase: Tables, length: int, manner: float = WEIGHTED) -> None:
    """Perform steps from these tables, with threads that take turns as is usual in a manner. Raises: Violation."""
    habit = search.habit(scene.world.config, manner, scene.draw)
    search.draw_life(scene.world, by_phase, habit, length, scene.draw)


def _uniform(search: Search, scene: Scene) -> None:
    _life(search, scene, scene.shaped.tables(0.0, scene.draw), scene.length, 0.0)


def _weighted(search: Search, scene: Scene) -> None:
    _life(search, scene, _declared(scene), scene.length)


def _prefixed(search: Search, scene: Scene) -> None:
    if scene.shaped.prefixes:
        search.begin(scene.world, one_of(scene.shaped.prefixes, scene.draw))
    _weighted(search, scene)


def _declared(scene: Scene) -> Tables:
    return scene.shaped.tables(WEIGHTED, scene.draw)


def _by_priority(search: Search, scene: Scene, depth: int) -> None:
    """Threads go on by random priorities, of which `depth` - 1 fall below all others at random moments of a bout."""

    def changes() -> Change:
        moments = {floor(scene.draw() * BOUT): -1.0 - number for number in range(depth - 1)}

        def change(at: int, thread: Thread, priorities: dict[str, float], racing: list[Thread]) -> None:
            if at in moments:
                priorities[thread.name] = moments[at]

        return change

    _in_bouts(search, scene, changes, depth - 1)


def _by_partial_order(search: Search, scene: Scene) -> None:
    """Each pause has a random priority, and another one when a thread goes on behind a pause at the same thing."""

    def changes() -> Change:
        def change(at: int, thread: Thread, priorities: dict[str, float], racing: list[Thread]) -> None:
            for one in (thread, *racing):
                priorities[one.name] = scene.draw()

        return change

    _in_bouts(search, scene, changes, 0)


def _in_bouts(search: Search, scene: Scene, changes: Callable[[], Change], most: int) -> None:
    """Perform bouts until the length is reached. Components whose steps say who works have windows instead.

    `most`: how many priorities change in a window. Raises: Violation.
    """
    world, component, draw = scene.world, search.program.component, scene.draw
    if scene.shaped.prefixes and draw() < scene.shaped.prefixed:
        search.begin(world, one_of(scene.shaped.prefixes, draw))
    turned = component.turned
    if turned is not None and search.program.repeats:
        while len(world.performed) < scene.length:
            before = len(world.performed)
            search.draw_by_priority(world, turned, _declared(scene), draw, most)
            _life(search, scene, _declared(scene), len(world.performed) + 2)
            if len(world.performed) == before:
                return
    elif world.config.interleaving != "fine":
        _weighted(search, scene)
    else:
        while len(world.performed) < scene.length and world.ledger.phase != component.final_phase:
            if not _bout(world, _declared(scene), scene.length, draw, changes()):
                break
        _weighted(search, scene._replace(length=min(scene.length, len(world.performed) + _AFTER)))


def _bout(world: World, by_phase: Tables, length: int, draw: Draw, change: Change) -> bool:
    """Begin some operations, and let the threads go on until none can. Return whether a step was performed."""
    before, threads, performed = len(world.performed), list(world.threads.values()), world.performed
    priorities = {one.name: draw() for one in threads}
    for _ in range(1 + floor(draw() * _BEGINS * len(threads))):
        _operate(world, by_phase, draw)
    at = 0
    while len(performed) < length:
        ready = [one for one in threads if one.waits_for is not None and one.waits_for.ready()]
        if not ready:
            break
        first = max(ready, key=lambda one: priorities[one.name])
        racing = [one for one in ready if one is not first and one.waits_for is first.waits_for]
        world.perform((RUN, first.name, ""))
        change(at, first, priorities, racing)
        if draw() < _BETWEEN:
            _operate(world, by_phase, draw)
        at += 1
    return len(performed) > before


def _operate(world: World, by_phase: Tables, draw: Draw) -> None:
    """Perform a step by its weight, but no turn: mostly the begin of an operation of a thread. Raises: Violation."""
    table: Table = by_phase[world.ledger.phase]
    for _ in range(_TRIES):
        step, options, by = table[floor(draw() * len(table))]
        if by and world.threads[by].coroutine is not None:
            continue
        if choices := options(world.ledger):
            world.perform((*step, *choices[floor(draw() * len(choices))]))
            return


def _mutated(search: Search, scene: Scene) -> None:
    """Perform a stored scenario with some changes, and then what the declared weights draw."""
    world, draw = scene.world, scene.draw
    if scene.given is None:
        _weighted(search, scene)
        return
    steps, other = map(list, scene.given)
    for _ in range(1 + floor(draw() * MUTATIONS)):
        steps = _mutations[floor(draw() * len(_mutations))](steps, other, draw)
    for step in steps[: scene.length]:
        other_operands = draw() < _CHANGED and step[0] in world.moves
        if wanted := _enabled(world, step[:1] if other_operands else step, draw):
            world.perform(wanted)
    _life(search, scene, _declared(scene), floor(draw() * scene.length))


def _enabled(world: World, step: Step, draw: Draw) -> Step | None:
    """Return the step if it is enabled, or else one of its kind that is."""
    if step[0] not in world.moves:
        return step if world.enabled(step) else None
    choices = world.choices(step[0])
    if step[1:] in choices:
        return step
    return (step[0], *choices[floor(draw() * len(choices))]) if choices else None


Steps = list[Step]


def _slice(steps: Steps, draw: Draw) -> tuple[int, int]:
    one, other = (floor(draw() * (len(steps) + 1)) for _ in range(2))
    return min(one, other), max(one, other)


def _cut(steps: Steps, other: Steps, draw: Draw) -> Steps:
    start, end = _slice(steps, draw)
    return steps[:start] + steps[end:]


def _splice(steps: Steps, other: Steps, draw: Draw) -> Steps:
    return steps[: floor(draw() * (len(steps) + 1))] + other[floor(draw() * (len(other) + 1)) :]


def _repeat(steps: Steps, other: Steps, draw: Draw) -> Steps:
    start, end = _slice(steps, draw)
    return steps[:end] + steps[start:]


_mutations = (_cut, _splice, _repeat)

_PCT = "Burckhardt and others, A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010"


def _pct(depth: int) -> Manner:
    what = f"Threads work by random priorities, {depth - 1} of which change in a bout; an operation begins by weights."
    return Manner(f"pct-{depth}", what, _PCT, _paused_config, partial(_by_priority, depth=depth))


MANNERS: Mapping[str, Manner] = MappingProxyType(
    {
        one.name: one
        for one in (
            Manner("uniform", "All kinds of steps are equally frequent.", "", _any_config, _uniform),
            Manner("weighted", "Kinds of steps have the weights of the component.", "", _any_config, _weighted),
            Manner("prefixes", "A prefix of the component, which leads to a rare state, and then by weights.", "",
                   _any_config, _prefixed),
            *map(_pct, (2, 3, 4)),
            Manner("partial-order", "Threads work by priorities of their pauses, which are drawn anew where they race.",
                   "Yuan and others, Partial Order Aware Concurrency Sampling, CAV 2018", _paused_config,
                   _by_partial_order),
            Manner("mutation", "A scenario of the corpus, which is cut, spliced, repeated or has other operands.", "",
                   _stored_config, _mutated),
        )
    }
)  # fmt: skip
"""All manners by name."""
