"""The kill matrix: known bugs by properties, over many seeds, on all cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from conformance.engines.digest import CannotRecognise
from conformance.engines.fresh import Opinion, in_fresh_process
from conformance.engines.kill import Kill, kill
from conformance.engines.optimum import Optimum, optimum
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


def matrix(names: Sequence[str], asked: Asked, processes: int = 1, watch: Watch | None = None) -> list[Line]:
    """Returns a line for each of these known bugs, in their order, which is the same for any number of processes."""
    kills: list[Kill] = []
    with mapping(processes) as over:
        for one in over(_kill, [(name, seed, asked.scenarios) for name in names for seed in asked.seeds]):
            kills.append(one)
            if watch is not None:
                watch(len(kills))
        count = len(asked.seeds)
        lines = [Line(name, tuple(kills[place * count : (place + 1) * count])) for place, name in enumerate(names)]
        if asked.optimal:
            optima = over(_optimum, [(line.bug, line.shortest_form) for line in lines])
            lines = [replace(line, optimum=best) for line, best in zip(lines, optima, strict=True)]
    return [_confirmed(line) for line in lines] if asked.confirmed else lines


def _confirmed(line: Line) -> Line:
    if not line.forms:
        return line
    implementation = line.bug if ":" in line.bug else f"{KNOWN_BUG_SCHEME}{line.bug}"
    return replace(line, opinion=in_fresh_process(line.forms[0], implementation))


def _kill(name: str, seed: str, scenarios: int) -> Kill:
    return kill(find_known_bug(name), seed, scenarios)


def _optimum(name: str, minimal: Scenario | None) -> Optimum | None:
    """Returns None without a minimal scenario, or if this Python cannot recognise states."""
    try:
        return None if minimal is None else optimum(find_known_bug(name), minimal)
    except CannotRecognise:
        return None
