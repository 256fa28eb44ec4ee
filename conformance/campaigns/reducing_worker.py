"""A worker process that reduces failures. If it dies, another one reduces the failure again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import FindingRecord
from conformance.campaigns.plan import MOST_SECONDS, Plan
from conformance.campaigns.reducing import DIED, Case, Reducer, unconfirmed
from conformance.engines.lasting import LastingWorker
from conformance.engines.relay import Relay
from conformance.engines.worker import Ended, Worker, WorkerFailed
from conformance.ports import Limits

DIED_AGAIN = "the process that ran it again died each time"
SERVICE = "conformance.campaigns.reducing_main"
ATTEMPTS = 12
"""How often a failure is reduced whose process dies."""


class ReducingWorker:
    """A worker that reduces failures of one plan. No process is started before it is needed."""

    def __init__(self, plan: Plan, names: Names, budget: int, told: Callable[[int], None] | None = None) -> None:
        """`told` is called now and then while the worker runs; what it raises ends the worker."""
        # What takes long here is the reduction and no single step, so no step is timed.
        hello, limits = ("hello", plan, names.finder, names.components.where, budget), Limits(MOST_SECONDS)
        self._reducer = Reducer(plan, names, budget)
        self._relay = relay = Relay("reductions")
        self._worker = LastingWorker(
            lambda: Worker(hello, limits, names.components, relay, SERVICE, told), "reductions", told
        )

    def reduce(self, case: Case) -> FindingRecord:
        """Return the finding of a case; as it was found, if the process dies each time."""
        try:
            found: FindingRecord = self._asked("reduce", case)
        except Ended:
            return self._reducer.as_found(case, DIED)
        except WorkerFailed as error:
            return self._reducer.as_found(case, str(error))
        return found

    def confirm(self, case: Case, finding: FindingRecord) -> FindingRecord:
        """Return a finding after its scenario was run again (see `Reducer.confirm`)."""
        try:
            found: FindingRecord = self._asked("confirm", case, finding)
        except Ended:
            return unconfirmed(finding, DIED_AGAIN)
        except WorkerFailed as error:
            return unconfirmed(finding, str(error))
        return found

    def close(self) -> None:
        """End the process."""
        self._worker.close()
        self._relay.finish()

    def _asked(self, *request: Any) -> Any:
        for left in reversed(range(ATTEMPTS)):
            try:
                return self._worker.ask(*request)
            except Ended:
                if not left:
                    raise
        raise AssertionError
