"""The process that reduces failures for a campaign, or confirms them, until it is asked to close."""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter

from conformance.campaigns.apart import Ready
from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import FindingRecord
from conformance.campaigns.plan import Plan
from conformance.campaigns.reducing import Case, Reducer
from conformance.driver import find_components
from conformance.engines.position import Writer
from conformance.engines.wire import Wire
from conformance.engines.worker_main import serve


class _Service:
    """Each method but `close` serves the request of its name."""

    def __init__(self, writer: Writer, replies: int) -> None:
        self.wire = Wire()
        self._reducer: Reducer | None = None

    def hello(self, plan: Plan, find: str, components: str, budget: int) -> Ready:
        known = find_components(components)
        self.wire = Wire(known)
        module, _, function = find.partition(":")
        self._reducer = Reducer(plan, Names(attrgetter(function)(import_module(module)), known), budget)
        return Ready({}, False)  # those that start programs have a process of their own

    def reduce(self, case: Case) -> FindingRecord:
        assert self._reducer is not None
        return self._reducer.reduce(case)

    def confirm(self, case: Case, finding: FindingRecord) -> FindingRecord:
        assert self._reducer is not None
        return self._reducer.confirm(case, finding)

    def close(self) -> None:
        if self._reducer is not None:
            self._reducer.close()


def main() -> None:
    """Serve the requests of a campaign."""
    serve(sys.argv[1:], _Service)
