"""What can go wrong with an exploration in a folder."""

from __future__ import annotations

from conformance.campaigns.errors import CampaignError


class ExplorationError(CampaignError):
    """An exploration cannot be begun or continued. The text says why, and what would be right."""
