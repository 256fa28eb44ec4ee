"""The process that tries relations for a driver, until it is asked to close (see `apart`)."""

from __future__ import annotations

import sys

from conformance.engines.position import Writer
from conformance.engines.wire import Wire
from conformance.engines.worker_main import serve
from conformance.ports import Capability, Limits, find_implementation
from conformance.relations import RELATIONS, attempt
from conformance.relations.apart import Ready
from conformance.relations.subject import Subject


class _Service:
    """Each method but `close` serves the request of its name."""

    def __init__(self, writer: Writer, replies: int) -> None:
        self.wire = Wire()
        self._writer = writer
        self._calls = 0

    def hello(self, name: str, limits: Limits) -> Ready:
        self._implementation = found = find_implementation(name)
        found.limit(limits)
        return Ready(found.batch is not None)

    def attempt(
        self, component: str, slug: str, assumed: frozenset[Capability], examples: int, seed: str
    ) -> str | None:
        relation = next(one for one in RELATIONS[component] if one.slug == slug)
        mine = self._implementation
        subject = Subject(mine.components()[component], mine.capabilities | assumed, self._told)
        return attempt(relation, subject, examples, seed)

    def _told(self) -> None:
        self._calls += 1
        self._writer.number(self._calls)

    def close(self) -> None:
        self._implementation.close()


def main() -> None:
    """Serve the requests of a driver."""
    serve(sys.argv[1:], _Service)
