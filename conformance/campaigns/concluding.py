"""Concludes a campaign: which failures are to be reduced, and the findings by likely cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from conformance.campaigns.block import encode_tally
from conformance.campaigns.grouping import Findings, Grouping, grouped
from conformance.campaigns.kept_outcomes import Kept
from conformance.campaigns.merge import Sum
from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import (
    Concluded,
    FindingRecord,
    ImplementationRecord,
    record_of,
    result_of,
    signature_of,
)
from conformance.campaigns.plan import Plan
from conformance.campaigns.reducing import Case, found_unreduced, longest_first
from conformance.campaigns.result import CampaignResult
from conformance.engines.causes import each_alone
from conformance.engines.tally import Failure, Signature

KeepRecord = Callable[[Findings, ImplementationRecord], None]
Do = Callable[[Grouping, Sequence[Findings], KeepRecord], None]
"""Makes the record of each implementation, anywhere and in any order."""


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


def conclude(plan: Plan, total: Sum, names: Names, kept: Kept, do: Do | None = None) -> CampaignResult:
    """Compute the verdicts, and group the findings by likely cause. Every failure was reduced before, and is kept.

    `do` groups the findings of several implementations; None: this process does it. What comes of each implementation
    is kept, too. Raises: SchemaError if a file of an outcome is damaged; NotWritten.
    """

    def reduced(name: str, component: str, signature: Signature, failure: Failure) -> FindingRecord:
        record = kept.known(name, component, signature, failure, 0)
        assert record is not None
        return record

    records: dict[str, ImplementationRecord] = {}

    def keep(work: Findings, record: ImplementationRecord) -> None:
        kept.keep_implementation(record)
        records[work.implementation] = record

    works = list(_findings(plan, total, reduced))
    costly = sorted((work for work in works if work.findings), key=lambda work: -len(work.findings))
    if do is None or len(costly) < 2:
        costly = []  # another process would take longer to start
    else:
        do(Grouping(plan), costly, keep)
    for work in works:
        if work.implementation not in records:
            keep(work, grouped(plan, names, work))
    return result_of(plan, total, [_concluded(work, records[work.implementation]) for work in works])


def conclude_so_far(plan: Plan, total: Sum, names: Names) -> CampaignResult:
    """Compute the verdicts on the blocks that are there. No scenario is run, and nothing is kept.

    The scenarios of failures are as the search found them, and each finding is a cause of its own.
    """

    def as_found(name: str, component: str, signature: Signature, failure: Failure) -> FindingRecord:
        return record_of(plan, name, failure, found_unreduced(name, signature, failure), None)

    works = _findings(plan, total, as_found)
    return result_of(plan, total, [_concluded(work, grouped(plan, names, work, each_alone)) for work in works])


def _findings(
    plan: Plan, total: Sum, finding: Callable[[str, str, Signature, Failure], FindingRecord]
) -> Iterator[Findings]:
    """Yield the findings of each implementation. `finding` returns the one that a failure is."""
    tallies = total.tallies()
    for name in plan.implementations:
        yield Findings(
            name,
            tuple(
                finding(name, component, *failed)
                for (of, component), tally in tallies.items()
                if of == name
                for failed in sorted(tally.failures.items())
            ),
        )


def _concluded(work: Findings, record: ImplementationRecord) -> Concluded:
    return Concluded(record, {(one.component, signature_of(one)): one for one in work.findings})
