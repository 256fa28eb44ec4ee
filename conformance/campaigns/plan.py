"""The plan of a campaign. It alone decides which scenarios are run, on every machine.

A plan is divided into blocks. A block has `count` scenarios of one component, from the number `first` on. The blocks of
the components alternate, so that a campaign that ends early has run about as many scenarios of each component.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from conformance.campaigns.errors import CampaignError
from conformance.campaigns.names import ADAPTER_SCHEME, EPISODE, SUITE, Names
from conformance.driver import Components
from conformance.engines.aiming import Aim
from conformance.engines.apart import our_known_bugs
from conformance.engines.manners import MANNERS
from conformance.engines.reduce import BUDGET
from conformance.engines.search import Manner
from conformance.ports import Capability, Limits, offered_components
from conformance.ports.registry import KNOWN_BUG_SCHEME
from conformance.scenarios import canonical
from conformance.system.text import is_neutral_line

SCHEMA = 1
"""The version of the JSON form of plans, blocks and results."""

SCENARIOS_PER_SECOND = 400
"""An estimate for one implementation and the slowest component on an ordinary core, which decides only the size of
blocks. The blocks of a component that is ten times as fast take less than a second, which is still long enough."""
SECONDS_PER_BLOCK = 7
FEWEST_BLOCKS = 8
"""A small campaign has smaller blocks, so that there are at least this many to share among cores."""
MOST_BLOCKS = 300_000
"""A huge campaign has larger blocks, so that there are at most about this many to keep and to add up."""
FEWEST_ROUNDS = 8
"""A campaign whose goal is a number of steps has at least about this many blocks of each component. The components take
turns, so that they share the steps evenly however many they are."""
STEPS_PER_SCENARIO = 60

SCENARIO_SECONDS = 120.0
EPISODE_SECONDS = 1800.0
"""An episode notices itself what does not go on; but its engine may be slow, and it may be run again twice."""
EPISODE_MEMORY = 1 << 20
"""In MiB, more than there is: an engine may need as much as it does where it is used."""
MOST_SECONDS = 1e6
"""What a timer of the operating system can be set to, with room to spare."""

KNOWN_BUGS = "known-bugs"
"""The name that stands for all known bugs of the suite, or with `:COMPONENT` for those of a component."""

_NO_SENSE = "The plan of the campaign makes no sense"

Count = Annotated[int, Meta(ge=1)]


class Block(Struct, frozen=True):
    """A part of a plan that one worker runs at a time: scenarios `first` to `first + count - 1` of a component."""

    component: str
    number: int
    first: int
    count: int
    without: tuple[str, ...] = ()
    """The implementations that are not run any more. It follows from the rounds before, and is kept nowhere."""
    aims: tuple[Aim, ...] = ()
    """What some of the scenarios are aimed at. It follows from the rounds before, too."""
    home: str = ""
    """The folder of the campaign, in which the evidence of episodes is kept. It is kept nowhere itself."""

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"{self.component}-{self.number}"


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """What to run, and until when. Exactly one of `scenarios`, `steps` and `minutes` is the goal.

    `implementations` are names as `find_implementation` takes them. The first is the baseline: the scenarios are drawn
    on it, and the others replay them. `check_components` checks that the components exist.

    Raises: ValueError if there is not exactly one goal, no implementation or component, or one that is named twice.
    """

    seed: str
    implementations: tuple[str, ...]
    components: tuple[str, ...]
    block: Count
    """The number of scenarios in one block."""
    scenarios: Count | None = None
    """Goal: this many scenarios of each component on each implementation."""
    steps: Count | None = None
    """Goal: the fewest rounds in which the baseline takes at least this many steps, over all components."""
    minutes: Annotated[float, Meta(gt=0)] | None = None
    """Goal: no new block is started after this many minutes."""
    assume: tuple[Capability, ...] = ()
    """Every implementation is judged as if it claimed these capabilities."""
    scenario_seconds: Annotated[float, Meta(gt=0, le=MOST_SECONDS)] = SCENARIO_SECONDS
    """A scenario that takes longer than this is a finding of class *hung*."""
    budget: Annotated[int, Meta(ge=0)] = BUDGET
    """The maximum number of runs for the reduction of one finding."""
    until_found: dict[str, str] | UnsetType = UNSET
    """The implementations that must fail, each with the only component in which it is run: until a round has found a
    failure of it. Each draws its own scenarios, as a search for it alone does, and its corpus is not replayed. Unset:
    none."""
    manners: tuple[str, ...] | UnsetType = UNSET
    """The manners of searching, in which the scenarios are drawn in turn (`conformance.engines.manners`). Unset: those
    that a search mixes."""
    aims: Literal[True] | UnsetType = UNSET
    """Whether two of three scenarios behind the first round are aimed at what was never judged in the rounds before
    (`conformance.engines.aiming`). Unset: no."""
    cores: Count | UnsetType = UNSET
    """How many cores a block takes, and a reduction. Unset: one."""
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA

    def __post_init__(self) -> None:
        if sum(goal is not None for goal in (self.scenarios, self.steps, self.minutes)) != 1:
            raise ValueError("a campaign has exactly one goal: scenarios, steps or minutes")
        for what, names in (("implementation", self.implementations), ("component", self.components)):
            if not names:
                raise ValueError(f"a campaign needs at least one {what}")
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"the {what} {twice[0]!r} is named twice")
        for name in self.implementations:
            if not is_neutral_line(name):
                raise ValueError(f"the name of the implementation {name!r} has characters that cannot be seen")
        if self.manners is not UNSET:
            if unknown := [name for name in self.manners if name not in MANNERS]:
                raise ValueError(f"there is no manner {unknown[0]!r}; there are {', '.join(MANNERS)}")
            if not self.manners:
                raise ValueError("a campaign with manners of searching needs at least one")
        others = frozenset(self.implementations[1:])
        for name, component in self.sought.items():
            if name not in others:
                raise ValueError(f"{name!r} is sought, and it must be an implementation behind the first one")
            if component not in self.components:
                raise ValueError(f"{name!r} is sought in {component!r}, which is not one of the components")

    @property
    def of_episodes(self) -> bool:
        """Whether it runs episodes, of which two runs need not be alike."""
        return EPISODE in self.components

    @property
    def cores_each(self) -> int:
        """How many cores a block takes, and a reduction."""
        return 1 if self.cores is UNSET else self.cores

    @property
    def memory_mib(self) -> int:
        """How much memory a worker may occupy, with the processes that it starts, in MiB."""
        return EPISODE_MEMORY if self.of_episodes else Limits().memory_mib

    @property
    def of_adapters(self) -> bool:
        """Whether it names nothing but adapters: to look one up runs nothing."""
        return self.of_episodes and all(name.startswith(ADAPTER_SCHEME) for name in self.implementations)

    @property
    def sought(self) -> dict[str, str]:
        """The implementations of `until_found`, each with its component."""
        return {} if self.until_found is UNSET else self.until_found

    @property
    def compared(self) -> tuple[str, ...]:
        """The other implementations: the baseline first, and those that replay its scenarios."""
        return tuple(name for name in self.implementations if name not in self.sought)

    def manner_of(self, number: int) -> Manner | None:
        """Return the manner in which the scenario with a number is drawn; None: as a search draws it."""
        return None if self.manners is UNSET else MANNERS[self.manners[number % len(self.manners)]]

    def sought_in(self, component: str) -> tuple[str, ...]:
        """Return the implementations that are sought in a component."""
        return tuple(name for name, where in self.sought.items() if where == component)

    @property
    def baseline(self) -> str:
        """The implementation on which the scenarios are drawn."""
        return self.implementations[0]

    @property
    def digest(self) -> str:
        """The first 16 hex digits of a hash of the plan. Each block names the digest of its plan."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()[:16]

    @property
    def number_of_blocks(self) -> int | None:
        """The maximum number of blocks; None for a goal in minutes."""
        most = self.most_scenarios
        return None if most is None else len(self.components) * -(-most // self.block)

    def blocks(self) -> Iterator[Block]:
        """Return the blocks in the order in which they count. For a goal in minutes, the iterator has no end."""
        positions = count() if self.number_of_blocks is None else range(self.number_of_blocks)
        return map(self.block_at, positions)

    def block_at(self, position: int) -> Block:
        """Return the block at a position in the order in which the blocks count, from 0 on."""
        number, which = divmod(position, len(self.components))
        first, most = number * self.block, self.most_scenarios
        return Block(
            self.components[which], number, first, self.block if most is None else min(self.block, most - first)
        )

    def position_of(self, block: Block) -> int:
        """Return the position of a block of the plan."""
        return block.number * len(self.components) + self.components.index(block.component)

    def blocks_of(self, component: str, blocks: int) -> int:
        """Return how many of the first so many blocks are of a component."""
        return len(range(self.components.index(component), blocks, len(self.components)))

    def has(self, block: Block) -> bool:
        """Whether this is one of the blocks of the plan."""
        if block.component not in self.components or block.number < 0:
            return False
        most, first = self.most_scenarios, block.number * self.block
        size = self.block if most is None else min(self.block, most - first)
        return size > 0 and (block.first, block.count) == (first, size)

    @property
    def most_scenarios(self) -> int | None:
        """How many scenarios of each component are run at most; None for a goal in minutes."""
        # If the baseline works, a scenario has at least one step. If it does not, this limit ends a goal in steps.
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
    until_found: bool = False,
    manners: Sequence[str] = (),
    aims: bool = False,
    names: Names = SUITE,
) -> Plan:
    """Make a plan, after looking up every implementation and component that it names.

    Without `components`, the plan has all components that the baseline offers. Without `block`, `block_size` decides.
    `manners`: those of searching, of which one that is named twice has twice as many scenarios.
    `aims`: aim scenarios at what the rounds before have not judged.
    `until_found`: the suite's own known bugs are run until they are found, each in the component that it is of.

    Raises: UnusableImplementation; CampaignError if the plan makes no sense.
    """
    sought = _sought(implementations) if until_found else {}
    offered = [_offered(name, names) for name in implementations if name not in sought]
    if offered and not components:
        components = sorted(offered[0])
    if missing := [name for name in components if name in names.components and name not in offered[0]]:
        raise CampaignError(
            f"{implementations[0]} does not offer the component {missing[0]!r}. It is named first, so the "
            f"scenarios of every component are drawn on it. It offers: {', '.join(sorted(offered[0])) or 'none'}. "
            "Name an implementation first that offers all components, or choose components that it offers."
        )
    cores: int | UnsetType = UNSET
    if EPISODE in components:
        from conformance.campaigns.episodes import cores_of  # only such a campaign loads what judges them
        from conformance.episodes.reducing import MOST_RUNS

        block, budget, scenario_seconds = 1, min(budget, MOST_RUNS), EPISODE_SECONDS
        most = max(map(partial(cores_of, names=names), implementations))
        cores = most if most > 1 else UNSET
    if block is None:
        together = len(implementations) - len(sought) + bool(sought)  # most of those that are sought are soon found
        block = block_size(together, len(components), scenarios, steps)
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
            seed, tuple(implementations), tuple(components), block, scenarios, steps,
            None if minutes is None else float(minutes),  # as it is read again: the digest of 5 is not that of 5.0
            assume=tuple(assume), scenario_seconds=scenario_seconds, budget=budget, until_found=sought or UNSET,
            manners=tuple(manners) or UNSET, aims=aims or UNSET, cores=cores,
        )  # fmt: skip
    except ValueError as error:
        raise CampaignError(f"{_NO_SENSE}: {error}.") from None
    check_components(plan, names.components)
    return plan


def check_components(plan: Plan, components: Components, source: Path | None = None) -> None:
    """Raise a CampaignError if the plan names an unknown component. `source` is the file that contains the plan."""
    for name in plan.components:
        try:
            components[name]
        except KeyError as error:
            if source is None:
                raise CampaignError(f"{_NO_SENSE}: {error.args[0]}.") from None
            why = "Somebody changed the file, or another version of this suite wrote it"
            raise CampaignError(f"{source}: {error.args[0]}. {why}.") from None


def block_size(implementations: int, components: int, scenarios: int | None, steps: int | None) -> int:
    """Return the scenarios per block: about seven seconds of work, unless that makes few blocks or too many."""
    large = SCENARIOS_PER_SECOND * SECONDS_PER_BLOCK // max(1, implementations)
    if scenarios is not None:
        total, fewest = scenarios * components, FEWEST_BLOCKS
    elif steps is not None:
        total, fewest = steps // STEPS_PER_SCENARIO, FEWEST_ROUNDS * max(1, components)
    else:
        return max(1, large)
    return max(1, min(large, -(-total // fewest)), -(-total // MOST_BLOCKS))


def named(implementations: Sequence[str], components: Sequence[str] = ()) -> tuple[str, ...]:
    """Return implementations by name, with the suite's own known bugs in place of `known-bugs`.

    `known-bugs:COMPONENT` stands for those of a component, and `known-bugs` for those of `components`, or for all.

    Raises: CampaignError if there are none.
    """
    found: list[str] = []
    for name in implementations:
        head, _, component = name.partition(":")
        if head != KNOWN_BUGS:
            found.append(name)
            continue
        among = (component,) if component else tuple(components)
        mine = [one.id for one in our_known_bugs().values() if not among or one.component in among]
        if not mine:
            raise CampaignError(f"There is no known bug of {', '.join(among)}, as {name!r} would have it.")
        every = (f"{KNOWN_BUG_SCHEME}{one}" for one in mine)
        found += [one for one in every if one not in found and one not in implementations]
    return tuple(found)


def _sought(implementations: Sequence[str]) -> dict[str, str]:
    """Return the suite's own known bugs among implementations, each with its component.

    Raises: CampaignError if there is none.
    """
    ours = our_known_bugs()
    bugs = {name: name.removeprefix(KNOWN_BUG_SCHEME) for name in implementations if name.startswith(KNOWN_BUG_SCHEME)}
    found = {name: ours[bug].component for name, bug in bugs.items() if bug in ours}
    if not found:
        raise CampaignError(
            f"{_NO_SENSE}: no implementation is a known bug of this suite, and only these are run until they are found."
        )
    if implementations[0] in found:
        raise CampaignError(
            f"{_NO_SENSE}: {implementations[0]} is named first, so that other implementations are compared with it. "
            "Name reference first."
        )
    return found


def _offered(name: str, names: Names) -> frozenset[str]:
    """Return the components that an implementation offers and that `names` contains."""
    implementation = names.here.find(name)
    try:
        return offered_components(implementation) & frozenset(names.components)
    finally:
        implementation.close()
