"""Tests the suite with legal variants: no property may accuse one, and each differs from its original somewhere."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.driver import Component, Program
from conformance.engines.check import Found, check
from conformance.engines.divergence import Differ, Divergence
from conformance.engines.interruption import NEVER, Interruption, Unfinished, until
from conformance.engines.position import Follow, unfollowed
from conformance.engines.search import Search, seeds
from conformance.ports import Implementation, LegalVariant, find_legal_variant

MOST_SCENARIOS = 20_000
"""A variant that no property accuses in so many scenarios counts as not accused."""
MOST_COMPARED = 3_000
"""A variant whose histories are those of its original in so many scenarios tests nothing."""


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


class Differing(Struct, frozen=True):
    """The search for a scenario in which a variant and its original have different histories."""

    variant: str
    seed: str
    scenarios: int

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return self.variant, find_legal_variant(self.variant).component

    def do(self, interruption: Interruption, follow: Follow) -> tuple[Divergence, ...]:
        """See `Work`. There is one, or none."""
        variant = find_legal_variant(self.variant)
        with closing(variant.build()) as implementation:
            program = _program(variant, implementation, COMPONENTS, follow)
            found = _difference(variant, program, self.seed, self.scenarios, interruption, follow)
        if interruption.requested:
            raise Unfinished
        return () if found is None else (found,)


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
        program = _program(variant, implementation, components, follow)
        result = check(program, scenarios, seed, interruption=interruption)
        difference = _difference(variant, program, seed, scenarios, interruption, follow)
        if interruption.requested:
            raise Unfinished
        return Trial(name, result.tally.scenarios, result.found, difference)
    finally:
        implementation.close()


def _program(
    variant: LegalVariant, implementation: Implementation, components: Mapping[str, Component], follow: Follow
) -> Program:
    program = Program(components[variant.component], implementation).pinned(variant.shape)
    program.log = follow(program)
    return program


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
