"""What a campaign found out by running scenarios when its blocks were done, and the result as a function of it.

A block has what a search found. What comes after it, the reduced scenario of a finding, what an implementation claims,
and the findings grouped by likely cause, is an outcome of its own, with a file of its own (`kept`). So a result follows
from the plan, the blocks and these outcomes: nothing in it can be changed unless they are changed, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple

from msgspec import UNSET, Meta, Struct

from conformance.campaigns.block import Natural, encode, happened_of
from conformance.campaigns.merge import Sum
from conformance.campaigns.plan import SCHEMA, Plan
from conformance.campaigns.result import (
    CampaignResult,
    CauseResult,
    ComponentResult,
    FindingResult,
    ImplementationResult,
    PropertyResult,
    differences_in,
    lost_in,
)
from conformance.driver import FailureClass, Kind, Level, Verdict
from conformance.engines.check import Found, verdict_if_applicable
from conformance.engines.exercise import exercise_of
from conformance.engines.tally import Failure, Signature, Tally
from conformance.ports import Capability
from conformance.scenarios import scenario_id
from conformance.scenarios.codec import ScenarioFile


class FindingRecord(Struct, frozen=True, forbid_unknown_fields=True, rename={"failure_class": "class"}):
    """A finding: what the scenario of a failure in the blocks was reduced to. It is the content of a file."""

    plan: str
    """The digest of the plan."""
    implementation: str
    component: str
    property: str
    failure_class: FailureClass
    operation: str
    of: str
    """The id of the scenario in the blocks that was reduced."""
    owed: str
    observed: str
    scenario: ScenarioFile
    id: str
    """The id of this scenario."""
    unclaimed: tuple[Capability, ...] = ()
    budget: Natural | None = None
    """The budget that ended its reduction; None if nothing was left to try."""
    checksum: str = ""
    """Set when the record is written."""
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA


class PropertyRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A property of a component, and whether it applies to an implementation."""

    slug: str
    level: Level
    kind: Kind
    applies: bool


class OfferedRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A component that an implementation offers, with its properties in their order."""

    component: str
    properties: tuple[PropertyRecord, ...]


class ImplementationRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """What an implementation is, and its findings by likely cause. It is the content of a file."""

    plan: str
    """The digest of the plan."""
    name: str
    """Its name in the plan."""
    version: str
    claims: tuple[Capability, ...]
    offered: tuple[OfferedRecord, ...]
    causes: tuple[CauseResult, ...]
    checksum: str = ""
    """Set when the record is written."""
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA


class Concluded(NamedTuple):
    """All outcomes of one implementation."""

    record: ImplementationRecord
    findings: Mapping[tuple[str, Signature], FindingRecord]
    """By component and signature: one for each failure in the blocks."""


def signature_of(record: FindingRecord) -> Signature:
    """Return the signature of the failure that a finding is."""
    return record.property, record.failure_class.value, record.operation


def record_of(plan: Plan, name: str, failure: Failure, found: Found, budget: int | None) -> FindingRecord:
    """Return the record of a finding of an implementation, to which a failure in the blocks was reduced.

    `budget`: the one that ended the reduction, if one did.
    """
    return FindingRecord(
        plan.digest,
        name,
        found.scenario.component,
        found.slug,
        FailureClass(found.failure_class),
        found.signature[2],
        scenario_id(failure.scenario),
        found.owed,
        found.observed,
        encode(found.scenario),
        scenario_id(found.scenario),
        found.unclaimed,
        budget,
    )


def result_of(plan: Plan, total: Sum, concluded: Iterable[Concluded]) -> CampaignResult:
    """Return the result of a campaign. `concluded` has every implementation of the plan in its order.

    Nothing is run. Everything is sorted, so that equal blocks and outcomes give equal bytes.
    """
    tallies = total.tallies()
    implementations = []
    for record, findings in concluded:
        parts = tuple(
            _component(one, tallies.get((record.name, one.component), Tally()), findings) for one in record.offered
        )
        implementations.append(ImplementationResult(record.name, record.version, parts, record.causes, record.claims))
    return CampaignResult(plan.seed, plan, tuple(implementations), differences_in(total), lost_in(total))


def _component(
    offered: OfferedRecord, tally: Tally, findings: Mapping[tuple[str, Signature], FindingRecord]
) -> ComponentResult:
    found = [_finding(findings[offered.component, signature], failure) for signature, failure in tally.failures.items()]
    found.sort(key=lambda one: (one.id, one.property, one.failure_class, one.operation))
    properties = tuple(
        PropertyResult(
            one.slug,
            one.level,
            one.kind,
            verdict_if_applicable(one.slug, one.level, tally) if one.applies else Verdict.NOT_APPLICABLE,
            tally.exercised.get(one.slug, 0),
        )
        for one in offered.properties
    )
    counts = tally.scenarios, tally.steps, tally.closing_steps
    exercise, happened = exercise_of(tally), happened_of(tally)
    return ComponentResult(offered.component, *counts, properties, tuple(found), exercise, happened)


def _finding(record: FindingRecord, failure: Failure) -> FindingResult:
    return FindingResult(
        record.property,
        record.failure_class,
        record.operation,
        failure.count,
        record.owed,
        record.observed,
        len(record.scenario.steps),
        record.scenario,
        record.id,
        failure.first,
        record.unclaimed or UNSET,
    )
