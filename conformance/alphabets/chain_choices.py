"""When the steps of a chain are enabled, and with which operands: by the ledger alone."""

from __future__ import annotations

from typing import Any

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Operands
from conformance.properties.chain import ChainLedger as Ledger
from conformance.properties.chain.ledger import PUSHED
from conformance.properties.chain.side import Side

MOST_IN_FLIGHT = 6
"""Records of a channel that are sent and not counted, after which its producer is back-pressured."""
MOST_CHECKPOINTS = 24
_OPEN = 3
"""Checkpoints back for which a late barrier may still be sent."""

_MOST_CHANNELS = 4
_ONE: tuple[tuple[Operands, ...], ...] = tuple(
    tuple((channel,) for channel in range(_MOST_CHANNELS) if mask >> channel & 1) for mask in range(2**_MOST_CHANNELS)
)
"""By the bits of the channels that are meant: those channels as operands."""
_PRODUCE: tuple[tuple[Operands, ...], ...] = tuple(
    tuple((channel, count) for (channel,) in channels for count in (1, 2)) for channels in _ONE
)
_NEXT: tuple[tuple[tuple[Operands, ...], ...], ...] = tuple(
    tuple(
        ((channel, last + 1, "unaligned"), (channel, last + 1, "unaligned"), (channel, last + 1, "aligned"))
        for last in range(MOST_CHECKPOINTS)
    )
    for channel in range(_MOST_CHANNELS)
)
"""By channel and newest checkpoint: the barriers that a newer one can have."""


def _channels(ledger: Ledger, meant: Any) -> tuple[Operands, ...]:
    """The channels of which something is true."""
    mask, bit = 0, 1
    for side in ledger.sides:
        if meant(side):
            mask |= bit
        bit += bit
    return _ONE[mask]


def always(ledger: Ledger) -> tuple[Operands, ...]:
    """Nothing is needed for it."""
    return NO_OPERANDS


def produce(ledger: Ledger) -> tuple[Operands, ...]:
    """Producers that run and are not back-pressured, with one or two records."""
    mask, bit = 0, 1
    for side in ledger.sides:
        if side.output_done and not side.finished and side.sent - side.counted < MOST_IN_FLIGHT:
            mask |= bit
        bit += bit
    return _PRODUCE[mask]


def barriers(ledger: Ledger) -> list[Operands]:
    """One checkpoint at a time, but every third may be overtaken by a newer one."""
    choices: list[Operands] = []
    last = ledger.last_checkpoint
    for channel, side in enumerate(ledger.sides):
        if side.output_done and not side.finished:
            for checkpoint in ledger.known[-_OPEN:]:
                if checkpoint > side.newest:
                    choices.append((channel, checkpoint, ledger.alignments[checkpoint]))
    settled = not ledger.known or (ledger.over and ledger.newest == ledger.known[-1])
    if last < MOST_CHECKPOINTS and (settled or last % 3 == 0):
        for channel, side in enumerate(ledger.sides):
            if side.output_done and not side.finished and len(side.unconsumed) < 2:
                choices += _NEXT[channel][last]
    return choices


def _may_finish(side: Side) -> bool:
    return side.output_done and not side.finished


def _output_left(side: Side) -> bool:
    return side.output_next < side.recovered_end


def _output_may_finish(side: Side) -> bool:
    return side.output_next == side.recovered_end and not side.output_done


def _input_left(side: Side) -> bool:
    return side.input_next < side.input_end


def _input_may_finish(side: Side) -> bool:
    return side.input_next == side.input_end and not side.input_done


def _may_feed(ledger: Ledger) -> bool:
    """By pushing, recovered records come after the conversion, otherwise before it."""
    return ledger.requested if ledger.recovery == PUSHED else not ledger.converted


def recover(ledger: Ledger) -> tuple[Operands, ...]:
    """Channels with input state that is not in the gate yet."""
    return _channels(ledger, _input_left) if _may_feed(ledger) else DISABLED


def finish_recovery(ledger: Ledger) -> tuple[Operands, ...]:
    """Channels all of whose input state is."""
    return _channels(ledger, _input_may_finish) if _may_feed(ledger) else DISABLED


def transfer(ledger: Ledger) -> tuple[Operands, ...]:
    """Remote channels, unless it is known that nothing can leave."""
    mask, bit = 0, 1
    for side in ledger.sides:
        if side.remote and not side.idle:
            mask |= bit
        bit += bit
    return _ONE[mask]


def convert(ledger: Ledger) -> tuple[Operands, ...]:
    """Once nothing would be lost."""
    return NO_OPERANDS if not ledger.converted and ledger.convertible() else DISABLED


def request(ledger: Ledger) -> tuple[Operands, ...]:
    """After the conversion."""
    return NO_OPERANDS if ledger.converted else DISABLED


def consume(ledger: Ledger) -> tuple[Operands, ...]:
    """The consumer follows what it is told."""
    return NO_OPERANDS if ledger.awake else DISABLED


_TRIGGERS: tuple[tuple[Operands, ...], ...] = tuple(((checkpoint + 1,),) for checkpoint in range(MOST_CHECKPOINTS))


def trigger(ledger: Ledger) -> tuple[Operands, ...]:
    """A checkpoint that nobody has heard of, before the conversion."""
    if ledger.converted or ledger.last_checkpoint >= MOST_CHECKPOINTS:
        return DISABLED
    return _TRIGGERS[ledger.last_checkpoint]


def fail(ledger: Ledger) -> tuple[Operands, ...]:
    """At any moment; but two chains of three are left alone until they completed a checkpoint, so that restores rest
    on restores."""
    if ledger.generation % 3 and not ledger.acknowledged and not ledger.closing:
        return DISABLED
    return NO_OPERANDS


def inspections(ledger: Ledger) -> tuple[Operands, ...]:
    """The last checkpoints of this chain."""
    return tuple([(checkpoint,) for checkpoint in ledger.known[-4:]])


def restore(ledger: Ledger) -> list[Operands]:
    """Checkpoints, in each design that the run allows."""
    return [(checkpoint, recovery) for checkpoint in ledger.restorable() for recovery in ledger.recoveries]


def recover_output(ledger: Ledger) -> tuple[Operands, ...]:
    """Channels with output state that is not in the subpartition yet."""
    return _channels(ledger, _output_left)


def finish_output_recovery(ledger: Ledger) -> tuple[Operands, ...]:
    """Channels all of whose output state is."""
    return _channels(ledger, _output_may_finish)


def end(ledger: Ledger) -> tuple[Operands, ...]:
    """Producers that run."""
    return _channels(ledger, _may_finish)
