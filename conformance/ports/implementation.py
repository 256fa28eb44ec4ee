"""An implementation under test, and a known bug of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from conformance.ports.capabilities import Capability
from conformance.ports.examined import Examined
from conformance.ports.outcomes import Outcome
from conformance.ports.port import Port
from conformance.ports.transcript import OversizedTranscript, Transcript
from conformance.state_files import StateAudit

Factory: TypeAlias = Callable[[Any], Port]
"""Makes a fresh port from the configuration of its component."""

Call: TypeAlias = Sequence[Any]
"""An operation as data: the name of a port method, then its arguments."""

NEW = "new"
"""The call that makes a fresh port. Every run begins with one, and every restore in it is another one."""

Batch: TypeAlias = Callable[[str, Any, Sequence[Call]], Sequence[Outcome]]
"""Runs all calls of one scenario at once: `batch(component, config, calls)` returns one outcome per call."""


class Limits(NamedTuple):
    """What an implementation may use. Exceeding a limit is a finding."""

    step_seconds: float = 20.0
    """How long an operation may take."""
    memory_mib: int = 2048
    """How much memory the process of the implementation may occupy, with the processes that it starts, in MiB."""


class UnusableImplementation(Exception):
    """An implementation cannot be used at all; the text says why and what to do about it."""


class Implementation(ABC):
    """A stream processor, or a part of one, as the suite sees it.

    A subclass names itself and makes fresh ports for as many components as it likes. It must be usable several times in
    one process, and keep no state between two ports.

    An implementation in Python shares its process with the judge, and could change it. A program that speaks JSON Lines
    is judged from outside.
    """

    name: str
    version: str = ""

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities that it claims. A property that needs another capability does not apply to it."""

    @abstractmethod
    def components(self) -> Mapping[str, Factory]:
        """The components it offers, by name ("deque", "subpartition"), each with what makes a fresh port."""

    @property
    def batch(self) -> Batch | None:
        """Runs a whole scenario at once, for an implementation where one message for each call would be too slow.

        `None`: the driver makes each call by itself.
        """
        return None

    @property
    def is_far(self) -> bool:
        """Whether each call is a message to another process, which must be started again after a crash."""
        return self.batch is not None

    def examine(self) -> Iterable[Examined]:
        """Checks for `conformance doctor` that need more than the ports, such as how a program answers a wrong request.

        In the order in which the user should mend what is wrong.
        """
        return ()

    def audit(self, folder: Path) -> StateAudit | None:
        """Read the channel state that this implementation has written to a folder, in a format of its own.

        Nothing is changed there; whatever is damaged is found.

        Returns: None if it has no format of its own, or cannot read it. Raises: OSError if the folder cannot be read.
        """
        return None

    def transcript(self, run: Callable[[], object]) -> Transcript | OversizedTranscript | None:
        """Call `run`, which runs one scenario on this implementation, and return what a program read and wrote.

        For an implementation that sends the calls to a program, which starts for this run and ends with it. If the
        program dies, hangs or cannot be started, the transcript ends there.

        Returns: only the sizes if there is more than `MOST_TRANSCRIPT`; None if there is no such program; `run` is not
        called then.
        """
        return None

    def limit(self, limits: Limits) -> None:
        """Apply limits to the processes that the implementation will start. Called before anything else, or not at all.

        The implementation itself need not keep to them: where it runs, the suite watches over them.
        """

    def close(self) -> None:
        """End whatever the implementation needs to run, such as a process. The suite does not call it afterwards."""
