"""What a campaign without a result has found so far, also while another process runs it. Nothing is written."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from conformance.campaigns import files, waves
from conformance.campaigns.concluding import conclude_so_far
from conformance.campaigns.lock import holder
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Plan
from conformance.campaigns.result import CampaignResult
from conformance.ports import check_chosen, is_built_in


@dataclass(frozen=True, slots=True)
class SoFar:
    """The sum of the committed blocks of a campaign, and how it can be continued."""

    result: CampaignResult | None
    """None as long as no block is committed. The scenarios of failures are not reduced."""
    blocks: int
    planned: int | None
    """The maximum number of blocks; None for a goal in minutes."""
    held_by: str | None
    """The process that runs the campaign now."""
    resume: str
    """The command that continues the campaign."""


def has_ended(folder: Path) -> bool:
    """Return whether a campaign has a result."""
    return (Path(folder) / files.RESULT).exists()


def so_far(folder: Path, chosen: Collection[str] = (), names: Names = SUITE) -> SoFar:
    """Read the newest sum of a campaign that has no result. The lock of the folder is never taken.

    `chosen`: those implementations of the plan that are not built in, as for `resume`.

    Raises: CampaignError if it is not the folder of a campaign; SchemaError if a file in it is damaged; NotChosen.
    """
    folder = Path(folder)
    plan = files.read_plan(folder, names.components)
    if not plan.of_adapters:
        check_chosen(plan.implementations, chosen, str(folder / files.PLAN))
    wave = waves.newest(folder, plan)
    known = None
    if wave is not None:
        known = conclude_so_far(plan, waves.sum_of(folder, plan, wave, names.components), names)
    return SoFar(
        known,
        0 if wave is None else wave.totals.blocks,
        plan.number_of_blocks,
        holder(folder),
        resume_command(folder, plan),
    )


def resume_command(folder: Path, plan: Plan, name: str = "resume") -> str:
    """Return the command that continues a campaign, in one line to paste. `name`: another one than `resume`."""
    command = ["conformance", "campaign", name, str(folder)]
    for one in plan.implementations:
        command += [] if is_built_in(one) else ["--implementation", one]
    return shlex.join(command)
