"""What a run of the job printed, with whole ledgers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

Ledger: TypeAlias = tuple[int, ...]
"""Units are 0 or more; -1: no more splits; below: notices."""

NO_MORE = -1


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=str.lower, forbid_unknown_fields=True):
    at: int
    """Milliseconds since the program began."""


class Start(_Line, frozen=True):
    """The program runs with this version of Flink."""

    version: str


class Paused(_Line, frozen=True):
    """The program was stopped until now, or had no core: a thread of its own that does nothing else woke up late."""

    since: int


class Assigned(_Line, frozen=True):
    """A split was assigned, for the first time after a failure or after a long time."""

    previous: int


class Failure(_Line, frozen=True):
    """A planned failure happened; during this checkpoint, or -1."""

    where: str
    subtask: int
    checkpoint: int


class Exception_(_Line, frozen=True, tag="exception"):
    """Flink gave this reason for the last restart or failure of the job."""

    since: int
    text: str


class Returned(_Line, frozen=True):
    """Flink gave these splits of a reader that restarts back to the enumerator."""

    subtask: int
    units: Ledger


class Restored(_Line, frozen=True):
    """A reader has started. The enumerator forgot what it had sent to it after the checkpoint it was restored from."""

    subtask: int
    checkpoint: int
    """-1: the reader started afresh."""
    forgotten: Ledger
    forgotten_reports: int


class Failed(_Line, frozen=True):
    """A checkpoint or savepoint failed."""

    triggered: int
    id: int
    savepoint: bool
    reason: str | None


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """The ledgers of one subtask in one checkpoint. None: this side took no part in it."""

    finished: bool
    """The reader had finished before, and `received` and `reports_sent` are as they were then."""
    sent: Ledger | None
    received: Ledger | None
    reports_received: Ledger | None
    reports_sent: Ledger | None


class Completed(_Line, frozen=True):
    """A checkpoint or savepoint completed."""

    triggered: int
    id: int
    savepoint: bool
    unaligned: bool
    subtasks: tuple[Cut, ...]


class Closing(_Line, frozen=True):
    """The enumerator makes no new units from here on."""

    last_assigned: int


class End(_Line, frozen=True):
    """The state of the job when the program ended, and which units came out of each subtask of its last operator."""

    status: str
    created: int
    results: dict[int, Ledger]


Line: TypeAlias = (
    Start | Paused | Assigned | Failure | Exception_ | Returned | Restored | Failed | Completed | Closing | End
)


class _Change(msgspec.Struct, frozen=True):
    keep: int
    add: Ledger


class _ChangedCut(msgspec.Struct, frozen=True, kw_only=True):
    finished: bool
    sent: _Change | None
    received: _Change | None
    reports_received: _Change | None
    reports_sent: _Change | None


class _Changed(_Line, frozen=True, tag="completed"):
    triggered: int
    id: int
    savepoint: bool
    unaligned: bool
    subtasks: tuple[_ChangedCut, ...]


_DECODER = msgspec.json.Decoder(
    Start | Paused | Assigned | Failure | Exception_ | Returned | Restored | Failed | _Changed | Closing | End
)
_LEDGERS = ("sent", "received", "reports_received", "reports_sent")


def read_lines(lines: Iterable[str | bytes]) -> list[Line]:
    """Read the lines. In each, a ledger is written as its difference from the same ledger in the line before.

    Raises: ValueError, with the number of the line.
    """
    known: dict[tuple[int, str], Ledger] = {}
    found: list[Line] = []
    for number, text in enumerate(lines, 1):
        try:
            line = _DECODER.decode(text)
            found.append(_whole(line, known) if isinstance(line, _Changed) else line)
        except (msgspec.DecodeError, IndexError) as error:
            raise ValueError(f"line {number} of the job is not understood: {error}") from error
    return found


def _whole(line: _Changed, known: dict[tuple[int, str], Ledger]) -> Completed:
    cuts = []
    for subtask, changed in enumerate(line.subtasks):
        ledgers: dict[str, Ledger | None] = {}
        for name in _LEDGERS:
            change: _Change | None = getattr(changed, name)
            if change is None:
                ledgers[name] = None
                continue
            before = known.get((subtask, name), ())
            if change.keep > len(before):
                raise IndexError(f"{change.keep} entries are kept of {len(before)}")
            known[subtask, name] = ledgers[name] = before[: change.keep] + change.add
        cuts.append(Cut(finished=changed.finished, **ledgers))
    return Completed(
        at=line.at,
        triggered=line.triggered,
        id=line.id,
        savepoint=line.savepoint,
        unaligned=line.unaligned,
        subtasks=tuple(cuts),
    )
