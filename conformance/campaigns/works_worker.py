"""A worker process that does works. If it dies, another one does its work again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

import msgspec

from conformance.campaigns.names import Names, name_of
from conformance.campaigns.plan import MOST_SECONDS
from conformance.campaigns.works import Function, Result, Work
from conformance.engines.lasting import LastingWorker
from conformance.engines.relay import Relay
from conformance.engines.worker import Ended, Worker, WorkerFailed
from conformance.ports import Limits

USUAL = Limits()
SERVICE = "conformance.campaigns.works_main"
ATTEMPTS = 12
"""How often a work is done whose process dies."""


class WorksWorker(Generic[Work, Result]):
    """A worker that does works with one function. No process is started before it is needed."""

    def __init__(
        self,
        function: Function[Work, Result],
        names: Names,
        told: Callable[[int], None] | None = None,
        memory_mib: int = USUAL.memory_mib,
    ) -> None:
        """`told` is called now and then while the worker runs; what it raises ends the worker. `memory_mib`: how much
        memory it may occupy, with the processes that it starts."""
        home, data = name_of(type(function)), msgspec.json.encode(function)
        # What takes long here is the work and no single step, so no step is timed.
        hello, limits = ("hello", home, data, names.finder, names.components.where), Limits(MOST_SECONDS, memory_mib)
        self._function, self._names = function, names
        self._relay = relay = Relay("workers")
        self._worker = LastingWorker(
            lambda: Worker(hello, limits, names.components, relay, SERVICE, told), "workers", told
        )

    def do(self, work: Work) -> Result:
        """Return the result of a work; that of one that is given up, if the process dies each time."""
        for _ in range(ATTEMPTS):
            try:
                result: Result = self._worker.ask("do", work)
            except Ended:
                continue
            except WorkerFailed as error:
                return self._function.given_up(work, str(error), self._names)
            return result
        return self._function.given_up(work, None, self._names)

    def close(self) -> None:
        """End the process."""
        self._worker.close()
        self._relay.finish()
