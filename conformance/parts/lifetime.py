"""The life of a port: operations in flight, release and failure, and the resources that it may hold."""

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
from conformance.parts.signal_words import signalled
from conformance.parts.words import are, counted
from conformance.ports import Answer, Port, Resources

BROKEN = "broken"
"""The phase of a ledger whose task fails or is cancelled: it is about to be released."""
MOST_AFTERWARDS = 4
"""Maximal number of operations after a release. More operations would show nothing new."""


class Lifetime(Ledger):
    """A ledger that knows the phase of its port and the number of operations in flight.

    Each component has phases of its own; `broken`, `released` and `failed` mean the same in all components.
    """

    __slots__ = ("afterlife", "alone", "failed", "flying", "released", "releases", "releasing")

    def begin_life(self, phase: str) -> None:
        """Begins the life of a fresh port in this phase."""
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

    def begin_release(self) -> None:
        """Notes that the release of the port begins."""
        self.afterlife += self.released
        self.releasing = True
        self.releases += 1

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled: another thread begins to release the port."""
        self.begin_release()
        self.phase = BROKEN

    def is_broken(self) -> bool:
        """Returns whether the task fails: something has failed that the port has called, or the task is cancelled."""
        return self.phase == BROKEN

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


P = TypeVar("P", bound=Port)
L = TypeVar("L", bound=Lifetime)


def alive(ledger: Lifetime) -> Sequence[tuple[()]]:
    """Enables a step until `MOST_AFTERWARDS` operations have begun after the release."""
    return NO_OPERANDS if ledger.afterlife < MOST_AFTERWARDS else DISABLED


def _fails(ledger: Lifetime) -> None:
    ledger.fail()


def resources_step(
    steps: Steps[P, L], during: tuple[str, ...], weight: int = 2, end: Callable[[L], None] | None = None
) -> Step[L, Resources]:
    """Returns the step in which an observer reads the resources that the port holds."""

    @steps.step("observer", during, when=always, end=end, weight=weight)
    def resources(port: P, ledger: L) -> Answer[Resources]:
        return port.resources()

    return resources


def cancel_step(
    steps: Steps[P, L], during: tuple[str, ...], weight: int = 1, struck: Callable[[L, Seen[None]], None] | None = None
) -> Step[L, None]:
    """Returns the step in which the thread that cancels the task releases the port, whatever the task does meanwhile.

    Source: Flink's `Task.TaskCanceler`. It fails the result partitions while the task may still use them. It closes the
    gates as well, those of a `StreamTask` only once the task does not read from them any more.
    """

    def begin(ledger: L) -> None:
        ledger.begin_cancel()

    def end(ledger: L) -> None:
        ledger.release()

    @steps.step("canceler", during, when=always, begin=begin, end=end, struck=struck, weight=weight, cancels=True)
    def cancel(port: P, ledger: L) -> Answer[None]:
        return port.release()

    return cancel


def fail_step(
    steps: Steps[P, L], during: tuple[str, ...], when: Callable[[L], Sequence[tuple[()]]] = always, weight: int = 1
) -> Step[L, None]:
    """Returns the step in which the driver releases the port at once, whatever operations are in flight."""

    @steps.step("driver", during, when=when, end=_fails, weight=weight, crashes=True)
    def fail(port: P, ledger: L) -> Answer[None]:
        return port.release()

    return fail


def restart_step(steps: Steps[P, L], end: Callable[[L], None]) -> Step[L, Resources]:
    """Returns the step in which a fresh port replaces one that failed, without taking over any state."""

    @steps.step("driver", ("failed",), when=always, end=end, weight=16, fresh_port=True)
    def restore(port: P, ledger: L) -> Answer[Resources]:
        return port.resources()

    return restore


# ---- rules -----------------------------------------------------------------------------------------------------------
class Awaiting(Protocol):
    """A ledger that knows for how many things somebody may wait."""

    def most_futures(self) -> int:
        """Returns the number of futures that the port may hold before its release."""

    def is_over(self) -> bool:
        """Returns whether the port must have given back all resources."""


class Holding(Protocol):
    """A ledger that knows which resources its port must hold before its release."""

    phase: str

    def holds(self) -> tuple[tuple[str, int], ...]:
        """Returns the fields of `Resources` whose values the ledger knows, with these values."""

    def is_over(self) -> bool:
        """Returns whether the port must have given back all resources."""


@shared("I-93", quiet=True)
def while_it_lives_a_port_holds_what_it_should(ledger: Holding, seen: Seen[Resources]) -> Judgement:
    """Before its release, the implementation holds exactly one segment for each queued buffer, one listener for each
    attached view and one future for each open channel state future."""
    if ledger.is_over() or ledger.phase == BROKEN:
        return False
    for what, owed in ledger.holds():
        held = getattr(seen.value, what)
        if held is not None and held != owed:
            kind = FailureClass.LEAKED if held > owed else FailureClass.LOST
            return Broken(
                kind, f"the implementation must hold {counted(owed, what)} now", f"it holds {counted(held, what)}"
            )
    return True


_SEGMENTS = "segments", "heap"
"""The kinds of segments in which the buffers are that the task still holds."""


@shared("I-93", quiet=True)
def after_release_nothing_is_held(ledger: Lifetime, seen: Seen[Resources]) -> Judgement:
    """After a release at any moment, the implementation holds no segment, file, listener or future, except the segments
    of buffers that the task still holds."""
    if not ledger.is_over():
        return False
    kept = ledger.keeps()
    for what in Resources.__struct_fields__:
        held = getattr(seen.value, what)
        if held and held > (most := kept if what in _SEGMENTS else 0):
            owed = f"after release the implementation may hold {counted(most, what)}"
            return Broken(FailureClass.LEAKED, owed, f"it holds {counted(held, what)}")
        if held and what in _SEGMENTS:
            kept -= held
    return True


class Cancellable(Protocol):
    """A ledger that knows whether its task was cancelled."""

    released: bool
    flying: int

    def is_cancelled(self) -> bool:
        """Returns whether the task was cancelled."""


@shared("I-68", tickets=("FLINK-40520",))
def a_cancellation_deletes_the_files(ledger: Cancellable, seen: Seen[Resources]) -> Judgement:
    """When a task was cancelled, and its threads have ended what they did, there is no file."""
    if not ledger.is_cancelled() or ledger.released or ledger.flying:
        return False
    if seen.value.files:
        owed = "the task was cancelled, so its files must be deleted"
        return Broken(FailureClass.LEAKED, owed, f"{are(seen.value.files, 'file')} left")
    return True


@shared("I-93", quiet=True)
def a_future_ends_with_what_it_waits_for(ledger: Awaiting, seen: Seen[Resources]) -> Judgement:
    """Before its release, the implementation holds no more open futures than there are things to wait for: the end of
    recovered data, read or taken, the request of the subpartition, a channel state future."""
    held = seen.value.futures
    if ledger.is_over() or held is None:
        return False
    if held <= (most := ledger.most_futures()):
        return True
    owed = f"{are(most, 'thing')} awaited, so the implementation may hold {counted(most, 'futures')}"
    return Broken(FailureClass.ORPHANED, owed, f"it holds {counted(held, 'futures')}")


@shared("I-93")
def a_release_tells_nobody(ledger: object, seen: Seen[object]) -> Judgement:
    """A release, and a conversion that succeeds, emits no signal: nobody may take, and nothing was consumed."""
    if seen.error is not None:
        return False
    if not seen.signals:
        return True
    owed = "the operation ends the channel, so it must notify nobody"
    return Broken(FailureClass.PROTOCOL, owed, f"it signalled this: {signalled(seen.signals[0])}")
