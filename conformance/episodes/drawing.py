"""Draws episodes: how much is supplied, where user code dies, when processes are killed, what is started again."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from conformance.episodes import steps
from conformance.episodes.config import MOST_SPLITS, PORTIONS, SINK, EpisodeConfig
from conformance.ports import Until
from conformance.ports.episodes import MOST_KEYS, Description, UserPlace
from conformance.scenarios import Step

_KEYS = (1, 3, 8, MOST_KEYS)
_MOST_LIVES = 4
_SUPPLIED = PORTIONS[3:10]
MEANWHILE = _IDLE, _CHECKPOINT = tuple(steps.settle(one.value) for one in (Until.IDLE, Until.NO_CHECKPOINT))
"""The waits in the middle of an episode: until all records have come out, and until a checkpoint has completed."""
_CALLS = (3, 6, len(steps.NTH))
"""Among how many of the smallest numbers of calls one is drawn: some places are called once in a batch."""
AT_ITS_END = 0.1
"""How often a life reads everything to its end, so that the next one continues after the end."""
IN_RECOVERY = 0.5
"""How often the life that follows a death at `notice` dies there, too, at its first call: it begins with a transaction
to commit, and a death behind that commit shows whether the next life commits it again."""

CHOSEN, STOPPED = 0.3, 0.3
"""How often a life is asked for a checkpoint, and how often it is stopped, with a savepoint or without."""


class Episode(NamedTuple):
    """One episode as data."""

    config: EpisodeConfig
    steps: tuple[Step, ...]


def plainest(description: Description) -> EpisodeConfig:
    """Returns one split, one worker, and the first value of each knob."""
    return EpisodeConfig(
        knobs={name: values[0] for name, values in description.knobs.items()}, promises=description.promises
    )


def plain(description: Description) -> Episode:
    """Returns an episode in which nothing fails: it must pass before any other one says something of the engine."""
    many = 2 if description.promises.rescales else 1
    config = EpisodeConfig(2, min(many, description.most_parallelism), 3, plainest(description).knobs,
                           description.promises)  # fmt: skip
    return Episode(config, (steps.supply(0, 21), steps.supply(1, 13), _IDLE, steps.supply(0, 5)))


def draw(description: Description, seed: str) -> Episode:
    """Returns an episode of this adapter, from the text of a seed."""
    random, promises = Random(seed), description.promises
    another = Random(f"{seed}/in recovery")  # so that an engine without such a place has the episodes that it had
    splits = random.randint(1, min(4, MOST_SPLITS))
    many = range(1, description.most_parallelism + 1)
    config = EpisodeConfig(
        splits, random.choice(many), random.choice(_KEYS),
        {name: random.choice(values) for name, values in description.knobs.items()}, promises,
    )  # fmt: skip
    made: list[Step] = []
    images = 0
    for _ in range(random.randint(1, _MOST_LIVES - 1)):
        made += _supplied(random, splits)
        if description.places and random.random() < 0.7:
            for _ in range(random.choice((1, 1, 2))):
                place = random.choice(description.places).value
                nth = random.choice(steps.NTH[: random.choice(_CALLS)])
                made.append(steps.fault(place, random.choice(("ends", "ends", "throws")), nth))
                if place == UserPlace.NOTICE and another.random() < IN_RECOVERY:
                    made.append(steps.fault(place, "ends", 1))
        made += _ending(random, description, splits)
        if promises.images and random.random() < 0.25:
            made.append(steps.image())
            images += 1
        made.append(steps.rows(SINK))
        if promises.chosen or promises.savepoint:
            made.append(steps.life())
        if promises.savepoint and random.random() < STOPPED:
            made += [steps.savepoint(), steps.rows(SINK)]
        elif promises.stops and random.random() < STOPPED:
            made += [steps.stop(), steps.rows(SINK)]
        made += [steps.kill(), steps.rows(SINK)]
        parallelism = random.choice(many) if promises.rescales else config.parallelism
        made.append(steps.start_again(parallelism, random.randint(0, images) if images else 0))
    return Episode(config, (*made, *_supplied(random, splits)))


def _supplied(random: Random, splits: int) -> list[Step]:
    return [steps.supply(split, random.choice(_SUPPLIED)) for split in range(splits) if random.random() < 0.8]


def _ending(random: Random, description: Description, splits: int) -> list[Step]:
    """Until when a life runs: until all has come out, for a time, until a checkpoint has completed, or to its end. A
    checkpoint that was asked for is followed by more to read, so that it matters from where the next life starts."""
    chance = random.random()
    if description.promises.chosen and random.random() < CHOSEN:
        return [steps.checkpoint(), *_supplied(random, splits), steps.advance(random.choice(steps.MILLISECONDS))]
    if description.promises.continues and chance < AT_ITS_END:
        return [steps.end(0), steps.settle(Until.OVER.value)]
    if chance < (0.2 if description.checkpoints else 0.6):
        return [steps.advance(random.choice(steps.MILLISECONDS))]
    if description.checkpoints and chance < 0.6:  # the life before may have died before its first checkpoint
        return [_CHECKPOINT, steps.advance(random.choice(steps.MILLISECONDS))]
    return [_IDLE]
