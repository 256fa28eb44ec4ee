"""Reads the progress of a campaign from its folder, also while another process runs the campaign."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from conformance.campaigns import files, waves
from conformance.campaigns.lock import holder
from conformance.campaigns.names import SEARCHED
from conformance.campaigns.plan import SCHEMA
from conformance.campaigns.waves import Totals
from conformance.driver import Components

WATCH_SECONDS = 2.0
"""How often the progress is read. That takes some milliseconds."""


def _wait() -> None:
    time.sleep(WATCH_SECONDS)


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


def watch(folder: Path, components: Components = SEARCHED, wait: Callable[[], object] = _wait) -> Iterator[Status]:
    """Yield the progress of a campaign now, and whenever it has changed, as long as a process runs it.

    `wait` is called before it is read again. Raises: as `status`.
    """
    before = None
    while True:
        now = status(folder, components)
        if now != before:
            yield now
        if now.held_by is None:
            return
        before = now
        wait()


def status(folder: Path, components: Components = SEARCHED) -> Status:
    """Read the progress of a campaign, from its newest sum: this takes as long for many blocks as for few.

    Raises: CampaignError if it is not the folder of a campaign; SchemaError if a file in it is damaged.
    """
    folder = Path(folder)
    plan = files.read_plan(folder, components)
    wave = waves.newest(folder, plan)
    total = waves.sum_of(folder, plan, wave, components)
    totals = Totals() if wave is None else wave.totals
    found = tuple(
        FoundSoFar(name, component, *signature, failure.count, len(failure.scenario.steps))
        for (name, component), tally in total.tallies().items()
        for signature, failure in sorted(tally.failures.items())
    )
    return Status(
        totals.blocks,
        plan.number_of_blocks,
        totals.scenarios,
        totals.steps,
        found,
        tuple(f"{one.component}-{one.number}: {one.reason}" for one in total.lost),
        (folder / files.RESULT).exists(),
        holder(folder),
    )
