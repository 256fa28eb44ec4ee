"""Concludes a campaign: which failures are to be reduced, and the findings by likely cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from conformance.campaigns.block import decode, encode_tally, programs_of
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
from conformance.campaigns.reducing import Case, found_unreduced, longest_first
from conformance.campaigns.result import CampaignResult, CauseResult, FindingName
from conformance.driver import FailureClass, Program
from conformance.engines.causes import Cause, each_alone, likely_causes
from conformance.engines.check import Check, Found
from conformance.engines.tally import Tally
from conformance.ports import Implementation

Ran = Sequence[tuple[Program, Tally]]
"""The components of one implementation, with what the blocks counted."""
Group = Callable[[Sequence[Check]], tuple[Cause, ...]]


def cases_left(total: Sum, kept: Kept, budget: int) -> list[Case]:
    """Return the failures that were not reduced before, or could become simpler with this budget, the longest first.

    Raises: SchemaError if the file of a finding is damaged.
    """
    cases = []
    for (name, component), tally in total.tallies().items():
        for record in encode_tally(tally).failures:
            case = Case(name, component, record)
            if kept.known(name, component, case.signature, tally.failures[case.signature], budget) is None:
                cases.append(case)
    return longest_first(cases, total)


def conclude(plan: Plan, total: Sum, names: Names, kept: Kept) -> CampaignResult:
    """Compute the verdicts, and group the findings by likely cause. Every failure was reduced before, and is kept.

    What comes of each implementation is kept, too. Raises: SchemaError if a file of an outcome is damaged; NotWritten.
    """

    def reduced(name: str, ran: Ran) -> list[Check]:
        return [
            Check(program, tally, tuple(_kept(kept, name, program.component.name, tally, names)))
            for program, tally in ran
        ]

    concluded = []
    for one in _concluded(plan, total, names, reduced, likely_causes):
        kept.keep_implementation(one.record)
        concluded.append(one)
    return result_of(plan, total, concluded)


def _kept(kept: Kept, name: str, component: str, tally: Tally, names: Names) -> Iterator[Found]:
    for signature, failure in sorted(tally.failures.items()):
        record = kept.known(name, component, signature, failure, 0)
        assert record is not None
        scenario = decode(record.scenario, names.components)
        yield Found(
            signature, record.owed, record.observed, scenario, failure.count, failure.first,
            unclaimed=record.unclaimed, complete=record.budget is None,
        )  # fmt: skip


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
                for component in ((plan.sought[name],) if name in plan.sought else plan.components)
                for program in programs_of(plan, component, {name: implementation}, names.components).values()
            ]
            checks = checks_of(name, ran)
            record = _record(plan, name, implementation, checks, group(checks))
        findings = {
            (check.program.component.name, found.signature): record_of(
                plan, name, check.tally.failures[found.signature], found, None
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


def _checks_as_found(name: str, ran: Ran) -> list[Check]:
    return [
        Check(
            program,
            tally,
            tuple(found_unreduced(name, signature, failure) for signature, failure in sorted(tally.failures.items())),
        )
        for program, tally in ran
    ]
