"""A worker that is replaced when its process ends, and the scenarios that are still to be run in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from conformance.driver import FailureClass
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.position import NOWHERE
from conformance.engines.worker import Ended, Told, Worker
from conformance.ports import UnusableImplementation
from conformance.scenarios import Entry

PART = 500
"""How many scenarios a worker runs until it sends what it has counted."""
MOST = 10
"""A search ends after so many scenarios that ended their process."""
COSTLY = 2
"""A search ends after so many scenarios that ended their process after a long time, or with much memory."""
STARTS = 5
"""How often a worker is started anew that somebody else may have killed while it started."""


class LastingWorker:
    """A worker that is started when it is first needed, and again when its process has ended."""

    def __init__(self, start: Callable[[], Worker], what: str, told: Told | None = None) -> None:
        """`start` starts a worker, and `what` is what it loads. `told` is called during requests that name no other."""
        self._start, self._what, self._told = start, what, told
        self._worker: Worker | None = None
        self._has_started = False

    @property
    def hello(self) -> Any:
        """The response to the first request. Raises: as `ask`."""
        return self._running().hello

    def ask(
        self,
        *request: Any,
        told: Told | None = None,
        heard: Callable[[Entry], None] | None = None,
        interruption: Interruption = NEVER,
    ) -> Any:
        """Let a worker serve a request; start a new one if the last one has ended.

        Raises: Ended, also if no worker can be started any more; UnusableImplementation; WorkerFailed.
        """
        return self._running().ask(*request, told=told or self._told, heard=heard, interruption=interruption)

    def close(self) -> None:
        """Let the worker close the implementation, and end it."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _running(self) -> Worker:
        if self._worker is not None and self._worker.is_usable:
            return self._worker
        if self._worker is not None:
            self._worker.kill()
        for start in range(STARTS):
            try:
                self._worker = self._start()
            except UnusableImplementation as error:
                if self._has_started:
                    raise Ended(f"it could not be made again: {error}", "", FailureClass.CRASHED, NOWHERE) from None
                raise
            except Ended as ended:
                if ended.doubtful and start < STARTS - 1:
                    continue
                if self._has_started:
                    raise
                raise UnusableImplementation(
                    f"{self._what}: when it was loaded and made, {ended.what}{ended.log}. It was given a process "
                    "of its own, which must go on until the suite ends it."
                ) from None
            break
        assert self._worker is not None
        self._has_started = True
        return self._worker


class Endings:
    """The scenarios of one implementation that have ended their process."""

    def __init__(self, most: int = 0, costly: int = 0) -> None:
        """`most`, `costly`: the limits, in the place of those of a search."""
        self._most, self._most_costly = most or MOST, costly or COSTLY
        self._number = self._costly = 0

    def add(self, ended: Ended) -> None:
        """Count one."""
        self._number += 1
        self._costly += ended.costly

    @property
    def are_too_many(self) -> bool:
        """Whether no more scenarios should be run."""
        return self._number >= self._most or self._costly >= self._most_costly


def of_corpus() -> Endings:
    """Returns the endings of a replay of the corpus, which are fewer, so that the search has its turn."""
    return Endings(MOST // 2, COSTLY // 2)


class Queue:
    """The numbers of scenarios that are still to be run, in parts and in their order."""

    def __init__(self, numbers: range, part: int = PART) -> None:
        """`part`: how many scenarios are run with one request."""
        self._waiting = [numbers[start : start + part] for start in range(0, len(numbers), part)][::-1]
        self._doubtful: set[int] = set()

    def __iter__(self) -> Iterator[range]:
        """Yield the parts, until none are left."""
        while self._waiting:
            if part := self._waiting.pop():
                yield part

    def again(self, part: range) -> None:
        """Run a part again."""
        self._waiting.append(part)

    def drop(self) -> None:
        """Run nothing more."""
        self._waiting.clear()

    def split(self, part: range, ended: Ended, for_others: bool = False) -> int | None:
        """Return the number of the scenario if the end of the process counts against it.

        The scenarios of the part before it will be run again, since their counts are lost, and those after it will be
        run. If somebody else may have killed the process, the scenario is run again too, and counts if it ends its
        process again. With `for_others`, it is run again in any case.
        """
        at = min(max(ended.position.number, part.start), part.stop - 1)
        counts = not ended.doubtful or at in self._doubtful
        self._doubtful.add(at)
        self._waiting.append(range(at + 1, part.stop))
        if for_others or not counts:
            self._waiting.append(range(at, at + 1))
        self._waiting.append(range(part.start, at))
        return at if counts else None
