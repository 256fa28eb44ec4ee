"""Makes the record of an implementation: what it claims and offers, and its findings by likely cause.

The minimal scenarios are run some more times for that, and known bugs are made that may resemble a cause. It depends on
the plan and the findings alone, so that a runner may do it for each implementation anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

import msgspec
from msgspec import Struct

from conformance.campaigns.block import decode, programs_of
from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import (
    FindingRecord,
    ImplementationRecord,
    OfferedRecord,
    PropertyRecord,
    signature_of,
)
from conformance.campaigns.plan import Plan
from conformance.campaigns.result import CauseResult, FindingName
from conformance.driver import FailureClass, Program
from conformance.engines.causes import Cause, each_alone, likely_causes
from conformance.engines.check import Check, Found
from conformance.engines.tally import Tally

Group = Callable[[Sequence[Check]], tuple[Cause, ...]]
"""Returns the findings of one implementation in groups."""


class Findings(Struct, frozen=True):
    """An implementation, and its findings in the order of their components and signatures."""

    implementation: str
    findings: tuple[FindingRecord, ...]


class Grouping(Struct, frozen=True):
    """Makes the record of an implementation of its findings."""

    plan: Plan

    @contextmanager
    def ready(self, names: Names) -> Iterator[Callable[[Findings], ImplementationRecord]]:
        """See `Function`."""
        yield lambda work: grouped(self.plan, names, work)

    def given_up(self, work: Findings, why: str | None, names: Names) -> ImplementationRecord:
        """See `Function`. It is made in this process then, so that no result depends on who died."""
        return grouped(self.plan, names, work)

    def read(self, work: Findings, data: bytes, names: Names) -> ImplementationRecord:
        """See `Function`."""
        return msgspec.json.decode(data, type=ImplementationRecord)

    def about(self, work: Findings) -> str:
        """See `Function`."""
        return f"the likely causes of what {work.implementation} breaks"


def grouped(plan: Plan, names: Names, work: Findings, group: Group = likely_causes) -> ImplementationRecord:
    """Return the record of an implementation. Raises: UnusableImplementation."""
    name = work.implementation
    if plan.of_episodes:
        group = each_alone  # to group them is to run them again
    components = (plan.sought[name],) if name in plan.sought else plan.components
    with closing(names.here.find(name)) as implementation:
        programs = [
            program
            for component in components
            for program in programs_of(plan, component, {name: implementation}, names.components).values()
        ]
        causes = group([Check(program, Tally(), _found(work, program, names)) for program in programs])
        claims = tuple(sorted(implementation.capabilities))
        offered = tuple(map(_offered, programs))
        return ImplementationRecord(
            plan.digest, name, implementation.version, claims, offered, tuple(map(_cause, causes))
        )


def _found(work: Findings, program: Program, names: Names) -> tuple[Found, ...]:
    """Return the findings in one component. How often each was found is of no account for its cause."""
    return tuple(
        Found(
            signature_of(one), one.owed, one.observed, decode(one.scenario, names.components), 1,
            unclaimed=one.unclaimed, complete=one.budget is None,
        )
        for one in work.findings
        if one.component == program.component.name
    )  # fmt: skip


def _offered(program: Program) -> OfferedRecord:
    return OfferedRecord(
        program.component.name,
        tuple(
            PropertyRecord(one.slug, one.level, one.kind, one.slug in program.places)
            for one in program.component.properties
        ),
    )


def _cause(cause: Cause) -> CauseResult:
    names = tuple(
        FindingName(one.scenario.component, one.slug, FailureClass(one.failure_class), one.signature[2])
        for one in cause.found
    )
    return CauseResult(names, cause.why, cause.resembles)
