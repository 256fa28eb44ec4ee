"""Errors that a component keeps for its consumer: nobody who could act on them has called what failed.

A producer, a network thread or a request of partitions meets the error; the consumer must get it (Flink:
`InputChannel.setError`, which notifies the gate, and `checkError`, which throws the error in the next poll).
"""

from __future__ import annotations

from typing import Any, Protocol

from conformance.driver import (
    BROKEN,
    FAILING,
    Broken,
    FailureClass,
    Faults,
    Judgement,
    PortLedger,
    Seen,
    Unsure,
    shared,
)
from conformance.models.fault_words import call_at
from conformance.models.faults import struck_again, struck_by
from conformance.models.notice import notifies
from conformance.models.words import got
from conformance.ports import ErrorKind


class Keeping(Protocol):
    """A ledger of a port that keeps errors for its consumer."""

    faults: Faults
    phase: str
    flying: int
    releasing: bool
    owed_refusal: bool
    """Whether the operation that failed was to be refused as well: the port may keep either error."""

    def task_has_called(self) -> bool:
        """Returns whether the task has called the operation that was struck, so that it gets an error at once."""

    def polls_again(self) -> bool:
        """Returns whether the consumer has a reason to poll, or to ask whether something can be polled."""

    def may_find_nothing(self) -> bool:
        """Returns whether a poll may answer nothing although an error is kept."""


def task_fails(ledger: PortLedger, keeps: bool) -> None:
    """Notes that something failed. `keeps`: whether the port keeps the error for a poll. If another operation is in
    flight, that may get the error, and the ledger will not know."""
    if not ledger.releasing and ledger.phase != BROKEN:
        ledger.phase = FAILING if keeps and ledger.flying == 1 else BROKEN


@shared("I-22", struck=True)
def the_consumer_is_told_of_an_error(ledger: Keeping, seen: Seen[Any]) -> Judgement:
    """If something fails of which the consumer must learn by polling, the consumer has a reason to poll, unless an
    operation of the task has called it and fails with an error of kind io. No such error is of another kind."""
    struck = struck_by(seen)
    if (again := struck_again(ledger.faults, struck)) is not None:
        return again
    if seen.error is not None and seen.error.kind is not ErrorKind.IO:
        owed = f"{call_at(struck.place)} failed, so the operation may fail with an error of kind io only"
        return Broken(FailureClass.PROTOCOL, owed, got(seen.error))
    if seen.error is not None and ledger.task_has_called():
        return True
    if ledger.releasing:
        return False  # nobody polls any more
    if ledger.flying > 1 or ledger.phase == BROKEN:
        return Unsure("a poll in flight may answer the error, or say that more follows")
    if ledger.polls_again() or notifies(seen.signals):
        return True
    owed = f"{call_at(struck.place)} failed, and the consumer must be notified, so that it polls and gets the error"
    return Broken(FailureClass.STUCK, owed, "the consumer was not notified")


@shared("I-22")
def an_error_reaches_whoever_polls(ledger: Keeping, seen: Seen[Any]) -> Judgement:
    """While an error is kept for the consumer, a poll fails with an error of kind io, or of kind state if the operation
    that failed was to be refused as well, or answers an element that was sent before. It answers nothing only if other
    gates are polled first, or the operation that failed is not over."""
    if ledger.releasing:
        return False
    owed = "an error is kept for the consumer: a poll must fail with an error of kind io, or return an element"
    if seen.error is not None:
        if seen.error.kind is ErrorKind.IO or (ledger.owed_refusal and seen.error.kind is ErrorKind.STATE):
            return True
        return Broken(FailureClass.PROTOCOL, owed, got(seen.error))
    if seen.value is not None:
        return False
    return (
        Unsure("another operation overlapped the poll")
        if ledger.may_find_nothing()
        else Broken(FailureClass.STUCK, owed, "the poll returned nothing")
    )
