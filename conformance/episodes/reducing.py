"""Reduces an episode, level by level: a place instead of a time, fewer lives, workers, splits, keys, records.

A run costs a second and need not end twice in the same way. So there are few candidates, and one counts if it fails in
one of three runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from conformance.episodes import steps
from conformance.episodes.config import PORTIONS, EpisodeConfig
from conformance.episodes.drawing import Episode, plainest
from conformance.ports import Until
from conformance.ports.episodes import Description, UserPlace
from conformance.scenarios import Step

TRIES = 3
"""How often a candidate is run."""
MOST_RUNS = 120
_IDLE = steps.settle(Until.IDLE.value)
_SUPPLY, _FAULT, _START, _KILL, _ADVANCE = (
    one.name for one in (steps.supply, steps.fault, steps.start_again, steps.kill, steps.advance)
)
_SMALLER = {name: PORTIONS if name == _SUPPLY else steps.NTH for name in (_SUPPLY, _FAULT)}


@dataclass(slots=True)
class Reduction:
    """A smaller episode that fails in the same way."""

    episode: Episode
    runs: int
    """How many runs it took."""
    fails: int
    """Of so many further runs of it, how many fail in the same way."""
    tries: int
    complete: bool = True
    """False if more runs could lead to a smaller one."""
    owed: str = ""
    """What was owed when it failed last; empty: it did not fail again."""
    observed: str = ""


def reduce_episode(episode: Episode, description: Description, fails: Callable[[Episode], bool],
                   most: int = MOST_RUNS, keep: Callable[[Episode], None] | None = None) -> Reduction:  # fmt: skip
    """Returns a smaller episode. `fails`: whether a run of an episode fails in the same way. `most`: how many runs it
    may take. `keep` is called with each smaller one as soon as it has failed, since the next run may be interrupted."""
    runs, complete = 0, True

    def counts(one: Episode) -> bool:
        nonlocal runs
        for _ in range(TRIES):
            runs += 1
            if fails(one):
                return True
        return False

    while True:
        smaller = None
        for one in candidates(episode, description):
            if runs + TRIES > most:
                complete = False
                break
            if one != episode and counts(one):
                smaller = one
                break
        if smaller is None:
            break
        episode = smaller
        if keep is not None:
            keep(episode)
    return Reduction(episode, runs + TRIES, sum(fails(episode) for _ in range(TRIES)), TRIES, complete)


def candidates(episode: Episode, description: Description) -> Iterator[Episode]:
    """Yields smaller episodes, those first that leave out most."""
    config, made = episode
    lives = _lives(made)
    for at in range(len(lives)):
        if len(lives) > 1:
            yield Episode(config, _joined([life for other, life in enumerate(lives) if other != at]))
    plain = plainest(description)
    one_worker = tuple((*one[:1], 1, *one[2:]) if one[0] == _START else one for one in made)
    if config.parallelism > 1 or one_worker != made:
        yield Episode(replace(config, parallelism=1), one_worker)
    if config.splits > 1:
        for split in range(config.splits):
            moved = tuple((one[0], 0, *one[2:]) if one[0] == _SUPPLY else one for one in made
                          if one[0] != _SUPPLY or one[1] == split)  # fmt: skip
            yield Episode(replace(config, splits=1), moved)
    if config.keys > 1:
        yield Episode(replace(config, keys=1), made)
    if config.knobs != plain.knobs:
        yield Episode(replace(config, knobs=plain.knobs), made)
        for name, value in plain.knobs.items():
            if config.knobs.get(name) != value:
                yield Episode(replace(config, knobs={**config.knobs, name: value}), made)
    yield from _with_places(config, made, description)
    for at, one in enumerate(made):
        if one[0] not in (_KILL, _START):
            yield Episode(config, (*made[:at], *made[at + 1 :]))
    for factor in (4, 2, 1):
        for at, one in enumerate(made):
            if one[0] in _SMALLER:
                less = [value for value in _SMALLER[one[0]] if value < one[-1] and value <= max(1, one[-1] // factor)]
                if less:
                    yield Episode(config, (*made[:at], (*one[:-1], less[-1]), *made[at + 1 :]))


def _with_places(config: EpisodeConfig, made: tuple[Step, ...], description: Description) -> Iterator[Episode]:
    """A place in user code instead of a time."""
    place = next((one for one in (UserPlace.COUNT, *description.places) if one in description.places), None)
    for at, one in enumerate(made):
        if one[0] == _ADVANCE and place is not None:
            for nth in (21, 5):
                armed = steps.fault(place.value, "ends", nth)
                yield Episode(config, (*made[:at], armed, _IDLE, *made[at + 1 :]))


def _lives(made: tuple[Step, ...]) -> list[tuple[Step, ...]]:
    """Returns the steps of each life, the start of which comes first but for that of the first."""
    found: list[list[Step]] = [[]]
    for one in made:
        if one[0] == _START:
            found.append([])
        found[-1].append(one)
    return [tuple(one) for one in found]


def _joined(lives: list[tuple[Step, ...]]) -> tuple[Step, ...]:
    """Returns the steps of lives, of which the first one is started by the port itself."""
    first = tuple(one for one in lives[0] if one[0] != _START)
    return (*first, *(step for life in lives[1:] for step in life))
