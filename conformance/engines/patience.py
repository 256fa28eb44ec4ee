"""How many crashed and hung scenarios of one implementation are run until its search ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.engines.tally import Failure, Signature

PATIENCE = {"crashed": 50, "hung": 2}
"""The number for each class of failure. Each such scenario may cost a new process, or the whole time limit."""
IN_CORPUS = {"crashed": 10, "hung": 1}
"""How many of them may be scenarios of the corpus. The others are left for the search."""


class Patience:
    """Counts the failures of one implementation."""

    __slots__ = ("_left",)

    def __init__(self, spent: Iterable[str] = (), most: Mapping[str, int] = PATIENCE) -> None:
        """`spent`: the classes of earlier failures, which count too."""
        self._left = dict(most)
        for failure_class in spent:
            self.is_over_after(failure_class)

    def is_over_after(self, failure_class: str) -> bool:
        """Count a failure of this class. Returns whether no more scenarios should be run."""
        if failure_class in self._left:
            self._left[failure_class] -= 1
        return self.is_over

    @property
    def is_over(self) -> bool:
        """Whether no more scenarios should be run."""
        return any(left <= 0 for left in self._left.values())


def classes_of(failures: Mapping[Signature, Failure]) -> list[str]:
    """Returns the class of each failure that was counted."""
    return [signature[1] for signature, failure in failures.items() for _ in range(failure.count)]
