"""To reduce a failure, and to confirm a finding, as functions that a runner calls anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import msgspec
from msgspec import Struct

from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import FindingRecord
from conformance.campaigns.plan import Plan
from conformance.campaigns.reducing import DIED, Case, Reducer, unconfirmed

DIED_AGAIN = "the process that ran it again died each time"
Reduced = tuple[Case, FindingRecord]


class Reduction(Struct, frozen=True):
    """Makes a finding of a case (see `Reducer.reduce`)."""

    plan: Plan
    budget: int
    """How many runs a reduction may take."""

    @contextmanager
    def ready(self, names: Names) -> Iterator[Callable[[Case], FindingRecord]]:
        """See `Function`."""
        with closing(Reducer(self.plan, names, self.budget)) as reducer:
            yield reducer.reduce

    def given_up(self, work: Case, why: str | None, names: Names) -> FindingRecord:
        """See `Function`. The scenario is as it was found."""
        return Reducer(self.plan, names, self.budget).as_found(work, why or DIED)

    def read(self, work: Case, data: bytes, names: Names) -> FindingRecord:
        """See `Function`."""
        return msgspec.json.decode(data, type=FindingRecord)

    def about(self, work: Case) -> str:
        """See `Function`."""
        return f"a failure of {work.implementation} in {work.component}"


class Confirmation(Struct, frozen=True):
    """Runs the scenario of a finding again (see `Reducer.confirm`)."""

    plan: Plan

    @contextmanager
    def ready(self, names: Names) -> Iterator[Callable[[Reduced], FindingRecord]]:
        """See `Function`."""
        with closing(Reducer(self.plan, names, 0)) as reducer:
            yield lambda work: reducer.confirm(*work)

    def given_up(self, work: Reduced, why: str | None, names: Names) -> FindingRecord:
        """See `Function`. The finding says that it is not confirmed."""
        return unconfirmed(work[1], why or DIED_AGAIN)

    def read(self, work: Reduced, data: bytes, names: Names) -> FindingRecord:
        """See `Function`."""
        return msgspec.json.decode(data, type=FindingRecord)

    def about(self, work: Reduced) -> str:
        """See `Function`."""
        return f"a finding of {work[0].implementation} in {work[0].component}"
