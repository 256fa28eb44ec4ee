"""Reads the progress of a campaign from its folder, also while another process runs the campaign."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from conformance.campaigns import files
from conformance.campaigns.lock import holder
from conformance.campaigns.merge import Sum
from conformance.campaigns.plan import SCHEMA
from conformance.components import COMPONENTS
from conformance.driver import Components


class FoundSoFar(Struct, frozen=True, rename={"failure_class": "class"}):
    """All failures with one signature. Their scenarios are not reduced yet."""

    implementation: str
    component: str
    property: str
    failure_class: str
    operation: str
    count: int
    steps: int


class Status(Struct, frozen=True):
    """The sum of the committed blocks, and the process that runs the campaign now."""

    blocks: int
    planned: int | None
    """The maximum number of blocks; None for a goal in minutes."""
    scenarios: int
    steps: int
    found: tuple[FoundSoFar, ...]
    lost: tuple[str, ...]
    """Blocks that could not be run, with the reason."""
    finished: bool
    held_by: str | None
    schema: int = SCHEMA


def status(folder: Path, components: Components = COMPONENTS) -> Status:
    """Read the progress of a campaign.

    Raises: CampaignError if it is not the folder of a campaign; SchemaError if a file in it is damaged.
    """
    folder = Path(folder)
    plan = files.read_plan(folder, components)
    blocks = 0
    total = Sum()
    for result in files.all_committed(folder, plan, components):
        blocks += 1
        total.add(result, components)
    tallies = total.tallies()
    found = tuple(
        FoundSoFar(name, component, *signature, failure.count, len(failure.scenario.steps))
        for (name, component), tally in tallies.items()
        for signature, failure in sorted(tally.failures.items())
    )
    return Status(
        blocks,
        plan.number_of_blocks,
        sum(tally.scenarios for tally in tallies.values()),
        sum(tally.steps for tally in tallies.values()),
        found,
        tuple(f"{one.component}-{one.number}: {one.reason}" for one in total.lost),
        (folder / files.RESULT).exists(),
        holder(folder),
    )
