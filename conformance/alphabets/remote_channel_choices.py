"""When the steps of a remote channel are enabled, and with which operands: functions of the ledger alone."""

from __future__ import annotations

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Operands
from conformance.properties.remote_channel import RemoteChannelLedger as Ledger

MOST_QUEUED = 6
MOST_RECOVERED = 3
MOST_CHECKPOINTS = 30
_BACKLOGS: tuple[Operands, ...] = ((0,), (2,), (-1,))
_NOTHING: tuple[Operands, ...] = ((-1,),)


def always(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS


def _when(wanted: bool) -> tuple[Operands, ...]:
    return NO_OPERANDS if wanted else DISABLED


def unended(ledger: Ledger) -> tuple[Operands, ...]:
    return _when(not ledger.over and not ledger.releasing)


def _flows(ledger: Ledger) -> bool:
    return not ledger.over and not ledger.releasing and not ledger.blocked and len(ledger.queue) < MOST_QUEUED


def ordinary(ledger: Ledger) -> tuple[Operands, ...]:
    return _when(_flows(ledger))


def data(ledger: Ledger) -> tuple[Operands, ...]:
    return _BACKLOGS if _flows(ledger) and ledger.credit > 0 and ledger.consumed else DISABLED


def event(ledger: Ledger) -> tuple[Operands, ...]:
    """Events need no credit, and tell a producer's backlog when it has none."""
    return _BACKLOGS if _flows(ledger) else DISABLED


def _barriers(ledger: Ledger) -> tuple[Operands, ...]:
    newest = ledger.newest
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    return ((newest,), (newest + 1,)) if ledger.last_barrier < newest else ((newest + 1,),)


def ordinary_barrier(ledger: Ledger) -> tuple[Operands, ...]:
    return _barriers(ledger) if _flows(ledger) else DISABLED


def announced_barrier(ledger: Ledger) -> tuple[Operands, ...]:
    return _barriers(ledger) if _flows(ledger) and not ledger.urgent else DISABLED


def unaligned_barrier(ledger: Ledger) -> tuple[Operands, ...]:
    return _barriers(ledger) if not (ledger.over or ledger.releasing or ledger.urgent or ledger.moving) else DISABLED


def pushed_design(ledger: Ledger) -> tuple[Operands, ...]:
    return _when(ledger.recovery == "pushed")


def in_recovery_surely(ledger: Ledger) -> tuple[Operands, ...]:
    """Nobody can end the recovery meanwhile."""
    return _when(not (ledger.consumed or ledger.finishing or ledger.over or ledger.releasing))


def push(ledger: Ledger) -> tuple[Operands, ...]:
    return _when(ledger.recovery == "pushed" and not ledger.finishing and ledger.pushed < MOST_RECOVERED)


def finish(ledger: Ledger) -> tuple[Operands, ...]:
    return _when(ledger.recovery == "pushed" and not ledger.finishing and not ledger.trespassing)


def after_end(ledger: Ledger) -> tuple[Operands, ...]:
    return _when(ledger.recovery == "pushed" and ledger.finished and not ledger.releasing)


def recycle(ledger: Ledger) -> tuple[Operands, ...]:
    if not ledger.held:
        return DISABLED
    return ((1,), (ledger.held,)) if ledger.held > 1 else ((1,),)


def blocked(ledger: Ledger) -> tuple[Operands, ...]:
    """The task resumes what it took."""
    return _when(ledger.blocked and not ledger.queue)


def mark(ledger: Ledger) -> tuple[Operands, ...]:
    if ledger.recovery != "pushed" or ledger.newest >= MOST_CHECKPOINTS:
        return DISABLED
    newest, last = ledger.newest, ledger.tried
    return ((newest,), (newest + 1,)) if newest > max(last, ledger.last_seen) else ((newest + 1,),)


def start(ledger: Ledger) -> tuple[Operands, ...]:
    if ledger.marked:
        return tuple((checkpoint,) for checkpoint in ledger.marked)
    newest, last = ledger.newest, ledger.tried
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    if newest > last and (ledger.received or not ledger.last_seen >= newest):
        return ((newest,), (newest + 1,), (newest - 1,)) if newest - 1 > last else ((newest,), (newest + 1,))
    return ((newest + 1,),)


def stop(ledger: Ledger) -> tuple[Operands, ...]:
    return tuple((checkpoint,) for checkpoint in ledger.started_ids[-2:])


def announced(ledger: Ledger) -> tuple[Operands, ...]:
    """Barriers that are queued and the last of the channel, as far as anybody knows."""
    return tuple(
        (seq,)
        for seq, checkpoint in ledger.announced
        if checkpoint == ledger.last_barrier
        and not ledger.forgotten
        and ledger.barrier_at.get(checkpoint) == seq
        and ledger.received
        and ledger.last_seen == checkpoint
        and not ledger.sending
        and any(sent.seq == seq for sent in ledger.queue)
    )


def inspections(ledger: Ledger) -> tuple[Operands, ...]:
    return tuple((checkpoint,) for checkpoint in ledger.started_ids[-2:])
