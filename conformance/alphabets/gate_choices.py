"""When the steps of an input gate are enabled, and with which operands: functions of the ledger alone."""

from __future__ import annotations

from collections.abc import Callable

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Operands
from conformance.properties.gate import GateLedger as Ledger
from conformance.properties.gate.side import Side

MOST_QUEUED = 6
"""Elements in a channel after which its producer is back-pressured."""
MOST_CHECKPOINTS = 30


def always(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS


def channels(wanted: Callable[[Ledger, Side], bool]) -> Callable[[Ledger], list[Operands]]:
    return lambda ledger: [(number,) for number, side in enumerate(ledger.sides) if wanted(ledger, side)]


def recovers(ledger: Ledger, side: Side) -> bool:
    if side.finishing or ledger.recovery == "none" or side.pushed >= ledger.most_recovered:
        return False
    return ledger.pushed_design == ledger.converted


def finishes(ledger: Ledger, side: Side) -> bool:
    return not side.finishing and ledger.recovery != "none" and ledger.pushed_design == ledger.converted


def flows(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send an element without priority."""
    return (
        not side.end_sent
        and not side.held_back
        and len(side.queue) < MOST_QUEUED
        and (side.completion_sent or ledger.recovery == "none")
    )


def has_data(ledger: Ledger, side: Side) -> bool:
    return not side.data_ended and flows(ledger, side)


def completes(ledger: Ledger, side: Side) -> bool:
    return not side.completion_sent and ledger.recovery != "none"


def ends_data(ledger: Ledger, side: Side) -> bool:
    return not side.data_ended and flows(ledger, side)


def ends(ledger: Ledger, side: Side) -> bool:
    return side.data_ended and flows(ledger, side)


def is_blocked(ledger: Ledger, side: Side) -> bool:
    return side.blocked and ledger.producers_go_on()


def to_track(ledger: Ledger, side: Side) -> bool:
    return side.completion_taken and not side.tracked


def is_tracked(ledger: Ledger, side: Side) -> bool:
    return side.tracked


def barriers(wanted: Callable[[Ledger, Side], bool]) -> Callable[[Ledger], list[Operands]]:
    """The newest checkpoint, if its barrier was not sent here yet, or the next one."""

    def choices(ledger: Ledger) -> list[Operands]:
        newest = ledger.newest
        if newest >= MOST_CHECKPOINTS:
            return []
        found: list[Operands] = []
        for number, side in enumerate(ledger.sides):
            if wanted(ledger, side):
                if side.last_barrier < newest:
                    found.append((number, newest))
                found.append((number, newest + 1))
        return found

    return choices


def overtakes(ledger: Ledger, side: Side) -> bool:
    return (
        not side.end_sent
        and len(side.urgent) < 2
        and (side.completion_sent or ledger.recovery == "none")
        and ledger.moving is not side
    )


def announces(ledger: Ledger, side: Side) -> bool:
    return not side.local and flows(ledger, side) and not side.urgent


def starts(ledger: Ledger) -> tuple[Operands, ...]:
    if ledger.marked:
        return tuple((checkpoint,) for checkpoint in ledger.marked)
    newest, last = ledger.newest, max([0, *ledger.started, *ledger.stopped])
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    if ledger.stopped and not ledger.started and not any(side.last_barrier for side in ledger.sides):
        return ((newest,), (newest + 1,))  # an order to start what was stopped before conversion comes late
    if newest - 1 > last:
        return ((newest,), (newest,), (newest - 1,), (newest + 1,))
    return ((newest,), (newest,), (newest + 1,)) if newest > last else ((newest + 1,),)


def marks(ledger: Ledger) -> tuple[Operands, ...]:
    if not ledger.pushed_design or ledger.newest >= MOST_CHECKPOINTS:
        return DISABLED
    newest = ledger.newest
    return ((newest,), (newest + 1,)) if newest and newest not in ledger.started else ((newest + 1,),)


def stops(ledger: Ledger) -> list[Operands]:
    """What was started, late or not; before conversion also what was aborted before it came here."""
    stops = [(checkpoint,) for checkpoint in ledger.started[-2:]]
    return stops if ledger.converted else [*stops, (ledger.newest + 1,)]


def announced(ledger: Ledger) -> list[Operands]:
    """Barriers of which nothing says that they are not the last ones of their channels, and queued."""
    return [
        (channel, seq)
        for channel, seq, checkpoint in ledger.announced
        if checkpoint == ledger.sides[channel].last_barrier
        and checkpoint in ledger.sides[channel].barrier_at
        and checkpoint not in ledger.stopped
        and not any(started > checkpoint for started in ledger.started)
        and ledger.sending != channel
    ]


def remote(ledger: Ledger, side: Side) -> bool:
    return not side.local and not side.ended


def inspections(ledger: Ledger) -> list[Operands]:
    return [(checkpoint,) for checkpoint in ledger.started[-2:]]


def again(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS if ledger.converted else DISABLED
