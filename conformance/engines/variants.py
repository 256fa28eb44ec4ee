"""Tests the suite with legal variants: no property may accuse one, and each differs from its original somewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from conformance.components import COMPONENTS
from conformance.driver import Component, Program
from conformance.engines.check import Found, check
from conformance.engines.divergence import Differ, Divergence
from conformance.engines.interruption import NEVER, Interruption, Unfinished, until
from conformance.engines.position import Follow, unfollowed
from conformance.engines.processes import mapping
from conformance.engines.search import Search, seeds
from conformance.ports import LegalVariant, find_legal_variant

MOST_SCENARIOS = 20_000
"""A variant that no property accuses in so many scenarios counts as not accused."""
MOST_COMPARED = 3_000
"""A variant whose histories are those of its original in so many scenarios tests nothing."""

Watch = Callable[[int], None]
"""Called with the number of variants that were tried."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one legal variant."""

    variant: str
    """The name with which `find_legal_variant` finds it."""
    scenarios: int
    """How many scenarios were run."""
    found: tuple[Found, ...]
    """The accusations. There should be none: each is a property that demands too much, or the variant is not legal."""
    difference: Divergence | None
    """A scenario in which the variant and its original have different histories. None: there was none."""

    @property
    def accused(self) -> bool:
        """Whether a property accused the variant."""
        return bool(self.found)


def try_variants(
    names: Sequence[str],
    seed: str,
    scenarios: int = MOST_SCENARIOS,
    processes: int = 1,
    watch: Watch | None = None,
    interruption: Interruption = NEVER,
    follow: Follow = unfollowed,
) -> list[Trial]:
    """Returns what became of these variants, in their order, which is the same for any number of processes.

    `follow` returns the log of each program that is run; it must be importable if there are several processes.

    After an interruption, the variants are missing of which that is not known.
    """
    trials: list[Trial] = []
    with mapping(processes, interruption) as over:
        for one in over(_by_name, [(name, seed, scenarios, follow) for name in names]):
            if one is not None:
                trials.append(one)
            if watch is not None:
                watch(len(trials))
    return trials


def _by_name(name: str, seed: str, scenarios: int, follow: Follow, interruption: Interruption) -> Trial:
    return try_variant(name, find_legal_variant(name), seed, scenarios, interruption=interruption, follow=follow)


def try_variant(
    name: str,
    variant: LegalVariant,
    seed: str,
    scenarios: int,
    components: Mapping[str, Component] = COMPONENTS,
    interruption: Interruption = NEVER,
    follow: Follow = unfollowed,
) -> Trial:
    """Check a variant as any implementation is checked, then look for a scenario in which it differs.

    `follow` returns the log of each program that is run. Raises: Unfinished.
    """
    implementation = variant.build()
    try:
        program = Program(components[variant.component], implementation).pinned(variant.shape)
        program.log = follow(program)
        result = check(program, scenarios, seed, interruption=interruption)
        difference = _difference(variant, program, seed, scenarios, interruption, follow)
        if interruption.requested:
            raise Unfinished
        return Trial(name, result.tally.scenarios, result.found, difference)
    finally:
        implementation.close()


def _difference(
    variant: LegalVariant, program: Program, seed: str, scenarios: int, interruption: Interruption, follow: Follow
) -> Divergence | None:
    """Returns the simplest scenario that is known in which the two histories differ."""
    original = variant.original()
    try:
        differ, search = Differ(original.name, original, program, inside=True), Search(program)
        differ.follow(follow)
        for text in seeds(seed, variant.component, until(interruption, range(min(scenarios, MOST_COMPARED)))):
            scenario, run = search.run(text, record=True)
            differ.see(scenario, run)
            if differ.differs:
                break
        comparison = differ.conclude(interruption)
        return next(iter(comparison.divergences), None)
    finally:
        original.close()
