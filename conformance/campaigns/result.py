"""The form of the result of a campaign. A result does not depend on the time, the host or the runner."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from conformance.campaigns.block import Natural, Positive, encode
from conformance.campaigns.merge import LostBlock, Sum
from conformance.campaigns.names import SEARCHED
from conformance.campaigns.plan import SCHEMA, Plan
from conformance.driver import Components, FailureClass, Kind, Level, Verdict
from conformance.engines.causes import Cause
from conformance.engines.check import Found
from conformance.engines.exercise import Exercise
from conformance.ports import Capability
from conformance.scenarios import decode_scenario, scenario_id
from conformance.scenarios.codec import ScenarioFile


class PropertyResult(Struct, frozen=True):
    """The verdict on a property. `scenarios` is the number of scenarios that put it to the test."""

    slug: str
    level: Level
    kind: Kind
    verdict: Verdict
    scenarios: Natural


class FindingResult(Struct, frozen=True, rename={"failure_class": "class"}):
    """All failures with one signature: the number of scenarios, and the shortest scenario that is known."""

    property: str
    failure_class: FailureClass
    operation: str
    count: Positive
    owed: str
    observed: str
    steps: int
    """The number of steps of `scenario`."""
    scenario: ScenarioFile
    """The content of a scenario file, which can be replayed."""
    id: str
    """The content hash of the scenario."""
    first: int | None = None
    """The number of the first scenario that failed so; None if only the corpus did, or in the result of an earlier
    version."""
    unclaimed: tuple[Capability, ...] | UnsetType = UNSET
    """The capabilities that are not claimed, and with each of which nothing is wrong in the scenario; unset: none."""


class ComponentResult(Struct, frozen=True):
    """One component of one implementation."""

    component: str
    scenarios: Natural
    steps: Natural
    closing_steps: Natural
    properties: tuple[PropertyResult, ...]
    findings: tuple[FindingResult, ...]
    """In the order of their ids."""
    exercise: Exercise | None = None
    """In which settings steps were performed and properties judged; None in the results of earlier versions."""
    happened: dict[str, Natural] | UnsetType = UNSET
    """How often what happened in episodes, in words, sorted; unset: nothing that is counted so."""


class FindingName(Struct, frozen=True, rename={"failure_class": "class"}):
    """Names one finding of an implementation: its component and its signature."""

    component: str
    property: str
    failure_class: FailureClass
    operation: str


class CauseResult(Struct, frozen=True):
    """Findings of one implementation that one defect probably explains."""

    findings: tuple[FindingName, ...]
    """The one with the shortest scenario first."""
    why: tuple[str, ...]
    """Why each of the others belongs to the cause."""
    resembles: tuple[str, ...]
    """The ids of known bugs that show the same failures, the most similar first."""


class ImplementationResult(Struct, frozen=True):
    """One implementation, by its name in the plan, with those components of the plan that it offers."""

    name: str
    version: str
    components: tuple[ComponentResult, ...]
    causes: tuple[CauseResult, ...] | None = None
    """Every finding, grouped by its likely cause; None in the results of earlier versions."""
    claims: tuple[Capability, ...] | UnsetType = UNSET
    """The capabilities that it claims, sorted; unset in the results of earlier versions."""


class DifferenceResult(Struct, frozen=True):
    """The first difference of an implementation from the baseline in a scenario. It is not a violation."""

    implementation: str
    component: str
    operation: str
    field: str
    count: int
    """The number of scenarios with this difference."""
    steps: int
    scenario: ScenarioFile
    """The shortest of these scenarios, up to the difference. It is not reduced."""
    id: str


class CampaignResult(Struct, frozen=True):
    """The content of `result.json`."""

    seed: str
    plan: Plan
    implementations: tuple[ImplementationResult, ...]
    differences: tuple[DifferenceResult, ...]
    lost_blocks: tuple[LostBlock, ...]
    checksum: str = ""
    """Set when the result is written; empty in the results of earlier versions, and when it was read."""
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA


def causes_of(one: ImplementationResult, components: Components = SEARCHED) -> tuple[Cause, ...]:
    """Return the findings of an implementation as `likely_causes` grouped them.

    In the result of an earlier version, each finding is a group of its own.
    """
    found = {
        name_of(part.component, finding): found_of(finding, components)
        for part in one.components
        for finding in part.findings
    }
    if one.causes is None:
        return tuple(Cause((alone,), ()) for alone in found.values())
    return tuple(
        Cause(tuple(found[name] for name in cause.findings), cause.why, cause.resembles) for cause in one.causes
    )


def found_of(finding: FindingResult, components: Components = SEARCHED) -> Found:
    """Return a finding as the check returned it."""
    signature = (finding.property, finding.failure_class.value, finding.operation)
    scenario = decode_scenario(msgspec.json.encode(finding.scenario).decode(), components, finding.id)
    unclaimed = finding.unclaimed or ()
    return Found(signature, finding.owed, finding.observed, scenario, finding.count, finding.first, unclaimed=unclaimed)


def name_of(component: str, finding: FindingResult) -> FindingName:
    """Return the name of a finding."""
    return FindingName(component, finding.property, finding.failure_class, finding.operation)


def differences_in(total: Sum) -> tuple[DifferenceResult, ...]:
    """Return the differences from the baseline, sorted."""
    return tuple(
        DifferenceResult(*key, one.count, len(one.scenario.steps), encode(one.scenario), scenario_id(one.scenario))
        for key, one in total.differences().items()
    )


def lost_in(total: Sum) -> tuple[LostBlock, ...]:
    """Return the lost blocks, sorted."""
    return tuple(sorted(total.lost, key=lambda one: (one.component, one.number)))
