"""The kill matrix: known bugs by properties, over many seeds, on all cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from conformance.engines.digest import CannotRecognise
from conformance.engines.fresh import Opinion, in_fresh_process
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.kill import Kill, kill
from conformance.engines.optimum import Optimum, optimum
from conformance.engines.position import Follow, unfollowed
from conformance.engines.processes import mapping
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
        return min(self.forms, key=lambda form: len(form.steps), default=None)


def matrix(
    names: Sequence[str],
    asked: Asked,
    processes: int = 1,
    watch: Watch | None = None,
    interruption: Interruption = NEVER,
    follow: Follow = unfollowed,
) -> list[Line]:
    """Returns a line for each of these known bugs, in their order, which is the same for any number of processes.

    `follow` returns the log of each program that is run; it must be importable if there are several processes.

    After an interruption, the bugs are missing that were not searched for with every seed, and of the others what was
    to be found out about their minimal scenarios.
    """
    lines: list[Line] = []
    with mapping(processes, interruption) as over:
        results = over(_kill, [(name, seed, asked.scenarios, follow) for name in names for seed in asked.seeds])
        done = 0
        for name in names:
            kills = [one for one in _counted(islice(results, len(asked.seeds)), done, watch) if one is not None]
            done += len(kills)
            if len(kills) == len(asked.seeds):
                lines.append(Line(name, tuple(kills)))
        if asked.optimal:
            optima = over(_optimum, [(line.bug, line.shortest_form, follow) for line in lines])
            lines = [replace(line, optimum=best) for line, best in zip(lines, optima, strict=True)]
    return [_confirmed(line, interruption) for line in lines] if asked.confirmed else lines


def _counted(kills: Iterable[Kill | None], done: int, watch: Watch | None) -> Iterator[Kill | None]:
    for one in kills:
        done += one is not None
        if watch is not None:
            watch(done)
        yield one


def _confirmed(line: Line, interruption: Interruption) -> Line:
    if not line.forms or interruption.requested:
        return line
    implementation = line.bug if ":" in line.bug else f"{KNOWN_BUG_SCHEME}{line.bug}"
    return replace(line, opinion=in_fresh_process(line.forms[0], implementation))


def _kill(name: str, seed: str, scenarios: int, follow: Follow, interruption: Interruption) -> Kill:
    return kill(find_known_bug(name), seed, scenarios, interruption=interruption, follow=follow)


def _optimum(name: str, minimal: Scenario | None, follow: Follow, interruption: Interruption) -> Optimum | None:
    """Returns None without a minimal scenario, or if this Python cannot recognise states. Raises: Unfinished."""
    if minimal is None:
        return None
    try:
        return optimum(find_known_bug(name), minimal, interruption=interruption, follow=follow)
    except CannotRecognise:
        return None
