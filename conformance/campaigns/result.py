"""The result of a campaign. It depends only on the blocks, and not on the time, the host or the runner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from conformance.campaigns.block import Natural, Positive, encode, programs_of
from conformance.campaigns.merge import LostBlock, Sum
from conformance.campaigns.names import Names
from conformance.campaigns.plan import SCHEMA, Plan
from conformance.campaigns.reducing import reduced_apart
from conformance.components import COMPONENTS
from conformance.driver import Components, FailureClass, Kind, Level, Program, Verdict
from conformance.engines.apart import Apart
from conformance.engines.causes import Cause, each_alone, likely_causes
from conformance.engines.check import Check, Found, reduce_failures
from conformance.engines.check_apart import ApartCheck
from conformance.engines.exercise import Exercise, exercise_of
from conformance.engines.tally import Tally
from conformance.ports import Capability
from conformance.scenarios import Finding, decode_scenario, scenario_id
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


def causes_of(one: ImplementationResult, components: Components = COMPONENTS) -> tuple[Cause, ...]:
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


def found_of(finding: FindingResult, components: Components = COMPONENTS) -> Found:
    """Return a finding as the check returned it."""
    signature = (finding.property, finding.failure_class.value, finding.operation)
    scenario = decode_scenario(msgspec.json.encode(finding.scenario).decode(), components, finding.id)
    unclaimed = finding.unclaimed or ()
    return Found(signature, finding.owed, finding.observed, scenario, finding.count, finding.first, unclaimed=unclaimed)


def name_of(component: str, finding: FindingResult) -> FindingName:
    """Return the name of a finding."""
    return FindingName(component, finding.property, finding.failure_class, finding.operation)


Ran = Sequence[tuple[Program, Tally]]
"""The components of one implementation, with what the blocks counted."""


def conclude(plan: Plan, total: Sum, names: Names, processes: int = 1) -> CampaignResult:
    """Compute the verdicts and reduce the failures. Everything is sorted, so that equal blocks give equal bytes.

    With more than one of `processes`, so many workers reduce the failures of an implementation of the suite's own.
    """
    return _result(plan, total, names, partial(_reduced_checks, plan, names, processes), likely_causes)


def conclude_so_far(plan: Plan, total: Sum, names: Names) -> CampaignResult:
    """Compute the verdicts on the blocks that are there. No scenario is run.

    The scenarios of failures are as the search found them, and each finding is a cause of its own.
    """
    return _result(plan, total, names, _checks_as_found, each_alone)


def _result(
    plan: Plan,
    total: Sum,
    names: Names,
    checks_of: Callable[[str, Ran], list[Check]],
    causes_in: Callable[[Sequence[Check]], tuple[Cause, ...]],
) -> CampaignResult:
    """Compute the verdicts. `checks_of` returns the checks of the implementation of a name, and `causes_in` groups."""
    tallies = total.tallies()
    implementations = []
    for name in plan.implementations:
        with closing(names.here.find(name)) as implementation:
            ran = [
                (program, tallies.get((name, component), Tally()))
                for component in plan.components
                for program in programs_of(plan, component, {name: implementation}, names.components).values()
            ]
            checks = checks_of(name, ran)
            causes = tuple(map(_cause, causes_in(checks)))
            parts = tuple(map(_component, checks))
            claims = tuple(sorted(implementation.capabilities))
            implementations.append(ImplementationResult(name, implementation.version, parts, causes, claims))
    return CampaignResult(plan.seed, plan, tuple(implementations), differences_in(total), lost_in(total))


def differences_in(total: Sum) -> tuple[DifferenceResult, ...]:
    """Return the differences from the baseline, sorted."""
    return tuple(
        DifferenceResult(*key, one.count, len(one.scenario.steps), encode(one.scenario), scenario_id(one.scenario))
        for key, one in total.differences().items()
    )


def lost_in(total: Sum) -> tuple[LostBlock, ...]:
    """Return the lost blocks, sorted."""
    return tuple(sorted(total.lost, key=lambda one: (one.component, one.number)))


def _reduced_checks(plan: Plan, names: Names, processes: int, name: str, ran: Ran) -> list[Check]:
    """Reduce the failures of one implementation."""
    found: dict[str, tuple[Found, ...]] = {}
    if processes > 1 and not any(isinstance(program.implementation, Apart) for program, _ in ran):
        failing = {program.component.name: tally for program, tally in ran if tally.failures}
        found = reduced_apart(plan, name, failing, names, processes)
    checks = []
    for program, tally in ran:
        component = program.component.name
        reduced = found[component] if component in found else _reduced(plan, program, tally)
        checks.append(Check(program, tally, reduced))
    return checks


def _checks_as_found(name: str, ran: Ran) -> list[Check]:
    return [Check(program, tally, _as_found(name, tally)) for program, tally in ran]


def _cause(cause: Cause) -> CauseResult:
    names = tuple(
        FindingName(one.scenario.component, one.slug, FailureClass(one.failure_class), one.signature[2])
        for one in cause.found
    )
    return CauseResult(names, cause.why, cause.resembles)


def _reduced(plan: Plan, program: Program, tally: Tally) -> tuple[Found, ...]:
    """Reduce one scenario of each signature. If the reduction fails, return the scenarios as they were found."""
    if not tally.failures:
        return ()
    if isinstance(program.implementation, Apart):
        return ApartCheck(program, program.implementation, plan.budget, None, with_log=False).reduced(tally)
    try:
        return reduce_failures(program, tally, plan.budget)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
    return _as_found(program.implementation.name, tally, f" (not reduced: {reason})")


def _as_found(name: str, tally: Tally, remark: str = "") -> tuple[Found, ...]:
    """Return the scenarios of an implementation as they were found, with a remark behind what was observed."""
    found = []
    for signature, failure in sorted(tally.failures.items()):
        scenario = replace(failure.scenario, finding=Finding(signature[0], signature[1], name))
        observed = f"{failure.observed}{remark}"
        found.append(Found(signature, failure.owed, observed, scenario, failure.count, failure.first))
    return tuple(found)


def _component(check: Check) -> ComponentResult:
    program, tally = check.program, check.tally
    findings = [
        FindingResult(
            one.slug,
            FailureClass(one.failure_class),
            one.signature[2],
            one.count,
            one.owed,
            one.observed,
            len(one.scenario.steps),
            encode(one.scenario),
            scenario_id(one.scenario),
            one.first,
            one.unclaimed or UNSET,
        )
        for one in check.found
    ]
    findings.sort(key=lambda one: (one.id, one.property, one.failure_class, one.operation))
    properties = tuple(
        PropertyResult(one.slug, one.level, one.kind, check.verdict(one), tally.exercised.get(one.slug, 0))
        for one in program.component.properties
    )
    return ComponentResult(
        program.component.name,
        tally.scenarios,
        tally.steps,
        tally.closing_steps,
        properties,
        tuple(findings),
        exercise_of(tally),
    )
