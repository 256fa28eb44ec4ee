"""Which blocks are run next, and how they are divided into tasks.

A plan is run in *rounds*, and each round in *waves*. Where a round ends follows from the plan and from what the rounds
before it have counted, so that it is the same on every machine: at the end of a round it is decided whether there is
another one. How much of a round a wave has, and which of its blocks a task has, depends on what was measured: no result
depends on it.

A wave is what is committed at once, so that it is what a driver loses that is killed. A round begins small and doubles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from conformance.campaigns.merge import Sum
from conformance.campaigns.plan import FEWEST_BLOCKS, Block, Plan
from conformance.driver import Components
from conformance.engines.aiming import Aim, aims_of
from conformance.engines.tally import Tally

MOST_OF_A_ROUND = 1024
"""The most blocks of a round."""
WAVE_SECONDS = 120.0
"""About how long a wave takes, once it is known how long blocks take."""
TASK_SECONDS = (5.0, 30.0)
"""How long a task takes: not less, if the wave has the work, so that little is lost at its begin and end."""
TASKS_PER_CORE = 3
"""In how many tasks the work of a core is divided, so that none waits long for the last one."""

NOBODY_LEFT: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def round_after(plan: Plan, position: int, steps: int, found: int = 0) -> int:
    """Return the position at which the round ends that begins at a position; the same one if there is no other round.

    `steps`: those that the baseline took in the blocks before the position. `found`: how many of the implementations of
    `until_found` have failed there. When all have, and there are none to be compared, there is no other round.
    """
    if plan.sought and found == len(plan.sought) and len(plan.compared) == 1:
        return position
    components = len(plan.components)
    first = components if plan.sought else max(FEWEST_BLOCKS, components)  # what is found in each block is found again
    size = first if position == 0 else min(position, MOST_OF_A_ROUND)
    if plan.steps is not None and steps > 0:
        # As many blocks as are likely to be needed, so that a campaign is not much longer than it was asked to be.
        size = min(size, -(-(plan.steps - steps) * position // steps))
    size = -(-max(0, size) // components) * components  # each component has its turn in every round
    most = plan.number_of_blocks
    return position + size if most is None else min(position + size, most)


def left_after(plan: Plan, total: Sum) -> dict[str, tuple[str, ...]]:
    """Return by component the implementations that are not run in it any more, after rounds that come to a sum.

    An implementation of `until_found` leaves when a failure of it was found. When the last one has left a component,
    the baseline leaves, too, unless there are others to compare with it.
    """
    left = {}
    for component in plan.components if plan.sought else ():
        sought, found = plan.sought_in(component), found_in(plan, total, component)
        over = bool(sought) and len(found) == len(sought) and len(plan.compared) == 1
        left[component] = (*found, plan.baseline) if over else found
    return left


class Follows(NamedTuple):
    """What follows for a round from those before it, by component."""

    left: Mapping[str, tuple[str, ...]]
    """The implementations that are not run any more."""
    aims: Mapping[str, tuple[Aim, ...]]
    """What some of the scenarios are aimed at."""


NOTHING_FOLLOWS = Follows({}, {})


def aimed(tasks: Sequence[Sequence[Block]], aims: Mapping[str, tuple[Aim, ...]]) -> list[list[Block]]:
    """Return tasks whose blocks have their aims."""
    return [[replace(one, aims=aims.get(one.component, ())) for one in task] for task in tasks]


def with_home(tasks: Sequence[Sequence[Block]], folder: Path) -> list[list[Block]]:
    """Return tasks whose blocks keep evidence in the folder of their campaign."""
    return [[replace(one, home=str(folder)) for one in task] for task in tasks]


def aims_after(plan: Plan, total: Sum, components: Components) -> dict[str, tuple[Aim, ...]]:
    """Return by component what the baseline has never judged in the rounds that come to a sum."""
    found = {}
    for component in plan.components if plan.aims else ():
        tallies = total.counts[component].tallies if component in total.counts else {}
        found[component] = aims_of(components[component], tallies.get(plan.baseline, Tally()))
    return found


def found_in(plan: Plan, total: Sum, component: str) -> tuple[str, ...]:
    """Return the implementations of `until_found` of which a sum has a failure in a component."""
    tallies = total.counts[component].tallies if component in total.counts else {}
    return tuple(name for name in plan.sought_in(component) if name in tallies and tallies[name].failures)


def due(plan: Plan, positions: range, left: Mapping[str, tuple[str, ...]]) -> list[Block]:
    """Return the blocks at these positions, without the implementations that have left."""
    every = map(plan.block_at, positions)
    return [replace(one, without=left[one.component]) if one.component in left else one for one in every]


def wave_after(
    plan: Plan,
    position: int,
    end: int,
    total: Sum,
    places: int,
    seconds: float,
    left: Mapping[str, tuple[str, ...]] = NOBODY_LEFT,
) -> int:
    """Return the position at which a wave ends that begins at a position, in a round that ends at `end`.

    It takes about as many seconds, with as many blocks at once as there are places. Without a block that was measured,
    nobody knows: it is the rest of the round.
    """
    if not total.ran:
        return end
    time_left = seconds * places
    for at, block in enumerate(due(plan, range(position, end), left), position):
        time_left -= cost_of(block, total)
        if time_left <= 0:
            return at + 1
    return end


def cost_of(block: Block, total: Sum) -> float:
    """Return about how many seconds a block takes, from what the blocks of its component took, or those of all.

    What the implementations took that have left does not count. Those that have not were in all of these blocks.
    """
    ran = total.ran.get(block.component)
    every = {block.component: ran} if ran is not None and ran.scenarios else total.ran
    scenarios = sum(one.scenarios for one in every.values())
    if not scenarios:
        return TASK_SECONDS[0]
    gone = sum(total.seconds.get((component, name), 0.0) for component in every for name in block.without)
    return block.count * max(0.0, sum(one.seconds for one in every.values()) - gone) / scenarios


def tasks_of(blocks: Sequence[Block], total: Sum, places: int) -> list[list[Block]]:
    """Divide blocks into tasks, the longest first. The blocks of a task are of as few components as possible."""
    costs = {block: cost_of(block, total) for block in blocks}
    least, most = TASK_SECONDS
    aim = min(max(sum(costs.values()) / (places * TASKS_PER_CORE), least), most)
    aim = min(aim, sum(costs.values()) / places)  # there may be too little work to keep every core busy so long
    tasks: list[tuple[float, list[Block]]] = []
    for block in sorted(blocks, key=lambda one: (-costs[one] / one.count, one.component, one.number)):
        if tasks and tasks[-1][0] + costs[block] <= aim:
            cost, task = tasks.pop()
            tasks.append((cost + costs[block], [*task, block]))
        else:
            tasks.append((costs[block], [block]))
    return [task for _, task in sorted(tasks, key=lambda one: -one[0])]
