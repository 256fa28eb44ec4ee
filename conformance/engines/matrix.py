"""The kill matrix: known bugs by properties, over many seeds, on all cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.engines.digest import CannotRecognise
from conformance.engines.fresh import Opinion, in_fresh_process
from conformance.engines.kill import Kill, kill
from conformance.engines.optimum import optimal_steps
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
    """Find out by exploration, too, how short a scenario can be."""
    confirmed: bool = False
    """Replay the minimal scenario in a fresh process, too."""


@dataclass(frozen=True, slots=True)
class Line:
    """One known bug, searched for with every seed."""

    bug: str
    """The name with which `find_known_bug` finds it."""
    kills: tuple[Kill, ...]
    """One for each seed, in the order of the seeds."""
    optimum: int | None = None
    opinion: Opinion | None = None

    @property
    def forms(self) -> list[Scenario]:
        """Returns the different minimal scenarios, the most frequent first."""
        found = Counter(one.shortest.scenario for one in self.kills if one.shortest is not None)
        return [scenario for scenario, _ in found.most_common()]


def matrix(names: Sequence[str], asked: Asked, processes: int = 1, watch: Watch | None = None) -> list[Line]:
    """Returns a line for each of these known bugs, in their order, which is the same for any number of processes."""
    kills: list[Kill] = []
    with mapping(processes) as over:
        for one in over(_kill, [(name, seed, asked.scenarios) for name in names for seed in asked.seeds]):
            kills.append(one)
            if watch is not None:
                watch(len(kills))
        optima: list[int | None] = [None] * len(names)
        if asked.optimal:
            optima = list(over(_optimum, [(name,) for name in names]))
    count = len(asked.seeds)
    lines = []
    for place, (name, optimum) in enumerate(zip(names, optima, strict=True)):
        line = Line(name, tuple(kills[place * count : (place + 1) * count]), optimum)
        if asked.confirmed and line.forms:
            implementation = name if ":" in name else f"{KNOWN_BUG_SCHEME}{name}"
            line = Line(name, line.kills, optimum, in_fresh_process(line.forms[0], implementation))
        lines.append(line)
    return lines


def _kill(name: str, seed: str, scenarios: int) -> Kill:
    return kill(find_known_bug(name), seed, scenarios)


def _optimum(name: str) -> int | None:
    """Returns None if this Python cannot recognise states."""
    try:
        return optimal_steps(find_known_bug(name))
    except CannotRecognise:
        return None
