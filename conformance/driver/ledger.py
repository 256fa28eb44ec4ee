"""What every ledger has: the life of its port, the operations in flight, and the faults that are armed.

A ledger knows what went in, what came out and what is owed. That of a component extends this one, and nothing extends
that: whatever several components know in the same way is a model, which a ledger has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.driver.step import Seen
from conformance.ports import PRODUCER, UNNOTICED, FaultKind, FaultStruck, Places, Signal

BROKEN = "broken"
"""The phase of a ledger whose task fails or is cancelled: it is about to be released."""
FAILING = "failing"
"""The phase of a ledger whose task fails as soon as a poll fails with the error that the port keeps."""


_ANY_CALL = (1, 1, 1, 1, 2, 3)
"""A fault strikes the next call at its place or a later one, each as often as a search draws it. Few loops make more
than three calls in a scenario."""
NEXT_CALL = (1,) * len(_ANY_CALL)
"""A fault strikes the next call at its place. It is there as often, so that all faults are drawn equally often."""


_LATER = (FaultKind.THROWS, FaultKind.REFUSES)


class Faults:
    """Which faults are armed, and where others can be."""

    __slots__ = ("armed", "can_fail", "later", "next_only", "places")

    def __init__(self, places: Places) -> None:
        """`places`: those of the port, or none if the configuration has no faults."""
        self.can_fail = places
        """The places at which what the port calls can fail."""
        self.restart()

    def restart(self) -> None:
        """Begins with no fault armed, and with a port that may let every call fail."""
        self.places = tuple((place, kind.value) for place, kinds in self.can_fail.items() for kind in kinds)
        """Each place, and how what is called there can fail."""
        self.armed: list[str] = []
        """The places at which a fault is armed."""
        self.later: list[str] = []
        """Those of them at which it strikes a later call than the next one."""
        self.next_only: tuple[tuple[str, str], ...] = ()
        """The faults that the implementation lets strike the next call only."""

    def possible(self) -> Sequence[tuple[str, str]]:
        """Returns the faults that can be armed now, each as place and kind."""
        return [one for one in self.places if one[0] not in self.armed] if self.places else ()

    def calls(self, place: str, kind: str) -> Sequence[int]:
        """Returns which calls at a place such a fault can strike, counted from now. A producer fails only once, what
        ends for good has ended from now on, and of a call that is slow or short it does not matter which one it is."""
        if place != PRODUCER and kind in _LATER and (place, kind) not in self.next_only:
            return _ANY_CALL
        return NEXT_CALL

    def arm(self, place: str, kind: FaultKind, nth: int = 1) -> None:
        """Notes that a fault is armed. A call that will be slow, or short, does not fail, so nothing is noted."""
        if kind not in UNNOTICED:
            self.armed.append(place)
            if nth > 1:
                self.later.append(place)

    def leave_out(self, place: str, kind: str, nth: int = 1) -> None:
        """Notes that the implementation cannot let this call fail, and so no later one."""
        if nth > 1:
            self.next_only = (*self.next_only, (place, kind))
        else:
            self.places = tuple(one for one in self.places if one != (place, kind))

    def struck(self, signals: Sequence[Signal]) -> None:
        """Notes that the faults have struck which an operation has signalled."""
        for signal in signals:
            if type(signal) is FaultStruck and signal.place in self.armed:
                self.armed.remove(signal.place)
                if signal.place in self.later:
                    self.later.remove(signal.place)


class PortLedger:
    """A ledger as the driver sees it: the phase of the port, the operations in flight, the faults.

    Each component has phases of its own; `broken`, `failing`, `released` and `failed` mean the same in all components.
    If what the port calls fails, its task fails: nothing is called any more then but observers and `release`.
    """

    __slots__ = (
        "afterlife", "alone", "closing", "failed", "faults", "flying", "phase", "released", "releases", "releasing",
    )  # fmt: skip

    closing: bool
    """True during the fair drain."""
    phase: str
    """The coarsest part of the state: each step names the phases in which it can be enabled. The ledger stores the
    phase and does not compute it, because a search reads it at every draw."""

    def __init__(self, can_fail: Places | None = None) -> None:
        """`can_fail`: the places at which what the port calls can fail; none if the configuration has no faults."""
        self.closing = False
        self.faults = Faults(can_fail or {})

    def begin_life(self, phase: str) -> None:
        """Begins the life of a fresh port in this phase, with no fault armed."""
        self.phase = phase
        self.releasing = self.released = self.failed = False
        """Whether a release has begun; whether it is over; whether the port failed, that is, was released at an
        arbitrary moment."""
        self.releases = 0
        """Number of releases in flight: that of the task, and that of the thread that cancels it."""
        self.afterlife = 0
        """Number of operations that began after the release."""
        self.flying = 0
        """Number of operations in flight."""
        self.alone = False
        """Whether no other operation overlapped the last operation that began with `begin_alone`."""
        if self.faults.can_fail:
            self.faults.restart()

    def hear(self, signals: list[Signal]) -> None:
        """Learn of the signals that an operation emitted."""

    # ---- operations in flight ----------------------------------------------------------------------------------------
    def begin(self, *operands: object) -> None:
        """Notes that an operation begins."""
        self.flying += 1
        self.alone = False

    def begin_alone(self, *operands: object) -> None:
        """Notes that an operation begins for which rules ask whether another operation overlaps it."""
        self.alone = not self.flying
        self.flying += 1

    def end(self, *operands: object) -> None:
        """Notes that an operation is over."""
        self.flying -= 1

    def begin_afterwards(self) -> None:
        """Notes that an operation begins that is possible after release, too."""
        self.afterlife += self.released

    # ---- release, cancellation and failure ---------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Notes that the release of the port begins."""
        self.afterlife += self.released
        self.releasing = True
        self.releases += 1

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled: another thread begins to release the port."""
        self.begin_release()
        self.phase = BROKEN

    def release(self) -> None:
        """Notes that a release is over. The port is released when the last one is."""
        self.releases -= 1
        if self.releases <= 0:
            self.released = True
            if not self.failed:
                self.phase = "released"

    def take_back_release(self) -> None:
        """Notes that what began like a release was refused."""
        self.releases -= 1
        self.releasing = self.released

    def fail(self) -> None:
        """Notes that the port was released at an arbitrary moment; operations that were in flight are abandoned."""
        self.failed = self.released = True
        self.flying = self.releases = 0
        self.phase = "failed"

    def is_over(self) -> bool:
        """Returns whether the port must have given back all resources."""
        return self.released

    def what_ended_it(self) -> str:
        """Describes, for messages, what became of a port that accepts nothing more: `released` unless a component
        overrides this."""
        return "released"

    def keeps(self) -> int:
        """Returns how many segments the task may still hold after release; 0 unless a component overrides this."""
        return 0

    def holds(self) -> Sequence[tuple[str, int]]:
        """Returns the fields of `Resources` whose values are known before the release, with these values; none unless a
        component overrides this."""
        return ()

    def most_futures(self) -> int:
        """Returns how many futures the port may hold before its release; 0 unless a component overrides this."""
        return 0

    # ---- faults ------------------------------------------------------------------------------------------------------
    def can_be_struck(self) -> bool:
        """Returns whether faults can strike operations of the port in this scenario."""
        return bool(self.faults.can_fail)

    def is_broken(self) -> bool:
        """Returns whether the task fails, because a fault has struck an operation of the port, or is cancelled. The
        operations that are in flight then may end in any way."""
        return self.phase == BROKEN or self.phase == FAILING

    def may_keep(self, place: str) -> bool:
        """Returns whether the port may keep the error of a call at this place for the next read, so that the
        operation succeeds; a component where that is so has a rule of its own for the place."""
        return False

    def break_down(self, seen: Seen[Any], *operands: Any) -> None:
        """Notes that an operation failed with what it has called."""
        self.faults.struck(seen.signals)
        self.phase = BROKEN
