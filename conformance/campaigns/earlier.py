"""Reads another campaign, to compare a campaign with it: that of the night before, which may have been stopped."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from conformance.campaigns import files
from conformance.campaigns.errors import CampaignError
from conformance.campaigns.loading import load
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.result import CampaignResult
from conformance.campaigns.so_far import has_ended, so_far


class Earlier(NamedTuple):
    """What another campaign has found."""

    result: CampaignResult
    ended: bool
    """False if it was stopped, so that the result is what it had found so far."""


def read_earlier(folder: Path, chosen: Collection[str] = (), names: Names = SUITE) -> Earlier:
    """Return the result of another campaign or, if it has none, what it has found so far.

    `chosen`: implementations that are not built in and that the caller has named for his own campaign.
    Raises: CampaignError if it is no campaign or has no committed block; SchemaError; NotChosen.
    """
    folder = Path(folder)
    if has_ended(folder):
        return Earlier(load(folder, names.components), True)
    plan = files.read_plan(folder, names.components)
    now = so_far(folder, [name for name in chosen if name in plan.implementations], names)
    if now.result is None:
        raise CampaignError(f"The campaign in {folder} has nothing to compare with: nothing of it is committed.")
    return Earlier(now.result, False)
