"""Campaigns: the same scenarios on several implementations, divided into blocks that any number of workers run.

A plan says what to run, and a runner decides where. The result depends only on the plan. `conformance.reporting`
prints the result.
"""

from conformance.campaigns.campaign import Remembered, check_adapters, choose, reduce, remembered, resume, start
from conformance.campaigns.course import Advance, Progress
from conformance.campaigns.earlier import Earlier, read_earlier
from conformance.campaigns.errors import CampaignError, CampaignInterrupted, RunnerUnavailable
from conformance.campaigns.files import evidence_of, own
from conformance.campaigns.loading import load, why_unchecked
from conformance.campaigns.merge import LostBlock
from conformance.campaigns.names import ADAPTER_SCHEME, EPISODE, SEARCHED, Names
from conformance.campaigns.plan import Block, Plan, make_plan, named
from conformance.campaigns.result import (
    CampaignResult,
    CauseResult,
    ComponentResult,
    DifferenceResult,
    FindingName,
    FindingResult,
    ImplementationResult,
    PropertyResult,
    causes_of,
    found_of,
)
from conformance.campaigns.runners import Inline, Processes, Runner
from conformance.campaigns.so_far import SoFar, has_ended, so_far
from conformance.campaigns.spark_runner import Spark
from conformance.campaigns.status import Status, status, watch

__all__ = [
    "ADAPTER_SCHEME",
    "EPISODE",
    "SEARCHED",
    "Advance",
    "Block",
    "CampaignError",
    "CampaignInterrupted",
    "CampaignResult",
    "CauseResult",
    "ComponentResult",
    "DifferenceResult",
    "Earlier",
    "FindingName",
    "FindingResult",
    "ImplementationResult",
    "Inline",
    "LostBlock",
    "Names",
    "Plan",
    "Processes",
    "Progress",
    "PropertyResult",
    "Remembered",
    "Runner",
    "RunnerUnavailable",
    "SoFar",
    "Spark",
    "Status",
    "causes_of",
    "check_adapters",
    "choose",
    "evidence_of",
    "found_of",
    "has_ended",
    "load",
    "make_plan",
    "named",
    "own",
    "read_earlier",
    "reduce",
    "remembered",
    "resume",
    "so_far",
    "start",
    "status",
    "watch",
    "why_unchecked",
]
