"""Whether the suite finds a known bug: the known bug is the test, the suite is on trial."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

from conformance.alphabets import alphabet_of
from conformance.alphabets.program import Program
from conformance.engines.check import Found, reduce_failures
from conformance.engines.search import Search, seeds
from conformance.engines.tally import Counter
from conformance.ports import Implementation, KnownBug

MOST_SCENARIOS = 20_000
"""A bug that is not found in so many scenarios has survived."""
_LOOK_ON = 40
"""Further scenarios after the first hit: other ways to fail of the same property often have a shorter scenario."""


@dataclass(frozen=True, slots=True)
class Kill:
    """What it took to find a known bug. CPU seconds are for people; nothing is decided by them."""

    bug: KnownBug
    killed: bool
    scenarios: int
    """Up to and including the first in which the property failed that must notice."""
    cpu_seconds: float
    shortest: Found | None


def kill(bug: KnownBug, seed: int | str, scenarios: int = MOST_SCENARIOS) -> Kill:
    """Search until the property that must notice the bug fails, then reduce.

    Other properties may fail in other scenarios; only the named one counts.
    """
    implementation: Implementation = bug.build()
    began = process_time()
    program = Program(alphabet_of(bug.component), implementation)
    search, counter = Search(program), Counter(program)
    first = needed = 0
    for number, text in enumerate(seeds(seed, bug.component, range(scenarios))):
        scenario, run = search.run(text)
        if run.violation is not None and run.violation.property.slug == bug.property:
            counter.add(scenario, run)
            if not first:
                first, needed = number + 1, number + 1 + _LOOK_ON
        if first and number + 1 >= needed:
            break
    spent = process_time() - began
    if not first:
        implementation.close()
        return Kill(bug, False, scenarios, spent, None)
    found = reduce_failures(program, counter.tally())
    implementation.close()
    shortest = min(found, key=lambda one: (len(one.scenario.steps), one.signature))
    return Kill(bug, True, first, process_time() - began, shortest)
