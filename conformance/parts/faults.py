"""Faults: what fails at the next call, because the scenario says so, and what must be true of the operation it strikes.

A fault is armed by a step and strikes one operation. Rules of the component say what is true afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from conformance.driver import Broken, FailureClass, Judgement, Seen, Step, Steps, shared
from conformance.parts.lifetime import BROKEN, Lifetime
from conformance.ports import Answer, ErrorKind, FaultKind, FaultStruck, Places, Port, Signal


class Faults:
    """Which faults are armed, and where others can be."""

    __slots__ = ("armed", "places")

    def __init__(self, places: Places) -> None:
        """`places`: those of the port, or none if the configuration has no faults."""
        self.places = tuple((place, kind.value) for place, kinds in places.items() for kind in kinds)
        """Each place, and how what is called there can fail."""
        self.armed: list[str] = []
        """The places at which a fault is armed."""

    def possible(self) -> Sequence[tuple[str, str]]:
        """Returns the faults that can be armed now, as operands of a step."""
        return [one for one in self.places if one[0] not in self.armed] if self.places else ()

    def arm(self, place: str) -> None:
        """Notes that a fault is armed."""
        self.armed.append(place)

    def struck(self, signals: Sequence[Signal]) -> None:
        """Notes that the faults have struck which an operation has signalled."""
        for signal in signals:
            if type(signal) is FaultStruck and signal.place in self.armed:
                self.armed.remove(signal.place)


class Breakable(Lifetime):
    """A ledger of a port whose task fails if what it calls fails: nothing is called any more then but observers and
    `release`."""

    __slots__ = ("can_fail", "faults")

    def __init__(self, can_fail: Places) -> None:
        """`can_fail`: the places of the port, or none if the configuration has no faults."""
        super().__init__()
        self.can_fail = can_fail
        self.faults = Faults(can_fail)

    def begin_life(self, phase: str) -> None:
        """Begins the life of a fresh port in this phase, with no fault armed."""
        super().begin_life(phase)
        if self.can_fail:
            self.faults = Faults(self.can_fail)

    def is_broken(self) -> bool:
        """Returns whether something failed that the port has called, and the port was not released since."""
        return self.phase == BROKEN

    def break_down(self, seen: Seen[Any], *operands: Any) -> None:
        """Notes that an operation failed with what it has called."""
        self.faults.struck(seen.signals)
        self.phase = BROKEN


class Faulty(Protocol):
    """A ledger that has the part."""

    faults: Faults


P = TypeVar("P", bound=Port)
L = TypeVar("L", bound=Faulty)


def fault_step(steps: Steps[P, L], during: tuple[str, ...], weight: int = 1) -> Step[L, None, str, str]:
    """Returns the step in which the driver arms a fault."""

    def possible(ledger: L) -> Sequence[tuple[str, str]]:
        return ledger.faults.possible()

    def arm(ledger: L, place: str, kind: str) -> None:
        ledger.faults.arm(place)

    @steps.step("driver", during, when=possible, end=arm, weight=weight)
    def fault(port: P, ledger: L, place: str, kind: str) -> Answer[None]:
        return port.fault(place, FaultKind(kind))

    return fault


@shared("I-90", struck=True)
def an_operation_fails_with_what_it_calls(ledger: Faulty, seen: Seen[object]) -> Judgement:
    """If what an operation calls fails, the operation fails too, with an error of kind io, so that the task fails."""
    struck = next(one for one in seen.signals if type(one) is FaultStruck)
    if struck.place not in ledger.faults.armed:
        return Broken(FailureClass.PROTOCOL, "a fault strikes once, where it was armed", f"{struck.place} failed again")
    if seen.error is not None and seen.error.kind is ErrorKind.IO:
        return True
    owed = f"{struck.place} failed in this operation, so it must fail with an error of kind io"
    observed = "it succeeded" if seen.error is None else f"it failed with an error of kind {seen.error.kind.value}"
    return Broken(FailureClass.PROTOCOL, owed, observed)
