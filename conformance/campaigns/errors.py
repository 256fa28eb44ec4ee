"""What can go wrong with a campaign as such. Every text is a paragraph for the person who started it."""

from __future__ import annotations


class CampaignError(Exception):
    """A campaign cannot be made, run or read; the text says why and what to do about it."""


class RunnerUnavailable(CampaignError):
    """A runner needs something that is not installed; the text says what to install. Nothing was run."""


class CampaignInterrupted(CampaignError):
    """Ctrl-C. The text says where the blocks that were committed lie."""
