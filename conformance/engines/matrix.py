"""The kill matrix: known bugs by properties, over many seeds, on all cores."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from conformance.engines.digest import CannotRecognise
from conformance.engines.fresh import Opinion, in_fresh_process
from conformance.engines.kill import Kill, kill
from conformance.engines.optimum import optimal_steps
from conformance.ports import find_known_bug
from conformance.scenarios import Scenario

Watch = Callable[[int], None]
"""Told how many searches are over."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be found out about each bug."""

    seeds: tuple[str, ...]
    scenarios: int
    """After so many without a hit a bug has survived."""
    optimal: bool = False
    """Explore too: how short can a scenario be?"""
    confirmed: bool = False
    """Replay the minimal scenario in a fresh process."""


@dataclass(frozen=True, slots=True)
class Line:
    """One known bug, searched for with every seed."""

    bug: str
    kills: tuple[Kill, ...]
    """In the order of the seeds."""
    optimum: int | None
    opinion: Opinion | None

    @property
    def forms(self) -> list[Scenario]:
        """The different minimal scenarios, the most frequent first."""
        found = Counter(one.shortest.scenario for one in self.kills if one.shortest is not None)
        return [scenario for scenario, _ in found.most_common()]


def matrix(names: Sequence[str], asked: Asked, processes: int = 1, watch: Watch | None = None) -> list[Line]:
    """A line for each known bug of these names, in their order, whatever the number of processes."""
    done = 0
    kills: dict[tuple[str, str], Kill] = {}
    with _executor(processes) as submit:
        jobs = {
            submit(_kill, name, seed, asked.scenarios): (name, seed) for name in names for seed in asked.seeds
        }
        for job in as_completed(jobs):
            kills[jobs[job]] = job.result()
            done += 1
            if watch is not None:
                watch(done)
        optima = {name: submit(_optimum, name) for name in names} if asked.optimal else {}
        lines = []
        for name in names:
            mine = tuple(kills[name, seed] for seed in asked.seeds)
            optimum = optima[name].result() if asked.optimal else None
            line = Line(name, mine, optimum, None)
            if asked.confirmed and line.forms:
                line = Line(name, mine, optimum, in_fresh_process(line.forms[0], f"known-bug:{name}"))
            lines.append(line)
    return lines
