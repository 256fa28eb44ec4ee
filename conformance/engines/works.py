"""Works: what an engine does many times, each time with other data, and wherever there is room.

A work is plain data, a frozen struct that JSON can hold, and says what is made of it. That depends on nothing else, so
it is the same in whatever process it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.position import Follow, unfollowed
from conformance.engines.processes import mapping

Result = TypeVar("Result", covariant=True)


class Work(Protocol[Result]):
    """What can be done anywhere. The annotation of what `do` returns says what type the result has."""

    @property
    def topics(self) -> tuple[str, ...]:
        """What decides how long it takes: works with the same topic take about as long. The finest one is the first."""

    def do(self, interruption: Interruption, follow: Follow) -> Result:
        """Return the result. `follow` returns the log of each program that is run.

        Raises: Unfinished.
        """


Over = Callable[[Sequence[Work[Any]]], Iterator[Any]]
"""Returns the results of works in their order; None for those that are not done, after an interruption."""


def alone(works: Sequence[Work[Any]]) -> Iterator[Any]:
    """Yield the results of works, one after the other in this process."""
    return (work.do(NEVER, unfollowed) for work in works)


@contextmanager
def in_processes(processes: int, interruption: Interruption = NEVER, follow: Follow = unfollowed) -> Iterator[Over]:
    """Yield what does works in this process or in several, for which `follow` must be importable."""
    with mapping(processes, interruption) as over:
        yield lambda works: over(partial(_done, follow=follow), [(work,) for work in works])


def _done(work: Work[Result], interruption: Interruption, follow: Follow) -> Result:
    return work.do(interruption, follow)
