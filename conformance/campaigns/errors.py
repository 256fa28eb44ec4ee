"""The errors of campaigns. Each message is one paragraph for the person who started the campaign."""

from __future__ import annotations


class CampaignError(Exception):
    """A campaign cannot be made, run or read. The message says why, and what the user can do."""


class RunnerUnavailable(CampaignError):
    """A runner needs something that is not installed. The message says what to install. No block was run."""


class CampaignInterrupted(CampaignError):
    """The user pressed Ctrl-C. The message says in which folder the committed blocks are."""
