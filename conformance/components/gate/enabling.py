"""When the steps of an input gate are enabled: for which channels, and for which checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from conformance.components.gate.ledger import Ledger
from conformance.components.gate.side import Side
from conformance.driver import DISABLED, NO_OPERANDS
from conformance.ports import CHANNEL_RELEASE, Recovery

MOST_QUEUED = 6
"""Number of elements in a channel from which on its producer is back-pressured."""
MOST_CHECKPOINTS = 30

Wanted: TypeAlias = Callable[[Ledger, Side], bool]


# ---- channels for which a step is enabled ----------------------------------------------------------------------------
def channels(wanted: Wanted) -> Callable[[Ledger], Sequence[tuple[int]]]:
    """Enables a step for the channels for which `wanted` is true."""
    return lambda ledger: [(number,) for number, side in enumerate(ledger.sides) if wanted(ledger, side)]


def barriers(wanted: Wanted) -> Callable[[Ledger], Sequence[tuple[int, int]]]:
    """Enables a barrier in the channels for which `wanted` is true.

    Its checkpoint is the newest one, if that barrier was not sent into the channel yet, or the next one.
    """

    def possible(ledger: Ledger) -> Sequence[tuple[int, int]]:
        newest = ledger.newest
        if newest >= MOST_CHECKPOINTS:
            return DISABLED
        return [
            (number, checkpoint)
            for number, side in enumerate(ledger.sides)
            if wanted(ledger, side)
            for checkpoint in ((newest, newest + 1) if side.last_barrier < newest else (newest + 1,))
        ]

    return possible


def finishes(ledger: Ledger, side: Side) -> bool:
    """Whether the end of recovered data may be pushed."""
    return not side.finishing and ledger.converted == (ledger.recovery is Recovery.PUSHED)


def recovers(ledger: Ledger, side: Side) -> bool:
    """Whether recovered data may be pushed."""
    return side.pushed < ledger.most_recovered and finishes(ledger, side)


def completes(ledger: Ledger, side: Side) -> bool:
    """Whether the producer has still to send its end of output state."""
    return not side.completion_sent


def flows(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send an element without priority."""
    return side.completion_sent and not side.end_sent and not side.held_back and len(side.live) < MOST_QUEUED


def has_data(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send data: it needs credit if it keeps to it."""
    credit = side.credit
    return (credit is None or credit.granted > 0) and ends_data(ledger, side)


def ends_data(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send the end of data."""
    return not side.data_ended and flows(ledger, side)


def backlogs(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The channels whose producers keep to their credit and may say a backlog, each with some backlogs."""
    return [
        (number, backlog)
        for number, side in enumerate(ledger.sides)
        if side.credit is not None and ends_data(ledger, side)
        for backlog in (0, 1, 3)
    ]


def ends(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send the end of partition."""
    return side.data_ended and flows(ledger, side)


def announces(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send a timeoutable barrier, which the channel announces."""
    return not side.local and not side.urgent and flows(ledger, side)


def overtakes(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send an unaligned barrier."""
    return side.completion_sent and not side.end_sent and len(side.urgent) < 2 and ledger.moving is not side


def is_blocked(ledger: Ledger, side: Side) -> bool:
    """Whether the task may resume the channel. During recovery, the gate itself resumes all channels."""
    return side.blocked and (ledger.recovery is Recovery.NONE or ledger.all_tracked())


def to_track(ledger: Ledger, side: Side) -> bool:
    """Whether the task took the end of output state of the channel and has still to tell the gate of it."""
    return side.completion_taken and not side.tracked


tracked = channels(lambda ledger, side: side.tracked)
unended = channels(lambda ledger, side: not side.ended)
convertible = channels(lambda ledger, side: ledger.times_out and not side.local and not side.ended)


# ---- checkpoints for which a step is enabled -------------------------------------------------------------------------
def markable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the insertion of recovery barriers for the newest checkpoint, if it has not started, or the next one."""
    newest = ledger.newest
    if ledger.recovery is not Recovery.PUSHED or newest >= MOST_CHECKPOINTS:
        return DISABLED
    return ((newest,), (newest + 1,)) if newest and newest not in ledger.started else ((newest + 1,),)


def startable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the start of the checkpoint whose recovery barriers were inserted; if there is none, the start of the
    newest checkpoint, of the one before it, or of the next one."""
    if ledger.marked:
        return ((ledger.marked,),)
    newest, last = ledger.newest, max([0, *ledger.started, *ledger.stopped])
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    if ledger.stopped and not ledger.started and not any(side.last_barrier for side in ledger.sides):
        return ((newest,), (newest + 1,))  # the order to start a checkpoint may come after it was stopped
    if newest - 1 > last:
        return ((newest,), (newest,), (newest - 1,), (newest + 1,))
    return ((newest,), (newest,), (newest + 1,)) if newest > last else ((newest + 1,),)


def started(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints that were started."""
    return [(checkpoint,) for checkpoint in ledger.started[-2:]]


def stoppable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints that were started; before the conversion also one that was aborted before it started."""
    return started(ledger) if ledger.converted else [*started(ledger), (ledger.newest + 1,)]


def announced(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Announced barriers that, as far as the ledger knows, are queued and the last ones of their channels."""
    if not ledger.times_out:
        return DISABLED
    return [
        (channel, seq)
        for (channel, seq), checkpoint in ledger.announced.items()
        if checkpoint == ledger.sides[channel].last_barrier
        and checkpoint in ledger.sides[channel].input.barrier_at
        and checkpoint not in ledger.stopped
        and not any(started > checkpoint for started in ledger.started)
        and ledger.sending is not ledger.sides[channel]
    ]


def releases_in_full(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the failure of the task, unless the release of a channel is going to fail: it must leave nothing."""
    return DISABLED if CHANNEL_RELEASE in ledger.faults.armed else NO_OPERANDS
