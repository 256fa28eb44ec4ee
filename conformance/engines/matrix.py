"""The kill matrix: known bugs by properties, over many seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from msgspec import Struct

from conformance.engines.digest import CannotRecognise
from conformance.engines.fresh import Opinion, in_fresh_process
from conformance.engines.interruption import Interruption
from conformance.engines.kill import Kill, kill
from conformance.engines.optimum import Optimum, optimum
from conformance.engines.position import Follow
from conformance.engines.works import Over, alone
from conformance.ports import find_known_bug
from conformance.ports.registry import KNOWN_BUG_SCHEME
from conformance.scenarios import Scenario

Watch = Callable[[int], None]
"""Called with the number of searches that are over."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the kill matrix finds out about each known bug."""

    seeds: tuple[str, ...]
    scenarios: int
    """A bug that is not found in so many scenarios has survived."""
    optimal: bool = False
    """Find out by exploration, too, whether the minimal scenario is as short as one of its configuration can be."""
    confirmed: bool = False
    """Replay the minimal scenario in a fresh process, too."""
    reduced: int | None = None
    """Reduce what so many of the seeds find, the first ones; None: what all of them find."""


@dataclass(frozen=True, slots=True)
class Line:
    """One known bug, searched for with every seed."""

    bug: str
    """The name with which `find_known_bug` finds it."""
    kills: tuple[Kill, ...]
    """One for each seed, in the order of the seeds."""
    optimum: Optimum | None = None
    """What exploration found out about the first of the shortest forms; None if it was not asked, or cannot recognise
    the states."""
    opinion: Opinion | None = None

    @property
    def forms(self) -> list[Scenario]:
        """Returns the different minimal scenarios, the most frequent first."""
        found = Counter(one.shortest.scenario for one in self.kills if one.shortest is not None)
        return [scenario for scenario, _ in found.most_common()]

    @property
    def first_hit(self) -> str:
        """Returns the seed text of the first scenario in which the search found the bug; empty if no seed found it."""
        return next((one.first_hit for one in self.kills if one.first_hit), "")

    @property
    def shortest_form(self) -> Scenario | None:
        """Returns the shortest minimal scenario, of several the most frequent one; None if the bug was not found."""
        return min(self.forms, key=_length, default=None)


def _length(form: Scenario) -> int:
    return len(form.steps)


class Searching(Struct, frozen=True):
    """The search for a known bug with one seed."""

    bug: str
    seed: str
    scenarios: int
    reduced: bool = True

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`. All have the same, so that they are done in their order."""
        return ()

    def do(self, interruption: Interruption, follow: Follow) -> Kill:
        """See `Work`."""
        bug = find_known_bug(self.bug)
        return kill(bug, self.seed, self.scenarios, interruption=interruption, follow=follow, reduced=self.reduced)


class Shortening(Struct, frozen=True):
    """The exploration of the scenarios that are shorter than a minimal one."""

    bug: str
    minimal: Scenario

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return f"{self.minimal.component}, {len(self.minimal.steps)} steps", self.minimal.component

    def do(self, interruption: Interruption, follow: Follow) -> Optimum | None:
        """See `Work`. None: this Python cannot recognise states."""
        try:
            return optimum(find_known_bug(self.bug), self.minimal, interruption=interruption, follow=follow)
        except CannotRecognise:
            return None


class Confirming(Struct, frozen=True):
    """The replay of a minimal scenario in a fresh process."""

    bug: str
    minimal: Scenario

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return (self.minimal.component,)

    def do(self, interruption: Interruption, follow: Follow) -> Opinion:
        """See `Work`. What is run in another process needs no log."""
        name = self.bug if ":" in self.bug else f"{KNOWN_BUG_SCHEME}{self.bug}"
        return in_fresh_process(self.minimal, name)


def matrix(names: Sequence[str], asked: Asked, over: Over = alone, watch: Watch | None = None) -> list[Line]:
    """Returns a line for each of these known bugs, in their order, which is the same wherever `over` does the works.

    After an interruption, the bugs are missing that were not searched for with every seed, and of the others what was
    to be found out about their minimal scenarios.
    """
    lines: list[Line] = []
    most = len(asked.seeds) if asked.reduced is None else asked.reduced
    reducing = [(seed, at < most) for at, seed in enumerate(asked.seeds)]
    results = over([Searching(name, seed, asked.scenarios, reduced) for name in names for seed, reduced in reducing])
    done = 0
    for name in names:
        kills = [one for one in _counted(islice(results, len(asked.seeds)), done, watch) if one is not None]
        done += len(kills)
        if len(kills) == len(asked.seeds):
            lines.append(Line(name, tuple(kills)))
    found = [line for line in lines if line.forms]
    if asked.optimal:
        optima = over([Shortening(line.bug, min(line.forms, key=_length)) for line in found])
        found = [replace(line, optimum=best) for line, best in zip(found, optima, strict=True)]
    if asked.confirmed:
        opinions = over([Confirming(line.bug, line.forms[0]) for line in found])
        found = [replace(line, opinion=one) for line, one in zip(found, opinions, strict=True)]
    better = {line.bug: line for line in found}
    return [better.get(line.bug, line) for line in lines]


def _counted(kills: Iterable[Kill | None], done: int, watch: Watch | None) -> Iterator[Kill | None]:
    for one in kills:
        done += one is not None
        if watch is not None:
            watch(done)
        yield one
