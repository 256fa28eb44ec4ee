"""Tests the suite with a known bug: a search must find the bug."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import process_time

from conformance.components import COMPONENTS
from conformance.driver import Component, Program, run_scenario
from conformance.engines.check import Found
from conformance.engines.interruption import NEVER, Interruption, Unfinished
from conformance.engines.position import Follow, unfollowed
from conformance.engines.reduce import BUDGET, Signature, reduce
from conformance.engines.search import Search, seeds
from conformance.engines.tally import Counter, Failure
from conformance.ports import Implementation, KnownBug
from conformance.scenarios import Finding, Scenario

MOST_SCENARIOS = 20_000
"""A bug that is not found in so many scenarios has survived."""
LOOK_ON = 40
"""How many further scenarios are run after the first hit, to see which other properties notice the bug, and to find a
shorter scenario to reduce."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """What the search for a known bug saw."""

    scenarios: int
    """How many scenarios were run, up to the first in which the property failed that must notice the bug; all, if it
    failed in none."""
    hits: tuple[Failure, ...]
    """The failures of that property, each with a scenario. Empty: the bug survived."""
    noticed: dict[str, int]
    """In how many scenarios each property failed, by slug."""
    first_hit: str
    """The seed text of the first of these scenarios; empty if the bug survived."""

    @property
    def shortest(self) -> Scenario:
        """The scenario with the fewest steps in which that property fails; none is reduced."""
        return min((failure.scenario for failure in self.hits), key=lambda scenario: len(scenario.steps))


@dataclass(frozen=True, slots=True)
class Kill:
    """What it took to find a known bug. CPU seconds are information for people; no result depends on them."""

    killed: bool
    scenarios: int
    """How many scenarios were run, up to the first in which the property failed that must notice the bug."""
    cpu_seconds: float
    shortest: Found | None
    """None: it was not found, or not reduced."""
    noticed: dict[str, int]
    """In how many scenarios each property failed, by slug."""
    reduction_seconds: float = 0.0
    """The part of `cpu_seconds` that the reduction of the scenario took."""
    drain_steps: int = 0
    """How many steps of the drain follow the steps of the shortest scenario, up to the failure."""
    first_hit: str = ""
    """The seed text of the first scenario in which that property failed; empty if the bug survived."""


def hunt(
    bug: KnownBug, program: Program, seed: int | str, scenarios: int = MOST_SCENARIOS, look_on: int = LOOK_ON,
    interruption: Interruption = NEVER,
) -> Hunt:  # fmt: skip
    """Search until the property that must notice the bug fails, and `look_on` scenarios longer; reduce nothing.

    Other properties may fail in other scenarios; only the named one counts. Raises: Unfinished.
    """
    search, counter = Search(program), Counter(program)
    ran, first, last, first_hit = 0, 0, scenarios, ""
    for text in seeds(seed, bug.component, range(scenarios)):
        if interruption.requested:
            raise Unfinished
        if ran >= last:
            break
        ran += 1
        scenario, run = search.run(text)
        if run.violation is not None:
            counter.add(scenario, run)
            if not first and run.violation.property.slug == bug.property:
                first, last, first_hit = ran, ran + look_on, text
    failures = counter.tally().failures
    noticed: dict[str, int] = {}
    for (slug, *_), failure in sorted(failures.items()):
        noticed[slug] = noticed.get(slug, 0) + failure.count
    hits = tuple(failure for (slug, *_), failure in failures.items() if slug == bug.property)
    return Hunt(first or ran, hits, noticed, first_hit)


def kill(
    bug: KnownBug, seed: int | str, scenarios: int = MOST_SCENARIOS, budget: int = BUDGET,
    components: Mapping[str, Component] = COMPONENTS, interruption: Interruption = NEVER, follow: Follow = unfollowed,
    reduced: bool = True,
) -> Kill:  # fmt: skip
    """Search until the property that must notice the bug fails, then reduce, unless `reduced` is false.

    Since there is only one bug, all failures of this property count as one, whatever the operation at which they show.
    `follow` returns the log of the program that is run.

    Raises: Unfinished.
    """
    implementation: Implementation = bug.build()
    began = process_time()
    program = Program(components[bug.component], implementation).pinned(bug.shape)
    program.log = follow(program)
    seen = hunt(bug, program, seed, scenarios, LOOK_ON if reduced else 0, interruption)
    searched = process_time()
    if not (seen.hits and reduced):
        implementation.close()
        return Kill(bool(seen.hits), seen.scenarios, searched - began, None, seen.noticed, first_hit=seen.first_hit)

    def alike(signature: Signature) -> bool:
        return signature[0] == bug.property

    least = reduce(program, seen.shortest, budget, alike, interruption=interruption)
    if least.interrupted:
        raise Unfinished
    again = run_scenario(program, least.scenario.config, least.scenario.steps, record=True)
    implementation.close()
    finding = Finding(least.signature[0], least.signature[1], implementation.name)
    evidence = Scenario(least.scenario.component, least.scenario.config, least.scenario.steps, finding)
    count = sum(failure.count for failure in seen.hits)
    shortest = Found(least.signature, least.broken.owed, least.broken.observed, evidence, count)
    ended = process_time()
    closing = sum(entry.closing for entry in again.entries)
    return Kill(True, seen.scenarios, ended - began, shortest, seen.noticed, ended - searched, closing, seen.first_hit)
