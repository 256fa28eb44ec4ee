"""The result of a campaign. It depends only on the blocks, and not on the time, the host or the runner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from conformance.campaigns.block import encode, programs
from conformance.campaigns.checking import check_scenario
from conformance.campaigns.files import RESULT, cure, read
from conformance.campaigns.merge import LostBlock, Sum
from conformance.campaigns.names import Names
from conformance.campaigns.plan import SCHEMA, Plan, check_components
from conformance.components import COMPONENTS
from conformance.driver import Components, FailureClass, Kind, Level, Program, Verdict
from conformance.engines.apart import Apart
from conformance.engines.check import Found, reduce_failures, verdict
from conformance.engines.check_apart import ApartCheck
from conformance.engines.exercise import Exercise, exercise_of
from conformance.engines.tally import Tally
from conformance.scenarios import Finding, SchemaError, scenario_id
from conformance.scenarios.codec import ScenarioFile
from conformance.scenarios.names import as_file_name


class PropertyResult(Struct, frozen=True):
    """The verdict on a property. `scenarios` is the number of scenarios that put it to the test."""

    slug: str
    level: Level
    kind: Kind
    verdict: Verdict
    scenarios: int


class FindingResult(Struct, frozen=True, rename={"failure_class": "class"}):
    """All failures with one signature: the number of scenarios, and the shortest scenario that is known."""

    property: str
    failure_class: FailureClass
    operation: str
    count: int
    owed: str
    observed: str
    steps: int
    """The number of steps of `scenario`."""
    scenario: ScenarioFile
    """The content of a scenario file, which can be replayed."""
    id: str
    """The content hash of the scenario."""


class ComponentResult(Struct, frozen=True):
    """One component of one implementation."""

    component: str
    scenarios: int
    steps: int
    closing_steps: int
    properties: tuple[PropertyResult, ...]
    findings: tuple[FindingResult, ...]
    """In the order of their ids."""
    exercise: Exercise | None = None
    """In which settings steps were performed and properties judged; None in the results of earlier versions."""


class ImplementationResult(Struct, frozen=True):
    """One implementation, by its name in the plan, with those components of the plan that it offers."""

    name: str
    version: str
    components: tuple[ComponentResult, ...]


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
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA


def load(folder: Path, components: Components = COMPONENTS) -> CampaignResult:
    """Read the result of a campaign.

    Raises: CampaignError if there is none; SchemaError, which names the cure, if the file is damaged or cannot be a
    result of its plan.
    """
    path = Path(folder) / RESULT
    result = read(path, CampaignResult)
    check_components(result.plan, components, path)
    try:
        _check(result, components)
    except ValueError as error:
        raise SchemaError(f"{path}: this cannot be the result of a campaign: {error}. {cure(path)}") from None
    return result


def _check(result: CampaignResult, components: Components) -> None:
    """Raise a ValueError if a name in a result is none of its plan, or could not be part of a path."""
    if tuple(one.name for one in result.implementations) != result.plan.implementations:
        raise ValueError("it has other implementations than its plan")
    for one in result.implementations:
        for part in one.components:
            if part.component not in result.plan.components:
                raise ValueError(f"the plan has no component {part.component!r}")
            for finding in part.findings:
                as_file_name(finding.property)
                check_scenario(finding.scenario, components[part.component], components)


def conclude(plan: Plan, total: Sum, names: Names) -> CampaignResult:
    """Compute the verdicts and reduce the failures. Everything is sorted, so that equal blocks give equal bytes."""
    tallies = total.tallies()
    results: dict[str, list[ComponentResult]] = {name: [] for name in plan.implementations}
    versions: dict[str, str] = {}
    for component in plan.components:
        with programs(plan, component, plan.implementations, names.here) as found:
            for name, program in found.items():
                versions[name] = program.implementation.version
                tally = tallies.get((name, component), Tally())
                found_here = _reduced(plan, program, tally)
                results[name].append(_component(program, tally, found_here))
    differences = tuple(
        DifferenceResult(*key, one.count, len(one.scenario.steps), encode(one.scenario), scenario_id(one.scenario))
        for key, one in total.differences().items()
    )
    lost = tuple(sorted(total.lost, key=lambda one: (one.component, one.number)))
    implementations = tuple(
        ImplementationResult(name, versions.get(name, ""), tuple(results[name])) for name in plan.implementations
    )
    return CampaignResult(plan.seed, plan, implementations, differences, lost)


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
    found = []
    for signature, failure in sorted(tally.failures.items()):
        finding = Finding(signature[0], signature[1], program.implementation.name)
        scenario = replace(failure.scenario, finding=finding)
        found.append(
            Found(signature, failure.owed, f"{failure.observed} (not reduced: {reason})", scenario, failure.count)
        )
    return tuple(found)


def _component(program: Program, tally: Tally, found: tuple[Found, ...]) -> ComponentResult:
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
        )
        for one in found
    ]
    findings.sort(key=lambda one: (one.id, one.property, one.failure_class, one.operation))
    properties = tuple(
        PropertyResult(one.slug, one.level, one.kind, verdict(one, program, tally), tally.exercised.get(one.slug, 0))
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
