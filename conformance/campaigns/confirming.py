"""Runs the scenarios of findings again, in a process in which nothing was reduced."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from conformance.campaigns.errors import RunnerUnavailable
from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import FindingRecord
from conformance.campaigns.plan import Plan
from conformance.campaigns.reducing import Case
from conformance.campaigns.reductions import Confirmation
from conformance.campaigns.runners import check_sendable
from conformance.campaigns.works_worker import WorksWorker

Confirm = Callable[[Case, FindingRecord], FindingRecord]
"""Returns a finding that says so if its scenario does not fail as it did."""


@contextmanager
def confirming(plan: Plan, names: Names) -> Iterator[Confirm]:
    """Yield what confirms findings: in a fresh process, or here if another process cannot look up the names."""
    function = Confirmation(plan)
    if plan.of_episodes:  # a finding of one was run again, and its runs need not be alike
        yield lambda case, finding: finding
    elif _can_send(names):
        with closing(WorksWorker(function, names)) as worker:
            yield lambda case, finding: worker.do((case, finding))
    else:
        with function.ready(names) as confirm:
            yield lambda case, finding: confirm((case, finding))


def _can_send(names: Names) -> bool:
    try:
        check_sendable(names)
    except RunnerUnavailable:
        return False
    return os.name == "posix"
