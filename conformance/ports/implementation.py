"""An implementation under test, and a known bug of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from conformance.ports.capabilities import Capability
from conformance.ports.examined import Examined
from conformance.ports.outcomes import Outcome
from conformance.ports.port import Port

Factory: TypeAlias = Callable[[Any], Port]
"""Makes a fresh port from the configuration of its component."""

Call: TypeAlias = Sequence[Any]
"""An operation as data: the name of a port method, then its arguments."""

NEW = "new"
"""The call that makes a fresh port; every run begins with one, and a restore is another."""

Batch: TypeAlias = Callable[[str, Any, Sequence[Call]], Sequence[Outcome]]
"""Runs all calls of one scenario at once: `batch(component, config, calls)` answers one outcome per call."""


class UnusableImplementation(Exception):
    """An implementation cannot be used at all; the text says why and what to do about it."""


class Implementation(ABC):
    """A stream processor, or a part of one, as the suite sees it.

    A subclass names itself and makes fresh ports for as many components as it likes. It must be usable several times in
    one process, and keep no state between two ports.
    """

    name: str
    version: str = ""

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[Capability]:
        """What it claims. Properties that need anything else do not apply."""

    @abstractmethod
    def components(self) -> Mapping[str, Factory]:
        """The components it offers, by name ("deque", "subpartition"), each with what makes a fresh port."""

    @property
    def batch(self) -> Batch | None:
        """How to run a whole scenario in one message, where a call each would be too slow.

        None: there is no such way.
        """
        return None

    def examine(self) -> Iterable[Examined]:
        """What only it can look at itself, for `conformance doctor`: how it is reached, how it answers nonsense.

        First things first. Everything that can be seen through its ports is looked at elsewhere.
        """
        return ()

    def close(self) -> None:
        """Give up what was needed to run at all, such as a process.

        Nothing is asked of the implementation afterwards.
        """
