"""Errors that are kept: an operation that must be refused may answer nothing, and leave its error to the next reader.

Flink does so in an input channel (`InputChannel.setError`, `checkError`), because the thread that has noticed the error
is often not the one that can handle it. The reader must be notified then, and its reads answer the error before they
find nothing. After that the task fails, and nothing is called any more but observers and the release.
"""

from __future__ import annotations

from typing import Any, Protocol

from conformance.driver import BROKEN, Broken, FailureClass, Judgement, Seen
from conformance.models.notice import Notice, notifies
from conformance.models.words import got
from conformance.ports import ErrorKind

KEPT = "kept"
"""The phase of a ledger whose port keeps an error for its reader."""


class Keeper(Protocol):
    """A ledger whose port may keep an error."""

    phase: str
    kept: str
    """The name of the operation whose error is kept; empty: none is."""

    @property
    def notice(self) -> Notice:
        """The notifications of the reader."""


def keep(ledger: Keeper, operation: str) -> None:
    """Notes that an operation that must be refused answered no error: its error is kept, and only reads follow."""
    ledger.phase = KEPT
    ledger.kept = operation


def read(ledger: Keeper, seen: Seen[Any]) -> None:
    """Notes that a read is over: if it answered the error that was kept, the task fails."""
    if seen.error is not None and ledger.phase == KEPT:
        ledger.phase = BROKEN


def must_be_refused(
    ledger: Keeper, seen: Seen[object], operation: str, kind: ErrorKind, why: str,
    failure: FailureClass = FailureClass.PROTOCOL,
) -> Judgement:  # fmt: skip
    """Judges an operation that must be refused, and the reads after it if it answered no error.

    Either the operation answers an error of this kind, or its reader has a reason to read, and the reads answer what
    was there before and then this error. `why` is a clause that gives the reason.
    """
    if ledger.phase != KEPT:
        if seen.error is None and (ledger.notice.awake or notifies(seen.signals)):
            return False  # the reads tell
    elif ledger.kept != operation or (seen.error is None and seen.value is not None):
        return False
    if seen.error is not None and seen.error.kind is kind:
        return True
    owed = (
        f"{why}: the operation must fail with an error of kind {kind}, or notify its reader, whose read fails with it"
    )
    return Broken(failure, owed, got(seen.error))
