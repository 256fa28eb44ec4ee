"""Tries relations on implementations that are not the suite's own, in a process that can end or hang without harm."""

from __future__ import annotations

from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.engines.lasting import LastingWorker
from conformance.engines.relay import Relay
from conformance.engines.worker import Ended, Worker
from conformance.ports import Capability, Limits
from conformance.relations.relation import Relation

SERVICE = "conformance.relations.apart_main"


class Ready(Struct, frozen=True):
    """What a worker says when it has made the implementation."""

    starts_programs: bool
    """Whether it runs a program of its own, which may take a while to start."""


class RelationWorker:
    """Tries relations on one implementation, in a worker that is started when it is first needed."""

    def __init__(self, name: str, limits: Limits) -> None:
        """`name`: by which the implementation is found."""
        self._relay = relay = Relay(name)
        hello = ("hello", name, limits)
        self._worker = LastingWorker(lambda: Worker(hello, limits, COMPONENTS, relay, SERVICE), name)

    def attempt(self, relation: Relation, assumed: frozenset[Capability], examples: int, seed: int | str) -> str | None:
        """As `attempt`; if the process ends, or a call takes too long, the relation does not hold.

        Raises: UnusableImplementation, WorkerFailed.
        """
        try:
            found: str | None = self._worker.ask(
                "attempt", relation.component, relation.slug, assumed, examples, str(seed)
            )
        except Ended as ended:
            return f"every operation must return, and leave its process alone: {ended.what}{ended.log}"
        return found

    def close(self) -> None:
        """End the process."""
        self._worker.close()
        self._relay.finish()
