"""The life of a port: operations in flight, release, failure; what it may hold, and until when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from conformance.driver import (
    DISABLED,
    NO_OPERANDS,
    Broken,
    FailureClass,
    Judgement,
    Ledger,
    Seen,
    Step,
    Steps,
    always,
    shared,
)
from conformance.ports import Answer, Port, Resources

MOST_AFTERWARDS = 4
"""Operations after a release: of what follows it, a little is enough."""


class Lifetime(Ledger):
    """A ledger that knows where in its life the port is, and what is in flight.

    Phases are the component's; those that every component has are `released` and `failed`.
    """

    __slots__ = ("afterlife", "alone", "failed", "flying", "released", "releasing")

    def begin_life(self, phase: str) -> None:
        """A fresh port, in this phase."""
        self.phase = phase
        self.releasing = self.released = self.failed = False
        """A release began; it is over; everything failed, or was released at whatever moment."""
        self.afterlife = 0
        """How many operations began since the release."""
        self.flying = 0
        """Operations in flight."""
        self.alone = False
        """Nothing else happened during the last operation that asked to be alone."""

    def begin(self, *operands: object) -> None:
        """An operation begins."""
        self.flying += 1
        self.alone = False

    def begin_alone(self) -> None:
        """An operation begins, and it matters whether something else happens during it."""
        self.alone = not self.flying
        self.flying += 1

    def end(self, *operands: object) -> None:
        """An operation is over."""
        self.flying -= 1

    def begin_afterwards(self) -> None:
        """An operation begins that makes sense after release, too."""
        self.afterlife += self.released

    def begin_release(self) -> None:
        """The task gives the port up."""
        self.afterlife += self.released
        self.releasing = True

    def release(self) -> None:
        """It was released."""
        self.released = True
        if not self.failed:
            self.phase = "released"

    def fail(self) -> None:
        """Everything was released, at whatever moment; what was in flight never came to an end."""
        self.failed = self.released = True
        self.flying = 0
        self.phase = "failed"

    def is_over(self) -> bool:
        """Whether everything must have been given back."""
        return self.released

    def keeps(self) -> int:
        """How many segments may still be in the hands of somebody else after release; none, unless a ledger says so."""
        return 0


P = TypeVar("P", bound=Port)
L = TypeVar("L", bound=Lifetime)


def alive(ledger: Lifetime) -> Sequence[tuple[()]]:
    """Enabled until a little after a release."""
    return NO_OPERANDS if ledger.afterlife < MOST_AFTERWARDS else DISABLED


def _fails(ledger: Lifetime) -> None:
    ledger.fail()


def resources_step(
    steps: Steps[P, L], during: tuple[str, ...], weight: int = 2, end: Callable[[L], None] | None = None
) -> Step[L, Resources]:
    """Somebody looks at what is held."""

    @steps.step("observer", during, when=always, end=end, weight=weight)
    def resources(port: P, ledger: L) -> Answer[Resources]:
        return port.resources()

    return resources


def fail_step(
    steps: Steps[P, L], during: tuple[str, ...], when: Callable[[L], Sequence[tuple[()]]] = always, weight: int = 1
) -> Step[L, None]:
    """Everything fails, whatever is in flight."""

    @steps.step("driver", during, when=when, end=_fails, weight=weight, crashes=True)
    def fail(port: P, ledger: L) -> Answer[None]:
        return port.release()

    return fail


def restart_step(steps: Steps[P, L], end: Callable[[L], None]) -> Step[L, Resources]:
    """A fresh port takes the place of one that failed, and takes nothing over."""

    @steps.step("driver", ("failed",), when=always, end=end, weight=16, fresh_port=True)
    def restore(port: P, ledger: L) -> Answer[Resources]:
        return port.resources()

    return restore


# ---- rules -----------------------------------------------------------------------------------------------------------
class Holding(Protocol):
    """A ledger that knows what its port must hold while it lives."""

    def holds(self) -> tuple[tuple[str, int], ...]:
        """Names of `Resources` and what they must count, as far as that is known."""

    def is_over(self) -> bool:
        """Whether everything must have been given back."""


@shared("I-93", quiet=True)
def while_it_lives_a_port_holds_what_it_should(ledger: Holding, seen: Seen[Resources]) -> Judgement:
    """While it lives, a port holds the segments, listeners and futures of what waits in it, no more and no fewer."""
    if ledger.is_over():
        return False
    for what, owed in ledger.holds():
        held = getattr(seen.value, what)
        if held is not None and held != owed:
            kind = FailureClass.LEAKED if held > owed else FailureClass.LOST
            return Broken(kind, f"now it must hold {owed} {what}", f"it holds {held}")
    return True


@shared("I-93", quiet=True)
def after_release_nothing_is_held(ledger: Lifetime, seen: Seen[Resources]) -> Judgement:
    """After release, at whatever moment, no segment, file, listener or future is held, but for what the task has."""
    if not ledger.is_over():
        return False
    for what in Resources.__struct_fields__:
        held = getattr(seen.value, what)
        if held and held > (most := ledger.keeps() if what == "segments" else 0):
            return Broken(FailureClass.LEAKED, f"after release it must hold {most or 'no'} {what}", f"it holds {held}")
    return True
