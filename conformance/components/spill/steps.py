"""The steps of a spill store: one thread fetches, others read, the task makes snapshots and ends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from conformance.components.spill.ledger import Ledger
from conformance.driver import BROKEN, DISABLED, NO_OPERANDS, Drain, Each, Once, Steps, While, always
from conformance.models.answers import whether
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.models.recovered_state import channels_of
from conformance.models.words import many
from conformance.ports import (
    SPILL_DIRECTORY,
    SPILL_FILE_CLOSE,
    SPILL_FILE_CREATE,
    SPILL_FILE_SYNC,
    SPILL_FILE_WRITE,
    Answer,
    Piece,
    SpillPort,
)

FETCHING, FETCHED = ("fetching",), ("fetched",)
DELETED = ("over",)
LIVE = ("fetching", "fetched", "empty", "over")
ALWAYS = (*LIVE, BROKEN, "failed")
MOST_RECORDS = 24
"""How many records a scenario appends."""
MOST_SNAPSHOTS = 3
_ONE = ((1,),)
_SIZES = (1, 2, 5)
"""How many records are appended, or read, at once."""
_APPENDED = (0, *_SIZES)
"""How many are appended: perhaps nothing was fetched for a channel."""
_WRITES = (SPILL_DIRECTORY, SPILL_FILE_CREATE, SPILL_FILE_WRITE, SPILL_FILE_SYNC)

STEPS = Steps[SpillPort, Ledger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def fetchable(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """Channels, and how many records of them may be fetched next."""
    room = MOST_RECORDS - len(ledger.fetched.pieces)
    channels = channels_of(ledger.config.gates)
    return [(gate, channel, size) for size in _APPENDED if size <= room for gate, channel in channels]


def readable(ledger: Ledger) -> Sequence[tuple[int]]:
    """How many records may be read, if the piece before was committed."""
    return [(size,) for size in _SIZES] if ledger.reader.is_open and not ledger.is_pending() else DISABLED


def pending(ledger: Ledger) -> Sequence[tuple[()]]:
    """If a piece was read and not committed."""
    return NO_OPERANDS if ledger.reader.is_open and ledger.is_pending() else DISABLED


def reads_uncommitted(ledger: Ledger) -> Sequence[tuple[int]]:
    """One record, if a piece was read and not committed."""
    return _ONE if pending(ledger) else DISABLED


def reads_one(ledger: Ledger) -> Sequence[tuple[int]]:
    """One record, if the reader was not closed, and could read on."""
    return _ONE if ledger.reader.is_open and not ledger.is_pending() else DISABLED


def reads_closed(ledger: Ledger) -> Sequence[tuple[int]]:
    """One record, if the reader was closed."""
    return DISABLED if ledger.reader.is_open else _ONE


def late_snapshot(ledger: Ledger) -> Sequence[tuple[int]]:
    """A number that no snapshot has, if the reader was closed."""
    return DISABLED if ledger.reader.is_open else ((MOST_SNAPSHOTS + 1,),)


def new_snapshot(ledger: Ledger) -> Sequence[tuple[int]]:
    """The number of the next snapshot."""
    number = len(ledger.snapshots) + 1
    return ((number,),) if ledger.reader.is_open and number <= MOST_SNAPSHOTS else DISABLED


def open_snapshots(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Snapshots that can be read, and how many records of them may be read."""
    return [
        (number, size) for number, one in ledger.snapshots.items() if not (one.closed or one.ended) for size in _SIZES
    ]


def done_snapshots(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """One record of snapshots that were closed or read to their end, or a read of which failed."""
    return [(number, 1) for number, one in ledger.snapshots.items() if one.closed or one.ended]


def unknown(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """A record of channels that the task does not have: behind the last one and before the first, of a gate and of the
    task."""
    last = len(ledger.config.gates) - 1
    return [(last, ledger.config.gates[last], 1), (last + 1, 0, 1), (0, -1, 1), (-1, 0, 1)]


def one_record(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """One record of the first channel."""
    return ((0, 0, 1),)


def snapshots(ledger: Ledger) -> Sequence[tuple[int]]:
    """All snapshots: each may be closed twice."""
    return [(number,) for number in ledger.snapshots]


def unread(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """One record of snapshots that were not closed."""
    return [(number, 1) for number, one in ledger.snapshots.items() if not one.closed]


# ---- the thread that fetches -----------------------------------------------------------------------------------------
@step("fetch", FETCHING, when=fetchable, learn=Ledger.append, struck=Ledger.append_failed, weight=50)
def append(port: SpillPort, ledger: Ledger, gate: int, channel: int, count: int) -> Answer[None]:
    return port.append(gate, channel, tuple(range(ledger.next_record, ledger.next_record + count)))


append_to_unknown_channel = append.also("unknown channel", FETCHING, when=unknown, weight=2, fails=True)
append_late = append.also("after the end", ("fetched", "empty"), when=one_record, weight=1, fails=True)


@step("fetch", FETCHING, when=always, learn=Ledger.finish, struck=Ledger.append_failed, weight=6,
      in_words=whether("there is something to read", "there is nothing to read"))  # fmt: skip
def finish(port: SpillPort, ledger: Ledger) -> Answer[bool]:
    return port.finish()


@step("fetch", FETCHING, when=always, end=Ledger.discard, struck=Ledger.discard_struck, weight=1)
def discard(port: SpillPort, ledger: Ledger) -> Answer[None]:
    return port.discard()


# ---- the thread that drains ------------------------------------------------------------------------------------------
@step("drain", FETCHED, when=readable, learn=Ledger.read, struck=Ledger.read_struck, weight=50)
def read(port: SpillPort, ledger: Ledger, most: int) -> Answer[Piece | None]:
    return port.read(most)


read_uncommitted = read.also("uncommitted", FETCHED, when=reads_uncommitted, weight=3, fails=True)


@step("drain", FETCHED, when=pending, end=Ledger.commit, weight=60)
def commit(port: SpillPort, ledger: Ledger) -> Answer[None]:
    return port.commit()


@step("drain", LIVE, when=always, end=Ledger.close_reader, struck=Ledger.close_reader_struck, weight=2)
def close_reader(port: SpillPort, ledger: Ledger) -> Answer[None]:
    return port.close_reader()


read_closed = read.also("after close", FETCHED, when=reads_closed, weight=3, fails=True)


# ---- snapshots -------------------------------------------------------------------------------------------------------
@step("task", FETCHED, when=new_snapshot, end=Ledger.snapshot, weight=16)
def snapshot(port: SpillPort, ledger: Ledger, number: int) -> Answer[None]:
    return port.snapshot(number)


snapshot_late = snapshot.also("after close", FETCHED, when=late_snapshot, weight=2, fails=True)


@step("executor", FETCHED, when=open_snapshots, learn=Ledger.read_snapshot, struck=Ledger.snapshot_failed, weight=30)
def read_snapshot(port: SpillPort, ledger: Ledger, number: int, most: int) -> Answer[Piece | None]:
    return port.read_snapshot(number, most)


read_snapshot_again = read_snapshot.also(
    "again", FETCHED, when=done_snapshots, learn=Ledger.read_again, struck=Ledger.snapshot_failed, weight=3, fails=True
)


@step("executor", (*LIVE, BROKEN), when=snapshots, end=Ledger.close_snapshot,
      struck=Ledger.close_snapshot_struck, weight=8)  # fmt: skip
def close_snapshot(port: SpillPort, ledger: Ledger, number: int) -> Answer[None]:
    return port.close_snapshot(number)


# ---- the end ---------------------------------------------------------------------------------------------------------
@step("cleaner", (*LIVE, BROKEN), when=always, end=Ledger.force_close, struck=Ledger.force_close_struck, weight=2)
def force_close(port: SpillPort, ledger: Ledger) -> Answer[None]:
    return port.force_close()


read_late = read.also("after the end", DELETED, when=reads_one, struck=Ledger.strike, weight=8, fails=True)
read_snapshot_late = read_snapshot.also(
    "after the end", DELETED, when=unread, learn=Ledger.read_again, struck=Ledger.snapshot_failed, weight=8, fails=True
)


# ---- observers and the driver ----------------------------------------------------------------------------------------
@step("observer", FETCHING, when=always, weight=8, in_words=partial(many, noun="record"))
def buffered(port: SpillPort, ledger: Ledger) -> Answer[int]:
    return port.buffered()


def strikable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: those of writing while something is fetched, those of reading and deleting
    afterwards. Files are closed by both."""
    fetching = ledger.phase == "fetching"
    possible = ledger.faults.possible()
    return [one for one in possible if one[0] == SPILL_FILE_CLOSE or (one[0] in _WRITES) is fetching]


fault = fault_step(STEPS, ("fetching", "fetched"), weight=3, when=strikable, once=(SPILL_DIRECTORY,))
resources = resources_step(STEPS, ALWAYS, weight=8)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restart)


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _finish(ledger: Ledger) -> Any:
    return finish() if ledger.phase == "fetching" else None


def _next(ledger: Ledger) -> Any:
    if ledger.phase != "fetched" or not ledger.reader.is_open:
        return None
    if ledger.is_pending():
        return commit()
    return read(2) if ledger.fetched.pieces[ledger.reader.at :] else None


def _next_of_snapshot(ledger: Ledger) -> Any:
    found = open_snapshots(ledger) if ledger.phase == "fetched" else ()
    return read_snapshot(*found[-1]) if found else None


def _last(ledger: Ledger) -> Sequence[tuple[Any, ...]]:
    return [read(1), close_reader()] if ledger.phase == "fetched" and ledger.reader.is_open else ()


def _closing(ledger: Ledger) -> Sequence[tuple[Any, ...]]:
    return [close_snapshot(*one) for one in snapshots(ledger)] if ledger.phase == "fetched" else ()


DRAIN = Drain[Ledger](
    While((_finish, _next)),
    Each(_last),
    While((_next_of_snapshot,)),
    Each(_closing),
    Once((resources(),), unless=lambda ledger: ledger.failed),
    Once((fail(),), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Read and commit everything, then the snapshots; close all of them, and release."""
