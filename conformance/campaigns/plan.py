"""What a campaign is going to run: a function of the plan alone, the same on every machine.

A plan is cut into blocks. Block *n* of a component holds the scenarios with the numbers from `first` on; the blocks of
the components take turns, so that any first part of the list is a fair share of all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from conformance.campaigns.errors import CampaignError
from conformance.campaigns.names import SUITE, Names
from conformance.driver import Components
from conformance.engines.reduce import BUDGET
from conformance.ports import Capability, offered_components
from conformance.scenarios import canonical

SCHEMA = 1
"""The version of the JSON form of plans, blocks and results."""

SCENARIOS_PER_SECOND = 4_000
"""Of one implementation, on an ordinary core. Only the size of blocks rests on it."""
SECONDS_PER_BLOCK = 7
FEWEST_BLOCKS = 8
"""A smaller campaign is cut finer, so that a few cores have something to share."""
STEPS_PER_SCENARIO = 30

SCENARIO_SECONDS = 120.0

_NO_SENSE = "The plan of the campaign makes no sense"

Count = Annotated[int, Meta(ge=1)]


class Block(Struct, frozen=True):
    """A part of a plan that one worker runs at a time: scenarios `first` to `first + count - 1` of a component."""

    component: str
    number: int
    first: int
    count: int

    @property
    def name(self) -> str:
        """What it is called in messages, and the name of its file without the ending."""
        return f"{self.component}-{self.number}"


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """What to run, and until when. Exactly one of `scenarios`, `steps` and `minutes` is the goal.

    `implementations` are names as `find_implementation` takes them. The first is the baseline: it draws the scenarios,
    and the others replay them. Which components there are it does not know: see `check_components`.

    Raises: ValueError if the plan makes no sense.
    """

    seed: str
    implementations: tuple[str, ...]
    components: tuple[str, ...]
    block: Count
    """Scenarios in one block."""
    scenarios: Count | None = None
    """Goal: that many scenarios of each component on each implementation."""
    steps: Count | None = None
    """Goal: the fewest blocks in which the baseline takes at least that many steps, over all components."""
    minutes: Annotated[float, Meta(gt=0)] | None = None
    """Goal: no new block after that time."""
    assume: tuple[Capability, ...] = ()
    """Capabilities to which every implementation is held, whether it claims them or not."""
    scenario_seconds: Annotated[float, Meta(gt=0)] = SCENARIO_SECONDS
    """After so long a scenario hangs."""
    budget: Annotated[int, Meta(ge=0)] = BUDGET
    """Runs that the reduction of one finding may take."""
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA

    def __post_init__(self) -> None:
        if sum(goal is not None for goal in (self.scenarios, self.steps, self.minutes)) != 1:
            raise ValueError("a campaign has exactly one goal: scenarios, steps or minutes")
        for what, names in (("implementation", self.implementations), ("component", self.components)):
            if not names:
                raise ValueError(f"a campaign needs at least one {what}")
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"the {what} {twice[0]!r} is named twice")

    @property
    def baseline(self) -> str:
        """The implementation that draws the scenarios."""
        return self.implementations[0]

    @property
    def digest(self) -> str:
        """A short content hash: blocks say which plan they are part of."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()[:16]

    @property
    def number_of_blocks(self) -> int | None:
        """How many blocks there are at most; None if only time ends the campaign."""
        most = self._most_scenarios
        return None if most is None else len(self.components) * -(-most // self.block)

    def blocks(self) -> Iterator[Block]:
        """The blocks, in the order in which they count. Endless if only time ends the campaign."""
        most = self._most_scenarios
        for number in count():
            first = number * self.block
            if most is not None and first >= most:
                return
            size = self.block if most is None else min(self.block, most - first)
            for component in self.components:
                yield Block(component, number, first, size)

    @property
    def _most_scenarios(self) -> int | None:
        # A scenario takes a step, if the baseline works at all; if it does not, a goal in steps must still have an end.
        return self.scenarios if self.scenarios is not None else self.steps


def make_plan(
    seed: str,
    implementations: Sequence[str],
    components: Sequence[str] = (),
    *,
    scenarios: int | None = None,
    steps: int | None = None,
    minutes: float | None = None,
    block: int | None = None,
    assume: Sequence[Capability] = (),
    budget: int = BUDGET,
    scenario_seconds: float = SCENARIO_SECONDS,
    names: Names = SUITE,
) -> Plan:
    """A plan that can be run here: every implementation and component is looked up once.

    Without `components`, all that the baseline offers. Without `block`, a size is chosen.

    Raises: UnusableImplementation; CampaignError if the plan makes no sense.
    """
    offered = [_offered(name, names) for name in implementations]
    if offered and not components:
        components = sorted(offered[0])
    if missing := [name for name in components if name in names.components and name not in offered[0]]:
        raise CampaignError(
            f"{implementations[0]} does not offer the component {missing[0]!r}. It is named first, so it draws the "
            f"scenarios of every component; it offers {', '.join(sorted(offered[0])) or 'none'}. "
            "Name an implementation first that offers them all, or choose the components."
        )
    if block is None:
        block = block_size(len(implementations), len(components), scenarios, steps)
    try:
        for what, value in (
            ("scenarios", scenarios),
            ("steps", steps),
            ("minutes", minutes),
            ("block", block),
            ("scenario_seconds", scenario_seconds),
        ):
            if value is not None and not value > 0:
                raise ValueError(f"{what} must be more than 0, found {value}")
        plan = Plan(
            seed, tuple(implementations), tuple(components), block, scenarios, steps, minutes,
            assume=tuple(assume), scenario_seconds=scenario_seconds, budget=budget,
        )  # fmt: skip
    except ValueError as error:
        raise CampaignError(f"{_NO_SENSE}: {error}.") from None
    check_components(plan, names.components)
    return plan


def check_components(plan: Plan, components: Components, source: Path | None = None) -> None:
    """Raises: CampaignError if the plan, which may be that of a file, names a component that there is not."""
    for name in plan.components:
        try:
            components[name]
        except KeyError as error:
            if source is None:
                raise CampaignError(f"{_NO_SENSE}: {error.args[0]}.") from None
            why = "It was changed, or written by another version of this suite"
            raise CampaignError(f"{source}: {error.args[0]}. {why}.") from None


def block_size(implementations: int, components: int, scenarios: int | None, steps: int | None) -> int:
    """Scenarios in a block: about seven seconds of work, less where that would make fewer than eight blocks."""
    large = SCENARIOS_PER_SECOND * SECONDS_PER_BLOCK // max(1, implementations)
    if scenarios is not None:
        total = scenarios * components
    elif steps is not None:
        total = steps // STEPS_PER_SCENARIO
    else:
        return max(1, large)
    return max(1, min(large, -(-total // FEWEST_BLOCKS)))


def _offered(name: str, names: Names) -> frozenset[str]:
    """The components that an implementation offers and that are known here."""
    implementation = names.find(name)
    try:
        return offered_components(implementation) & frozenset(names.components)
    finally:
        implementation.close()
