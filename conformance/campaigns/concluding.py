"""Concludes a campaign: reduces the failures in its blocks, and groups the findings by likely cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from msgspec.structs import replace

from conformance.campaigns.block import programs_of
from conformance.campaigns.kept_outcomes import Kept
from conformance.campaigns.merge import Sum
from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import (
    Concluded,
    ImplementationRecord,
    OfferedRecord,
    PropertyRecord,
    record_of,
    result_of,
)
from conformance.campaigns.plan import Plan
from conformance.campaigns.reducing import reduced_apart
from conformance.campaigns.result import CampaignResult, CauseResult, FindingName
from conformance.driver import FailureClass, Program
from conformance.engines.apart import Apart
from conformance.engines.causes import Cause, each_alone, likely_causes
from conformance.engines.check import Check, Found, reduce_failures
from conformance.engines.check_apart import ApartCheck
from conformance.engines.tally import Failure, Signature, Tally
from conformance.ports import Implementation
from conformance.scenarios import Finding

Ran = Sequence[tuple[Program, Tally]]
"""The components of one implementation, with what the blocks counted."""
Group = Callable[[Sequence[Check]], tuple[Cause, ...]]


def conclude(plan: Plan, total: Sum, names: Names, kept: Kept, processes: int = 1) -> CampaignResult:
    """Compute the verdicts and reduce the failures. Each outcome is kept at once, and none is made that is kept.

    With more than one of `processes`, so many workers reduce the failures of an implementation of the suite's own.
    Raises: SchemaError if a file of an outcome is damaged; NotWritten.
    """

    def reduced(name: str, ran: Ran) -> list[Check]:
        return _reduced_checks(plan, names, processes, kept, name, ran)

    concluded = []
    for one in _concluded(plan, total, names, reduced, likely_causes):
        kept.keep_implementation(one.record)
        concluded.append(one)
    return result_of(plan, total, concluded)


def conclude_so_far(plan: Plan, total: Sum, names: Names) -> CampaignResult:
    """Compute the verdicts on the blocks that are there. No scenario is run, and nothing is kept.

    The scenarios of failures are as the search found them, and each finding is a cause of its own.
    """
    return result_of(plan, total, _concluded(plan, total, names, _checks_as_found, each_alone))


def _concluded(
    plan: Plan, total: Sum, names: Names, checks_of: Callable[[str, Ran], list[Check]], group: Group
) -> list[Concluded]:
    """Return the outcomes of each implementation. `checks_of` returns the checks of the one of a name."""
    tallies = total.tallies()
    concluded = []
    for name in plan.implementations:
        with closing(names.here.find(name)) as implementation:
            ran = [
                (program, tallies.get((name, component), Tally()))
                for component in plan.components
                for program in programs_of(plan, component, {name: implementation}, names.components).values()
            ]
            checks = checks_of(name, ran)
            record = _record(plan, name, implementation, checks, group(checks))
        findings = {
            (check.program.component.name, found.signature): record_of(
                plan, name, check.tally.failures[found.signature], found
            )
            for check in checks
            for found in check.found
        }
        concluded.append(Concluded(record, findings))
    return concluded


def _record(
    plan: Plan, name: str, implementation: Implementation, checks: Sequence[Check], causes: Sequence[Cause]
) -> ImplementationRecord:
    offered = tuple(
        OfferedRecord(
            check.program.component.name,
            tuple(
                PropertyRecord(one.slug, one.level, one.kind, one.slug in check.program.places)
                for one in check.program.component.properties
            ),
        )
        for check in checks
    )
    claims = tuple(sorted(implementation.capabilities))
    return ImplementationRecord(plan.digest, name, implementation.version, claims, offered, tuple(map(_cause, causes)))


def _cause(cause: Cause) -> CauseResult:
    names = tuple(
        FindingName(one.scenario.component, one.slug, FailureClass(one.failure_class), one.signature[2])
        for one in cause.found
    )
    return CauseResult(names, cause.why, cause.resembles)


def _reduced_checks(plan: Plan, names: Names, processes: int, kept: Kept, name: str, ran: Ran) -> list[Check]:
    """Reduce the failures of one implementation that were not reduced before, and keep each of them at once."""
    tallies = {program.component.name: tally for program, tally in ran}
    done: dict[str, dict[Signature, Found]] = {component: {} for component in tallies}
    for component, tally in tallies.items():
        for signature, failure in tally.failures.items():
            if (found := kept.known(name, component, signature, failure)) is not None:
                done[component][signature] = found

    def keep(found: Found) -> None:
        component = found.scenario.component
        kept.keep_finding(record_of(plan, name, tallies[component].failures[found.signature], found))
        done[component][found.signature] = found

    def left(component: str) -> dict[Signature, Failure]:
        return {one: each for one, each in tallies[component].failures.items() if one not in done[component]}

    if processes > 1 and not any(isinstance(program.implementation, Apart) for program, _ in ran):
        failing = {component: Tally(failures=left(component)) for component in tallies if left(component)}
        reduced_apart(plan, name, failing, names, processes, keep)
    for program, _ in ran:
        for signature, failure in sorted(left(program.component.name).items()):
            keep(_reduced(plan, program, signature, failure))
    return [
        Check(program, tally, tuple(one for _, one in sorted(done[program.component.name].items())))
        for program, tally in ran
    ]


def _checks_as_found(name: str, ran: Ran) -> list[Check]:
    return [
        Check(
            program,
            tally,
            tuple(_as_found(name, signature, failure) for signature, failure in sorted(tally.failures.items())),
        )
        for program, tally in ran
    ]


def _reduced(plan: Plan, program: Program, signature: Signature, failure: Failure) -> Found:
    """Reduce the scenario of a failure. If the reduction fails, return the scenario as it was found."""
    alone = Tally(failures={signature: failure})
    if isinstance(program.implementation, Apart):
        return ApartCheck(program, program.implementation, plan.budget, None, with_log=False).reduced(alone)[0]
    try:
        return reduce_failures(program, alone, plan.budget)[0]
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
    return _as_found(program.implementation.name, signature, failure, f" (not reduced: {reason})")


def _as_found(name: str, signature: Signature, failure: Failure, remark: str = "") -> Found:
    """Return the scenario of a failure as it was found, with a remark behind what was observed."""
    scenario = replace(failure.scenario, finding=Finding(signature[0], signature[1], name))
    observed = f"{failure.observed}{remark}"
    return Found(signature, failure.owed, observed, scenario, failure.count, failure.first)
