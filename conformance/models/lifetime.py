"""The life of a port: operations in flight, release and failure, and the resources that it may hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import astuple

from conformance.driver import (
    BROKEN,
    DISABLED,
    NO_OPERANDS,
    Broken,
    FailureClass,
    Judgement,
    PortLedger,
    Seen,
    Step,
    Steps,
    always,
    shared,
)
from conformance.models.signal_words import signalled
from conformance.models.words import are, counted
from conformance.ports import Answer, Port, Resources

MOST_AFTERWARDS = 4
"""Maximal number of operations after a release. More operations would show nothing new."""


P = TypeVar("P", bound=Port)
L = TypeVar("L", bound=PortLedger)


def alive(ledger: PortLedger) -> Sequence[tuple[()]]:
    """Enables a step until `MOST_AFTERWARDS` operations have begun after the release."""
    return NO_OPERANDS if ledger.afterlife < MOST_AFTERWARDS else DISABLED


def _fails(ledger: PortLedger) -> None:
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
    steps: Steps[P, L], during: tuple[str, ...], when: Callable[[L], Sequence[tuple[()]]] = always, weight: int = 1,
    name: str = "",
) -> Step[L, None]:  # fmt: skip
    """Returns the step in which the driver releases the port at once, whatever operations are in flight."""

    @steps.step("driver", during, when=when, end=_fails, weight=weight, crashes=True, name=name)
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
@shared("I-93", quiet=True, formerly=("while-it-lives-a-port-holds-what-it-should",))
def no_resource_is_leaked_while_open(ledger: PortLedger, seen: Seen[Resources]) -> Judgement:
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
def after_release_nothing_is_held(ledger: PortLedger, seen: Seen[Resources]) -> Judgement:
    """After a release at any moment, the implementation holds no segment, file, listener or future, except the segments
    of buffers that the task still holds."""
    if not ledger.is_over():
        return False
    counts = astuple(seen.value)
    if not any(counts):
        return counts.count(None) < len(counts)  # who counts nothing, holds nothing that one could see
    kept = ledger.keeps()
    for what in Resources.__struct_fields__:
        held = getattr(seen.value, what)
        if held and held > (most := kept if what in _SEGMENTS else 0):
            owed = f"after release the implementation may hold {counted(most, what)}"
            return Broken(FailureClass.LEAKED, owed, f"it holds {counted(held, what)}")
        if held and what in _SEGMENTS:
            kept -= held
    return True


@shared("I-68", tickets=("FLINK-40520",))
def a_cancellation_deletes_the_files(cancelled: bool, seen: Seen[Resources]) -> Judgement:
    """When a task was cancelled, and its threads have ended what they did, there is no file."""
    if not cancelled or seen.value.files is None:
        return False
    if seen.value.files:
        owed = "the task was cancelled, so its files must be deleted"
        return Broken(FailureClass.LEAKED, owed, f"{are(seen.value.files, 'file')} left")
    return True


@shared("I-93", quiet=True)
def a_future_ends_with_what_it_waits_for(ledger: PortLedger, seen: Seen[Resources]) -> Judgement:
    """Before its release, the implementation holds no more open futures than there are things to wait for: the end of
    recovered data, read or taken, the request of the subpartition, a channel state future."""
    held = seen.value.futures
    if ledger.is_over() or held is None:
        return False
    if held <= (most := ledger.most_futures()):
        return True
    owed = f"{are(most, 'thing')} awaited, so the implementation may hold {counted(most, 'futures')}"
    return Broken(FailureClass.ORPHANED, owed, f"it holds {counted(held, 'futures')}")


@shared("I-93", formerly=("a-release-tells-nobody",))
def a_release_notifies_nobody(ledger: object, seen: Seen[object]) -> Judgement:
    """A release, and a conversion that succeeds, emits no signal: nobody may take, and nothing was consumed."""
    if seen.error is not None:
        return False
    if not seen.signals:
        return True
    owed = "the operation ends the channel, so it must notify nobody"
    return Broken(FailureClass.PROTOCOL, owed, f"it signalled this: {signalled(seen.signals[0])}")
