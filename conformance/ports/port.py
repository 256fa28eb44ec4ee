"""What all component ports have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from msgspec import Struct

from conformance.ports.faults import FaultKind, Places
from conformance.ports.outcomes import ErrorKind, PortError, Signal

T = TypeVar("T")

Answer: TypeAlias = T | Coroutine[Any, Any, T]
"""An operation returns at once, or is a coroutine: both `def` and `async def` override a port method."""


class Resources(Struct, frozen=True, omit_defaults=True):
    """How many resources a component holds right now, by kind; `None`: the implementation does not count them."""

    segments: int | None = None
    """Memory segments taken from a pool and not yet given back."""
    heap: int | None = None
    """Memory segments that were allocated outside a pool and not yet freed."""
    files: int | None = None
    """Files on disk."""
    listeners: int | None = None
    """Registered call-backs, views included."""
    futures: int | None = None
    """Futures that are neither completed nor failed, for example an open channel state future."""
    open_files: int | None = None
    """Open file handles."""
    grants: int | None = None
    """Grants of files to their readers: while one is held, the files are not deleted."""


class Port(ABC):
    """One component of an implementation under test.

    A port has no thread, clock or random source of its own. Where Flink calls a listener, a port emits a signal; the
    driver reads and empties `signals` after each operation.
    """

    can_fail: ClassVar[Places] = {}
    """What the component calls that can fail, each with how it can fail."""
    signals: list[Signal]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Gives every port its `signals`, whether or not a subclass calls `super().__init__`."""
        port = super().__new__(cls)
        port.signals = []
        return port

    def emit(self, signal: Signal) -> None:
        """Append a signal to `signals`, where the driver reads it."""
        self.signals.append(signal)

    def fault(self, place: str, kind: FaultKind, nth: int = 1) -> Answer[bool]:
        """Arm a fault: the `nth` call of the component at this place fails in this way, and signals `FaultStruck`.

        Calls are counted from now, whichever operations make them: 1 is the next call. `nth` is 1 for a producer, for
        what ends for good, and for a call that is to be slow or short. The places of a component are in `can_fail`.
        Only an implementation with the capability `faults` is asked for this. At most one fault is armed at a place.

        Returns: False if the implementation cannot let this call fail; then nothing is armed, and nothing is judged of
        it.
        """
        raise PortError(ErrorKind.STATE, "this port cannot let what it calls fail: it must not claim `faults`")

    @abstractmethod
    def resources(self) -> Answer[Resources]:
        """Return how many resources the component holds right now. Allowed in every state, also after `release`."""

    @abstractmethod
    def release(self) -> Answer[None]:
        """Give back all resources. Allowed at any moment; a second call changes nothing."""
