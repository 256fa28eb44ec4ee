"""Tests the suite with legal variants: no property may accuse one, and each differs from its original somewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.driver import Component, Program
from conformance.engines.check import Found, check
from conformance.engines.divergence import Differ, Divergence
from conformance.engines.interruption import NEVER, Interruption, Unfinished, until
from conformance.engines.position import Follow, unfollowed
from conformance.engines.search import Search, seeds
from conformance.engines.works import Over, alone
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


class Trying(Struct, frozen=True):
    """The trial of a legal variant."""

    variant: str
    seed: str
    scenarios: int

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return self.variant, find_legal_variant(self.variant).component

    def do(self, interruption: Interruption, follow: Follow) -> Trial:
        """See `Work`."""
        variant = find_legal_variant(self.variant)
        return try_variant(self.variant, variant, self.seed, self.scenarios, interruption=interruption, follow=follow)


def try_variants(
    names: Sequence[str], seed: str, scenarios: int = MOST_SCENARIOS, over: Over = alone, watch: Watch | None = None
) -> list[Trial]:
    """Returns what became of these variants, in their order, which is the same wherever `over` does the works.

    After an interruption, the variants are missing of which that is not known.
    """
    trials: list[Trial] = []
    for one in over([Trying(name, seed, scenarios) for name in names]):
        if one is not None:
            trials.append(one)
        if watch is not None:
            watch(len(trials))
    return trials


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
