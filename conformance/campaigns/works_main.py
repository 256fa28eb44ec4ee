"""The process that does works for a driver, until it is asked to close (see `works_worker`)."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import msgspec

from conformance.campaigns.apart import Ready
from conformance.campaigns.names import Names, object_of
from conformance.campaigns.works import Function
from conformance.driver import find_components
from conformance.engines.position import Writer
from conformance.engines.wire import Wire
from conformance.engines.worker_main import serve


class _Service:
    """Each method but `close` serves the request of its name."""

    def __init__(self, writer: Writer, replies: int) -> None:
        self.wire = Wire()
        self._open = ExitStack()

    def hello(self, home: str, function: bytes, find: str, components: str) -> Ready:
        known = find_components(components)
        self.wire = Wire(known)
        made: Function[Any, Any] = msgspec.json.decode(function, type=object_of(home))
        self._do = self._open.enter_context(made.ready(Names(object_of(find), known)))
        return Ready({}, False)  # those that start programs have a process of their own

    def do(self, work: Any) -> Any:
        return self._do(work)

    def close(self) -> None:
        self._open.close()


def main() -> None:
    """Serve the requests of a driver."""
    serve(sys.argv[1:], _Service)
