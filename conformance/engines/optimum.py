"""Finds out by exploration whether a minimal scenario of a known bug is as short as one of its configuration can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.components import COMPONENTS
from conformance.driver import FINISH, RUN, Component, Program
from conformance.engines.explore import Explorer
from conformance.engines.interruption import NEVER, Interruption, Unfinished
from conformance.engines.position import Follow, unfollowed
from conformance.engines.scope import Scope
from conformance.ports import KnownBug
from conformance.scenarios import Scenario

MOST_WORK = 8_000_000
"""The exploration of a bug ends after so much work, which is about eight seconds; then the optimum stays unknown."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """How short a scenario can be that shows a bug in one configuration.

    Only the length of a scenario is bounded: every step may occur whenever the ledger enables it, with all operands.
    """

    at_least: int
    """Every scenario of the configuration with fewer steps was judged, and the property did not fail in any of them."""
    proved: bool
    """Whether a scenario with so many steps is known. If not, the exploration ended before it found out."""

    @property
    def steps(self) -> int | None:
        """The fewest steps that show the bug; None if they are not known."""
        return self.at_least if self.proved else None


def optimum(
    bug: KnownBug, minimal: Scenario, most_work: int = MOST_WORK,
    components: Mapping[str, Component] = COMPONENTS, interruption: Interruption = NEVER, follow: Follow = unfollowed,
) -> Optimum:  # fmt: skip
    """Judge the scenarios that have the configuration of `minimal` and fewer steps, the shortest first.

    `minimal` is a scenario in which the property that must notice the bug fails. If that property fails in no shorter
    one, nothing shorter exists in this configuration. `follow`: as in `kill`. Raises: CannotRecognise; Unfinished.
    """
    length = len(minimal.steps)
    if not length:
        return Optimum(0, proved=True)
    implementation = bug.build()
    try:
        # A scope without limits: with limits, a minimal scenario could be outside the scope.
        program, scope = Program(components[bug.component], implementation), Scope(minimal.config, {})
        program.log = follow(program)
        explorer = Explorer(program, scope, (RUN, FINISH))
        seen = explorer.explore(length - 1, until=bug.property, most_work=most_work, interruption=interruption)
        shorter = explorer.shortest(bug.property)
    finally:
        implementation.close()
    if shorter is not None:
        return Optimum(shorter, proved=True)
    if seen.interrupted:
        raise Unfinished
    if seen.complete or seen.depth == length - 1:
        return Optimum(length, proved=True)
    return Optimum(seen.depth + 1, proved=False)
