"""Errors that a component keeps for its consumer, because the thread that met them cannot act on them.

Flink does so in an input channel (`InputChannel.setError`, which notifies the gate, and `checkError`, which throws the
error in the next poll): a producer, a network thread or a request of partitions meets the error, and the consumer must
get it. An operation that must be refused may also end without an error, and keep the error for the consumer. The
consumer must be notified then, and its reads fail with the error before they find nothing. After that the task fails,
and nothing is called any more but observers and the release.
"""

from __future__ import annotations

from typing import Any

from conformance.driver import (
    BROKEN,
    FAILING,
    Broken,
    FailureClass,
    Judgement,
    PortLedger,
    Seen,
    Unsure,
    shared,
)
from conformance.models.consumer import Consumer, notifies
from conformance.models.fault_words import call_at
from conformance.models.faults import struck_again, struck_by
from conformance.models.words import got
from conformance.ports import ErrorKind

KEPT = "kept"
"""The phase of a ledger whose port keeps the error of an operation that must be refused."""


def keep(ledger: PortLedger, consumer: Consumer, operation: str) -> None:
    """Notes that an operation that must be refused did not fail: its error is kept, and only reads follow."""
    ledger.phase = KEPT
    consumer.kept.operation = operation


def read(ledger: PortLedger, seen: Seen[Any]) -> None:
    """Notes that a read is over: if it failed with the error that was kept, the task fails."""
    if seen.error is not None and ledger.phase == KEPT:
        ledger.phase = BROKEN


def task_fails(ledger: PortLedger, keeps: bool) -> None:
    """Notes that something failed. `keeps`: whether the port keeps the error for a poll. If another operation is in
    flight, that may get the error, and the ledger will not know."""
    if not ledger.releasing and ledger.phase != BROKEN:
        ledger.phase = FAILING if keeps and ledger.flying == 1 else BROKEN


def must_be_refused(
    ledger: PortLedger, consumer: Consumer, seen: Seen[object], operation: str, kind: ErrorKind, why: str,
    failure: FailureClass = FailureClass.PROTOCOL,
) -> Judgement:  # fmt: skip
    """Judges an operation that must be refused, and the reads after it if it did not fail.

    Either the operation fails with an error of this kind, or its consumer has a reason to read, and the reads return
    what was there before and then this error. `why` is a clause that gives the reason.
    """
    if ledger.phase != KEPT:
        if seen.error is None and (consumer.awake or notifies(seen.signals)):
            return False  # the reads show it
    elif consumer.kept.operation != operation or (seen.error is None and seen.value is not None):
        return False
    if seen.error is not None and seen.error.kind is kind:
        return True
    owed = (
        f"{why}: the operation must fail with an error of kind {kind}, or notify its reader, whose read fails with it"
    )
    return Broken(failure, owed, got(seen.error))


Met = tuple[PortLedger, bool, bool]
"""The ledger of a port in which an error was met; whether the task has called the operation that was struck, so that it
gets the error at once; whether the consumer has a reason to poll, or to ask whether something can be polled."""
Polled = tuple[PortLedger, Consumer, bool]
"""A ledger; the consumer for which an error is kept; whether a poll may return nothing all the same."""


@shared("I-22", struck=True, formerly=("the-consumer-is-told-of-an-error",))
def the_consumer_is_notified_of_an_error(met: Met, seen: Seen[Any]) -> Judgement:
    """If something fails of which the consumer must learn by polling, the consumer has a reason to poll, unless an
    operation of the task has called it and fails with an error of kind io. No such error is of another kind."""
    ledger, task_has_called, polls_again = met
    struck = struck_by(seen)
    if (again := struck_again(ledger.faults, struck)) is not None:
        return again
    if seen.error is not None and seen.error.kind is not ErrorKind.IO:
        owed = f"{call_at(struck.place)} failed, so the operation may fail with an error of kind io only"
        return Broken(FailureClass.PROTOCOL, owed, got(seen.error))
    if seen.error is not None and task_has_called:
        return True
    if ledger.releasing:
        return False  # nobody polls any more
    if ledger.flying > 1 or ledger.phase == BROKEN:
        return Unsure("a poll in flight may fail with the error, or say that more follows")
    if polls_again or notifies(seen.signals):
        return True
    owed = f"{call_at(struck.place)} failed, and the consumer must be notified, so that it polls and gets the error"
    return Broken(FailureClass.STUCK, owed, "the consumer was not notified")


@shared("I-22", formerly=("an-error-reaches-whoever-polls",))
def a_kept_error_fails_the_next_poll(polled: Polled, seen: Seen[Any]) -> Judgement:
    """While an error is kept for the consumer, a poll fails with an error of kind io, or of kind state if the operation
    that failed was to be refused as well, or returns an element that was sent before. It returns nothing only if other
    gates are polled first, or the operation that failed is not over."""
    ledger, consumer, may_find_nothing = polled
    if ledger.releasing:
        return False
    owed = "an error is kept for the consumer: a poll must fail with an error of kind io, or return an element"
    if seen.error is not None:
        if seen.error.kind is ErrorKind.IO or (consumer.kept.either and seen.error.kind is ErrorKind.STATE):
            return True
        return Broken(FailureClass.PROTOCOL, owed, got(seen.error))
    if seen.value is not None:
        return False
    return (
        Unsure("another operation overlapped the poll")
        if may_find_nothing
        else Broken(FailureClass.STUCK, owed, "the poll returned nothing")
    )
